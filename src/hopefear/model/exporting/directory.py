"""Export of a model to another system: tables, language models, weights and a configuration.

Takes a model directory and writes a directory with which Moses, cdec or Joshua decodes. Weights are
converted to the units of that system, so that derivations have the same scores; an imported model
gets back its own feature names. What the other system cannot express is an error that names it, or
is left out on request with a note that names it.

    export_model(Model.load("fr-en"), "fr-en.moses", format="moses")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, atomic_directory, check_writable
from hopefear.base.progress import Display
from hopefear.model.directory import Model
from hopefear.model.exporting.source import ExportSource

Format = Literal["moses", "cdec", "joshua"]

# By format: the systems that it can express.
_SYSTEMS: dict[str, tuple[str, ...]] = {
    "moses": ("phrase", "hiero"),
    "cdec": ("hiero",),
    "joshua": ("hiero",),
}


def export_model(
    model: Model,
    directory: PathLike,
    *,
    format: Format,
    weights: PathLike | None = None,
    drop: bool = False,
    display: Display | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Write the directory, which appears when it is complete; return a report.

    `weights`: file to use instead of the model's weights; `drop`: leave out what the format cannot
    express, instead of an error; `tell`: called with messages for the user.
    """
    directory = Path(directory)
    if model.system not in _SYSTEMS[format]:
        others = [name for name, systems in _SYSTEMS.items() if model.system in systems]
        raise OptionError(
            f"--format {format}: cannot express a {model.system} model; "
            + (f"give {' or '.join(others)}" if others else "no format can")
        )
    _check_target(directory)
    with atomic_directory(directory) as place:
        source = ExportSource(model, model.weights(weights), place, display or Display())
        report = _writer(format, model.system)(source)
        _check_complete(source, format, drop, tell)
    for note in source.notes:
        tell(note)
    return {
        "model": str(model.directory),
        "format": format,
        "system": model.system,
        "directory": str(directory),
        **report,
        "dropped": source.lost(),
    }


def _writer(format: Format, system: str) -> Callable[[ExportSource], dict[str, Any]]:
    from hopefear.model.exporting.cdec import write_cdec
    from hopefear.model.exporting.joshua import write_joshua
    from hopefear.model.exporting.moses import write_moses
    from hopefear.model.exporting.moses_chart import write_moses_chart

    if format == "moses":
        return write_moses if system == "phrase" else write_moses_chart
    return {"cdec": write_cdec, "joshua": write_joshua}[format]


def _check_target(directory: Path) -> None:
    """Raise an error if the directory is not new or empty."""
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
    check_writable(directory, directory=True)
    if directory.is_dir() and any(directory.iterdir()):
        raise OptionError(f"{directory}: is not empty; give a new directory")


def _check_complete(
    source: ExportSource, format: Format, drop: bool, tell: Callable[[str], None]
) -> None:
    """Raise an error if weights are lost, or tell the user which ones with `drop`."""
    lost = source.lost()
    if not lost:
        return
    largest = sorted(lost, key=lambda name: -abs(lost[name]))
    shown = ", ".join(f"{name} ({lost[name]:.3g})" for name in largest[:5])
    more = f" and {len(lost) - 5:,} more" if len(lost) > 5 else ""
    message = f"{format} has no equivalent of {len(lost):,} features with weights: {shown}{more}"
    if not drop:
        raise OptionError(
            f"{message}; give --drop to leave them out, which changes scores, or weights that "
            "were tuned without them"
        )
    tell(f"{message}; they are left out, so scores and translations may differ")
