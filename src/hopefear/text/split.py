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
import os
import random
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.text.lines import read_parallel

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
    sources: Iterable[str], sizes: SplitSizes, documents: Sequence[str] | None = None
) -> list[Part]:
    """The part of each line. Needs some 60 bytes per line, whatever its length."""
    keys = [_key(source) for source in sources]
    wanted = sizes.dev + sizes.test
    if wanted >= len(keys) and (wanted or not keys):
        raise OptionError(
            f"--dev {sizes.dev} and --test {sizes.test} leave no line of {len(keys)} to train "
            "on; choose smaller ones"
        )
    if documents is not None and len(documents) != len(keys):
        raise OptionError(
            f"{len(documents):,} document names for {len(keys):,} lines; one for each is needed"
        )
    drop = sizes.leakage == "drop"
    units = [[i] for i in range(len(keys))] if documents is None else _units(documents)
    generator = random.Random(sizes.seed)
    order = sorted(range(len(units)), key=lambda _: generator.random())
    parts: list[Part] = ["train"] * len(keys)
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
    given = {os.path.realpath(path) for path in inputs}
    for name in (f"{part}.{e}" for part in ("train", "dev", "test") for e in endings):
        if os.path.realpath(directory / name) in given:
            raise OptionError(
                f"{directory / name}: is an input, and a part of the corpus would take its place; "
                "give another directory"
            )
    parts = assign((row[0] for row in read_parallel(inputs)), sizes, documents)
    directory.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    with ExitStack() as stack:
        files: dict[str, list[TextIO]] = {}
        for name in ("train", "dev", "test"):
            if name in parts:
                counts[name] = parts.count(name)
                files[name] = [
                    stack.enter_context(write_text(directory / f"{name}.{e}")) for e in endings
                ]
        for part, row in zip(parts, read_parallel(inputs), strict=True):
            for file, line in zip(files.get(part, ()), row, strict=part != "dropped"):
                file.write(line + "\n")
    counts["dropped"] = parts.count("dropped")
    return counts


def ending(path: PathLike) -> str:
    """`fr` of `all.fr.gz`, `en.0` of `all.en.0`."""
    parts = Path(path).name.removesuffix(".gz").split(".")[1:]
    if not parts:
        raise OptionError(
            f"{display_name(path)}: a file is needed whose name has an ending, such as corpus.fr; "
            "the parts are named by it"
        )
    return ".".join(parts[-2:]) if parts[-1].isdigit() and len(parts) > 1 else parts[-1]
