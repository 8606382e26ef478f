"""The run directory: what a tuning run wrote, and where a killed one goes on.

config.toml         everything needed to repeat the run, with a signature
iterations/00.tsv   the weights of each iteration, 00 the ones it started from (.bin if many)
metrics.jsonl       a line for each iteration: scores, seconds, what was noticed
weights.tsv         the chosen weights
checkpoint/         state.json, the tuner's state, the pool; the pool goes when the run is finished

Every file appears as a whole. `state.json` is written last in each phase and names the files that
belong to it, so that a run killed at any moment finds the end of the last finished phase.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from hopefear import __version__
from hopefear.base.config import load_toml
from hopefear.base.errors import InputError, OptionError, in_line
from hopefear.base.files import (
    PathLike,
    atomic_path,
    check_directory,
    locked,
    open_output,
    open_text,
    write_text,
)
from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.pool.arrays import damaged, load_arrays

CONFIG_FILE = "config.toml"
METRICS_FILE = "metrics.jsonl"
WEIGHTS_FILE = "weights.tsv"
ITERATIONS = "iterations"
CHECKPOINT = "checkpoint"
STATE_FILE = "state.json"
LOCK_FILE = "lock"
#: Tables of the configuration in which a resumed run may differ: they change no result. Files may
#: have moved; what is in them is compared.
FREE = ("resources", "files")
#: More weights than this are written in binary form.
TEXT_LIMIT = 100_000

Record = dict[str, Any]
_TABLES = ("tuner", "metric", "loop", "system", "files", "contents")  # of config.toml
_INTEGERS = ("run", "iteration", "candidates", "active_features")
_NUMBERS = (
    *("score", "bleu", "heldout_score", "length_ratio", "objective", "change"),
    *("decode_seconds", "optimise_seconds"),
)
# What is shown of metrics.jsonl, and of what type it must be.
_METRICS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(_INTEGERS, (int, "an integer")),
    **dict.fromkeys(_NUMBERS, (int | float, "a number")),
    **dict.fromkeys(("warnings", "mean_of"), (list, "a list")),
}
_LARGEST = 1e300  # an integer of any length can be compared with it


class RunDirectory:
    """A directory of one run. `prepare` makes it or goes on with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = path / CHECKPOINT

    def prepare(self, config: Mapping[str, Any], *, resume: bool) -> None:
        """A new directory with this configuration, or with `resume` the one that is there."""
        prepare_directory(self.path, config, resume=resume, folders=(CHECKPOINT, ITERATIONS))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out.

        Half-written files of a run that was killed go only now: before, they may be those of one
        that goes on.
        """
        refusal = f"{self.path}: another process is tuning in it; wait for it or stop it"
        with locked(self.checkpoint / LOCK_FILE, refusal):
            for folder in (self.path, self.path / ITERATIONS, self.checkpoint, self.pool):
                sweep(folder)
            yield

    # -- weights --

    def weights_path(self, iteration: int) -> Path:
        """Where the weights of an iteration are, or will be if they are few."""
        text = self.path / ITERATIONS / f"{iteration:02d}.tsv"
        binary = text.with_suffix(".bin")
        return binary if binary.is_file() and not text.is_file() else text

    def save_weights(self, iteration: int, weights: Weights) -> Weights:
        """Write them; returns what a reader finds, so that resuming changes nothing."""
        path = self.path / ITERATIONS / f"{iteration:02d}.tsv"
        other = path.with_suffix(".bin")
        binary = len(weights) > TEXT_LIMIT
        if binary:
            path, other = other, path
        weights.save(path)
        other.unlink(missing_ok=True)
        return weights if binary else Weights.load(path)  # text is rounded, the binary form is not

    def load_weights(self, iteration: int, names: FeatureNames | None = None) -> Weights:
        """`names`: where names are remembered, if not beside these weights."""
        return Weights.load(self.weights_path(iteration), names=True if names is None else names)

    def choose(self, weights: Weights) -> None:
        """Make these weights, of some iteration, the result."""
        weights.save(self.path / WEIGHTS_FILE)

    # -- the state --

    def read_state(self) -> dict[str, Any] | None:
        """What the last finished phase left; None if there was none."""
        path = self.checkpoint / STATE_FILE
        if not path.is_file():
            return None
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise damaged(path, "the state of a run", error) from None
        if not isinstance(state, dict) or not isinstance(state.get("phase"), str):
            raise damaged(path, "the state of a run", 'it has no "phase"')
        return dict(state)

    def write_state(self, state: Mapping[str, Any], records: Sequence[Record]) -> None:
        """End a phase. The metrics are written anew as a whole: no line comes twice."""
        write_metrics(self.path / METRICS_FILE, records)
        with write_text(self.checkpoint / STATE_FILE) as file:
            json.dump({**state, "records": list(records)}, file, indent=1)

    def save_tuner_state(self, iteration: int, state: Mapping[str, Any]) -> None:
        """One .npz with the arrays, and the rest as JSON; that of the iteration before goes."""
        arrays: dict[str, Any] = {}
        plain = _without_arrays(dict(state), arrays)
        arrays["state"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
        with atomic_path(self._tuner_state(iteration)) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    def load_tuner_state(self, iteration: int) -> dict[str, Any]:
        path = self._tuner_state(iteration)
        arrays = load_arrays(path, "the state of a tuner")
        try:
            plain = json.loads(arrays["state"].tobytes())
            return dict(_with_arrays(plain, arrays))
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise damaged(path, "the state of a tuner", error) from None

    def _tuner_state(self, iteration: int) -> Path:
        return self.checkpoint / f"tuner-{iteration:02d}.npz"

    def tidy(self, iteration: int) -> None:
        """Drop the tuner's states of other iterations."""
        for path in self.checkpoint.glob("tuner-*.npz"):
            if path != self._tuner_state(iteration):
                path.unlink(missing_ok=True)

    def drop_pool(self) -> None:
        """The run is finished: nobody needs its pool any more."""
        shutil.rmtree(self.checkpoint / "pool", ignore_errors=True)

    @property
    def pool(self) -> Path:
        """The directory of the pool's files."""
        folder = self.checkpoint / "pool"
        folder.mkdir(exist_ok=True)
        return folder


