"""Models that several benchmarks decode with; each is made once and kept in bench/out."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hopefear
from support.machine import OUT, Cost, first_lines, measured, shared

QUICK = 5_000  # sentence pairs of the models that quick runs use


def golden() -> Path:
    """Moses's own model of Multi30k fr-en, with its tuned weights."""
    from hopefear.model.importing import import_model

    model = OUT / "golden"
    if not (model / "model.toml").is_file():
        import_model(shared("golden/moses/decode/moses.ini"), model)
    return model


def bible_text(pairs: int | None) -> list[Path]:
    """Source, target and alignment of Bible zh-en, or of its beginning."""
    data, folder = shared("golden/aligned/zh-en"), OUT / f"zh-en-{pairs or 'all'}"
    names = ("train.zh", "train.en", "train.gdfa")
    return [
        folder / name
        if (folder / name).is_file()
        else first_lines(data / f"{name}.gz", pairs, folder / name)
        for name in names
    ]


def bible(system: str = "phrase", pairs: int | None = None, **options: object) -> Path:
    """A model of Bible zh-en, its alignment given; it has default weights."""
    source, target, align = bible_text(pairs)
    named = "".join(f"-{name}-{value}" for name, value in options.items())
    model = source.parent / f"{system}{named}"
    if not (model / "model.toml").is_file():
        print(f"training a {system} model on Bible zh-en, once …", file=sys.stderr)
        given = {"align": align, "tokenized": True, "order": 3, "system": system, **options}
        hopefear.train(source, target, model=model, display="off", **given)
    return model


def bible_dev(count: int, part: str = "dev") -> tuple[list[str], list[tuple[str, ...]]]:
    """Sentences of Bible zh-en, and the four references of each."""
    folder = shared("golden/aligned/zh-en")
    names = [f"{part}.zh", *(f"{part}.en.{i}" for i in range(4))]
    source, *references = (
        (folder / name).read_text(encoding="utf-8").splitlines()[:count] for name in names
    )
    return source, list(zip(*references, strict=True))


def tune(model: Path, **options: Any) -> dict[str, Any]:
    """The record of the last iteration."""
    return dict(hopefear.tune(model, display="off", **options).records[-1])


def learned(
    model: Path,
    pairs: int | None,
    tuner: str,
    *,
    templates: Sequence[str] = (),
    folds: bool = False,
    examples: int,
) -> tuple[dict[str, Any], Cost]:
    """An iteration on the text of a model: its record, and what the run cost. One thread."""
    source, target, _ = bible_text(pairs)
    text, references = bible_dev(10)  # hardly anything: not what is measured
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        cost = measured(
            tune, model, dev=text, refs=list(zip(*references, strict=True)), tuner=tuner,
            train=[source, target], output=Path(folder) / "run", tokenized=True, prefixes=5,
            max_examples=examples, beam=30, pop_limit=60, iterations=1, threads=1,
            templates=templates, folds=folds,
        )  # fmt: skip
        return cost.result, cost
