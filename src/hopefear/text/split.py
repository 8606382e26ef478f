"""Splitting of a corpus into train, dev and test, by lines or by documents.

Takes parallel files and sizes; returns the part of each line (`assign`) or writes the files of the
parts (`split_files`). Each part keeps the order of the corpus. The same seed gives the same bytes
with every version of Python: only `Random.random` is used, whose sequence Python guarantees.

With `leakage="drop"`, source sentences of dev or test occur in no other part: other lines with such
a sentence are dropped, and counted.
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
    """Sizes of the parts; minimum sizes if the corpus is split by documents."""

    dev: int = option(1000, min=0, help="number of lines in dev")
    test: int = option(1000, min=0, help="number of lines in test")
    seed: int = option(1, min=0, help="random seed")
    leakage: Literal["drop", "keep"] = option(
        "drop", help="treatment of train lines whose source sentence is also in dev or test"
    )


def assign(
    sources: Iterable[str], sizes: SplitSizes, documents: Sequence[str] | None = None
) -> list[Part]:
    """Take the source lines and return the part of each; needs about 60 bytes per line."""
    keys = [_key(source) for source in sources]
    requested = sizes.dev + sizes.test
    if requested >= len(keys) and (requested or not keys):
        raise OptionError(
            f"--dev {sizes.dev} and --test {sizes.test} leave no line of {len(keys)} to train "
            "on; choose smaller sizes"
        )
    if documents is not None and len(documents) != len(keys):
        raise OptionError(
            f"{len(documents):,} document names for {len(keys):,} lines; give one per line"
        )
    drop = sizes.leakage == "drop"
    units = [[i] for i in range(len(keys))] if documents is None else _units(documents)
    generator = random.Random(sizes.seed)
    order = sorted(range(len(units)), key=lambda _: generator.random())
    parts: list[Part] = ["train"] * len(keys)
    owner: dict[bytes, Part] = {}
    remaining = iter(order)
    goals: tuple[tuple[Part, int], ...] = (("test", sizes.test), ("dev", sizes.dev))
    for part, size in goals:
        taken = 0
        while taken < size:
            unit = next(remaining, None)
            if unit is None:
                raise OptionError(
                    f"only {taken} lines are left for {part}, {size} are requested; choose "
                    "smaller sizes, or 'keep' for leakage if many sentences are repeated"
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
    """Write `directory/{train,dev,test}.ENDING` for each input; return the lines in each part.

    The first input is the source. ENDING is the input's without .gz: `fr` for `all.fr.gz`.
    """
    endings = [ending(path) for path in inputs]
    for a, first in enumerate(endings):
        if first in endings[:a]:
            raise OptionError(
                f"{display_name(inputs[a])}: a second file that ends in .{first}; rename one, "
                "the parts are named by their endings"
            )
    input_paths = {os.path.realpath(path) for path in inputs}
    for name in (f"{part}.{e}" for part in ("train", "dev", "test") for e in endings):
        if os.path.realpath(directory / name) in input_paths:
            raise OptionError(
                f"{directory / name}: is an input and would be overwritten; give another directory"
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
    """Return the ending of a file name: `fr` for `all.fr.gz`, `en.0` for `all.en.0`."""
    parts = Path(path).name.removesuffix(".gz").split(".")[1:]
    if not parts:
        raise OptionError(
            f"{display_name(path)}: the file name has no ending; rename the file, for example to "
            "corpus.fr, as the parts are named by the ending"
        )
    return ".".join(parts[-2:]) if parts[-1].isdigit() and len(parts) > 1 else parts[-1]
