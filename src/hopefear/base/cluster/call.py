"""A call of `map` on a cluster: chunks of items are sent to workers, results put in order.

Items are sent in chunks of about a third of a second; a worker always has the next chunk while it
works on one. Chunks of a worker that dies are sent to others.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from hopefear.base.cluster.crew import LONGEST_START, TICK, Crew, Member, death
from hopefear.base.cluster.source import Source
from hopefear.base.cluster.worker import Answer
from hopefear.base.errors import HopefearError, in_line
from hopefear.base.executor import Job

CHUNK_SECONDS = 0.3  # of work, more with hundreds of workers: the driver sends at most …
CHUNKS_PER_SECOND = 500
MOST_IN_CHUNK = 256
AHEAD = 8  # chunks per worker that may be finished before the first unfinished one
ATTEMPTS = 3  # at an item whose worker dies
LARGE = 1 << 20  # bytes of a result that waits in a file for its turn
_POLL = (0.01, 0.1)  # seconds between looks for new items, and after a while
_GRACE = 1.0  # seconds to wait for chunks whose results nobody wants
_numbers = itertools.count(1)


@dataclass
class Traffic:
    """What was moved between the driver and the workers, and done by these."""

    bytes_sent: int = 0
    bytes_received: int = 0
    chunks: int = 0
    cpu_seconds: float = 0.0


class Places:
    """Which worker had the items of a place last; places are spread evenly."""

    def __init__(self) -> None:
        self._owners: dict[int, Member] = {}

    def choose(self, place: int, members: list[Member]) -> Member:
        """Return the worker for an item."""
        alive = {id(member) for member in members}
        load = Counter(id(m) for p, m in self._owners.items() if p != place and id(m) in alive)
        owner = self._owners.get(place)
        least = min(load[id(member)] for member in members)
        if owner is None or id(owner) not in alive or load[id(owner)] > least + 1:
            owner = next(member for member in members if load[id(member)] == least)
            self._owners[place] = owner
        return owner


@dataclass(eq=False)
class Chunk:
    """Consecutive items."""

    items: list[tuple[int, Any]]  # with their places in the order
    place: int | None = None
    attempts: int = 0
    number: int = 0  # of the last time that it was sent
    counted: int = 0  # work counted while it runs


class Call:
    """See the module."""

    def __init__(
        self,
        ray: Any,
        crew: Crew,
        traffic: Traffic,
        job: Job[Any, Any],
        source: Source,
        *,
        places: Places,
        place: Callable[[Any], int] | None,
        refill: Callable[[Any], Any] | None,
        advance: Callable[[int], None] | None,
    ) -> None:
        self.ray, self.crew, self.traffic, self.source = ray, crew, traffic, source
        self.places, self.place, self.refill, self.advance = places, place, refill, advance
        self.number = next(_numbers)
        self.files = crew.describe(job.files())
        self.packed = self._pack(job)
        self.results: dict[int, Any] = {}
        self.early = Early()
        self.queue: deque[Chunk] = deque()  # to be sent
        self.next = self.yielded = 0  # of the next item to read, to yield
        self.size, self.per_item = 1, 0.0
        self.warned: set[str] = set()
        now = time.monotonic()
        self.alone = self.looked = self.came = now  # last worker, look at progress, item

    def _pack(self, job: Job[Any, Any]) -> Any:
        buffers: list[Any] = []
        main = pickle.dumps(job, protocol=5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        self.traffic.bytes_sent += len(main) + sum(map(len, arrays))
        return self.ray.put((main, arrays))

    def run(self) -> Iterator[Any]:
        """Yield the results in the order of the items."""
        while True:
            members = self._members()
            self._send(members)
            while self.yielded in self.results:
                result = self.results.pop(self.yielded)
                if isinstance(result, _Raised):
                    raise result.error from result.cause
                if isinstance(result, bytes | Stretch):
                    result = pickle.loads(self.early.load(result))
                self.yielded += 1
                yield result
            busy = {m.chunks[0][0]: m for m in self.crew.members if m.chunks}
            if not busy and not self.queue and self.source.ended:
                if self.source.error is not None:
                    raise self.source.error
                return
            starting = [m.waiting for m in self.crew.members]
            for ref in self.crew.wait([*busy, *starting], self._patience(members)):
                if ref in busy:
                    self._take(busy[ref])
            self._look()

    def _patience(self, members: list[Member]) -> float:
        """Seconds to wait: few if items may come, from a pipe for instance, for idle workers."""
        if self.source.ended or all(member.chunks for member in members):
            return TICK
        return _POLL[time.monotonic() - self.came > 1.0]

    def _members(self) -> list[Member]:
        """Return the workers that can take chunks."""
        members = self.crew.with_files(self.files, self.crew.live())
        if members:
            self.alone = time.monotonic()
        elif time.monotonic() - self.alone > LONGEST_START:
            raise HopefearError(
                f"--cluster: no worker for {LONGEST_START:.0f} seconds; look at 'ray status', or "
                "check the cluster with 'hopefear cluster-check'"
            )
        return members

    def close(self, gently: bool) -> None:
        """Kill the workers that still work on this call; others start when they are needed."""
        self.early.close()
        busy = [member for member in self.crew.members if member.chunks]
        if gently and busy:
            refs = [ref for member in busy for ref, _ in member.chunks]
            self.ray.wait(refs, num_returns=len(refs), timeout=_GRACE, fetch_local=False)
        for member in busy:
            refs = [ref for ref, _ in member.chunks]
            ready, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
            member.chunks.clear()
            if not gently or len(ready) < len(refs):
                self.crew.remove(member)

    # -- sending --

    def _send(self, members: list[Member]) -> None:
        """Give every worker a chunk to work on and one to go on with."""
        self.source.ahead = max(16, 2 * self.size * (len(members) + 1))
        for depth in (1, 2):
            for member in members:
                if len(member.chunks) >= depth or any(c.attempts for _, c in member.chunks):
                    continue  # nothing follows a chunk whose worker died: which one it was is clear
                if chunk := self._next_chunk(member, members):
                    self._submit(member, chunk)

    def _next_chunk(self, member: Member, members: list[Member]) -> Chunk | None:
        for at, chunk in enumerate(self.queue):
            if chunk.attempts and member.chunks:
                continue
            if chunk.place is None or self.places.choose(chunk.place, members) is member:
                del self.queue[at]
                return chunk
        limit = max(AHEAD * self.size, 2) * len(members)
        while self.next - self.yielded < limit:
            items = self.source.take(1 if self.place is not None else self.size)
            if not items:
                return None
            self.came = time.monotonic()
            chunk = Chunk(list(enumerate(items, self.next)))
            self.next += len(items)
            if self.place is not None:
                chunk.place = self.place(items[0])
                if self.places.choose(chunk.place, members) is not member:
                    self.queue.append(chunk)
                    continue
            return chunk
        return None

    def _submit(self, member: Member, chunk: Chunk) -> None:
        items = pickle.dumps([item for _, item in chunk.items], protocol=5)
        self.traffic.bytes_sent += len(items)
        self.traffic.chunks += 1
        chunk.number = next(_numbers)
        ref = member.actor.work.remote(self.number, [self.packed], chunk.number, items)
        member.chunks.append((ref, chunk))

    # -- receiving --

    def _take(self, member: Member) -> None:
        ref, chunk = member.chunks[0]
        errors = self.ray.exceptions
        try:
            answer: Answer = self.crew.get(ref)
        except (errors.RayActorError, errors.ObjectLostError) as error:  # died before or after
            self._lose(member, error)
            return
        except errors.RayTaskError as error:  # outside of the job
            raise RuntimeError(f"a worker failed: {in_line(error, 400)}") from None
        member.chunks.popleft()
        self.crew.works()
        self._count(chunk, answer.counted)
        self.traffic.cpu_seconds += answer.cpu_seconds
        for text in answer.warnings:
            if text not in self.warned:
                self.warned.add(text)
                warnings.warn(text, stacklevel=2)
        for (index, _), result in zip(chunk.items, answer.results, strict=False):
            self.traffic.bytes_received += len(result)
            self.results[index] = result if index == self.yielded else self.early.keep(result)
        rest = chunk.items[len(answer.results) :]
        if answer.lost and self.refill is not None:
            first = (rest[0][0], self.refill(rest[0][1]))
            self.queue.appendleft(Chunk([first, *rest[1:]], chunk.place, chunk.attempts))
        elif answer.lost:
            self.results[rest[0][0]] = _Raised(RuntimeError("a job without `refill` has a state"))
        elif answer.error is not None:
            index = chunk.items[min(len(answer.results), len(chunk.items) - 1)][0]
            self.results[index] = _Raised(answer.error, answer.trace)
        elif rest:
            raise RuntimeError(f"a job gave {len(answer.results)} results of {len(chunk.items)}")
        elif answer.per_item:
            self._adapt(answer.per_item)

    def _adapt(self, seconds: float) -> None:
        """Choose the size of further chunks by the time that items take."""
        self.per_item = seconds if not self.per_item else 0.7 * self.per_item + 0.3 * seconds
        aim = max(CHUNK_SECONDS, len(self.crew.members) / CHUNKS_PER_SECOND)
        size = int(aim / max(self.per_item, 1e-6))
        self.size = max(1, min(MOST_IN_CHUNK, size, 4 * self.size))

    def _lose(self, member: Member, error: Exception) -> None:
        """Send the chunks of a dead worker to others; find the item that kills its workers."""
        chunks = [chunk for _, chunk in member.chunks]
        member.chunks.clear()
        first = chunks[0]
        if "node has died" not in str(error) and self.crew.is_alive(member.host.node):
            first.attempts += 1
        for chunk in reversed(chunks):
            self._count(chunk, 0)
            if chunk.attempts >= ATTEMPTS - 1 and len(chunk.items) > 1:
                for numbered in reversed(chunk.items):  # one death is each item's own, no more
                    self.queue.appendleft(Chunk([numbered], chunk.place, attempts=1))
            else:
                self.queue.appendleft(chunk)
        self.crew.bury(member, error)
        if first.attempts >= ATTEMPTS and len(first.items) == 1:
            raise HopefearError(
                f"--cluster: {ATTEMPTS} workers died at item {first.items[0][0] + 1:,} "
                f"({death(error)}); check the machines' memory, or give fewer --workers"
            )

    # -- progress --

    def _count(self, chunk: Chunk, counted: int) -> None:
        """Report the work of a chunk; it goes back to 0 if its worker dies."""
        if self.advance is not None and counted != chunk.counted:
            self.advance(counted - chunk.counted)
        chunk.counted = counted

    def _look(self) -> None:
        """Ask the workers how far they are, not more than a thousand times a second in all."""
        members = self.crew.members
        if self.advance is None or time.monotonic() - self.looked < max(TICK, len(members) / 1000):
            return
        self.looked = time.monotonic()
        asked = {member.asked: member for member in members if member.asked is not None}
        done = self.ray.wait(list(asked), num_returns=len(asked), timeout=0)[0] if asked else []
        for ref in done:
            member = asked[ref]
            member.asked = None
            try:
                number, counted = self.crew.get(ref)
            except self.ray.exceptions.RayError:
                continue  # `_take` will see it
            for _, chunk in member.chunks:
                if chunk.number == number and counted > chunk.counted:
                    self._count(chunk, counted)
        for member in members:
            if member.chunks and member.asked is None:
                member.asked = member.actor.counted.remote()


class Stretch(NamedTuple):
    """A stretch of a file."""

    begin: int
    size: int


class Early:
    """Pickled results that came before it was their turn; large ones are kept in a file.

    So the memory of the driver does not grow with the number of learners, one of which may be late.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._waiting = 0

    def keep(self, result: bytes) -> bytes | Stretch:
        """Return what `load` takes."""
        if len(result) < LARGE:
            return result
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="hopefear-results-")  # noqa: SIM115
        begin = self._file.seek(0, os.SEEK_END)
        self._file.write(result)
        self._waiting += 1
        return Stretch(begin, len(result))

    def load(self, kept: bytes | Stretch) -> bytes:
        """Return a result; each is loaded once."""
        if isinstance(kept, bytes):
            return kept
        assert self._file is not None, "`keep` opens it"
        self._file.seek(kept.begin)
        result = self._file.read(kept.size)
        self._waiting -= 1
        if not self._waiting:
            self._file.truncate(0)
        return result

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()


class _Raised:
    """The error of an item, raised when it is its turn."""

    def __init__(self, error: BaseException, trace: str = "") -> None:
        self.error = error
        self.cause = _WorkerTraceError(trace) if trace else None


class _WorkerTraceError(Exception):
    """The cause of an error in a worker: its traceback there."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
