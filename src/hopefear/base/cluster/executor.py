"""The executor of a Ray cluster.  [moritz2018ray]

    with ClusterExecutor("10.0.0.1:6379", workers=64) as executor:
        for translated in executor.map(job, lines): ...

The process of the command, the driver, creates workers: processes of one core each, on any machine
of the cluster (`worker.py`). A job is stored once in the cluster's memory, from where each machine
fetches it once. Items are sent in chunks of about a third of a second; a worker always has the next
chunk while it works on one.

Workers may die at any time, with their machine or by themselves. Chunks that were sent to them are
then sent to others, and a new worker takes the place of the dead one where there is a free core. As
results depend on nothing but the job and the item, they are the same. A chunk that three workers in
a row did not survive is an error.
"""

from __future__ import annotations

import itertools
import pickle
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hopefear._engine import StopSign, poll_interrupt
from hopefear.base.cluster.connect import connect, load_ray
from hopefear.base.cluster.files import Digests, Files, blocks
from hopefear.base.errors import HopefearError, InputError, OptionError, in_line
from hopefear.base.executor import Executor, Folder, Job, Resources
from hopefear.base.threads import all_cores

A = TypeVar("A")
B = TypeVar("B")
Tell = Callable[[str], None]

CHUNK_SECONDS = 0.3
MOST_IN_CHUNK = 256
AHEAD = 8  # chunks per worker that may be finished before the first unfinished one
ATTEMPTS = 3  # of a chunk whose worker dies
_TICK = 0.25  # seconds between looks at signals and progress
_START = 120.0  # seconds to wait for the first worker


@dataclass
class Chunk:
    """Consecutive items, and the worker that has them."""

    number: int
    items: list[tuple[int, Any]]  # with their places in the order
    place: int | None = None
    attempts: int = 0
    counted: int = 0  # work counted while it runs


@dataclass
class Member:
    """A worker as the driver sees it."""

    actor: Any
    waiting: Any = None  # for its description, until it is ready
    host: Any = None
    files: set[str] = field(default_factory=set)  # keys of the files that its machine has
    chunks: deque[tuple[Any, Chunk]] = field(default_factory=deque)  # sent, oldest first
    asked: Any = None  # for its progress


