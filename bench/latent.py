"""What sums over derivations cost in learning: an iteration of `latent` against one of `mira`.

CPU seconds of one iteration (decoding and learning) on Bible zh-en with sparse features, one
thread. Budget: LMM at most 2.5 times MIRA, with equal lists of strings (100-best) or from whole
forests.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support import models
from support.figures import Figure, main, markdown
from support.machine import OUT, measured

BUDGET = 2.5
TEMPLATES = ("word-pairs", "rule-id", "target-bigrams")
#: Rows: tuner, its options, other options of tuning, the row to compare with.
ROWS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "MIRA, 100-best": ("mira", {}, {"kbest": 100}, ""),
    "LMM, 100-best": ("latent", {}, {"kbest": 100}, "MIRA, 100-best"),
    "MIRA, forest": ("mira", {"space": "forest"}, {}, ""),
    "LMM, forest": ("latent", {"space": "forest"}, {}, "MIRA, forest"),
    "LMM, sampling": ("latent", {"choose": "sampling"}, {}, "MIRA, forest"),
    "LSMM, forest": ("latent", {"space": "forest", "loss": "lsmm"}, {}, "MIRA, forest"),
    "HCRF, forest": ("latent", {"space": "forest", "loss": "hcrf"}, {}, "MIRA, forest"),
    "LMM, grammar": ("latent", {"space": "forest", "constrain": "grammar"}, {}, "MIRA, forest"),
    "MIRA, cutting plane": ("mira", {"step": "cutting-plane"}, {"kbest": 100}, ""),
    "LMM, cutting plane": (
        "latent", {"step": "cutting-plane"}, {"kbest": 100}, "MIRA, cutting plane",
    ),
}  # fmt: skip
BUDGETED = ("LMM, 100-best", "LMM, forest", "LMM, sampling")


def iteration(system: str, pairs: int, dev: int, row: str) -> float:
    """CPU seconds of an iteration of a row."""
    tuner, options, more, _ = ROWS[row]
    text, references = models.bible_dev(dev)
    model = models.bible(system, pairs=pairs)
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        cost = measured(
            models.tune, model, dev=text,
            refs=list(zip(*references, strict=True)), tuner=tuner, tuner_options=options,
            output=Path(folder) / "run", tokenized=True, pop_limit=60, iterations=1, threads=1,
            templates=TEMPLATES, **({"beam": 30} if system == "phrase" else {}), **more,
        )  # fmt: skip
    seconds: float = cost.result["optimise_cpu_seconds"]
    return seconds


def ratios(system: str, pairs: int, dev: int, rows: tuple[str, ...]) -> dict[str, list[float]]:
    """CPU seconds of rows, and how often those of MIRA."""
    seconds: dict[str, float] = {}
    found = {}
    for row in rows:
        base = ROWS[row][3] or row
        for name in (base, row):
            if name not in seconds:
                seconds[name] = iteration(system, pairs, dev, name)
        found[row] = [seconds[row], seconds[row] / seconds[base]]
    return found


def run(quick: bool) -> list[Figure]:
    found = ratios("hiero", models.QUICK if quick else 10_000, 20 if quick else 200, BUDGETED)
    return [
        Figure(f"{row}, iteration to MIRA's", value, "x", most=BUDGET)
        for row, (_, value) in found.items()
    ]


def full(*, pairs: int = 10_000, dev: int = 200) -> None:
    for system in ("hiero", "phrase"):
        found = ratios(system, pairs, dev, tuple(ROWS))
        rows = [[row, f"{s:.1f}", f"{ratio:.2f}"] for row, (s, ratio) in found.items()]
        print(markdown([system, "CPU s an iteration", "to MIRA"], rows))


if __name__ == "__main__":
    main(__doc__, run, full)
