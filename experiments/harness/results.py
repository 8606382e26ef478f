"""Sections of docs/results.md that a study writes: found again and replaced when it runs again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results.md"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns after the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables_of(name: str) -> dict[str, str]:
    """The tables of a section, by their first cells."""
    text = RESULTS.read_text(encoding="utf-8")
    section = text.partition(f"<!-- {name}: begin -->\n")[2].partition(f"<!-- {name}: end -->")[0]
    found = [part for part in section.split("\n\n") if part.startswith("| ")]
    return {part.split(" | ")[0].removeprefix("| "): part.rstrip("\n") + "\n" for part in found}


def write_section(name: str, text: str) -> None:
    """Put a text between the marks of that name, at the end if there are none."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    old = RESULTS.read_text(encoding="utf-8")
    section = begin + text.rstrip("\n") + "\n" + end
    before, found, rest = old.partition(begin)
    new = before + section + rest.partition(end)[2] if found else old + "\n" + section
    RESULTS.write_text(new, encoding="utf-8")
