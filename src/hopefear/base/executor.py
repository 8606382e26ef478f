"""Executors: one job over many items, on the threads of this process or the machines of a cluster.

    class Length(Job[str, int]):
        def open(self, resources): return len

    with Threads(2) as executor:
        for length in executor.map(Length(), lines): ...       # in the order of the lines

A job describes work so that every process can do it: a dataclass of paths, options and numbers,
whose `open` loads what the work needs (a model, a text) and returns the function to apply to each
item. An executor opens a job in each process, there perhaps several times: what takes long to make
is kept in `Resources`. Results come in the order of the items and depend neither on the number of
threads nor on that of machines, because an item's result depends on nothing but the job and the
item. Jobs, items and results are sent to other processes as pickles, so their classes and functions
are those of modules.

An item may also continue what an earlier item left in the process: the next pass of a learner,
whose state is long to send. Then `place` names the process to prefer, and an item that comes to a
process without that state raises `StateLost` and is sent again, with its state (`refill`).
`base/cluster/executor.py` is the executor of a Ray cluster, which is imported only when it is used.
"""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from hopefear.base.threads import all_cores, in_order

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


class Folder(NamedTuple):
    """A folder and the files in it that a job reads."""

    root: Path
    members: tuple[str, ...]  #: relative to the root


class StateLost(Exception):  # noqa: N818 (a signal, not a fault)
    """Raised for an item whose state is not in this process."""


class Resources:
    """What the jobs of one process share: opened models, the states of learners."""

    #: Whether this process belongs to a cluster, so that results are sent to another one.
    remote = False

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._latest: dict[str, Hashable] = {}  # kind -> key
        self._lock = threading.RLock()
        self.advance: Callable[[int], None] = _ignore  #: counts work done inside an item

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object of a key; `make` it if there is none."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            kept: T = self._kept[key]
            return kept

    def only(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object of a key as `get` does; forget that of any other key of the kind."""
        with self._lock:
            if self._latest.get(kind, key) != key:
                self._kept.pop((kind, self._latest[kind]), None)
            self._latest[kind] = key
            return self.get((kind, key), make)

    def path(self, path: Path) -> Path:
        """Return where this process finds a file or folder that a job lists in `files`."""
        return path

    def counting(self, advance: Callable[[int], None] | None) -> Resources:
        """Return the same resources for another call, which counts its work with `advance`."""
        other = copy.copy(self)
        other.advance = advance or _ignore
        return other


class Job(ABC, Generic[A, B]):
    """Work to do for each of many items; see the module. Subclasses are dataclasses."""

    @abstractmethod
    def open(self, resources: Resources) -> Callable[[A], B]:
        """Load what the work needs and return the function of an item. Threads may share it."""

    def files(self) -> Iterable[Path | Folder]:
        """Return the files and folders that `open` and the function read (`Resources.path`)."""
        return ()

    def run(self, resources: Resources, items: Iterable[A], threads: int) -> Iterator[B]:
        """Yield the results of items in their order; some jobs do better than one by one."""
        yield from in_order(self.open(resources), items, threads)


class Executor(ABC):
    """Runs jobs. A context manager: its end stops all that it started."""

    threads: int  #: threads of this process, for work that is not a job
    resources: Resources  #: of this process
    remote = False  #: whether jobs run in other processes
    cpu_seconds = 0.0  #: CPU time that jobs took in other processes

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of items that are worked on at the same time."""

    @abstractmethod
    def map(
        self,
        job: Job[A, B],
        items: Iterable[A],
        *,
        place: Callable[[A], int] | None = None,
        refill: Callable[[A], A] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[B]:
        """Yield the result of every item, in order, as soon as it and those before it are there.

        `place`: items of the same number go to the same process where that is possible; `refill`:
        see the module; `advance`: called with the work that jobs count (`Resources.advance`), with
        a negative number if that work is lost with a machine and will be done again.

        Items are read ahead by another thread unless they are a sequence. An executor runs one call
        at a time; one that is not read to its end is closed with the generator.
        """

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027
        """Stop the processes that were started."""


class Threads(Executor):
    """Runs jobs on threads of this process."""

    def __init__(self, threads: int = 1) -> None:
        """`threads`: their number (0: all cores)."""
        self.threads = threads or all_cores()
        self.resources = Resources()

    @property
    def workers(self) -> int:
        return self.threads

    def map(
        self,
        job: Job[A, B],
        items: Iterable[A],
        *,
        place: Callable[[A], int] | None = None,
        refill: Callable[[A], A] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[B]:
        resources = self.resources.counting(None if advance is None else _locked(advance))
        if refill is None:
            yield from job.run(resources, items, self.threads)
            return
        function = job.open(resources)

        def with_state(item: A) -> B:
            try:
                return function(item)
            except StateLost:
                return function(refill(item))

        yield from in_order(with_state, items, self.threads)


def _ignore(count: int) -> None:
    """Count nothing."""


def _locked(advance: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that several threads may call."""
    lock = threading.Lock()

    def locked(count: int) -> None:
        with lock:
            advance(count)

    return locked
