"""What rules cost: extracting them (CPU, peak memory, size of the table, time to open it), and
reading the grammars of single sentences.

The golden aligned texts, with the seconds that Moses needs for extraction, scoring and reordering
scaled to this machine; all memory and little of it, one thread and two, text export, significance
filtering; hierarchical rules, loose and tight. The tables of all runs of a text that should be
equal are compared. Budget for phrase pairs: a third of Moses's time. Reading is measured on cdec's
golden grammars.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from support.figures import Columns, Figure, main
from support.machine import best, measured, shared, slowness

from hopefear.base import config
from hopefear.decode.systems.base import get_system
from hopefear.rules.cdec import read_grammar
from hopefear.rules.extract import TextExport, extract
from hopefear.rules.table import RuleTable

# CPU seconds of Moses: measured for fr-en; for zh-en in proportion to its whole training.
MOSES = {"fr-en": 70.0, "zh-en": 128.0}
BUDGET = 1 / 3
ONE: dict[str, Any] = {"threads": 1}
# System, name, options, how it is exported, and whether the tables of a system are the same.
RUNS: list[tuple[str, str, dict[str, Any], str, bool]] = [
    ("phrase", "1 thread", ONE, "", True),
    ("phrase", "2 threads", {"threads": 2}, "", True),
    ("phrase", "memory 64M", ONE | {"memory": "64M"}, "", True),
    ("phrase", "export moses", ONE, "moses", True),
    ("phrase", "alpha+epsilon", ONE | {"significance": "alpha+epsilon"}, "", False),
    ("hiero", "1 thread", ONE, "", True),
    ("hiero", "2 threads", {"threads": 2, "memory": "256M"}, "", True),
    ("hiero", "tight", ONE | {"boundaries": "tight"}, "", False),
    ("hiero", "twice", ONE | {"min_hiero_count": 2}, "", False),
    ("hiero", "export cdec", ONE | {"boundaries": "tight"}, "cdec", False),
]
SYSTEMS = ("phrase", "hiero")


def work(files: Sequence[Path], table: Path, options: Mapping[str, Any], export: str) -> None:
    names = {"moses": ("phrase_table", "reordering_table"), "cdec": ("grammar",), "": ()}[export]
    texts = TextExport(**{name: table.parent / f"{name}.gz" for name in names})
    given = {name: value for name, value in options.items() if name != "system"}
    cls = get_system(options["system"]).extract_options
    extract(*files, table, config.from_mapping(cls, given), export=texts)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_milliseconds(path: Path) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        RuleTable.open(path)
        times.append(time.perf_counter() - begin)
    return 1000 * min(times)


def read_grammars(repeat: int) -> tuple[int, float, float]:
    """Grammars, rules of each on average, CPU milliseconds to read one into memory."""
    files = sorted(shared("golden/cdec/grammars").glob("*.gz"))
    rules = sum(len(read_grammar(path)) for path in files)
    seconds = best(repeat, lambda: [read_grammar(path) for path in files])
    return len(files), rules / len(files), 1000 * seconds / len(files)


def files_of(text: str) -> list[Path]:
    folder = shared(f"golden/aligned/{text}")
    return [folder / name for name in (f"train.{text[:2]}.gz", "train.en.gz", "train.gdfa.gz")]


def run(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as output:
        moses = MOSES["fr-en"] * slowness()
        path = Path(output) / "rules.bin"
        cost = measured(work, files_of("fr-en"), path, {"system": "phrase", **ONE}, "")
        return [
            Figure("Multi30k fr-en, CPU of Moses's", cost.cpu / moses, "x", most=BUDGET),
            Figure("Multi30k fr-en, peak memory", cost.peak_mb, "MB"),
            Figure("to open the table", open_milliseconds(path), "ms"),
            Figure("to read a grammar of cdec", read_grammars(2)[2], "ms"),
        ]


def full(*, texts: tuple[str, ...] = tuple(MOSES), systems: tuple[str, ...] = SYSTEMS) -> None:
    count, rules, milliseconds = read_grammars(5)
    print(
        f"read_grammar: {count} grammars of {rules:,.0f} rules on average, "
        f"{milliseconds:.2f} ms CPU each"
    )
    table = Columns(28, "CPU s", "Moses", "ratio", "peak MB", "rules", "table MB", "open ms")
    for text, system in product(texts, systems):
        digests = set()
        for _, label, given, export, same in (entry for entry in RUNS if entry[0] == system):
            with tempfile.TemporaryDirectory() as output:
                path = Path(output) / "rules.bin"
                cost = measured(work, files_of(text), path, {"system": system, **given}, export)
                if same:
                    digests.add(digest(path))
                moses = MOSES[text] * slowness()
                beside = (moses, cost.cpu / moses) if system == "phrase" else ("", "")
                table.row(
                    f"{text} {system} {label}", cost.cpu, *beside, cost.peak_mb,
                    len(RuleTable.open(path)), path.stat().st_size / 2**20, open_milliseconds(path),
                )  # fmt: skip
        print(f"{text} {system}: tables are {'equal' if len(digests) == 1 else 'DIFFERENT'}")


if __name__ == "__main__":
    main(__doc__, run, full)