class ClusterExecutor(Executor):
    """Runs jobs on the workers of a Ray cluster."""

    remote = True

    def __init__(
        self,
        address: str,
        *,
        workers: int = 0,
        shared_folder: Path | None = None,
        threads: int = 0,
        plugins: Sequence[Path] = (),
        tell: Tell = lambda text: None,
    ) -> None:
        """Connect to the cluster at an address ("auto": see `ClusterOptions`); start workers.

        `workers`: their number (0: the cores of the cluster); `threads`: of this process.
        """
        self.threads = threads or all_cores()
        self.resources = Resources()
        self.tell = tell
        self._ray = load_ray()
        self._shared = None if shared_folder is None else str(shared_folder.absolute())
        self._plugins = [(path.name, path.read_bytes()) for path in plugins]
        self._digests = Digests()
        self._numbers = itertools.count(1)
        self._places: dict[int, Member] = {}  # the worker that had the items of a place last
        self._members: list[Member] = []
        self._died = 0
        self._busy = False
        self.bytes_sent = self.bytes_received = 0
        self._connection = connect(address, workers or all_cores())
        try:
            self._start(workers)
        except BaseException:
            self.close()
            raise

    # -- workers --

    @property
    def workers(self) -> int:
        return self._wanted

    @property
    def hosts(self) -> list[Any]:
        """The descriptions of the workers that are ready."""
        return [member.host for member in self._members if member.host is not None]

    def _start(self, workers: int) -> None:
        from hopefear.base.cluster import worker

        methods = {"progress": 1}
        self._remote_class = self._ray.remote(concurrency_groups=methods)(worker.Worker)
        self._build, self._versions = worker.build_digest(), worker.versions()
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise OptionError("--cluster: the cluster has no cores; add machines with 'ray start'")
        self._wanted = min(workers or cores, cores)
        if workers > cores:
            self.tell(f"the cluster has {cores} cores, so {cores} of {workers} workers are started")
        self._fill()
        limit = time.monotonic() + _START
        while not self._ready():
            if time.monotonic() > limit:
                raise HopefearError(
                    f"--cluster: no worker started in {_START:.0f} seconds; look for other work on "
                    "the cluster with 'ray status', or check it with 'hopefear cluster-check'"
                )
            self._wait([member.waiting for member in self._members])

    def _fill(self) -> None:
        """Start workers in place of those that died."""
        while len(self._members) < self._wanted:
            actor = self._remote_class.options(num_cpus=1, max_restarts=0).remote(
                self._shared, self._plugins
            )
            self._members.append(Member(actor, actor.host.remote()))

    def _ready(self) -> list[Member]:
        """Return the workers that have started; take note of new ones."""
        starting = {m.waiting: m for m in self._members if m.waiting is not None}
        if starting:
            done, _ = self._ray.wait(list(starting), num_returns=len(starting), timeout=0)
            for ref in done:
                member = starting[ref]
                try:
                    member.host = self._ray.get(ref)
                except self._ray.exceptions.RayError as error:
                    self.bury(member, error, starting=True)
                    continue
                member.waiting = None
                self._check(member.host)
        return [member for member in self._members if member.host is not None]

    def _check(self, host: Any) -> None:
        """Raise an error for a machine with other versions, whose results would differ."""
        for what, version in self._versions.items():
            if host.versions.get(what) != version:
                raise HopefearError(
                    f"--cluster: {host.name} has {what} {host.versions.get(what)}, this machine "
                    f"{version}; install the same version on all machines"
                )
        if host.build != self._build:
            raise HopefearError(
                f"--cluster: {host.name} has another build of hopefear "
                f"{self._versions['hopefear']}; install the same package on all machines"
            )

    def bury(self, member: Member, error: Exception, *, starting: bool = False) -> None:
        """Forget a dead worker; a machine that cannot start one is an error."""
        self._members.remove(member)
        self._places = {place: m for place, m in self._places.items() if m is not member}
        self._died += 1
        reason = in_line(error, 400)
        if starting and ("ModuleNotFoundError" in reason or "ImportError" in reason):
            raise HopefearError(
                f"--cluster: a machine cannot load hopefear with the extra 'cluster' ({reason}); "
                "install it there, or check the cluster with 'hopefear cluster-check'"
            ) from None
        if self._died > 3 * self._wanted + 10:
            raise HopefearError(
                f"--cluster: {self._died} workers died ({reason}); check the machines' memory, or "
                "give fewer --workers"
            ) from None

    def _wait(self, refs: Sequence[Any], timeout: float = _TICK) -> list[Any]:
        """Wait until one of the refs is ready; return those that are."""
        poll_interrupt()
        refs = [ref for ref in refs if ref is not None]
        if not refs:
            time.sleep(timeout)
            return []
        done, _ = self._ray.wait(refs, num_returns=1, timeout=timeout)
        if done:
            done, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        return list(done)

    def close(self) -> None:
        """End all workers, and the connection."""
        for member in self._members:
            self._ray.kill(member.actor)
        self._members = []
        self._connection.close()

    # -- files --

    def place_files(self, wanted: Iterable[Path | Folder], members: Sequence[Member]) -> None:
        """Make sure that the machines of workers have the files that a job reads.

        Every worker looks for itself, and remembers where the files are.
        """
        files = [self._digests.describe(what) for what in wanted]
        keys = {entry.key for entry in files}
        new = [member for member in members if not keys <= member.files]
        lacking: dict[int, dict[str, Member]] = {}  # entry -> machine -> one of its workers
        for member, missing in self._ask(new, files):
            for number, reason in missing:
                if self._shared is None:
                    raise InputError(
                        f"machine {member.host.name}: {reason}; put it into a folder that all "
                        "machines share, or give --shared-folder DIR"
                    )
                lacking.setdefault(number, {}).setdefault(member.host.node, member)
        for number, machines in lacking.items():
            self._copy(files[number], list(machines.values()))
        if lacking:
            for member, missing in self._ask(new, files):
                for number, reason in missing:
                    raise InputError(
                        f"machine {member.host.name}: {files[number].root} was copied to "
                        f"{self._shared}, but {reason}"
                    )
        for member in new:
            member.files |= keys

    def _ask(
        self, members: Sequence[Member], files: Sequence[Files]
    ) -> Iterator[tuple[Member, list[tuple[int, str]]]]:
        """Yield the workers that are alive with the numbers of the files they lack."""
        if not files:
            return
        calls = [(member, member.actor.missing.remote(files)) for member in members]
        for member, call in calls:
            try:
                yield member, self._call(call)
            except self._ray.exceptions.RayActorError as error:
                self.bury(member, error)

    def _copy(self, entry: Files, members: Sequence[Member]) -> None:
        for number in range(len(entry.members)):
            for offset, block in blocks(entry.path(number)):
                ref = self._ray.put(np.frombuffer(block, np.uint8))
                self.bytes_sent += len(block)
                calls = [m.actor.write.remote(entry, number, offset, ref) for m in members]
                for member, call in zip(members, calls, strict=True):
                    if wrong := self._call(call):
                        raise InputError(
                            f"machine {member.host.name}: cannot write to --shared-folder "
                            f"{self._shared}: {wrong}"
                        )
        for member in members:
            if wrong := self._call(member.actor.finish.remote(entry)):
                raise InputError(f"machine {member.host.name}: {wrong}")

    def _call(self, ref: Any) -> Any:
        """Return the result of a short call."""
        while not self._wait([ref]):
            pass
        return self._ray.get(ref)

    # -- jobs --

    def map(
        self,
        job: Job[A, B],
        items: Iterable[A],
        *,
        place: Callable[[A], int] | None = None,
        refill: Callable[[A], A] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[B]:
        if self._busy:
            raise RuntimeError("a cluster runs one call of map at a time")
        self._busy = True
        call = _Call(self, job, place, refill, advance)
        source = _Source(items)
        try:
            yield from call.run(source)
        finally:
            self._busy = False
            source.close()
            call.close()

    def live(self) -> list[Member]:
        """Return the workers that can take chunks; start others in place of dead ones."""
        self._fill()
        return self._ready()


class _Call:
    """A call of `map`."""

    def __init__(
        self,
        executor: ClusterExecutor,
        job: Job[Any, Any],
        place: Callable[[Any], int] | None,
        refill: Callable[[Any], Any] | None,
        advance: Callable[[int], None] | None,
    ) -> None:
        self.executor, self.job, self.refill = executor, job, refill
        self.place, self.advance = place, advance
        self.ray = executor._ray
        self.number = next(executor._numbers)
        self.packed = self._pack()
        self.results: dict[int, Any] = {}
        self.queue: deque[Chunk] = deque()  # to be sent
        self.next = self.yielded = 0  # of the next item to read, to yield
        self.size, self.per_item = 1, 0.0
        self.files = list(job.files())
        self.alone = time.monotonic()  # when a worker was there last
        self.looked = time.monotonic()

    def _pack(self) -> Any:
        buffers: list[Any] = []
        main = pickle.dumps(self.job, protocol=5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        self.executor.bytes_sent += len(main) + sum(map(len, arrays))
        return self.ray.put((main, arrays))

    def run(self, source: _Source) -> Iterator[Any]:
        while True:
            members = self._ready()
            self._send(members, source)
            while self.yielded in self.results:
                result = self.results.pop(self.yielded)
                if isinstance(result, _Raised):
                    raise result.error
                self.yielded += 1
                yield result
            sent = {ref: m for m in self.executor._members for ref, _ in m.chunks}
            if not sent and not self.queue and source.ended:
                if source.error is not None:
                    raise source.error
                return
            starting = [m.waiting for m in self.executor._members]
            waits = [m.chunks[0][0] for m in self.executor._members if m.chunks]
            # With nothing to wait for but items: they come at any time, from a pipe for instance.
            idle = any(len(m.chunks) == 0 for m in members) and not source.ended
            for ref in self.executor._wait([*waits, *starting], 0.01 if idle else _TICK):
                if ref in sent:
                    self._take(sent[ref])
            self._look()

    def _ready(self) -> list[Member]:
        """Return the workers that can take chunks."""
        members = self.executor.live()
        if self.files:
            self.executor.place_files(self.files, members)
            members = self.executor.live()
        if members:
            self.alone = time.monotonic()
        elif time.monotonic() - self.alone > _START:
            raise HopefearError(
                f"--cluster: no worker for {_START:.0f} seconds; look at 'ray status', or check "
                "the cluster with 'hopefear cluster-check'"
            )
        return members

    def close(self) -> None:
        """Kill the workers that still work on this call; others start when they are needed."""
        for member in list(self.executor._members):
            if member.chunks:
                self.ray.kill(member.actor)
                self.executor._members.remove(member)
                places = self.executor._places
                self.executor._places = {p: m for p, m in places.items() if m is not member}

    # -- sending --

    def _send(self, members: list[Member], source: _Source) -> None:
        """Give every worker a chunk to work on and one to go on with."""
        for depth in (1, 2):
            for member in members:
                if len(member.chunks) >= depth:
                    continue
                chunk = self._next_chunk(member, members, source)
                if chunk is not None:
                    self._submit(member, chunk)

    def _next_chunk(self, member: Member, members: list[Member], source: _Source) -> Chunk | None:
        places = self.executor._places
        for chunk in self.queue:
            owner = None if chunk.place is None else places.get(chunk.place)
            if owner is None or owner is member or owner not in members:
                self.queue.remove(chunk)
                return chunk
        limit = AHEAD * max(1, len(members)) * self.size
        while self.next - self.yielded < max(limit, len(members) * 2):
            items = source.take(1 if self.place is not None else self.size)
            if not items:
                return None
            numbered = list(enumerate(items, self.next))
            self.next += len(items)
            chunk = Chunk(next(self.executor._numbers), numbered)
            if self.place is None:
                return chunk
            chunk.place = self.place(items[0])
            owner = places.get(chunk.place)
            if owner is None or owner is member or owner not in members:
                return chunk
            self.queue.append(chunk)
        return None

    def _submit(self, member: Member, chunk: Chunk) -> None:
        items = pickle.dumps([item for _, item in chunk.items], protocol=5)
        self.executor.bytes_sent += len(items)
        if chunk.place is not None:
            self.executor._places[chunk.place] = member
        ref = member.actor.work.remote(self.number, [self.packed], chunk.number, items)
        member.chunks.append((ref, chunk))

    # -- receiving --

    def _take(self, member: Member) -> None:
        ref, chunk = member.chunks[0]
        try:
            answer = self.ray.get(ref)
        except self.ray.exceptions.RayActorError as error:
            self._lose(member, error)
            return
        except self.ray.exceptions.RayTaskError as error:  # outside of the job: a fault of ours
            raise RuntimeError(f"a worker failed: {in_line(error, 400)}") from None
        except self.ray.exceptions.ObjectLostError as error:  # died after it had answered
            self._lose(member, error)
            return
        member.chunks.popleft()
        self._count(chunk, answer.counted)
        self.executor.cpu_seconds += answer.cpu_seconds
        for (index, _), result in zip(chunk.items, answer.results, strict=False):
            self.executor.bytes_received += len(result)
            self.results[index] = pickle.loads(result)
        rest = chunk.items[len(answer.results) :]
        if answer.lost:
            assert self.refill is not None, "only items that can be refilled have a state"
            first = (rest[0][0], self.refill(rest[0][1]))
            self.queue.appendleft(
                Chunk(next(self.executor._numbers), [first, *rest[1:]], chunk.place, chunk.attempts)
            )
        elif rest:
            assert answer.error is not None, "a worker answers every item"
            self.results[rest[0][0]] = _Raised(answer.error)
        elif chunk.items:
            self._adapt(answer.seconds / len(chunk.items))

    def _adapt(self, seconds: float) -> None:
        """Choose the size of further chunks by the time that items take."""
        self.per_item = seconds if not self.per_item else 0.7 * self.per_item + 0.3 * seconds
        size = int(CHUNK_SECONDS / max(self.per_item, 1e-6))
        self.size = max(1, min(MOST_IN_CHUNK, size, 4 * self.size))

    def _lose(self, member: Member, error: Exception) -> None:
        """Send the chunks of a dead worker to others."""
        for _, chunk in reversed(member.chunks):
            self._count(chunk, 0)
            chunk.number = next(self.executor._numbers)
            self.queue.appendleft(chunk)
        chunk = member.chunks[0][1] if member.chunks else None
        member.chunks.clear()
        self.executor.bury(member, error)
        if chunk is not None:
            chunk.attempts += 1
            if chunk.attempts >= ATTEMPTS:
                raise HopefearError(
                    f"--cluster: {ATTEMPTS} workers died at the same work ({in_line(error, 300)}); "
                    "check the machines' memory, or give fewer --workers"
                )

    # -- progress --

    def _count(self, chunk: Chunk, counted: int) -> None:
        """Report the work of a chunk; it goes back to 0 if its worker dies."""
        if self.advance is not None and counted != chunk.counted:
            self.advance(counted - chunk.counted)
        chunk.counted = counted

    def _look(self) -> None:
        """Ask the workers how far they are, not more than a thousand times a second in all."""
        members = self.executor._members
        if self.advance is None or time.monotonic() - self.looked < max(_TICK, len(members) / 1000):
            return
        self.looked = time.monotonic()
        for member in members:
            if member.asked is not None:
                done, _ = self.ray.wait([member.asked], timeout=0)
                if not done:
                    continue
                try:
                    number, counted = self.ray.get(member.asked)
                except self.ray.exceptions.RayError:
                    continue  # `_take` will see it
                finally:
                    member.asked = None
                for _, chunk in member.chunks:
                    if chunk.number == number and counted > chunk.counted:
                        self._count(chunk, counted)
            if member.chunks:
                member.asked = member.actor.counted.remote()


@dataclass
class _Raised:
    """The error of an item, raised when it is its turn."""

    error: BaseException


class _Source:
    """The items of a call, read ahead by a thread unless they are in memory."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.ended = False
        self.error: BaseException | None = None
        self._stopped = threading.Event()
        self._sign = StopSign()
        self._ready: queue.Queue[Any] = queue.Queue(maxsize=4096)
        self._memory: Iterator[Any] | None = None
        if isinstance(items, Sequence):
            self._memory = iter(items)
        else:
            threading.Thread(target=self._read, args=(items,), name="reader", daemon=True).start()

    def _read(self, items: Iterable[Any]) -> None:
        self._sign.heed()
        try:
            for item in items:
                self._put((item,))
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, entry: Any) -> None:
        while not self._stopped.is_set():
            try:
                return self._ready.put(entry, timeout=0.5)
            except queue.Full:
                continue

    def take(self, most: int) -> list[Any]:
        """Return up to `most` items that are there already."""
        if self._memory is not None:
            items = list(itertools.islice(self._memory, most))
            self.ended = len(items) < most
            return items
        items = []
        while len(items) < most and not self.ended:
            try:
                entry = self._ready.get_nowait()
            except queue.Empty:
                break
            if isinstance(entry, tuple):
                items.append(entry[0])
            else:
                self.ended, self.error = True, entry
        return items

    def close(self) -> None:
        """Stop reading."""
        self._stopped.set()
        self._sign.set()
