"""Brown clusters: seconds for 200 clusters of 500,000 tokens (budget: a minute), and of all.

Text: the Bible's English and Chinese (../shared or HOPEFEAR_SHARED).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from support.figures import Columns, Figure, main
from support.machine import first_lines, shared

from hopefear.text.clusters import cluster

LINES = 17_000  # have 500,000 tokens
BUDGET = 60.0


def measure(language: str, lines: int | None, clusters: int) -> tuple[Any, float]:
    """The report and CPU seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        packed = shared(f"golden/aligned/zh-en/train.{language}.gz")
        text = first_lines(packed, lines, Path(scratch) / language)
        begin = time.process_time()
        _, report = cluster([text], clusters=clusters)
        return report, time.process_time() - begin


def run(quick: bool) -> list[Figure]:
    report, seconds = measure("en", LINES, 200)
    return [Figure(f"200 clusters of {report.tokens:,} tokens", seconds, "s", most=BUDGET)]


def full(*, clusters: tuple[int, ...] = (50, 200, 500)) -> None:
    table = Columns(8, "tokens", "words", "clusters", "CPU s", "nats")
    for language, lines in (("en", LINES), ("en", None), ("zh", None)):
        for number in clusters:
            report, seconds = measure(language, lines, number)
            table.row(language, report.tokens, report.words, number, seconds, report.information)


if __name__ == "__main__":
    main(__doc__, run, full)
