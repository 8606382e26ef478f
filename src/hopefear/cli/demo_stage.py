"""What the chapters of the demo share: where things are, what was found, how words are set."""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopefear.base.console import Console

WIDTH = 79  # of everything the demo prints


@dataclass
class Stage:
    """Handed from chapter to chapter."""

    directory: Path
    seed: int
    console: Console
    found: dict[str, Any] = field(default_factory=dict)  # chapter -> its report
    kept: dict[str, Any] = field(default_factory=dict)  # what later chapters need and no report has
    started: float = field(default_factory=time.monotonic)

    def path(self, name: str) -> Path:
        return self.directory / name

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def bitext(self) -> list[Path]:
        return [self.path("world") / f"train.{side}" for side in ("zh", "en")]

    def source(self, part: str) -> Path:
        return self.path("world") / f"{part}.zh"

    def references(self, part: str) -> list[Path]:
        return [self.path("world") / f"{part}.en.{number}" for number in range(4)]

    def model(self, name: str) -> Path:
        return self.path("models") / name


def prose(text: str, indent: str = "") -> str:
    """A paragraph."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def hanging(label: str, text: str, width: int) -> str:
    """A text beside its label, which has a column of that width."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=label.ljust(width),
        subsequent_indent=" " * width,
        break_long_words=False,
    )
