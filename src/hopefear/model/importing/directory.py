"""Import of a model of another system.

Takes a moses.ini or cdec.ini and makes a model directory, which has copies of all files and can be
moved. Features keep their names, units and weights, so that scores equal those of the original
system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import hopefear
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, atomic_directory, check_writable
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.decode.contract import FeatureSpec
from hopefear.model.directory import LM_FILE, MODEL_FILE, WEIGHTS_FILE, write_settings
from hopefear.rules.table import TABLE_FILE, RuleTable
from hopefear.text.pipeline import TextPipeline

Format = Literal["moses", "cdec"]


@dataclass(frozen=True)
class ImportedLm:
    """A language model of another system: an ARPA file, or a compiled one of ours."""

    path: Path
    place: str  # where the configuration names it
    order: int | None = None  # n-grams up to this order are used; None: all

    def check_order(self, order: int) -> None:
        """Raise an `InputError` if only a part of the file's n-grams is used."""
        if self.order is not None and self.order < order:
            raise InputError(
                f"{self.place}: order={self.order}, but {self.path} is of order {order}; give a "
                f"model of order {self.order}, or remove order= and tune again"
            )


@dataclass(kw_only=True)
class Imported:
    """The settings of a configuration file, in the terms of `model.toml`."""

    system: str
    weights: Weights
    # Writes the rule table to a path and returns its counts; None: per-sentence grammars.
    rules: Callable[[Path, Display], dict[str, Any]] | None
    lms: dict[str, ImportedLm] = field(default_factory=dict)  # by feature name
    features: dict[str, FeatureSpec] = field(default_factory=dict)
    decoder: dict[str, Any] = field(default_factory=dict)
    escaped: bool = False  # whether words have the escapes of the Moses tokenizer
    notes: list[str] = field(default_factory=list)  # messages for the user


def import_model(
    path: PathLike,
    directory: PathLike,
    *,
    format: Format | None = None,
    weights: PathLike | None = None,
    display: Display | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Make a model directory, which appears when it is complete; returns a report.

    `weights`: file to use instead of the weights of the configuration; `tell`: called with messages
    for the user.
    """
    from hopefear.model.importing.cdec import read_cdec_ini
    from hopefear.model.importing.moses import read_moses_ini

    path, directory, display = Path(path), Path(directory), display or Display()
    check_target(directory)
    format = format or guess_format(path)
    read = {"moses": read_moses_ini, "cdec": read_cdec_ini}[format]
    imported = read(path, weights)
    for note in imported.notes:
        tell(note)
    report: dict[str, Any] = {
        "model": str(directory),
        "format": format,
        "system": imported.system,
        "lms": {},
    }
    with atomic_directory(directory) as place:
        if imported.rules is not None:
            report["rules"] = imported.rules(place / TABLE_FILE, display)
            if not len(RuleTable.open(place / TABLE_FILE)):
                raise InputError(f"{path}: its rule table has no rules; check the table")
        files = {}
        for number, (name, lm) in enumerate(imported.lms.items()):
            files[name] = LM_FILE if number == 0 else f"lm.{number}.bin"
            report["lms"][name] = _compile(lm, place / files[name], display, tell)
        _check_names(imported, place)
        imported.weights.save(place / WEIGHTS_FILE)
        text = TextPipeline.as_it_is().to_mapping()
        settings: dict[str, Any] = {
            "system": imported.system,
            "made_by": f"hopefear {hopefear.__version__}",
            "rules": imported.rules is not None,
            "lms": files,
            "text": {"source": text, "target": text},
            "decoder": {
                **imported.decoder,
                "features": {
                    key: {"name": spec.name, "factor": spec.factor}
                    for key, spec in imported.features.items()
                },
            },
            "imported": {"format": format, "file": path.name, "escaped": imported.escaped},
        }
        write_settings(place, settings)
    report["weights"] = dict(imported.weights.items())
    report["decoder"] = imported.decoder
    return report


def check_target(directory: Path) -> None:
    """Raise an `OptionError` if the directory has other content than a model."""
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
    filled = directory.is_dir() and any(directory.iterdir())
    if filled and not (directory / MODEL_FILE).is_file():
        raise OptionError(f"{directory}: is not empty and not a model; give a new directory")
    check_writable(directory, directory=True)


def guess_format(path: Path) -> Format:
    """The format by the file's content: a section in brackets for moses, formalism=… for cdec."""
    lines = [text for _, text in read_ini_lines(path)]
    if not lines:
        raise InputError(f"{path}: nothing in it, expected a moses.ini or a cdec.ini")
    if any(text.startswith("[") for text in lines):
        return "moses"
    if any(text.partition("=")[0].strip() == "formalism" for text in lines):
        return "cdec"
    raise InputError(f"{path}: neither a moses.ini nor a cdec.ini by its content; give --format")


_LONGEST_LINE = 4096  # in characters; messages quote lines


def read_ini_lines(path: Path, *, inline: bool = True) -> list[tuple[int, str]]:
    """The numbers and contents of non-empty lines, without comments.

    `inline`: comments may also begin inside a line.
    """
    from hopefear.text.lines import read_lines

    lines = []
    for number, line in enumerate(read_lines(path), 1):
        if line.lstrip().startswith("#"):
            continue
        text = line.partition("#")[0].strip() if inline else line.strip()
        if len(text) > _LONGEST_LINE:
            raise InputError(
                f"{path}:{number}: a line of {len(text):,} characters, expected at most "
                f"{_LONGEST_LINE:,}; is it the right file?"
            )
        if text:
            lines.append((number, text))
    return lines


def find_file(ini: Path, name: str, place: str) -> Path:
    """The path of a file that a configuration names, relative to it; it may be gzipped."""
    for candidate in (ini.parent / name, ini.parent / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise InputError(
        f"{place}: no file {ini.parent / name}; paths are relative to {ini.name}, correct the path"
    )


def _check_names(imported: Imported, directory: Path) -> None:
    """Refuse two features of the same name: the language models, and those of the decoder."""
    names = list(imported.lms)
    names += [spec.name for key, spec in imported.features.items() if key not in ("lm", "rules")]
    if (directory / TABLE_FILE).is_file():
        columns = RuleTable.open(directory / TABLE_FILE).columns
        # A grammar's scores may add to the decoder's features, as in cdec, but not to an LM's.
        names += [name for name in columns if name in imported.lms]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two features of the model are called {name}; give each a name of its own"
            )


def _compile(
    lm: ImportedLm, output: Path, display: Display, tell: Callable[[str], None]
) -> dict[str, Any]:
    from hopefear.lm import LanguageModel

    with display.step(f"read {lm.path.name}", unit="n-grams") as step:
        model = LanguageModel.load(lm.path, progress=step.update)
    lm.check_order(model.order)
    for mark in model.missing_marks:
        tell(f"{lm.path}: has no {mark}, which is scored as <unk>")
    model.compile(output)
    return {"order": model.order, "ngrams": model.ngrams}
