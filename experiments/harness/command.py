"""The command line of a study."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.corpora import CORPORA
from harness.results import tables_of, write_section
from harness.runner import Runner
from harness.settings import Study
from harness.tables import table, title_of
from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.errors import HopefearError
from hopefear.base.executor import Executor

FOLDER = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", FOLDER.parents[1] / "shared"))


def parser(doc: str | None, *, writes: bool = True) -> argparse.ArgumentParser:
    """Returns a parser with the options of all studies: --data, --out and --write."""
    arguments = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if writes:
        arguments.add_argument(
            "--write", action="store_true", help="write the page in docs/results"
        )
    arguments.add_argument(
        "--data",
        type=Path,
        default=SHARED,
        metavar="DIR",
        help="folder with data/ and golden/",
    )
    arguments.add_argument(
        "--out", type=Path, default=FOLDER / "out", metavar="DIR", help="folder for models and runs"
    )
    return arguments


def data_folders(a: argparse.Namespace) -> dict[str, Path]:
    """Returns a `Runner`'s folders; ends the program if there are no data."""
    if not (a.data / "golden" / "aligned").is_dir():
        print(f"no {a.data / 'golden' / 'aligned'}; give --data or set HOPEFEAR_SHARED")
        sys.exit(0)
    return {"data": a.data.absolute(), "out": a.out.absolute()}


def main(studies: Study | Sequence[Study], doc: str | None) -> None:
    """Run the command line of a script with one study or several."""
    known = {study.name: study for study in ([studies] if isinstance(studies, Study) else studies)}
    arguments = parser(doc)
    arguments.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help=f"tables to show: {', '.join(known)}; by default all",
    )
    arguments.add_argument("--run", action="store_true", help="run what is not finished yet")
    arguments.add_argument("--minutes", type=float, default=40.0, help="time limit of each table")
    arguments.add_argument("--jobs", type=int, help="runs in parallel; by default the table's")
    arguments.add_argument("--seeds", type=int, help="number of seeds; by default the table's")
    arguments.add_argument("--iterations", type=int, help="by default the table's")
    arguments.add_argument("--corpora", nargs="+", choices=CORPORA)
    arguments.add_argument("--systems", nargs="+", choices=("phrase", "hiero"))
    arguments.add_argument("--settings", nargs="+", metavar="LABEL", help="rows to run or show")
    arguments.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="with --run: a run for each worker of this Ray cluster (HOST:PORT, or auto); "
        "--data, --out and this repository are in folders that all machines share",
    )
    arguments.add_argument("--workers", type=int, default=0, help="with --cluster; 0: its cores")
    for part in ("train", "dev", "test"):
        arguments.add_argument(f"--{part}", type=int, help=f"sentences of the {part} set; 0: all")
    a = arguments.parse_args()
    unknown = [name for name in a.tables if name not in known]
    if unknown:
        arguments.error(f"no table {unknown[0]}; choose from {', '.join(known)}")
    if not a.run and a.cluster is not None:
        arguments.error("--cluster: only with --run")
    if a.jobs is not None and a.cluster is not None:
        arguments.error("--jobs: not with --cluster; give --workers")
    folders = data_folders(a)
    try:
        with ClusterOptions(cluster=a.cluster, workers=a.workers).executor(
            1, tell=print
        ) as cluster:
            run_tables(a, known, folders, cluster if cluster.remote else None)
    except HopefearError as error:
        arguments.exit(2, f"{error}\n")


def run_tables(
    a: argparse.Namespace,
    known: Mapping[str, Study],
    folders: Mapping[str, Path],
    cluster: Executor | None,
) -> None:
    """Run, show and write tables as the arguments say."""
    for name in a.tables or known:
        changes: dict[str, Any] = {
            key: getattr(a, key)
            for key in ("seeds", "iterations", "corpora", "systems")
            if getattr(a, key) is not None
        }
        study = known[name]
        parts = [part for part in ("train", "dev", "test") if getattr(a, part) is not None]
        sizes = {part: getattr(a, part) or None for part in parts}
        if a.settings:
            changes["settings"] = [s for s in study.settings if s.label in a.settings]
        study = replace(study, sizes=replace(study.sizes, **sizes), **changes)
        runner = Runner(study, **folders, minutes=a.minutes, jobs=a.jobs or study.jobs)
        finished = True
        if a.run:
            finished = runner.run_all() if cluster is None else runner.run_all_on(cluster)
        tables = {title_of(*task): table(runner, *task) for task in runner.tasks()}
        print("", *tables.values(), sep="\n")
        if not finished:
            print("the time is over; the same command resumes")
        if a.write:
            write(runner, known[name], tables, name if len(known) > 1 else "")
        if study.after is not None:
            study.after(runner, a.write)


def write(runner: Runner, whole: Study, tables: dict[str, str], name: str) -> None:
    """Write the section of a study; tables without runs here stay as they are."""
    study = runner.study
    command = f"python experiments/{Path(sys.argv[0]).name} {name}".strip()
    against = dict.fromkeys(f"'{study.compared(setting)}'" for setting in study.settings)
    text = (
        f"## {study.title}\n\n`{command} --run --write`\n\n{study.sizes}; {study.seeds} "
        f"seed{'s' * (study.seeds > 1)}, at most {study.iterations} iterations. "
        f"p-values against {' or '.join(against)}.{' ' + study.text if study.text else ''}\n\n"
    )
    old = tables_of(study.page, study.name)
    new = {
        title_of(*task): tables[title_of(*task)]
        for task in runner.tasks()
        if runner.has_runs(*task)
    }
    titles = [title_of(*task) for task in replace(runner, study=whole).tasks()]
    written = [(old | new)[title] for title in titles if title in old | new]
    if written:
        write_section(study.page, study.name, text + "\n".join(written))
