"""The pages in docs/results: a study writes its sections, and replaces them when it runs again.

A section lies between two comments with its name. What is outside, such as a page's conclusions, is
written by hand and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns after the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables_of(page: str, name: str) -> dict[str, str]:
    """Takes a page and a section of it; returns the section's tables by their first cells."""
    path = RESULTS / f"{page}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    section = text.partition(f"<!-- {name}: begin -->\n")[2].partition(f"<!-- {name}: end -->")[0]
    tables = [part for part in section.split("\n\n") if part.startswith("| ")]
    return {table.split(" | ")[0].removeprefix("| "): table.rstrip("\n") + "\n" for table in tables}


def write_section(page: str, name: str, text: str) -> None:
    """Replace a section of a page; a new section goes to the end, a new page gets its name."""
    path = RESULTS / f"{page}.md"
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    old = path.read_text(encoding="utf-8") if path.exists() else f"# {page}\n"
    section = begin + text.rstrip("\n") + "\n" + end
    before, mark, rest = old.partition(begin)
    new = before + section + rest.partition(end)[2] if mark else old + "\n" + section
    path.write_text(new, encoding="utf-8")
