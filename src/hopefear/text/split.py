"""Splits of a corpus into train, dev and test, by lines or by whole documents.

Goes in: parallel files and sizes. Comes out: which part each line belongs to (`assign`), or the
files of the parts (`split_files`). The order of the corpus is kept in each part. The same seed
gives the same bytes on every machine and every Python: only `Random.random` is used, the one
method that Python promises never to change.

Leakage: with `leakage="drop"` a source sentence of dev or test occurs in no other part: lines of
train with such a sentence are dropped, and counted.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.config import option
from hopefear.errors import OptionError
from hopefear.files import PathLike, display_name
from hopefear.text.lines import read_parallel, write_parallel

Part = Literal["train", "dev", "test", "dropped"]


@dataclass(kw_only=True)
class SplitSizes:
    """How much goes where. By documents a part has at least so many lines."""

    dev: int = option(1000, min=0, help="lines for dev")
    test: int = option(1000, min=0, help="lines for test")
    seed: int = option(1, min=0, help="of the random choice")
    leakage: Literal["drop", "keep"] = option(
        "drop", help="what becomes of train lines whose source is also in dev or test"
    )


def assign(
    sources: Sequence[str], sizes: SplitSizes, documents: Sequence[str] | None = None
) -> list[Part]:
    """The part of each line."""
    wanted = sizes.dev + sizes.test
    if wanted >= len(sources) and (wanted or not sources):
        raise OptionError(
            f"--dev {sizes.dev} and --test {sizes.test} leave no line of {len(sources)} to train "
            "on; choose smaller ones"
        )
    keys = [_key(source) for source in sources]
    drop = sizes.leakage == "drop"
    units = [[i] for i in range(len(sources))] if documents is None else _units(documents)
    generator = random.Random(sizes.seed)
    order = sorted(range(len(units)), key=lambda _: generator.random())
    parts: list[Part] = ["train"] * len(sources)
    owner: dict[bytes, Part] = {}
    left = iter(order)
    goals: tuple[tuple[Part, int], ...] = (("test", sizes.test), ("dev", sizes.dev))
    for part, size in goals:
        taken = 0
        while taken < size:
            unit = next(left, None)
            if unit is None:
                raise OptionError(
                    f"only {taken} lines are left for {part}, {size} are asked for; choose "
                    "smaller sizes, or 'keep' for leakage if many sentences are the same"
                )
            for i in units[unit]:
                if drop and owner.get(keys[i], part) != part:
                    parts[i] = "dropped"
                    continue
                parts[i] = part
                owner[keys[i]] = part
                taken += 1
    if drop:
        for i, part in enumerate(parts):
            if part == "train" and keys[i] in owner:
                parts[i] = "dropped"
    if "train" not in parts:
        raise OptionError("no line is left to train on; choose smaller sizes for dev and test")
    return parts


def _units(documents: Sequence[str]) -> list[list[int]]:
    lines: dict[str, list[int]] = {}
    for i, name in enumerate(documents):
        lines.setdefault(name, []).append(i)
    return list(lines.values())


def _key(source: str) -> bytes:
    return hashlib.blake2b(" ".join(source.split()).encode(), digest_size=16).digest()


def split_files(
    inputs: Sequence[PathLike],
    directory: Path,
    sizes: SplitSizes,
    documents: Sequence[str] | None = None,
) -> dict[str, int]:
    """Write `directory/{train,dev,test}.ENDING` for each input; the lines of each part.

    The first input is the source. ENDING is that of the input without .gz: `fr` of `all.fr.gz`.
    """
    endings = [ending(path) for path in inputs]
    for a, first in enumerate(endings):
        if first in endings[:a]:
            raise OptionError(
                f"{display_name(inputs[a])}: a second file that ends in .{first}; rename one, "
                "the parts are named by their endings"
            )
    rows = list(read_parallel(inputs))
    if documents is not None and len(documents) != len(rows):
        raise OptionError(
            f"{len(documents):,} document names for {len(rows):,} lines of "
            f"{display_name(inputs[0])}; one for each line is needed"
        )
    parts = assign([row[0] for row in rows], sizes, documents)
    counts: dict[str, int] = {}
    directory.mkdir(parents=True, exist_ok=True)
    names: tuple[Part, ...] = ("train", "dev", "test")
    for name in names:
        chosen = (row for row, part in zip(rows, parts, strict=True) if part == name)
        if name == "train" or name in parts:
            counts[name] = write_parallel([directory / f"{name}.{e}" for e in endings], chosen)
    counts["dropped"] = parts.count("dropped")
    return counts


def ending(path: PathLike) -> str:
    """`fr` of `all.fr.gz`, `en.0` of `all.en.0`."""
    parts = Path(path).name.removesuffix(".gz").split(".")[1:]
    if not parts:
        raise OptionError(
            f"{display_name(path)}: a name with an ending is needed, such as corpus.fr; "
            "the parts are named by it"
        )
    return ".".join(parts[-2:]) if parts[-1].isdigit() and len(parts) > 1 else parts[-1]
