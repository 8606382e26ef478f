"""Jobs for tests of executors; in a module of its own, which workers of a cluster import."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hopefear._engine import poll_interrupt

from hopefear.base.errors import InputError
from hopefear.base.executor import Folder, Job, Resources, StateLost


@dataclass
class Square(Job[int, int]):
    """Squares numbers; counts one unit of work for each."""

    seconds: float = 0.0

    def open(self, resources: Resources) -> Callable[[int], int]:
        def square(n: int) -> int:
            time.sleep(self.seconds)
            resources.advance(1)
            return n * n

        return square


@dataclass
class Digits(Job[int, bytes]):
    """Draws numbers with a generator of the item's own, as a decoder's work depends on its item."""

    table: np.ndarray = field(default_factory=lambda: np.arange(10_000, dtype=np.float64))
    seconds: float = 0.0

    def open(self, resources: Resources) -> Callable[[int], bytes]:
        def digits(n: int) -> bytes:
            time.sleep(self.seconds)
            resources.advance(1)
            random = np.random.default_rng(n)
            drawn: bytes = (random.choice(self.table, 20) * random.random(20)).tobytes()
            return drawn

        return digits


@dataclass
class Fails(Job[int, int]):
    """Raises an error for some items."""

    errors: dict[int, str]

    def open(self, resources: Resources) -> Callable[[int], int]:
        return self.fail

    def fail(self, n: int) -> int:
        kind = self.errors.get(n)
        if kind == "input":
            raise InputError(f"in.txt:{n}: bad line; mend it")
        if kind == "strange":
            raise StrangeError(1, 2)
        if kind == "exit":
            raise SystemExit(3)
        if kind == "divide":
            return n // 0
        if kind == "result":
            return threading.Lock()  # type: ignore[return-value]
        if kind == "warn":
            warnings.warn("a number that is odd", stacklevel=2)
        return n


class StrangeError(Exception):
    """Cannot be pickled and read again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@dataclass
class Kills(Job[int, int]):
    """Kills its worker at some items: each time, or once if there is a folder of marks."""

    items: frozenset[int]
    marks: Path | None = None

    def open(self, resources: Resources) -> Callable[[int], int]:
        def work(n: int) -> int:
            resources.advance(1)
            if n in self.items and (self.marks is None or _mark(self.marks / str(n))):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.002)
            return -n

        return work


def _mark(path: Path) -> bool:
    """Whether this is the first call."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@dataclass
class Learner:
    """The state of a learner and the pass that it is to make."""

    number: int
    step: int
    total: int | None = None  # None: kept where the last pass was made


@dataclass
class Passes(Job[Learner, tuple[int, int, bool, int]]):
    """Continues a sum: number of the learner, sum, whether the state was sent, process."""

    def open(self, resources: Resources) -> Callable[[Learner], tuple[int, int, bool, int]]:
        states: dict[int, tuple[int, int]] = resources.only("learners", "test", dict)

        def learn(learner: Learner) -> tuple[int, int, bool, int]:
            sent = learner.total is not None
            if learner.total is not None:
                states[learner.number] = learner.step, learner.total
            step, total = states.get(learner.number, (-1, 0))
            if step != learner.step:
                raise StateLost
            total = 31 * total + learner.number
            states[learner.number] = step + 1, total
            return learner.number, total, sent, os.getpid()

        return learn


@dataclass
class Reads(Job[str, tuple[str, str]]):
    """Reads a file of a folder; says where it was."""

    folder: Path
    names: tuple[str, ...]

    def files(self) -> Iterable[Path | Folder]:
        return [Folder(self.folder, self.names)]

    def open(self, resources: Resources) -> Callable[[str], tuple[str, str]]:
        here = resources.path(self.folder)

        def read(name: str) -> tuple[str, str]:
            return (here / name).read_text("utf-8"), str(here)

        return read


@dataclass
class Process(Job[int, int]):
    """Says which process works on an item."""

    seconds: float = 0.0

    def open(self, resources: Resources) -> Callable[[int], int]:
        def work(n: int) -> int:
            time.sleep(self.seconds)
            return os.getpid()

        return work


@dataclass
class Endless(Job[int, int]):
    """Leaves its process's number in a folder, and works until it is killed."""

    folder: Path

    def open(self, resources: Resources) -> Callable[[int], int]:
        def work(n: int) -> int:
            (self.folder / str(os.getpid())).touch()
            while True:
                time.sleep(0.02)
                if not resources.remote:
                    poll_interrupt()

        return work


@dataclass
class Large(Job[int, bytes]):
    """Returns many bytes; the first item is late."""

    size: int

    def open(self, resources: Resources) -> Callable[[int], bytes]:
        def large(n: int) -> bytes:
            time.sleep(0 if n else 1.0)
            return bytes([n]) * self.size

        return large
