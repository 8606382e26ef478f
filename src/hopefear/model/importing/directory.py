"""A model directory from what a configuration of another system names.

Goes in: moses.ini or cdec.ini. Comes out: a model directory of ours, which has copies of everything
and can be moved. Features keep their names, units and weights, so that scores are those of the
system the model came from.
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
from hopefear.rules.table import TABLE_FILE
from hopefear.text.pipeline import TextPipeline

Format = Literal["moses", "cdec"]


@dataclass(kw_only=True)
class Imported:
    """What a configuration says, in our terms."""

    system: str
    weights: Weights
    # Writes the rule table to a path and says what it counted; None: a grammar per sentence.
    rules: Callable[[Path, Display], dict[str, Any]] | None
    lms: dict[str, Path] = field(default_factory=dict)  # feature name -> ARPA or compiled file
    features: dict[str, FeatureSpec] = field(default_factory=dict)
    decoder: dict[str, Any] = field(default_factory=dict)
    escaped: bool = False  # whether its words have the escapes of Moses's tokenizer
    notes: list[str] = field(default_factory=list)  # what a person should know


def import_model(
    path: PathLike,
    directory: PathLike,
    *,
    format: Format | None = None,
    weights: PathLike | None = None,
    display: Display | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Make the model directory; it appears when it is complete. Returns what was found."""
    from hopefear.model.importing.cdec import read_cdec_ini
    from hopefear.model.importing.moses import read_moses_ini

    path, directory, display = Path(path), Path(directory), display or Display()
    check_target(directory)
    format = format or guess_format(path)
    read = {"moses": read_moses_ini, "cdec": read_cdec_ini}[format]
    found = read(path, weights)
    for note in found.notes:
        tell(note)
    report: dict[str, Any] = {
        "model": str(directory),
        "format": format,
        "system": found.system,
        "lms": {},
    }
    with atomic_directory(directory) as place:
        if found.rules is not None:
            report["rules"] = found.rules(place / TABLE_FILE, display)
        files = {}
        for number, (name, lm) in enumerate(found.lms.items()):
            files[name] = LM_FILE if number == 0 else f"lm.{number}.bin"
            report["lms"][name] = _compile(lm, place / files[name], display)
        found.weights.save(place / WEIGHTS_FILE)
        text = TextPipeline.as_it_is().to_mapping()
        settings: dict[str, Any] = {
            "system": found.system,
            "made_by": f"hopefear {hopefear.__version__}",
            "rules": found.rules is not None,
            "lms": files,
            "text": {"source": text, "target": text},
            "decoder": {
                **found.decoder,
                "features": {
                    key: {"name": spec.name, "factor": spec.factor}
                    for key, spec in found.features.items()
                },
            },
            "imported": {"format": format, "file": path.name, "escaped": found.escaped},
        }
        write_settings(place, settings)
    report["weights"] = dict(found.weights.items())
    report["decoder"] = found.decoder
    return report


def check_target(directory: Path) -> None:
    """Refuse to put a model where something else is."""
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
    filled = directory.is_dir() and any(directory.iterdir())
    if filled and not (directory / MODEL_FILE).is_file():
        raise OptionError(f"{directory}: is not empty and no model; give a new directory")
    check_writable(directory, directory=True)


def guess_format(path: Path) -> Format:
    """By the file's content: a section [feature], or formalism=… as in a cdec.ini."""
    lines = [text for _, text in read_ini_lines(path)]
    if not lines:
        raise InputError(f"{path}: nothing in it, expected a moses.ini or a cdec.ini")
    if any(text.startswith("[") for text in lines):
        return "moses"
    if any(text.partition("=")[0].strip() == "formalism" for text in lines):
        return "cdec"
    raise InputError(f"{path}: neither a moses.ini nor a cdec.ini by its content; give --format")


_LONGEST_LINE = 4096  # messages quote it


def read_ini_lines(path: Path, *, inline: bool = True) -> list[tuple[int, str]]:
    """Numbers and contents of the lines that are not empty, without comments.

    `inline`: a comment may also begin inside a line.
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
    """A file that a configuration names, relative to the configuration; perhaps packed."""
    for candidate in (ini.parent / name, ini.parent / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise InputError(
        f"{place}: no file {ini.parent / name}; paths are relative to {ini.name}, mend the path"
    )


def _compile(lm: Path, output: Path, display: Display) -> dict[str, Any]:
    from hopefear.lm import LanguageModel

    with display.step(f"read {lm.name}", unit="n-grams") as step:
        model = LanguageModel.load(lm, progress=step.update)
    model.compile(output)
    return {"order": model.order, "ngrams": model.ngrams}
