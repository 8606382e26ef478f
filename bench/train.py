"""Training, step by step: CPU seconds and peak memory.

Corpora: Multi30k fr-en and Bible zh-en (tokenised, from ../shared or HOPEFEAR_SHARED), and worlds
of growing size, which show that the time grows linearly. Moses with fast_align takes 91 s CPU for
Multi30k fr-en and 167 s for Bible zh-en on a machine where the calibration loop takes 1.05 s; the
budget is a third of that, scaled to this machine, in under 1 GB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.figures import Columns, Figure, main
from support.machine import Cost, first_lines, measured, shared, slowness

from hopefear.model.train import TrainOptions, train
from hopefear.text.world import generate, write

MOSES = {"fr-en": ("fr", 91.0, 29_000), "zh-en": ("zh", 167.0, 27_698)}
STEPS = ("text", "alignment", "language model", "rules")
OPTIONS = TrainOptions(tokenized=True, order=3)


def of_pair(pair: str, lines: int | None, folder: Path) -> tuple[Cost, float]:
    """What it costs, and the budget in CPU seconds."""
    (language, seconds, every), data = MOSES[pair], shared(f"golden/aligned/{pair}")
    texts = [
        first_lines(data / f"train.{name}.gz", lines, folder / pair / name)
        for name in (language, "en")
    ]
    budget = seconds / 3 * slowness() * (lines or every) / every
    return measured(train, *texts, folder / pair / "model", OPTIONS), budget


def run(quick: bool) -> list[Figure]:
    lines = 5_000 if quick else None
    with tempfile.TemporaryDirectory() as folder:
        cost, budget = of_pair("fr-en", lines, Path(folder))
    of = f" of {lines:,} pairs" if lines else ""
    return [
        Figure(f"Multi30k fr-en{of}, CPU", cost.cpu, "s", most=budget),
        Figure(f"Multi30k fr-en{of}, peak memory", cost.peak_mb, "MB", most=1024),
    ]


def full(*, worlds: tuple[int, ...] = (10_000, 30_000, 100_000)) -> None:
    table = Columns(22, "text", "align", "lm", "rules", "CPU s", "budget", "wall s", "peak MB")

    def row(name: str, cost: Cost, budget: float | str = "") -> None:
        steps = (cost.result["steps"][step]["cpu_seconds"] for step in STEPS)
        table.row(name, *steps, cost.cpu, budget, cost.result["seconds"], cost.peak_mb)

    with tempfile.TemporaryDirectory() as folder:
        for pair in MOSES:
            row(pair, *of_pair(pair, None, Path(folder)))
        for size in worlds:
            place = Path(folder) / f"world{size}"
            write(generate(train=size, dev=1, test=1), place)
            texts = place / "train.zh", place / "train.en"
            row(f"world of {size:,}", measured(train, *texts, place / "model", OPTIONS))


if __name__ == "__main__":
    main(__doc__, run, full)
