"""Language-model queries beside the kenlm module, from the same ARPA file, each in its own process.

Budgets: 100,000 sentences at least as fast as kenlm, in at most 1.3 times its memory; 3 million
tokens/s or more per core for a file, splitting and look-up included. CPU seconds of the best of
some runs; a child of its own measures every row. The peak is that of loading; a
compiled model is mapped, so it has only what the check of the file touched.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

from support.figures import Columns, Figure, main
from support.machine import best, measured, memory, shared

ROWS = ("kenlm, loop of score(line)", "ours, loop of score(line)", "ours, score_text(file)")
MAPPED = "ours, compiled, score_text"


def measure(kind: str, model: Path, text: Path, repeat: int) -> dict[str, float]:
    """One row: load the model, score the lines. Runs in a child."""
    lm: Any
    before = 0
    total = 0.0

    def load() -> None:
        nonlocal lm, before
        if kind == ROWS[0]:
            import kenlm

            config = kenlm.Config()
            config.show_progress = False
            before = memory("VmRSS")
            lm = kenlm.Model(str(model), config)
        else:
            from hopefear.lm import LanguageModel

            before = memory("VmRSS")
            lm = LanguageModel.load(model)

    def score() -> None:
        nonlocal total
        if kind in (ROWS[2], MAPPED):
            total = lm.score_text(text).log10_prob
        else:
            each = lm.score
            total = sum(each(line) for line in lines)

    loaded = best(1, load)
    peak = memory() - before
    lines = text.read_text(encoding="utf-8").splitlines()
    return {
        "load": loaded,
        "peak": max(peak, 1),
        "score": best(repeat, score),
        "tokens": sum(len(line.split()) + 1 for line in lines),
        "total": total,
        # A loop that only splits: what Python itself costs per sentence.
        "python": best(1, lambda: [line.encode().split() for line in lines]),
    }


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


def rows_of(
    folder: Path, packed: Path, source: Path, sentences: int, repeat: int
) -> dict[str, dict[str, float]]:
    """kenlm and ours, with a model and a text that is repeated until it is long enough."""
    from hopefear.lm import LanguageModel

    arpa, compiled, text = folder / "lm.arpa", folder / "lm.bin", folder / "text"
    arpa.write_bytes(content(packed))
    LanguageModel.load(arpa).compile(compiled)
    lines = content(source).splitlines(keepends=True)
    text.write_bytes(b"".join((lines * -(-sentences // len(lines)))[:sentences]))
    found = {name: measured(measure, name, arpa, text, repeat).result for name in ROWS}
    found[MAPPED] = measured(measure, MAPPED, compiled, text, repeat).result
    for row in found.values():
        assert abs(row["total"] / found[ROWS[0]]["total"] - 1) < 1e-5, "the totals differ"
    return found


def run(quick: bool) -> list[Figure]:
    size, repeat = (30_000, 2) if quick else (100_000, 5)
    model, text = shared("golden/lm3.arpa.gz"), shared("golden/aligned/fr-en/train.en.gz")
    with tempfile.TemporaryDirectory() as folder:
        found = rows_of(Path(folder), model, text, size, repeat)
    theirs, ours, file = (found[name] for name in ROWS)
    speed = theirs["score"] / ours["score"]
    rate = file["tokens"] / file["score"] / 1e6
    return [
        Figure("score(line), speed of kenlm's", speed, "x", least=1),
        Figure("memory of kenlm's", ours["peak"] / theirs["peak"], "x", most=1.3),
        Figure("score_text(file)", rate, "M tokens/s", least=3),
    ]


def full(
    *,
    sentences: int = 100_000,
    repeat: int = 5,
    lm: tuple[str, ...] = (),
    text: tuple[str, ...] = (),
) -> None:
    names = ("golden/lm3.arpa.gz", "golden/lm/en3000.o5.arpa.gz")
    texts = (f"golden/aligned/{pair}/train.en.gz" for pair in ("fr-en", "zh-en"))
    sources = [Path(path) for path in text] or [shared(name) for name in texts]
    for model in [Path(path) for path in lm] or [shared(name) for name in names]:
        for source in sources:
            with tempfile.TemporaryDirectory() as folder:
                found = rows_of(Path(folder), model, source, sentences, repeat)
            show(f"{model.name}, {source.parent.name}/{source.name}", found)


def show(name: str, found: dict[str, dict[str, float]]) -> None:
    theirs = found[ROWS[0]]
    print(f"\n{name}: {theirs['tokens']:,.0f} tokens")
    names = ("load s", "score s", "M tok/s", "x kenlm", "peak MB", "x kenlm")
    table = Columns(28, *names)
    for label, row in found.items():
        rate, peak = row["tokens"] / row["score"] / 1e6, row["peak"] / 2**20
        ratios = theirs["score"] / row["score"], row["peak"] / theirs["peak"]
        table.row(label, row["load"], row["score"], rate, ratios[0], peak, ratios[1])
    print(f"(encoding and splitting the lines in Python alone: {theirs['python']:.3f} s)")


if __name__ == "__main__":
    main(__doc__, run, full)
