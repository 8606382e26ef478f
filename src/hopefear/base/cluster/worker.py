"""A worker of a cluster: a process on some machine that works on the items of jobs.

The driver, the process of the user's command, creates workers and sends them chunks of items. A
worker answers each chunk with an `Answer` and keeps what its jobs opened for the next one.
"""

from __future__ import annotations

import pickle
import platform
import socket
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import ray

import hopefear
from hopefear.base import registry
from hopefear.base.cluster.files import Copies, Files
from hopefear.base.errors import HopefearError, describe
from hopefear.base.executor import Resources, StateLost
from hopefear.base.memory import available_memory
from hopefear.base.temporary import temporary_directory
from hopefear.base.threads import all_cores

Packed = tuple[bytes, list[Any]]  # a pickle, and its arrays as buffers


@dataclass(frozen=True)
class Host:
    """What a worker says of itself and its machine."""

    node: str  # Ray's id of the machine
    name: str
    build: str  # digest of the installed package
    cores: int
    memory: int  # available bytes
    versions: dict[str, str]

    def differences(self, versions: Mapping[str, str], build: str) -> Iterator[str]:
        """Yield what is other than on the machine of the command, so that results would differ."""
        for what, version in versions.items():
            if self.versions.get(what) != version:
                yield (
                    f"{what} {self.versions.get(what)}, but {version} on the machine of the "
                    "command; install the same version on all machines"
                )
        if self.build != build and self.versions.get("hopefear") == versions["hopefear"]:
            yield (
                f"another build of hopefear {versions['hopefear']}; install the same package (a "
                "wheel) on all machines"
            )


@dataclass
class Answer:
    """The answer to a chunk: the results of its first items, and why there are no more."""

    results: list[bytes] = field(default_factory=list)  # pickles
    lost: bool = False  # the state of the next item is not here
    error: BaseException | None = None  # of the next item
    trace: str = ""  # where it was raised
    warnings: list[str] = field(default_factory=list)
    per_item: float = 0.0  # seconds; 0 if it is not known
    cpu_seconds: float = 0.0
    counted: int = 0  # work that the job counted


class WorkerResources(Resources):
    """The resources of a worker."""

    remote = True

    def __init__(self, copies: Copies, folder: Path) -> None:
        """`folder`: the working directory of the command."""
        super().__init__()
        self._copies, self._folder = copies, folder

    def path(self, path: Path) -> Path:
        return self._copies.path(self._folder / path)


class Worker:
    """The actor; `crew.py` creates it and calls its methods from another process."""

    def __init__(
        self, folder: str, shared: str | None, plugins: Sequence[tuple[str, bytes]]
    ) -> None:
        """`shared`: the folder for copies of files; `plugins`: their paths and contents."""
        self._copies = Copies(None if shared is None else Path(shared))
        self._resources = WorkerResources(self._copies, Path(folder))
        self._job: tuple[int, Any] | None = None  # number and value of the latest job
        self._chunk = self._counted = 0
        self._failure: BaseException | None = None
        self._names: dict[str, str] = {}
        try:
            self._names = _load_plugins(plugins)
        except HopefearError as error:
            self._failure = error

    def host(self) -> Host:
        """Describe the worker's machine."""
        return Host(
            node=ray.get_runtime_context().get_node_id(),
            name=socket.gethostname(),
            build=build_digest(),
            cores=all_cores(),
            memory=available_memory(),
            versions=versions(),
        )

    def seen(self, folder: str, names: Sequence[str]) -> list[str]:
        """Return which of these names a folder has on this machine."""
        return [name for name in names if (Path(folder) / name).exists()]

    def put_mark(self, folder: str, name: str) -> str:
        """Write an empty file; return what is wrong, if anything."""
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).touch()
        except OSError as error:
            return error.strerror or describe(error)
        return ""

    def remove_mark(self, folder: str, name: str) -> None:
        """Remove the file of `put_mark`."""
        (Path(folder) / name).unlink(missing_ok=True)

    def missing(self, files: Sequence[Files]) -> tuple[list[tuple[int, str]], dict[str, str]]:
        """Return which files this machine lacks, as `Copies.missing` does, and where others are."""
        return self._copies.missing(files), self._copies.places

    def places(self, places: Mapping[str, str]) -> None:
        """Note where this machine has files, as another of its workers found out."""
        self._copies.places.update(places)

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
        cpu = time.process_time()
        self._chunk, self._counted = chunk, 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default", UserWarning)
            self._work(answer, job, packed, items)
        answer.warnings = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        answer.cpu_seconds = time.process_time() - cpu
        answer.counted = self._counted
        return answer

    def _work(self, answer: Answer, job: int, packed: Any, items: bytes) -> None:
        try:
            if self._failure is not None:
                raise self._failure
            resources = self._resources.counting(self._count)
            begin, alone = time.monotonic(), 0
            if self._job is None or self._job[0] != job:
                self._job = None
                main, buffers = ray.get(packed[0])
                self._job = job, pickle.loads(main, buffers=buffers)
                alone = 1  # the first item's time has that of opening the job
            for result in self._job[1].run(resources, pickle.loads(items), 1):
                answer.results.append(pickle.dumps(result, protocol=5))
                if len(answer.results) == alone:
                    begin = time.monotonic()
            if len(answer.results) > alone:
                answer.per_item = (time.monotonic() - begin) / (len(answer.results) - alone)
        except StateLost:
            answer.lost = True
        except BaseException as error:
            answer.error, answer.trace = sendable(error, self._names), traceback.format_exc()

    @ray.method(concurrency_group="progress")
    def counted(self) -> tuple[int, int]:
        """Return the number of the latest chunk and the work counted in it so far."""
        return self._chunk, self._counted

    def _count(self, count: int) -> None:
        self._counted += count


def _load_plugins(plugins: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """Load plugins from copies, which are removed then; return their paths -> the original ones."""
    names: dict[str, str] = {}
    if not plugins:
        return names
    with temporary_directory("hopefear-plugins-") as folder:
        for number, (name, content) in enumerate(plugins):
            path = folder / str(number) / Path(name).name
            path.parent.mkdir()
            path.write_bytes(content)
            names[str(path)] = name
            try:
                registry.load_plugin(path)
            except HopefearError as error:
                raise _renamed(error, names) from None
    return names


def _renamed(error: HopefearError, names: Mapping[str, str]) -> HopefearError:
    """Return the error with the names of the original files."""
    text = str(error)
    for here, there in names.items():
        text = text.replace(here, there)
    return type(error)(text)


def sendable(error: BaseException, names: Mapping[str, str]) -> BaseException:
    """Return the error as one that any process can read; `names`: of files, here -> there."""
    place = registry.place_in_plugin(error)
    if place and not isinstance(error, HopefearError):
        return _renamed(HopefearError(f"{place}: plugin fails with {describe(error)}"), names)
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
    return digest.hexdigest()[:16]
