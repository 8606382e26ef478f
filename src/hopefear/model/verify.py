"""Verification of files: compare all bytes with the checksums that were written with them.

Takes a file or a directory (a model, a run, the output of a command) and returns what was checked
of each file, and its faults. Binary files have checksums of their sections, .npz and .gz files
those of their formats. model.toml has digests of a model's text files, `work/steps.json` those of
all outputs of training, `checkpoint/state.json` those of a run's weights of each iteration.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear._engine import verify_file
from hopefear.base.config import load_toml
from hopefear.base.errors import HopefearError, InputError, escaped, in_line
from hopefear.base.files import COMPILED, digest_of
from hopefear.learn.loop.run import CHECKPOINT
from hopefear.learn.loop.run import STATE_FILE as RUN_STATE_FILE
from hopefear.model.directory import MODEL_FILE, WEIGHTS_FILE, WORK
from hopefear.model.train_steps import STATE_FILE

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Verified:
    """What was compared of a file ("" if it has no checksum), and its fault ("" if it has none)."""

    file: str  # relative to the directory
    bytes: int
    checked: str
    fault: str = ""


def verify(path: Path) -> list[Verified]:
    """Check a file, or all files below a directory; raises no error for a damaged file."""
    if not path.is_dir():
        return [_verified(path, path.name, {})]
    recorded, of_runs = _recorded_digests(path), _digests_of_runs(path)
    found = []
    for file in _files(path):
        name = file.relative_to(path).as_posix()
        verified = _verified(file, name, recorded)
        if name in of_runs and not verified.fault:
            verified = _compared_with_run(file, verified, of_runs[name])
        found.append(verified)
    names = {each.file for each in found}
    missing = [
        Verified(name, 0, "digest", "no such file; copy the whole directory")
        for name in sorted({**recorded, **of_runs})
        if name not in names and not name.startswith(f"{WORK}/")
    ]
    return found + missing


def refuse_damaged(path: Path, found: list[Verified]) -> None:
    """Raise an `InputError` that names the damaged files, if there are any."""
    damaged = [each for each in found if each.fault]
    if damaged:
        faults = "; ".join(f"{each.file}: {each.fault}" for each in damaged[:5])
        more = f" … and {len(damaged) - 5} more" if len(damaged) > 5 else ""
        raise InputError(
            f"{path}: {len(damaged)} of {len(found)} files are damaged: {faults}{more}; restore "
            "them from a copy or make them again"
        )


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(directory).parts)
        if path.is_file() and not hidden:
            yield path


def _verified(path: Path, name: str, recorded: dict[str, str]) -> Verified:
    with path.open("rb") as file:
        start = file.read(len(COMPILED))
    checked, fault = "", ""
    try:
        if start == COMPILED:
            checked = "checksums"
            verify_file(str(path))
        elif path.suffix == ".npz":
            checked = "checksums"
            with zipfile.ZipFile(path) as packed:
                wrong = packed.testzip()
            fault = "" if wrong is None else f"damaged: checksum of {escaped(wrong)} differs"
        elif start.startswith(_GZIP):
            checked = "checksum"
            with gzip.open(path, "rb") as text:
                while text.read(1 << 20):
                    pass
        elif path.name in (WEIGHTS_FILE, MODEL_FILE) or path.suffix in (".toml", ".json"):
            checked = "format"
            _parse(path)
        if name in recorded and not fault:
            checked = f"{checked}, digest" if checked else "digest"
            if digest_of(path) != recorded[name]:
                fault = "differs from the file that was written in training"
    except HopefearError as error:
        fault = str(error).removeprefix(f"{path}: ")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        fault = f"damaged: {in_line(error)}"
    return Verified(name, path.stat().st_size, checked, fault)


def _compared_with_run(path: Path, verified: Verified, entry: tuple[int, str]) -> Verified:
    """The result with a comparison with the size and the digest in the state of a run."""
    size, digest = entry
    same = verified.bytes >= size and digest_of(path, size) == digest
    checked = f"{verified.checked}, digest" if verified.checked else "digest"
    fault = "" if same else "differs from the file that was written in tuning"
    return Verified(verified.file, verified.bytes, checked, fault)


def _digests_of_runs(directory: Path) -> dict[str, tuple[int, str]]:
    """Sizes and digests in the states of the runs in a directory, by file name."""
    digests = {}
    for state in directory.rglob(f"{CHECKPOINT}/{RUN_STATE_FILE}"):
        with contextlib.suppress(HopefearError):  # the fault of the state itself
            content = _read_json(state)
            files = content.get("files") if isinstance(content, dict) else None
            run = state.parent.parent.relative_to(directory)
            for name, entry in (files if isinstance(files, dict) else {}).items():
                if isinstance(entry, list) and list(map(type, entry)) == [int, str]:
                    digests[(run / name).as_posix()] = (entry[0], entry[1])
    return digests


def _parse(path: Path) -> None:
    if path.suffix == ".toml":
        load_toml(path)
    elif path.suffix == ".json":
        _read_json(path)
    else:
        from hopefear.base.weights import Weights

        Weights.load(path)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({in_line(error)})") from None


def _recorded_digests(directory: Path) -> dict[str, str]:
    """Digests by file name; a damaged record is reported as the fault of its own file."""
    digests: dict[str, Any] = {}
    state, settings = directory / WORK / STATE_FILE, directory / MODEL_FILE
    try:
        if state.is_file():
            steps = _read_json(state)
            if isinstance(steps, dict):
                for step in steps.values():
                    outputs = step.get("outputs") if isinstance(step, dict) else None
                    digests.update(outputs if isinstance(outputs, dict) else {})
        if settings.is_file():
            table = load_toml(settings).get("digests", {})
            digests.update(table if isinstance(table, dict) else {})
    except HopefearError:
        pass
    # Older versions recorded sizes.
    return {name: value for name, value in digests.items() if isinstance(value, str)}
