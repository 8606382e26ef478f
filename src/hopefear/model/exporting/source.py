"""The model to export, as the writers of all formats see it.

The weight of a feature is asked for in a unit: what one word (or phrase, or a natural log of 1)
adds to the score is the same in both systems, so the weight there is this amount divided by the
value of the feature there. Weights that no writer asks for, and are not 0, are lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from hopefear.base import config
from hopefear.base.errors import OptionError
from hopefear.base.files import open_output
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.decode.contract import ModelParts
from hopefear.features.dense import OWN_HIERO, OWN_PHRASE, FeatureSpec, lm_factor
from hopefear.lm import LanguageModel
from hopefear.model.directory import Model
from hopefear.rules.extract import EXPORT_LEVEL
from hopefear.rules.table import RuleTable

LOG10 = 1 / math.log(10)  # natural logs to log10


class ExportSource:
    """A model, its weights, and the directory to write into."""

    def __init__(self, model: Model, weights: Weights, directory: Path, display: Display) -> None:
        self.model = model
        self.directory = directory
        self.display = display
        self.notes: list[str] = []
        self._weights = weights
        self._asked: set[str] = set()

    @cached_property
    def _parts(self) -> ModelParts:
        return self.model.decoder_parts()

    @property
    def imported(self) -> str | None:
        """The format that the model was imported from; None for a model trained here."""
        origin = self.model.settings.get("imported", {}).get("format")
        return None if origin is None else str(origin)

    @property
    def rules(self) -> RuleTable | None:
        """The rule table; None if every sentence has a grammar of its own."""
        return self._parts.rules

    @property
    def lms(self) -> Mapping[str, LanguageModel]:
        """The language models by feature name."""
        return self._parts.lms

    @cached_property
    def features(self) -> Mapping[str, FeatureSpec]:
        """The decoder's own features that the model has."""
        own = OWN_PHRASE if self.model.system == "phrase" else OWN_HIERO
        return own if self._parts.features is None else self._parts.features

    @cached_property
    def options(self) -> Any:
        """The options of the model's decoder."""
        cls = self.model.decoder_class.options_class
        values = {**self.model.settings.get("decoder", {})}
        values.pop("features", None)
        return config.from_mapping(cls, values)

    # -- weights --

    def weight(self, name: str) -> float:
        """The weight of a feature by its name."""
        self._asked.add(name)
        return self._weights[name]

    def column_weight(self, name: str) -> float:
        """The weight of a language model or a column of the rule table, which is expected."""
        if name not in self._weights:
            self.notes.append(f"no weight for {name}; using 0")
        return self.weight(name)

    def per_unit(self, key: str) -> float:
        """What one unit of a decoder's feature adds to the score; 0 if the model lacks it."""
        spec = self.features.get(key)
        return 0.0 if spec is None else self.weight(spec.name) * spec.factor

    def lm_weight(self, name: str, unit: float) -> float:
        """The weight of a language model whose value for a natural log of 1 is `unit`."""
        return self.column_weight(name) * lm_factor(self.features) / unit

    def other_weights(self) -> dict[str, float]:
        """The weights of the table's scores that are not columns, which only some rules have."""
        names = () if self.rules is None else self.rules.engine.sparse_names
        return {name: self.weight(name) for name in names if name in self._weights}

    def remaining(self) -> dict[str, float]:
        """The weights, not 0, that nobody has asked for."""
        return {
            name: value
            for name, value in self._weights.items()
            if value and name not in self._asked
        }

    def lost(self) -> dict[str, float]:
        """The remaining weights of features that the model has.

        Without feature templates, a weight of any other name has no effect in the model either.
        """
        if self.model.templates:
            return self.remaining()
        names = {spec.name for spec in self.features.values()} | set(self.lms)
        if self.rules is not None:
            names |= {*self.rules.columns, *self.rules.engine.sparse_names}
        return {name: value for name, value in self.remaining().items() if name in names}

    # -- files --

    def write_lm(self, lm: LanguageModel, file: str, *, brackets: bool) -> None:
        """Write a language model as ARPA text, words with the escapes of the rule table.

        `brackets`: escape words in brackets, too, as grammars must.
        """
        with (
            self.display.step(f"write {file}", unit="n-grams"),
            open_output(self.directory / file, level=EXPORT_LEVEL) as output,
        ):
            escaping = _EscapedLines(output, brackets)
            lm.write_arpa(cast(BinaryIO, escaping))
            escaping.flush()
        if escaping.changed:
            self.notes.append(
                f"{file}: words with | (and words in brackets) have the escapes of Moses's "
                "tokenizer, such as &#124;; input must have them, too"
            )

    def note_text_steps(self) -> None:
        """Note that the model's text steps are not exported, if it has any."""
        sides = self.model.settings["text"]
        steps = [
            side
            for side in ("source", "target")
            if sides[side].get("tokenizer", "none") != "none"
            or sides[side].get("casing", "none") != "none"
            or "subwords" in sides[side]
        ]
        if steps:
            self.notes.append(
                "the text steps of the model are not exported: prepare input with 'hopefear text "
                f"tokenize --model {self.model.directory}', restore output with 'hopefear text "
                f"detokenize --model {self.model.directory}'"
            )


class _EscapedLines:
    """A file that escapes words in the lines of ARPA text, as the writers of rule tables do."""

    _BRACKETS = re.compile(rb"(?<=[\t ])\[[^\t \n]+\](?=[\t \n])")

    def __init__(self, file: BinaryIO, brackets: bool) -> None:
        self._file = file
        self._brackets = brackets
        self._rest = b""
        self.changed = False

    def write(self, data: bytes | memoryview) -> int:
        lines, end, rest = bytes(data).rpartition(b"\n")
        if not end:
            self._rest += bytes(data)
            return len(data)
        self._put(self._rest + lines + end)
        self._rest = rest
        return len(data)

    def flush(self) -> None:
        self._put(self._rest)
        self._rest = b""

    def _put(self, text: bytes) -> None:
        if b"|" in text:
            text = text.replace(b"|", b"&#124;")
            self.changed = True
        if self._brackets and b"[" in text:
            text, count = self._BRACKETS.subn(self._escape, text)
            self.changed |= count > 0
        self._file.write(text)

    @staticmethod
    def _escape(word: re.Match[bytes]) -> bytes:
        return word[0].replace(b"[", b"&#91;").replace(b"]", b"&#93;")


def check_names(names: list[str], place: str) -> None:
    """Raise an error for a feature name that the format cannot hold."""
    for name in names:
        if not name or any(c.isspace() for c in name) or any(c in name for c in "=;"):
            raise OptionError(
                f"{place}: the feature name {name!r} has blanks, '=' or ';' and cannot be "
                "exported; rename the feature"
            )


def number(value: float) -> str:
    """Format a weight: the shortest text of the float, never an exponent without a point."""
    text = str(np.float32(value + 0.0)).removesuffix(".0")  # 0.0 turns -0.0 into 0.0
    mantissa, exponent, power = text.partition("e")
    return text if "." in mantissa or not exponent else f"{mantissa}.0e{power}"
