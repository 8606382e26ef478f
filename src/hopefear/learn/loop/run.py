"""The run directory: the files of a tuning run, from which a killed run resumes.

config.toml         everything needed to repeat the run, with a signature
iterations/00.tsv   the weights of each iteration, 00 for the initial ones (.bin if there are many)
metrics.jsonl       a line for each iteration: scores, seconds, warnings
weights.tsv         the chosen weights
checkpoint/         state.json, the tuner's state, the pool (removed at the end of the run)

Every file is written atomically. `state.json` is written last in each phase and determines the
files that belong to it, so that a run killed at any moment resumes after the last finished phase.
It has digests of these files (`checkpoint.py`): a damaged one is an error.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from hopefear import __version__
from hopefear.base.config import load_toml
from hopefear.base.errors import InputError, OptionError, in_line
from hopefear.base.files import (
    atomic_path,
    check_directory,
    locked,
    open_output,
    open_text,
    refuse_devices,
    write_text,
)
from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.loop.checkpoint import DIGEST, Digests, State, check_state, digest_of_state
from hopefear.learn.pool.arrays import damaged, load_arrays

CONFIG_FILE = "config.toml"
METRICS_FILE = "metrics.jsonl"
WEIGHTS_FILE = "weights.tsv"
ITERATIONS = "iterations"
CHECKPOINT = "checkpoint"
STATE_FILE = "state.json"
LOCK_FILE = "lock"
#: Tables of the configuration that may differ in a resumed run, since they do not change the
#: result. Files may have moved; their contents are compared.
FREE = ("resources", "files")
#: More weights than this are stored in binary form.
TEXT_LIMIT = 100_000

Record = dict[str, Any]
_TABLES = ("tuner", "metric", "loop", "system", "files", "contents")  # of config.toml
_INTEGERS = ("run", "iteration", "candidates", "active_features")
_NUMBERS = (
    *("score", "bleu", "heldout_score", "length_ratio", "objective", "change"),
    *("decode_seconds", "optimise_seconds"),
)
# The types of values of metrics.jsonl that are displayed.
_METRICS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(_INTEGERS, (int, "an integer")),
    **dict.fromkeys(_NUMBERS, (int | float, "a number")),
    **dict.fromkeys(("warnings", "mean_of"), (list, "a list")),
}
_LARGEST = 1e300  # limit of numbers; also comparable with integers of any length


class RunDirectory:
    """The directory of one run; `prepare` creates or resumes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = path / CHECKPOINT
        self._digests = Digests(path)

    def prepare(self, config: Mapping[str, Any], *, resume: bool) -> None:
        """Create the directory with this configuration, or with `resume` check the existing one."""
        prepare_directory(self.path, config, resume=resume, folders=(CHECKPOINT, ITERATIONS))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory against other processes and remove unfinished files of killed runs.

        Only under the lock is it certain that unfinished files do not belong to a running process.
        """
        refusal = f"{self.path}: another process is tuning in it; wait for it or stop it"
        with locked(self.checkpoint / LOCK_FILE, refusal):
            for folder in (self.path, self.path / ITERATIONS, self.checkpoint, self.pool):
                sweep(folder)
            yield

    # -- weights --

    def weights_path(self, iteration: int) -> Path:
        """Return the path of the weights of an iteration, or of the text file to be written."""
        text = self.path / ITERATIONS / f"{iteration:02d}.tsv"
        binary = text.with_suffix(".bin")
        return binary if binary.is_file() and not text.is_file() else text

    def save_weights(self, iteration: int, weights: Weights) -> Weights:
        """Write weights and return them as a resumed run would load them."""
        path = self.path / ITERATIONS / f"{iteration:02d}.tsv"
        other = path.with_suffix(".bin")
        binary = len(weights) > TEXT_LIMIT
        if binary:
            path, other = other, path
        weights.save(path)
        other.unlink(missing_ok=True)
        return weights if binary else Weights.load(path)  # text is rounded, the binary form is not

    def load_weights(self, iteration: int, names: FeatureNames | None = None) -> Weights:
        """Return the weights of an iteration, with `names` as their table of names if given."""
        return Weights.load(self.weights_path(iteration), names=True if names is None else names)

    def choose(self, weights: Weights) -> None:
        """Write these weights as the result of the run."""
        weights.save(self.path / WEIGHTS_FILE)

    # -- the state --

    @property
    def state_path(self) -> Path:
        """The file of the state after the last finished phase."""
        return self.checkpoint / STATE_FILE

    def read_state(self, *, resume: bool = False) -> State | None:
        """Return the state after the last finished phase, or None if there is none.

        With `resume` the state must be complete, and the files that it lists are compared with
        their digests.
        """
        path = self.state_path
        if not path.is_file():
            return None
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise damaged(path, "the state of a run", error) from None
        state = check_state(path, state, resume=resume)
        if resume:
            self._digests.check(path, state.get("files", {}))
        return state

    def write_state(
        self, state: Mapping[str, Any], records: Sequence[Record], files: Iterable[Path] = ()
    ) -> None:
        """Write the state at the end of a phase, and all records of the metrics.

        `files` are those that a resumed run reads; the state has their digests.
        """
        write_metrics(self.path / METRICS_FILE, records)
        # As it will be read: JSON has no tuples, and keys are strings.
        content = json.loads(
            json.dumps({**state, "files": self._digests.of(files), "records": list(records)})
        )
        with write_text(self.state_path) as file:
            json.dump({**content, DIGEST: digest_of_state(content)}, file, indent=1)

    def save_tuner_state(self, iteration: int, state: Mapping[str, Any]) -> None:
        """Write the state of a tuner, or of the loop of an online tuner."""
        _save_state(self.tuner_state_path(iteration), state)

    def load_tuner_state(self, iteration: int) -> dict[str, Any]:
        """Return the state that `save_tuner_state` wrote."""
        return _load_state(self.tuner_state_path(iteration))

    def tuner_state_path(self, iteration: int) -> Path:
        """Return the path of the state of a tuner."""
        return self.checkpoint / f"tuner-{iteration:02d}.npz"

    def save_learner(self, iteration: int, learner: int, state: Mapping[str, Any]) -> None:
        """Write the state of one of the learners of an online tuner."""
        path = self.learner_path(iteration, learner)
        path.parent.mkdir(exist_ok=True)
        _save_state(path, state)

    def load_learner(self, iteration: int, learner: int) -> dict[str, Any]:
        """Return the state that `save_learner` wrote."""
        return _load_state(self.learner_path(iteration, learner))

    def learner_path(self, iteration: int, learner: int) -> Path:
        """Return the path of the state of a learner."""
        return self.checkpoint / f"learners-{iteration:02d}" / f"{learner:03d}.npz"

    def tidy(self, iteration: int) -> None:
        """Remove the states of tuners and learners of other iterations."""
        for path in self.checkpoint.glob("tuner-*.npz"):
            if path != self.tuner_state_path(iteration):
                path.unlink(missing_ok=True)
        for path in self.checkpoint.glob("learners-*"):
            if path != self.learner_path(iteration, 0).parent:
                shutil.rmtree(path, ignore_errors=True)

    def drop_pool(self) -> None:
        """Remove the pool at the end of a run."""
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
    """Create the directory of a run, or with `resume` check the existing one.

    An existing run must have the same configuration, except for the tables in FREE.
    """
    check_directory(path)
    settings = path / CONFIG_FILE
    entries = list(path.iterdir()) if path.is_dir() else []
    if settings.is_file():
        if not resume:
            raise OptionError(
                f"{path}: has a run already; --resume continues it, or give a new directory"
            )
        _check_same(settings, load_toml(settings), complete(config))
    elif any(entry.name not in folders and not _temporary(entry) for entry in entries):
        raise OptionError(f"{path}: is neither empty nor a run; give a new directory")
    refuse_devices(path)
    for folder in (path, *(path / name for name in folders)):
        folder.mkdir(parents=True, exist_ok=True)
    if not settings.is_file():
        write_config(settings, config)


def complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the version, and a signature of all tables but FREE."""
    settings = {"version": __version__, **config}
    settings.pop("signature", None)
    compared = {key: value for key, value in settings.items() if key not in FREE}
    digest = hashlib.sha256(json.dumps(compared, sort_keys=True, default=str).encode())
    return {"signature": digest.hexdigest()[:16], **settings}


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a configuration, completed with version and signature."""
    with open_output(path) as file:
        tomli_w.dump(complete(config), file)


def read_config(path: Path) -> dict[str, Any]:
    """Return the configuration of an existing run; checks the tables that reports display."""
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


def _check_same(place: Path, existing: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    old, new = dict(flat(existing)), dict(flat(current))
    for key in [*new, *old]:
        if key == "signature" or key.split(".")[0] in FREE:
            continue
        if key not in old and key.startswith("system.model."):
            continue  # a file of the model that older versions did not compare
        if old.get(key) != new.get(key):
            raise OptionError(
                f"{place}: this run was made with {key} = {_shown(old.get(key))}, now it is "
                f"{_shown(new.get(key))}; --resume needs the same, or give a new directory"
            )


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys and values of a configuration."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _shown(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, default=str, ensure_ascii=False)


# -- metrics --


def write_metrics(path: Path, records: Sequence[Record]) -> None:
    """Write records as JSON objects, one per line."""
    with write_text(path) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_metrics(path: Path) -> list[Record]:
    """Return the records of a metrics.jsonl file."""
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


# -- helpers --


def _save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state as an .npz file of its arrays, with the rest as JSON."""
    arrays: dict[str, Any] = {}
    plain = _without_arrays(dict(state), arrays)
    arrays["state"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def _load_state(path: Path) -> dict[str, Any]:
    arrays = load_arrays(path, "the state of a tuner")
    try:
        plain = json.loads(arrays["state"].tobytes())
        return dict(_with_arrays(plain, arrays))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged(path, "the state of a tuner", error) from None


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
    """Remove unfinished files of killed processes from a folder (`base/files.py`)."""
    for entry in folder.iterdir():
        if _temporary(entry):
            entry.unlink(missing_ok=True)


def digest_of_weights(weights: Weights) -> str:
    """Return a hash of weights, independent of their file format."""
    vector = weights.vector()
    return hashlib.sha256(vector.ids.tobytes() + vector.values.tobytes()).hexdigest()[:16]