# -- configuration --


def prepare_directory(
    path: Path, config: Mapping[str, Any], *, resume: bool, folders: Sequence[str] = ()
) -> None:
    """Make the directory of a run, or with `resume` take up the one that is there.

    What is there must have been made with the same configuration, resources aside.
    """
    check_directory(path)
    settings = path / CONFIG_FILE
    there = list(path.iterdir()) if path.is_dir() else []
    if settings.is_file():
        if not resume:
            raise OptionError(
                f"{path}: has a run already; --resume goes on with it, or give a new directory"
            )
        _check_same(settings, load_toml(settings), complete(config))
    elif any(entry.name not in folders and not _temporary(entry) for entry in there):
        raise OptionError(f"{path}: is not empty and no run; give a new directory")
    for folder in (path, *(path / name for name in folders)):
        folder.mkdir(parents=True, exist_ok=True)
    if not settings.is_file():
        write_config(settings, config)


def complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the version of the program and a signature of what counts."""
    settings = {"version": __version__, **config}
    settings.pop("signature", None)
    compared = {key: value for key, value in settings.items() if key not in FREE}
    digest = hashlib.sha256(json.dumps(compared, sort_keys=True, default=str).encode())
    return {"signature": digest.hexdigest()[:16], **settings}


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    with open_output(path) as file:
        tomli_w.dump(complete(config), file)


def read_config(path: Path) -> dict[str, Any]:
    """The configuration of a run that is there, checked as far as those need it who show runs."""
    config = load_toml(path)
    for key in _TABLES:
        if not isinstance(config.get(key, {}), dict):
            raise InputError(f"{path}: {key} is {config[key]!r}, expected a table [{key}]")
    metric = config.get("metric", {"name": "bleu"})
    if not isinstance(metric.get("name"), str):
        raise InputError(f"{path}: metric.name is {metric.get('name')!r}, expected a text")
    for key, value in config.get("files", {}).items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: files.{key} is {value!r}, expected names of files")
    runs = config.get("runs", 1)
    if not isinstance(runs, int) or not 1 <= runs <= 99:
        raise InputError(f"{path}: runs is {runs!r}, expected a number from 1 to 99")
    return config


def _check_same(place: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    old, new = dict(flat(there)), dict(flat(wanted))
    for key in [*new, *old]:
        if key == "signature" or key.split(".")[0] in FREE:
            continue
        if key not in old and key.startswith("system.model."):
            continue  # a file of the model that versions of before did not look at
        if old.get(key) != new.get(key):
            raise OptionError(
                f"{place}: the run there was made with {key} = {_shown(old.get(key))}, now it is "
                f"{_shown(new.get(key))}; --resume needs the same, or give a new directory"
            )


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A configuration as dotted keys."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _shown(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, default=str, ensure_ascii=False)


# -- metrics --


def write_metrics(path: Path, records: Sequence[Record]) -> None:
    """One JSON object per line."""
    with write_text(path) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_metrics(path: Path) -> list[Record]:
    """The lines of metrics.jsonl."""
    records = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = in_line(error)
                raise InputError(f"{path}:{number}: not a JSON object ({why})") from None
            if not isinstance(record, dict):
                raise InputError(f"{path}:{number}: expected a JSON object, found {line[:40]!r}")
            for key, (kind, what) in _METRICS.items():
                value = record.get(key)
                if value is None and key != "iteration":
                    continue
                if not isinstance(value, kind) or not (kind is list or abs(value) < _LARGEST):
                    raise InputError(f"{path}:{number}: {key} is {value!r}, expected {what}")
            records.append(record)
    return records


# -- small things --


def _without_arrays(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.ndarray):
        key = f"array{len(arrays)}"
        arrays[key] = value
        return {"__array__": key}
    if isinstance(value, Mapping):
        return {key: _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"__array__"}:
            return arrays[value["__array__"]]
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    return value


def _temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(".tmp")


def sweep(folder: Path) -> None:
    """Remove what a process that was killed had not finished writing (files.py)."""
    for entry in folder.iterdir():
        if _temporary(entry):
            entry.unlink(missing_ok=True)


def digest_of(path: PathLike) -> str:
    """A fingerprint of a file: all of it, or of a large one its size, beginning and end."""
    whole = 2**26
    digest = hashlib.sha256()
    size = os.stat(path).st_size  # noqa: PTH116 (path may be any path-like)
    with Path(path).open("rb") as file:
        if size <= whole:
            while block := file.read(2**20):
                digest.update(block)
        else:
            digest.update(f"{size}\n".encode())
            digest.update(file.read(2**20))
            file.seek(size - 2**20)
            digest.update(file.read())
    return digest.hexdigest()[:16]


def digest_of_weights(weights: Weights) -> str:
    """A fingerprint of weights, whatever file they come from."""
    vector = weights.vector()
    return hashlib.sha256(vector.ids.tobytes() + vector.values.tobytes()).hexdigest()[:16]
