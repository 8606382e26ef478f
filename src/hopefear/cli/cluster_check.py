"""`hopefear cluster-check`: what is wrong with a Ray cluster, before a command runs there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "cluster-check")
@dataclass(kw_only=True)
class ClusterCheck(Command):
    """Say what is wrong with a Ray cluster, machine by machine.

    Commands with --cluster need the same versions and the same build of hopefear on all machines,
    files that all machines see (or --shared-folder), and memory. Each problem is one line with its
    remedy; the exit code is 2 if there is any.
    """

    examples = (
        "hopefear cluster-check 10.0.0.1:6379",
        "hopefear cluster-check auto --shared-folder /scratch/copies --json",
    )

    address: str = argument(help="HOST:PORT of the cluster; auto: the one that runs here")
    shared_folder: Path | None = option(
        None, metavar="DIR", help="folder on every machine that commands will copy files to"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.cluster.check import check

        with console.step("cluster"):
            report = check(self.address, self.shared_folder)
        machines = []
        for machine in report.machines:
            entry = asdict(machine)
            entry["memory_mb"] = entry.pop("memory") >> 20
            machines.append(entry)
        return {
            "address": report.address,
            "machines": machines,
            "workers": sum(machine.workers for machine in report.machines),
            "notes": report.notes,
            "problems": report.problems,
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            (
                machine["name"] or "-",
                machine["address"],
                f"{machine['workers']:,}",
                f"{machine['memory_mb']:,}",
                *(machine["versions"].get(what, "-") for what in ("hopefear", "Ray", "Python")),
            )
            for machine in report["machines"]
        ]
        if rows:
            header = ("machine", "address", "workers", "free MB", "hopefear", "Ray", "Python")
            console.print(table(rows, header))
        for note in report["notes"]:
            console.print(note)
        for problem in report["problems"]:
            console.print(f"problem: {problem}")
        if not report["problems"]:
            console.print("commands can run there")

    def exit_code(self, report: Mapping[str, Any]) -> int:
        return 2 if report["problems"] else 0
