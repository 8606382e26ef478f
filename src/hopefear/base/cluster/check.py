"""What is wrong with a cluster, in plain words.

    report = check("10.0.0.1:6379", shared_folder=None)
    report.problems          # one line each, with the remedy; empty if commands can run there

A process is started on every machine. It says what is installed there, how much memory is free, and
which files it sees: one that is put into the working directory of the command, and those that all
machines put into the shared folder.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopefear._engine import poll_interrupt
from hopefear.base.cluster.connect import connect, load_ray, running_address, undisturbed
from hopefear.base.errors import OptionError, in_line
from hopefear.base.temporary import temporary_file
from hopefear.base.threads import all_cores

LEAST_MEMORY = 1 << 29  # free bytes for each worker
LONGEST = 60.0  # seconds to wait for the processes
_PREFIX = ".hopefear-check-"


@dataclass
class Machine:
    """A machine of the cluster."""

    address: str
    workers: int  # that Ray starts there
    node: str  # Ray's id
    name: str = ""
    cores: int = 0
    memory: int = 0  # free bytes
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """The name and the address."""
        return f"{self.name} ({self.address})" if self.name else self.address


@dataclass
class Report:
    """The machines, and what is wrong with them."""

    address: str
    machines: list[Machine] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # of no single machine
    notes: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """All problems, a line each."""
        return [
            *self.faults,
            *(f"machine {m.shown}: {problem}" for m in self.machines for problem in m.problems),
        ]


def check(address: str, shared_folder: Path | None = None) -> Report:
    """Connect to a cluster and look at all of its machines."""
    report = Report(address)
    try:
        ray = load_ray()
        there = address != "auto" or running_address()
        connection = connect(address, all_cores())
    except OptionError as error:
        text = str(error).removeprefix("--cluster: ").removeprefix("--cluster ")
        report.faults.append(text.partition("; check it with")[0])
        return report
    if not there:
        report.notes.append("no cluster runs here: a command starts one of this machine's cores")
    with connection:
        _Checker(ray, report, shared_folder).run()
    return report


class _Checker:
    def __init__(self, ray: Any, report: Report, shared: Path | None) -> None:
        self.ray, self.report = ray, report
        self.shared = None if shared is None else str(shared.absolute())
        self.actors: dict[str, Any] = {}  # node -> its process

    def run(self) -> None:
        report = self.report
        for node in self.ray.nodes():
            if node["Alive"]:
                workers = int(node["Resources"].get("CPU", 0))
                report.machines.append(Machine(node["NodeManagerAddress"], workers, node["NodeID"]))
        report.machines.sort(key=lambda machine: (machine.address, machine.node))
        if not any(machine.workers for machine in report.machines):
            report.faults.append("the cluster has no cores; add machines with 'ray start'")
        try:
            self._start()
            if self.shared is not None:
                self._look_at_shared_folder(self.shared)
            elif len(report.machines) > 1:
                self._look_at_working_directory()
        finally:
            for actor in self.actors.values():
                self.ray.kill(actor)

    def _start(self) -> None:
        from hopefear.base.cluster import worker

        scheduling = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        create = self.ray.remote(concurrency_groups={"progress": 1})(worker.Worker)
        for machine in self.report.machines:
            self.actors[machine.node] = create.options(
                num_cpus=0, scheduling_strategy=scheduling(machine.node, soft=False)
            ).remote(str(Path.cwd()), None, ())
        versions, build = worker.versions(), worker.build_digest()
        for machine, host in self._ask("host"):
            machine.name, machine.cores, machine.memory = host.name, host.cores, host.memory
            machine.versions = host.versions
            machine.problems += host.differences(versions, build)
            if machine.workers > machine.cores:
                machine.problems.append(
                    f"offers {machine.workers} cores, but has {machine.cores}; start Ray with "
                    f"--num-cpus={machine.cores}"
                )
            each = machine.memory // max(1, machine.workers)
            if machine.memory and each < LEAST_MEMORY:
                fit = machine.memory // LEAST_MEMORY
                machine.problems.append(
                    f"has {machine.memory >> 20} MB of free memory for {machine.workers} workers; "
                    f"{LEAST_MEMORY >> 20} MB each are the least; start Ray with "
                    f"--num-cpus={fit}"
                    if fit
                    else f"has only {machine.memory >> 20} MB of free memory; end other programs"
                )

    def _ask(self, method: str, *arguments: Any) -> list[tuple[Machine, Any]]:
        """Call a method of every process; note those that do not answer."""
        machines = [m for m in self.report.machines if m.node in self.actors]
        calls = [getattr(self.actors[m.node], method).remote(*arguments) for m in machines]
        limit, waiting = time.monotonic() + LONGEST, list(calls)
        while waiting and time.monotonic() < limit:
            poll_interrupt()
            with undisturbed():
                _, waiting = self.ray.wait(waiting, num_returns=len(waiting), timeout=0.25)
        answers = []
        for machine, call in zip(machines, calls, strict=True):
            if call in waiting:
                self._give_up(machine, f"no answer in {LONGEST:.0f} seconds; look at 'ray status'")
                continue
            try:
                answers.append((machine, self.ray.get(call)))
            except self.ray.exceptions.RayError as error:
                self._give_up(machine, _reason(error))
        return answers

    def _give_up(self, machine: Machine, problem: str) -> None:
        machine.problems.append(problem)
        self.ray.kill(self.actors.pop(machine.node))

    def _look_at_working_directory(self) -> None:
        folder = Path.cwd()
        try:
            with temporary_file(folder, _PREFIX) as path:
                answers = self._ask("seen", str(folder), [path.name])
        except OSError as error:
            self.report.notes.append(
                f"{folder} is not writable ({error.strerror}): run this where the models are"
            )
            return
        for machine, names in answers:
            if not names:
                machine.problems.append(
                    f"does not see the files in {folder}; work in a folder that all machines "
                    "share, or give commands --shared-folder DIR"
                )
        if not self.report.problems:
            self.report.notes.append(f"all machines share {folder}")

    def _look_at_shared_folder(self, folder: str) -> None:
        marks = {node: f"{_PREFIX}{uuid.uuid4().hex}" for node in self.actors}
        written = []
        for machine in self.report.machines:
            if machine.node in self.actors:
                actor, mark = self.actors[machine.node], marks[machine.node]
                written.append((machine, actor.put_mark.remote(folder, mark)))
        try:
            for machine, call in written:
                if wrong := self._value(machine, call):
                    machine.problems.append(f"cannot write to --shared-folder {folder}: {wrong}")
            groups = {
                frozenset(names) for _, names in self._ask("seen", folder, list(marks.values()))
            }
            groups.discard(frozenset())
            if len(groups) == 1:
                self.report.notes.append(f"all machines share {folder}; files are copied once")
            elif groups:
                self.report.notes.append(
                    f"{folder} is {len(groups)} folders on different machines; files are copied to "
                    "each"
                )
        finally:
            for node, actor in self.actors.items():
                with contextlib.suppress(self.ray.exceptions.RayError):
                    self.ray.get(actor.remove_mark.remote(folder, marks[node]), timeout=LONGEST)

    def _value(self, machine: Machine, call: Any) -> str:
        try:
            wrong: str = self.ray.get(call, timeout=LONGEST)
        except self.ray.exceptions.RayError as error:
            return _reason(error)
        return wrong


def _reason(error: Exception) -> str:
    from hopefear.base.cluster.crew import death

    text = str(error)
    if "ModuleNotFoundError" in text or "ImportError" in text:
        lines: Sequence[str] = [line for line in text.splitlines() if "Error: " in line]
        return (
            f"cannot load hopefear ({in_line(lines[-1] if lines else error)}); install the same "
            "package there: pip install 'hopefear[cluster]'"
        )
    return f"cannot start a process: {death(error)}"
