"""A worker of a cluster: a process on some machine that works on the items of jobs.

The driver, the process of the user's command, creates workers and sends them chunks of items. A
worker answers each chunk with an `Answer` and keeps what its jobs opened for the next one.
"""

from __future__ import annotations

import pickle
import platform
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray

import hopefear
from hopefear.base import registry
from hopefear.base.cluster.files import Copies, Files
from hopefear.base.errors import HopefearError, describe
from hopefear.base.executor import Resources, StateLost
from hopefear.base.memory import available_memory

Packed = tuple[bytes, list[Any]]  # a pickle, and its arrays as buffers


@dataclass(frozen=True)
class Host:
    """What a worker says of itself and its machine."""

    node: str  # Ray's id of the machine
    name: str
    build: str  # digest of the installed package
    memory: int  # available bytes
    versions: dict[str, str]


@dataclass
class Answer:
    """The answer to a chunk: the results of its first items, and why there are no more."""

    results: list[bytes] = field(default_factory=list)  # pickles
    lost: bool = False  # the state of the next item is not here
    error: BaseException | None = None  # of the next item
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    counted: int = 0  # work that the job counted


class WorkerResources(Resources):
    """The resources of a worker."""

    remote = True

    def __init__(self, copies: Copies) -> None:
        super().__init__()
        self._copies = copies

    def path(self, path: Path) -> Path:
        return self._copies.path(path.absolute())


class Worker:
    """The actor; `executor.py` creates it and calls its methods from another process."""

    def __init__(self, shared: str | None, plugins: Sequence[tuple[str, bytes]]) -> None:
        """`shared`: the folder for copies of files; `plugins`: names and contents of plugins."""
        self._copies = Copies(None if shared is None else Path(shared))
        self._resources: Resources = WorkerResources(self._copies)
        self._job: tuple[int, Any] | None = None  # number and value of the latest job
        self._chunk = self._counted = 0
        self._failure: HopefearError | None = None
        self._folder = TemporaryDirectory(prefix="hopefear-plugins-")
        try:
            for name, content in plugins:
                path = Path(self._folder.name) / name
                path.write_bytes(content)
                registry.load_plugin(path)
        except HopefearError as error:
            self._failure = error

    def host(self) -> Host:
        """Describe the worker's machine."""
        return Host(
            node=ray.get_runtime_context().get_node_id(),
            name=socket.gethostname(),
            build=build_digest(),
            memory=available_memory(),
            versions=versions(),
        )

    def missing(self, files: Sequence[Files]) -> list[tuple[int, str]]:
        """Return which files this machine lacks, as `Copies.missing` does."""
        return self._copies.missing(files)

    def write(self, entry: Files, number: int, offset: int, block: Any) -> str:
        """Write a block of a file; return what is wrong, if anything."""
        try:
            self._copies.write(entry, number, offset, block)
        except (OSError, HopefearError) as error:
            return describe(error)
        return ""

    def finish(self, entry: Files) -> str:
        """Finish a copy, as `Copies.finish` does."""
        return self._copies.finish(entry)

    def work(self, job: int, packed: Any, chunk: int, items: bytes) -> Answer:
        """Work on a chunk of items with the job of that number."""
        answer = Answer()
        wall, cpu = time.monotonic(), time.process_time()
        self._chunk, self._counted = chunk, 0
        try:
            if self._failure is not None:
                raise self._failure
            if self._job is None or self._job[0] != job:
                self._job = None
                main, buffers = ray.get(packed[0])
                self._job = job, pickle.loads(main, buffers=buffers)
            resources = self._resources.counting(self._count)
            run = self._job[1].run(resources, pickle.loads(items), 1)
            for result in run:
                answer.results.append(pickle.dumps(result, protocol=5))
        except StateLost:
            answer.lost = True
        except BaseException as error:
            answer.error = sendable(error)
        answer.seconds = time.monotonic() - wall
        answer.cpu_seconds = time.process_time() - cpu
        answer.counted = self._counted
        return answer

    @ray.method(concurrency_group="progress")
    def counted(self) -> tuple[int, int]:
        """Return the number of the latest chunk and the work counted in it so far."""
        return self._chunk, self._counted

    def _count(self, count: int) -> None:
        self._counted += count


def sendable(error: BaseException) -> BaseException:
    """Return the error as one that any process can read."""
    place = registry.place_in_plugin(error)
    if place and not isinstance(error, HopefearError):
        return HopefearError(f"{place}: plugin fails with {describe(error)}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(describe(error))
    return error


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all machines for equal results."""
    import numpy as np

    return {
        "Python": platform.python_version(),
        "Ray": ray.__version__,
        "hopefear": hopefear.__version__,
        "numpy": np.__version__,
    }


def build_digest() -> str:
    """Return a digest of the installed package, its engine included."""
    digest = sha256()
    folder = Path(hopefear.__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so", ".toml"):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    digest.update(sys.version.encode())
    return digest.hexdigest()[:16]
