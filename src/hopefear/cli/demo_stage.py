"""What the chapters of the demo share: paths, results and the layout of text."""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopefear.base.console import Console

WIDTH = 79  # columns of the demo's text


@dataclass
class Stage:
    """The state that each chapter passes on to the next: paths and results."""

    directory: Path
    seed: int
    console: Console
    reports: dict[str, Any] = field(default_factory=dict)  # chapter -> its report
    objects: dict[str, Any] = field(default_factory=dict)  # other results for later chapters
    started: float = field(default_factory=time.monotonic)

    def path(self, name: str) -> Path:
        """A path in the demo's directory."""
        return self.directory / name

    @property
    def seconds(self) -> float:
        """Seconds since the start of the demo."""
        return time.monotonic() - self.started

    @property
    def bitext(self) -> list[Path]:
        """The source and target file of the training text."""
        return [self.path("world") / f"train.{side}" for side in ("zh", "en")]

    def source(self, part: str) -> Path:
        """The source file of a part of the corpus ("dev" or "test")."""
        return self.path("world") / f"{part}.zh"

    def references(self, part: str) -> list[Path]:
        """The four reference files of a part of the corpus ("dev" or "test")."""
        return [self.path("world") / f"{part}.en.{number}" for number in range(4)]

    def model(self, name: str) -> Path:
        """The directory of a model ("phrase" or "hiero")."""
        return self.path("models") / name


def prose(text: str, indent: str = "") -> str:
    """A paragraph wrapped at `WIDTH`."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def hanging(label: str, text: str, width: int) -> str:
    """A wrapped text with a hanging indent of `width`, which holds the label."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=label.ljust(width),
        subsequent_indent=" " * width,
        break_long_words=False,
    )
