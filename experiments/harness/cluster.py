"""The tasks of a study on the machines of a cluster, one for each worker.

The folder of models and runs (--out), the data and this repository are in folders that all machines
share, at the same path; every task looks for a mark in --out before it begins. What a killed
command finished is there when it is called again, as without a cluster.
"""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.calls import Calls, OutOfTimeError
from harness.tasks import ModelTask, RunTask
from hopefear.base.errors import InputError
from hopefear.base.executor import Executor, Job, Resources

Task = ModelTask | RunTask


@dataclass
class DoTasks(Job[Task, bool]):
    """Does tasks; False: the time is over."""

    mark: Path
    end: float  # of the time limit, in seconds since the epoch

    def open(self, resources: Resources) -> Callable[[Task], bool]:
        def work(task: Task) -> bool:
            for path in (self.mark, *_inputs(task)):
                if not path.exists():
                    raise InputError(
                        f"machine {platform.node()}: no {path}; put the data (--data) and the "
                        "runs (--out) into folders that all machines share"
                    )
            calls = Calls(minutes=(self.end - time.time()) / 60)
            try:
                if isinstance(task, ModelTask):
                    task.make(calls, threads=1)
                else:
                    task.make(calls)
            except OutOfTimeError:
                return False
            return True

        return work


def do_all(executor: Executor, tasks: Sequence[Task], out: Path, minutes: float) -> bool:
    """Do tasks that do not depend on each other; False: the time is over."""
    began = time.monotonic()
    with _mark(out) as mark:
        job = DoTasks(mark, time.time() + 60 * minutes)
        finished = 0
        # A place for each task, so that no worker gets several at once.
        numbers = {task.path: number for number, task in enumerate(tasks)}
        done = executor.map(job, tasks, place=lambda task: numbers[task.path])
        for task, in_time in zip(tasks, done, strict=True):
            finished += in_time
            if in_time:
                passed = (time.monotonic() - began) / 60
                print(f"{passed:5.1f} min  {finished} of {len(tasks)}: {task.path}", flush=True)
    return finished == len(tasks)


def _inputs(task: Task) -> list[Path]:
    if isinstance(task, ModelTask):
        return list(task.files)
    return [task.model, *task.dev, *task.bitext, task.test]


@contextmanager
def _mark(out: Path) -> Iterator[Path]:
    """A file by which a machine knows that it sees the folder."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f".cluster-{uuid.uuid4().hex}"
    path.touch()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
