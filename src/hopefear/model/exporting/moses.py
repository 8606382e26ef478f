"""Moses, phrase-based: moses.ini with the weights, phrase and reordering tables, language models.

    cd DIR && moses -f moses.ini < input

Units are those of Moses: natural logs, minus one for each target word, -100 for a copied word,
minus the width of a jump. Our features get Moses's usual names (`LM0`, `TranslationModel0` …); the
features of a model that came from Moses get their own.
"""

from __future__ import annotations

import math
from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.files import write_text
from hopefear.model.exporting.source import ExportSource, check_names, number
from hopefear.rules.moses import write_table

# Our feature, Moses's feature function, its value for one unit of our feature.
_COUNTS = [
    ("unknown", "UnknownWordPenalty", -100.0),
    ("words", "WordPenalty", -1.0),
    ("phrases", "PhrasePenalty", 1.0),
    ("distortion", "Distortion", 1.0),
]
_REORDERING = {3: "wbe-msd-backward-fe-allff", 6: "wbe-msd-bidirectional-fe-allff"}


def write_moses(source: ExportSource) -> dict[str, Any]:
    """Write the files; return what the report says of them."""
    table, directory, options = source.rules, source.directory, source.options
    assert table is not None, "a phrase model has a table"
    reordering = table.reordering_columns
    translation = table.columns[: len(table.columns) - len(reordering)]
    with source.display.step("write phrase-table.gz", unit="rules"):
        write_table(
            table,
            directory / "phrase-table.gz",
            directory / "reordering-table.gz" if reordering else None,
        )
    ini = MosesIni(source)
    ini.sections = {
        "distortion-limit": options.distortion_limit,
        "stack": options.beam,
        "search-algorithm": 1 if options.search == "cube" else 0,
        "cube-pruning-pop-limit": options.pop_limit,
        "beam-threshold": number(math.exp(-options.threshold)) if options.threshold else 0,
    }
    ini.add_counts(_COUNTS)
    ini.add_values(
        "PhraseDictionaryMemory",
        translation,
        "TranslationModel0",
        f"path=phrase-table.gz table-limit={options.table_limit} input-factor=0 output-factor=0",
    )
    if reordering:
        ini.add_values(
            "LexicalReordering",
            reordering,
            "LexicalReordering0",
            f"type={_REORDERING[len(reordering)]} input-factor=0 output-factor=0 "
            "path=reordering-table.gz",
        )
    ini.add_lms(brackets=False)
    ini.write()
    source.note_text_steps()
    return {"weights": ini.named_weights(), "command": "moses -f moses.ini < INPUT"}


class MosesIni:
    """The moses.ini that is being made: sections, feature functions and their weights."""

    def __init__(self, source: ExportSource) -> None:
        self.source = source
        self.sections: dict[str, Any] = {}
        self.mapping = ["0 T 0"]
        self.functions: list[str] = []
        self.weights: dict[str, list[float]] = {}

    def add_counts(self, counts: list[tuple[str, str, float]]) -> None:
        """Add the counting features that the model has."""
        for key, function, unit in counts:
            if key not in self.source.features:
                continue
            value = self.source.per_unit(key) / unit
            self._add(function, self._name(self.source.features[key].name, f"{function}0"), [value])

    def add_values(self, function: str, columns: tuple[str, ...], name: str, more: str) -> None:
        """Add a feature function with a value for each of the table's columns."""
        if not columns:
            raise OptionError(f"{function}: the table has no scores; Moses needs at least one")
        base = columns[0] if len(columns) == 1 else columns[0].removesuffix("_1")
        parts = [base] if len(columns) == 1 else [f"{base}_{i + 1}" for i in range(len(columns))]
        name = base if self.source.imported == "moses" and list(columns) == parts else name
        values = [self.source.column_weight(column) for column in columns]
        self._add(function, name, values, f"num-features={len(columns)} {more}")

    def add_lms(self, *, brackets: bool) -> None:
        """Write the language models and add them."""
        for index, (feature, lm) in enumerate(self.source.lms.items()):
            file = "lm.arpa.gz" if index == 0 else f"lm.{index}.arpa.gz"
            self.source.write_lm(lm, file, brackets=brackets)
            self._add(
                "KENLM",
                self._name(feature, f"LM{index}"),
                [self.source.lm_weight(feature, 1.0)],
                f"factor=0 order={lm.order} path={file}",
            )

    def _name(self, own: str, usual: str) -> str:
        return own if self.source.imported == "moses" else usual

    def _add(self, function: str, name: str, values: list[float], more: str = "") -> None:
        check_names([name], "Moses")
        self.functions.append(f"{function} name={name} {more}".strip())
        self.weights[name] = values

    def named_weights(self) -> dict[str, float]:
        """The weights by name; several values of a feature function have numbers, from 1."""
        return {
            name if len(values) == 1 else f"{name}_{i}": value
            for name, values in self.weights.items()
            for i, value in enumerate(values, 1)
        }

    def write(self) -> None:
        """Write moses.ini."""
        blocks = [
            ["# run Moses in this directory: it takes paths relative to the working directory"],
            ["[input-factors]", "0"],
            ["[mapping]", *self.mapping],
            *([f"[{name}]", *str(value).split("\n")] for name, value in self.sections.items()),
            ["[feature]", *self.functions],
            [
                "[weight]",
                *(f"{name}= {' '.join(map(number, v))}" for name, v in self.weights.items()),
            ],
        ]
        with write_text(self.source.directory / "moses.ini") as file:
            file.write("\n\n".join("\n".join(block) for block in blocks) + "\n")
