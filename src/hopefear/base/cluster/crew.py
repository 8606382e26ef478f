"""The workers of a cluster as the driver sees them: started, checked, given files, replaced.

A worker is an actor of Ray that holds one core (`worker.py`). One that dies is replaced by another,
wherever there is a free core, until more have died than can be chance.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hopefear._engine import poll_interrupt
from hopefear.base.cluster import worker
from hopefear.base.cluster.connect import Heartbeat, undisturbed
from hopefear.base.cluster.files import Digests, Files, blocks, describe_files
from hopefear.base.errors import HopefearError, InputError, OptionError, in_line
from hopefear.base.executor import Folder

Tell = Callable[[str], None]

TICK = 0.25  # seconds between looks at signals and progress
LONGEST_START = 120.0  # seconds to wait for the first worker
_PAUSE = 1.0  # seconds between starts of workers while none of them gets something done


@dataclass(eq=False)
class Member:
    """A worker."""

    actor: Any
    waiting: Any = None  # for its description, until it is ready
    host: Any = None  # its description
    files: set[Files] = field(default_factory=set)  # that its machine has
    chunks: deque[tuple[Any, Any]] = field(default_factory=deque)  # sent, oldest first
    asked: Any = None  # for its progress


class Crew:
    """Keeps the wanted number of workers alive."""

    def __init__(
        self,
        ray: Any,
        wanted: int,
        *,
        shared: str | None,
        plugins: Sequence[tuple[str, bytes]],
        tell: Tell,
    ) -> None:
        """`wanted`: the number of workers, at most the cores of the cluster (0: all cores)."""
        self._ray, self._shared, self._plugins = ray, shared, plugins
        self._class = ray.remote(concurrency_groups={"progress": 1})(worker.Worker)
        self._build, self._versions = worker.build_digest(), worker.versions()
        self._digests = Digests()
        self._heartbeat = Heartbeat(ray)
        self._died = 0  # since something was done
        self._pause_until = 0.0
        self.members: list[Member] = []
        self.bytes_copied = 0
        cores = int(ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise OptionError("--cluster: the cluster has no cores; add machines with 'ray start'")
        self.wanted = min(wanted or cores, cores)
        if wanted > cores:
            tell(f"the cluster has {cores} cores, so {cores} of {wanted} workers are started")

    # -- start and end --

    def start(self) -> None:
        """Start the workers, and wait for the first."""
        limit = time.monotonic() + LONGEST_START
        while not self.live():
            if time.monotonic() > limit:
                raise HopefearError(
                    f"--cluster: no worker started in {LONGEST_START:.0f} seconds; look for other "
                    "work on the cluster with 'ray status', or check it with 'hopefear "
                    "cluster-check'"
                )
            self.wait([member.waiting for member in self.members])

    def live(self) -> list[Member]:
        """Return the workers that have started; start others in place of those that died."""
        while len(self.members) < self.wanted and time.monotonic() >= self._pause_until:
            actor = self._class.options(num_cpus=1, max_restarts=0).remote(
                str(Path.cwd()), self._shared, self._plugins
            )
            self.members.append(Member(actor, actor.host.remote()))
            if self._died > self.wanted:
                self._pause_until = time.monotonic() + _PAUSE
        starting = {m.waiting: m for m in self.members if m.waiting is not None}
        if starting:
            done, _ = self._ray.wait(list(starting), num_returns=len(starting), timeout=0)
            for ref in done:
                member = starting[ref]
                try:
                    member.host = self.get(ref)
                except self._ray.exceptions.RayError as error:
                    self.bury(member, error, starting=True)
                    continue
                member.waiting = None
                self._check(member.host)
        return [member for member in self.members if member.host is not None]

    def _check(self, host: worker.Host) -> None:
        """Raise an error for a machine with other versions, whose results would differ."""
        for difference in host.differences(self._versions, self._build):
            raise HopefearError(f"--cluster: machine {host.name}: {difference}")

    def bury(self, member: Member, error: Exception, *, starting: bool = False) -> None:
        """Replace a dead worker; a machine that cannot start one is an error."""
        self.remove(member)
        self._died += 1
        reason = death(error)
        if starting and ("ModuleNotFoundError" in reason or "ImportError" in reason):
            raise HopefearError(
                f"--cluster: a machine cannot load hopefear with the extra 'cluster' ({reason}); "
                "install it there, or check the cluster with 'hopefear cluster-check'"
            ) from None
        if self._died > 2 * self.wanted + 10:
            raise HopefearError(
                f"--cluster: {self._died} workers died in a row ({reason}); check the machines' "
                "memory, or give fewer --workers"
            ) from None

    def works(self) -> None:
        """Note that a worker has done something."""
        self._died = 0

    def remove(self, member: Member) -> None:
        """Kill a worker; another starts when it is needed."""
        if member in self.members:
            self.members.remove(member)
        self._ray.kill(member.actor)

    def is_alive(self, node: str) -> bool:
        """Whether a machine belongs to the cluster."""
        return any(entry["NodeID"] == node and entry["Alive"] for entry in self._ray.nodes())

    def close(self) -> None:
        """Kill all workers."""
        while self.members:
            self._ray.kill(self.members.pop().actor)

    # -- waiting --

    def wait(self, refs: Sequence[Any], timeout: float = TICK) -> list[Any]:
        """Wait until one of the refs is ready; return those that are."""
        poll_interrupt()
        self._heartbeat.check()
        refs = [ref for ref in refs if ref is not None]
        if not refs:
            time.sleep(timeout)
            return []
        with undisturbed():
            done, _ = self._ray.wait(refs, num_returns=1, timeout=timeout)
            if done:
                done, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        return list(done)

    def get(self, ref: Any) -> Any:
        """Return the value of a ref that is ready."""
        with undisturbed():
            return self._ray.get(ref)

    def _call(self, ref: Any) -> Any:
        """Return the result of a short call."""
        while not self.wait([ref]):
            pass
        return self.get(ref)

    # -- files --

    def describe(self, wanted: Iterable[Path | Folder]) -> set[Files]:
        """Describe the files of a job."""
        return {describe_files(what) for what in wanted}

    def with_files(self, files: set[Files], members: Sequence[Member]) -> list[Member]:
        """Return the workers whose machines have files, after copying them where need be.

        One worker of each machine looks for them, and tells the others where they are.
        """
        new = [member for member in members if not files <= member.files]
        if new:
            machines: dict[str, list[Member]] = {}
            for member in new:
                machines.setdefault(member.host.node, []).append(member)
            # A worker that died is noticed where its work is received, or below.
            with contextlib.suppress(self._ray.exceptions.RayActorError):
                self._find(sorted(files, key=lambda entry: entry.root), list(machines.values()))
            new = [member for member in new if not files <= member.files]
            for member in new:
                try:
                    self._call(member.actor.places.remote({}))
                except self._ray.exceptions.RayActorError as error:
                    if not member.chunks:
                        self.bury(member, error)
        return [m for m in members if files <= m.files and m in self.members]

    def _find(self, files: list[Files], machines: list[list[Member]]) -> None:
        exact = files
        lacking = self._ask(files, machines)
        if lacking:
            exact = [self._digests.complete(entry) for entry in files]
            lacking = self._ask(exact, lacking)
        if lacking and self._shared is not None:
            self._copy(exact, lacking[:1])  # in a file system that all share it is there for all
            lacking = self._ask(exact, lacking)
            self._copy(exact, lacking)
            lacking = self._ask(exact, lacking)
        for machine in lacking:
            _, ((number, reason), *_) = self._missing(machine[0], exact)
            raise InputError(
                f"machine {machine[0].host.name}: {reason}; put it into a folder that all machines "
                "share, or give --shared-folder DIR"
                if self._shared is None
                else f"machine {machine[0].host.name}: {exact[number].root} was copied to "
                f"{self._shared}, but {reason}"
            )

    def _ask(self, files: list[Files], machines: list[list[Member]]) -> list[list[Member]]:
        """Return the machines that lack some of the files; others know then where they are."""
        calls = [machine[0].actor.missing.remote(files) for machine in machines]
        lacking = []
        for machine, call in zip(machines, calls, strict=True):
            missing, places = self._call(call)
            if missing:
                lacking.append(machine)
                continue
            for member in machine:
                member.actor.places.remote(places)  # comes before the work that is sent to it
                member.files |= {entry.without_digests() for entry in files}
        return lacking

    def _missing(
        self, member: Member, files: Sequence[Files]
    ) -> tuple[dict[str, str], list[tuple[int, str]]]:
        missing, places = self._call(member.actor.missing.remote(files))
        return places, missing

    def _copy(self, files: Sequence[Files], machines: list[list[Member]]) -> None:
        """Copy what machines lack into the shared folder."""
        wanted: dict[int, list[Member]] = {}
        for machine in machines:
            for number, _ in self._missing(machine[0], files)[1]:
                wanted.setdefault(number, []).append(machine[0])
        for number, members in wanted.items():
            entry = files[number]
            for part in range(len(entry.members)):
                for offset, block in blocks(entry.path(part)):
                    ref = self._ray.put(np.frombuffer(block, np.uint8))
                    self.bytes_copied += len(block)
                    self._check_answers(
                        [(m, m.actor.write.remote(entry, part, offset, ref)) for m in members]
                    )
            self._check_answers([(m, m.actor.finish.remote(entry)) for m in members])

    def _check_answers(self, calls: Sequence[tuple[Member, Any]]) -> None:
        """Raise an `InputError` for the first worker that answers with a fault."""
        for member, call in calls:
            if wrong := self._call(call):
                raise InputError(
                    f"machine {member.host.name}: cannot copy to --shared-folder {self._shared}: "
                    f"{wrong}"
                )


def death(error: Exception) -> str:
    """Why a worker died, in a line."""
    text = str(error)
    for start in ("Worker exit detail:", "The actor died because"):
        _, found, rest = text.partition(start)
        if found:
            text = found + rest
            break
    return in_line(text, 300)
