"""The steps of training, and those that are finished in a model directory.

`work/steps.json` keeps a digest of what the outputs of each finished step depend on, and digests of
these outputs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.files import digest_of, write_text
from hopefear.model.directory import WORK
from hopefear.model.times import read_times, write_times
from hopefear.model.train_tables import Task

STATE_FILE = "steps.json"


@dataclass(frozen=True)
class TrainingStep:
    """A step of training: its name, its dependencies, its output files and the function to run."""

    name: str
    depends: dict[str, Any]
    outputs: tuple[str, ...]  # relative to the model directory
    work: Callable[[], dict[str, Any]] | None
    # Instead or as well: what to make side by side with the tasks of other steps.
    task: Callable[[], Task] | None = None
    check: Callable[[dict[str, Any]], None] = lambda report: None


class FinishedSteps:
    """The finished steps of a model directory and their times."""

    def __init__(self, directory: Path, order: Sequence[str]) -> None:
        """Take a model directory, and the names of all steps in the order of the file."""
        self.directory, self.work, self.order = directory, directory / WORK, order
        self.steps: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
            steps = json.loads((self.work / STATE_FILE).read_text(encoding="utf-8"))
            self.steps = steps if isinstance(steps, dict) else {}
        self.times = read_times(self.work)
        self._known: dict[str, bool] = {}  # which steps are finished
        self._write()  # marks the directory as a model directory

    def is_finished(self, step: TrainingStep) -> bool:
        """Whether a step was run with the same dependencies and its files are there."""
        if step.name not in self._known:
            done: Any = self.steps.get(step.name)
            self._known[step.name] = (
                bool(done)
                and done["key"] == digest(step.depends)
                and self._has_outputs(step, done["outputs"])
            )
        return self._known[step.name]

    def _has_outputs(self, step: TrainingStep, recorded: Any) -> bool:
        """Whether the step's files are those that it wrote, by digest; older states have sizes."""

        def unchanged(path: Path, mark: str | int) -> bool:
            return path.stat().st_size == mark if isinstance(mark, int) else digest_of(path) == mark

        paths = {name: self.directory / name for name in step.outputs}
        if not isinstance(recorded, dict) or paths.keys() != recorded.keys():
            return False
        return all(
            path.is_file() and unchanged(path, recorded[name]) for name, path in paths.items()
        )

    def report(self, step: TrainingStep) -> dict[str, Any]:
        """Return the report of a finished step, with its times."""
        return {**self.steps[step.name]["report"], **self.times.get(step.name, {})}

    def finish(
        self, step: TrainingStep, report: dict[str, Any], seconds: float, cpu_seconds: float
    ) -> None:
        """Record a step whose files are in the directory."""
        self.times[step.name] = {
            "seconds": round(seconds, 3),
            "cpu_seconds": round(cpu_seconds, 3),
        }
        write_times(self.work, self._in_order(self.times))
        outputs = {name: digest_of(self.directory / name) for name in step.outputs}
        key = digest(step.depends)
        self.steps[step.name] = {
            "key": key,
            "outputs": outputs,
            "report": report,
            "depends": step.depends,  # from which folds can be added later
        }
        self._known[step.name] = True
        self._write()

    def _write(self) -> None:
        with write_text(self.work / STATE_FILE) as file:
            json.dump(self._in_order(self.steps), file, indent=1)

    def _in_order(self, steps: dict[str, Any]) -> dict[str, Any]:
        return {**{name: steps[name] for name in self.order if name in steps}, **steps}


def digest(value: Any) -> str:
    """Return a digest of a value that JSON can hold."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
