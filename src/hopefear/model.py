"""The model directory: everything `translate` needs, in one movable place.

model.toml            what it is: system, text steps, how it was trained; written last, so that
a directory without it is unfinished
rules.bin  lm.bin     the engine's memory-mapped parts
casing.*.tsv          what the text steps learned
folds/0/ …            rules and language models that leave a part of the training text out
work/                 prepared text, its alignment and the state of training; only a later run
of `hopefear train` needs it
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from hopefear.config import load_toml
from hopefear.errors import InputError
from hopefear.files import PathLike, open_output
from hopefear.rules.table import TABLE_FILE, RuleTable
from hopefear.text.pipeline import TextPipeline

if TYPE_CHECKING:
    from hopefear.lm import LanguageModel

FORMAT = 1
MODEL_FILE = "model.toml"
LM_FILE = "lm.bin"
WORK = "work"
FOLDS = "folds"


class Model:
    """A finished model directory; its parts are opened when they are first asked for."""

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        self.directory = directory
        self.settings = settings

    @classmethod
    def load(cls, directory: PathLike) -> Model:
        """Read model.toml and check that the parts it names are there."""
        directory = Path(directory)
        path = directory / MODEL_FILE
        if not path.is_file():
            why = "is unfinished" if (directory / WORK).is_dir() else "is no model directory"
            raise InputError(f"{directory}: {why}, it has no {MODEL_FILE}; run 'hopefear train'")
        settings = load_toml(path)
        if settings.get("format") != FORMAT:
            raise InputError(
                f"{path}: format {settings.get('format')!r}, expected {FORMAT}; train it again "
                "with this version"
            )
        for key in ("system", "text", "training"):
            if key not in settings:
                raise InputError(f"{path}: {key!r} is missing; train it again")
        model = cls(directory, settings)
        for part in model.parts():
            if not part.is_file():
                raise InputError(f"{part}: no such file; copy the whole model directory")
        return model

    def parts(self) -> list[Path]:
        """The engine's files of the model itself, without folds."""
        return [self.directory / TABLE_FILE, self.directory / LM_FILE]

    @property
    def system(self) -> str:
        return str(self.settings["system"])

    @cached_property
    def rules(self) -> RuleTable:
        return RuleTable.open(self.directory / TABLE_FILE)

    @cached_property
    def lm(self) -> LanguageModel:
        from hopefear.lm import LanguageModel

        return LanguageModel.load(self.directory / LM_FILE)

    def text(self, side: str, warn: Callable[[str], None] = warnings.warn) -> TextPipeline:
        """The text steps of `source` or `target`."""
        return TextPipeline.load(self.directory, side, self.settings["text"][side], warn=warn)

    @property
    def folds(self) -> list[Path]:
        """Directories with the rules and language models that leave one fold out."""
        count = self.settings["training"].get("folds", 0)
        return [self.directory / FOLDS / str(number) for number in range(count)]


def write_settings(directory: Path, settings: Mapping[str, Any]) -> None:
    """Write model.toml: from now on the directory is a model."""
    with open_output(directory / MODEL_FILE) as file:
        tomli_w.dump({"format": FORMAT, **settings}, file)
