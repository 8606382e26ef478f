"""Tables of tuning experiments: settings x corpora x systems x seeds, resumable, with significance.

A script gives a list of `Setting`s and calls `main`; here is everything else. Models are trained
once for all scripts and kept, runs too, each in a folder whose name says what it depends on (a
readable beginning and a hash of the whole), so that a table which shares a row with another one
does not run it again, and other sizes never mix. Two runs go on at a time with one thread each:
that wastes less of a machine with two cores than one run with two threads. A command that was
stopped, by its own clock or by a kill, goes on when it is given again.

    main(Study("selection", "What to learn towards", settings), __doc__)

BLEU and TER are of the test set's beginning; p-values against the first setting (or the one called
`against`) by stratified approximate randomisation over all seeds, as `hopefear score --versus`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base.files import open_input
from hopefear.metrics import create
from hopefear.metrics.significance import approximate_randomization
from hopefear.metrics.tokenizing import tokenized
from support.machine import OUT, REPOSITORY, SHARED
from support.results import markdown, tables_of, write_section

RESULTS = REPOSITORY / "docs" / "results.md"


@dataclass(frozen=True)
class Corpus:
    """A task: its files by part, the source first, then the references."""

    name: str
    title: str
    files: dict[str, tuple[Path, ...]]
    align: Path | None = None
    tokenized: bool = True
    tokenize: Any = "none"  # how output is scored


def _corpora() -> Iterator[Corpus]:
    for name, title, source, count in (
        ("fr-en", "Multi30k fr-en", "fr", 1),
        ("zh-en", "Bible zh-en", "zh", 4),
    ):
        where = SHARED / "golden" / "aligned" / name
        files = {
            part: (where / f"{part}.{source}", *(where / f"{part}.en.{i}" for i in range(count)))
            for part in ("dev", "test")
        }
        files["train"] = (where / f"train.{source}.gz", where / "train.en.gz")
        yield Corpus(name, title, files, where / "train.gdfa.gz")
    where = SHARED / "data" / "multi30k" / "de-en"
    files = {part: (where / f"{part}.de", where / f"{part}.en") for part in ("dev", "test")}
    files["train"] = (where / "train.de.gz", where / "train.en.gz")
    yield Corpus("de-en", "Multi30k de-en", files, tokenized=False, tokenize="13a")
    where = SHARED / "data" / "bible-es-en"
    files = {
        part: (where / f"{part}.es", *(where / f"{part}.en.{i}" for i in range(4)))
        for part in ("dev", "test")
    }
    files["train"] = (where / "train.es.gz", where / "train.en.gz")
    yield Corpus("es-en", "Bible es-en", files, tokenized=False, tokenize="13a")
    # The other way round there is one reference, and words are no unit that readers agree on.
    where = SHARED / "golden" / "aligned" / "zh-en"
    files = {part: (where / f"{part}.en.0", where / f"{part}.zh") for part in ("dev", "test")}
    files["train"] = (where / "train.en.gz", where / "train.zh.gz")
    yield Corpus("en-zh", "Bible en-zh", files, tokenize="char")


CORPORA = {corpus.name: corpus for corpus in _corpora()}


@dataclass(frozen=True)
class Setting:
    """A row: how it is called, a tuner, its options."""

    label: str
    tuner: str
    options: tuple[str, ...] = ()  # --set
    tune: tuple[str, ...] = ()  # more words for `hopefear tune`
    decode: tuple[str, ...] = ()  # for `tune` and `translate`: beams, templates
    start: Setting | None = None  # whose weights to begin with …
    weights: str | None = None  # … or the text of a file of weights
    iterations: int | None = None  # other than the study's
    train: tuple[str, ...] = ()  # more words for `hopefear train`
    against: str | None = None  # label of the row that its p-values are against, if not the study's
    learn_from: str | None = None  # a part to learn from ("train"); the dev set only judges
    dev: str = "dev"  # the part that is --dev
    threads: int = 1  # of `hopefear tune`
    # More of `decode`, by corpus; of an option that is there, too, this is what holds.
    by_corpus: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def searching(self, corpus: Corpus, system: str) -> tuple[str, ...]:
        """`decode` of a corpus, without the beam where there is none."""
        words = self.decode
        if system == "hiero" and "--beam" in words:
            at = words.index("--beam")
            words = (*words[:at], *words[at + 2 :])
        return (*words, *self.by_corpus.get(corpus.name, ()))

    def newer(self, corpus: Corpus) -> list[Any]:
        """What is not by default of the fields that folders of before do not know."""
        usual = {"learn_from": None, "dev": "dev", "threads": 1, "weights": None}
        given = {name: getattr(self, name) for name in usual}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        if corpus.name in self.by_corpus:
            changed["by_corpus"] = self.by_corpus[corpus.name]
        return [changed] if changed else []


#: For `mert` beside others, of which the best iteration is the result, too.
BEST_ITERATION = ("--average-last", "0")


@dataclass(frozen=True)
class Sizes:
    """How much of the data; None: all."""

    train: int | None = None
    dev: int | None = None
    test: int | None = None

    def of(self, part: str) -> int | None:
        size: int | None = getattr(self, part)
        return size

    def __str__(self) -> str:
        def some(size: int | None, what: str) -> str:
            return f"all {what}" if size is None else f"the first {size:,} {what}"

        return (
            f"models of {some(self.train, 'training pairs')}, tuned on "
            f"{some(self.dev, 'sentences of the dev sets')}, tested on "
            f"{some(self.test, 'sentences of the test sets')}"
        )


@dataclass(frozen=True)
class Study:
    """A table for each corpus and system."""

    name: str
    title: str
    settings: Sequence[Setting]
    corpora: Sequence[str] = ("de-en", "zh-en")
    systems: Sequence[str] = ("phrase",)
    sizes: Sizes = Sizes()
    iterations: int = 6
    seeds: int = 3
    against: str | None = None  # label of the row that p-values are against
    # More columns, of a row's finished runs; "first" and others of `COLUMNS` by name.
    columns: Sequence[str] = ()
    text: str = ""  # below the title
    jobs: int = 2  # runs at a time; 1 where seconds are compared

    def compared(self, setting: Setting) -> str:
        """The label of the row that a row's p-values are against."""
        return setting.against or self.against or self.settings[0].label


@dataclass
class Finished:
    """A finished run."""

    path: Path  # the run directory
    said: dict[str, Any]  # what `tune --json` printed
    output: list[str]  # of the test set, tokenised for scoring

    def records(self) -> list[dict[str, Any]]:
        """metrics.jsonl"""
        lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def cpu_seconds(self) -> float:
        """Of an iteration, decoding and learning together."""
        keys = ("optimise_cpu_seconds", "decode_cpu_seconds")
        each = [sum(record.get(key, 0.0) for key in keys) for record in self.records()[1:]]
        return float(np.mean(each or [0.0]))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _updated(runs: Sequence[Finished]) -> str:
    """Share of the pairs with an update, in the first and the last iteration."""
    ends = [[run.records()[at] for run in runs] for at in (1, -1)]
    if not all("examples" in record for some in ends for record in some):
        return "-"
    shares = [np.mean([100 * r["updates"] / r["examples"] for r in some]) for some in ends]
    return f"{shares[0]:.0f}, {shares[1]:.0f}"


def _pairs(runs: Sequence[Finished]) -> str:
    """Of forced decoding."""
    found = [run.records()[-1].get("examples") for run in runs]
    return "-" if None in found else f"{np.mean(found):,.0f}"


COLUMNS: dict[str, Callable[[Sequence[Finished]], str]] = {
    "iterations": lambda runs: f"{np.mean([run.said['iterations'] for run in runs]):.1f}",
    "best": lambda runs: f"{np.mean([run.said['best_iteration'] for run in runs]):.1f}",
    "CPU s an iteration": lambda runs: _number(np.mean([run.cpu_seconds() for run in runs])),
    "learning s": lambda runs: _number(np.mean([run.said["optimise_seconds"] for run in runs])),
    "length": lambda runs: f"{np.mean([run.said['length_ratio'] for run in runs]):.3f}",
    "derived pairs": _pairs,
    "% updated": _updated,
    "features": lambda runs: _number(np.mean([run.said["active_features"] for run in runs])),
}


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


@dataclass
class Bench:
    """Where everything lies, and the clock."""

    study: Study
    out: Path = OUT / "study"
    minutes: float = 40.0
    jobs: int = 2
    began: float = field(default_factory=time.monotonic)
    locks: dict[Path, threading.Lock] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def hopefear(self, *words: str | Path | int, log: Path | None = None) -> dict[str, Any]:
        """Run a command; what it says, if it is JSON. It is stopped when the time is over."""
        passed = time.monotonic() - self.began
        left = 60 * self.minutes - passed
        if left <= 0:
            raise OutOfTimeError
        command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
        print(f"{passed / 60:5.1f} min  {shlex.join(command[2:])}", flush=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            raise OutOfTimeError from None
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}: exit {done.returncode}\n{done.stderr}")
        if log is not None:
            log.write_text(done.stderr, encoding="utf-8")
        return dict(json.loads(done.stdout)) if done.stdout.startswith("{") else {}

    def once(self, path: Path) -> threading.Lock:
        """So that two runs do not make the same model."""
        with self.guard:
            return self.locks.setdefault(path, threading.Lock())

    # -- files --

    def part(self, corpus: Corpus, part: str) -> list[Path]:
        """The beginning of a part, in files of their own; the alignment last, if there is one."""
        if part in DERIVED:
            return DERIVED[part](self, corpus)
        sources = list(corpus.files[part])
        if part == "train" and corpus.align is not None:
            sources.append(corpus.align)
        size = self.study.sizes.of(part)
        if size is None:
            return sources
        folder = self.out / "text" / f"{corpus.name}-{part}-{size}"
        with self.once(folder):
            folder.mkdir(parents=True, exist_ok=True)
            made = [folder / path.name.removesuffix(".gz") for path in sources]
            for path, target in zip(sources, made, strict=True):
                if not target.exists():
                    with open_input(path) as file:
                        target.write_bytes(b"".join(islice(file, size)))
        return made

    def model(self, corpus: Corpus, system: str, words: Sequence[str]) -> Path:
        size = self.study.sizes.train
        name = _name(f"{corpus.name}-{system}-{size or 'all'}", list(words))
        path = self.out / "models" / name
        ready = path.parent / f"{name}.json"
        with self.once(path):
            if not ready.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                source, target, *align = self.part(corpus, "train")
                said = self.hopefear(
                    "train", source, target, "--model", path, "--system", system,
                    *(["--tokenized"] if corpus.tokenized else []),
                    *(["--align", align[0]] if align else []),
                    *words, "--threads", self.jobs, "--json",
                )  # fmt: skip
                ready.write_text(json.dumps(said), encoding="utf-8")
        return path

    # -- runs --

    def folder(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path:
        def key(one: Setting) -> list[Any]:
            rounds = one.iterations or self.study.iterations
            start = None if one.start is None else key(one.start)
            every = [one.tuner, one.options, one.tune, one.decode, one.train, rounds, start]
            return every + one.newer(corpus)

        sizes = [self.study.sizes.of(part) for part in ("train", "dev", "test")]
        name = _name("-".join([setting.tuner, *setting.options]), [sizes, key(setting)])
        return self.out / "runs" / f"{corpus.name}-{system}" / f"{name}.{seed}"

    def run(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path:
        """Tune and translate, as far as that is not done; the run directory."""
        run = self.folder(corpus, system, setting, seed)
        with self.once(run):
            result = _beside(run, "json")
            if result.exists():
                return run
            more: list[str | Path | int] = []
            if setting.start is not None:
                start = self.run(corpus, system, setting.start, seed)
                more += ["--weights", start / "weights.tsv"]
            elif setting.weights is not None:
                begin = _beside(run, "weights.tsv")
                begin.parent.mkdir(parents=True, exist_ok=True)
                begin.write_text(setting.weights, encoding="utf-8")
                more += ["--weights", begin]
            if setting.learn_from is not None:
                more += ["--train", *self.part(corpus, setting.learn_from)[:2]]
            model = self.model(corpus, system, setting.train)
            source, *references = self.part(corpus, setting.dev)
            plain = ["--tokenized"] if corpus.tokenized else []
            said = self.hopefear(
                "tune", "--model", model, "--dev", source, "--refs", *references, *plain,
                "--tuner", setting.tuner, "-o", run, "--seed", seed,
                "--iterations", setting.iterations or self.study.iterations,
                "--threads", setting.threads, "--json", *setting.tune,
                *setting.searching(corpus, system), *more,
                *(["--set", *setting.options] if setting.options else []),
                *(["--resume"] if run.exists() else []), log=_beside(run, "log"),
            )  # fmt: skip
            self.hopefear(
                "translate", "--model", model, "--weights", run / "weights.tsv", *plain,
                "-i", self.part(corpus, "test")[0], "-o", _beside(run, "txt"),
                *setting.searching(corpus, system), "--threads", 1,
            )  # fmt: skip
            result.write_text(json.dumps(said), encoding="utf-8")
        return run

    def tasks(self) -> Iterator[tuple[Corpus, str]]:
        for system in self.study.systems:
            for name in self.study.corpora:
                yield CORPORA[name], system

    def run_all(self) -> bool:
        """Seed by seed, so that a table of what is finished is a fair one."""
        todo = [
            (corpus, system, setting, seed)
            for seed in range(1, self.study.seeds + 1)
            for corpus, system in self.tasks()
            for setting in self.study.settings
        ]
        unfinished = {self.folder(*one): one for one in todo}  # rows may share a run
        running: dict[Future[Path], Path] = {}
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while unfinished:
                    waiting = [run for run in unfinished if run not in running.values()]
                    ready = [
                        run for run in waiting if self._start(*unfinished[run]) not in unfinished
                    ]
                    for run in ready[: self.jobs - len(running)]:
                        running[pool.submit(self.run, *unfinished[run])] = run
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        del unfinished[running.pop(future)]
                        future.result()
            except OutOfTimeError:
                return False
            finally:
                pool.shutdown(cancel_futures=True)
        return True

    def _start(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path | None:
        """The run whose weights a run begins with."""
        return None if setting.start is None else self.folder(corpus, system, setting.start, seed)

    def finished(self, corpus: Corpus, system: str, setting: Setting) -> list[Finished]:
        runs = (
            self.folder(corpus, system, setting, seed) for seed in range(1, self.study.seeds + 1)
        )
        return [self.result(corpus, run) for run in runs if _beside(run, "json").exists()]

    def result(self, corpus: Corpus, run: Path) -> Finished:
        """Of a run that is finished."""
        said = json.loads(_beside(run, "json").read_text(encoding="utf-8"))
        lines = _beside(run, "txt").read_text(encoding="utf-8").splitlines()
        return Finished(run, said, list(tokenized(lines, corpus.tokenize)))

    # -- tables --

    def table(self, corpus: Corpus, system: str) -> str:
        """Of what is finished."""
        score = Scores(corpus, self.part(corpus, "test")[1:])
        runs = {s.label: self.finished(corpus, system, s) for s in self.study.settings}
        against = {s.label: self.study.compared(s) for s in self.study.settings}
        several = len(score.references) > 1
        head = ["runs", "dev BLEU", "test BLEU", "deviation", "p"]
        head += ["first", "p"] if several else []
        head += ["TER", "p", *self.study.columns]
        lines = []
        for label, found in runs.items():
            if not found:
                lines.append([label, "0", *["-"] * (len(head) - 1)])
                continue
            dev = np.mean([run.said["dev_bleu"] for run in found])
            cells = [label, str(len(found)), f"{dev:.2f}"]
            for kind in ("bleu", *(["first"] if several else []), "ter"):
                shown = [score.shown(kind, run) for run in found]
                cells.append(f"{np.mean(shown):.2f}")
                if kind == "bleu":
                    cells.append(f"{np.std(shown, ddof=1):.2f}" if len(found) > 1 else "-")
                theirs = runs.get(against[label], [])  # not there if some rows only are asked for
                cells.append("-" if theirs is found else score.p_value(kind, found, theirs))
            lines.append(cells + [COLUMNS[name](found) for name in self.study.columns])
        return markdown([title_of(corpus, system), *head], lines)

    def has_runs(self, corpus: Corpus, system: str) -> bool:
        return any(self.finished(corpus, system, setting) for setting in self.study.settings)


@dataclass
class Scores:
    """The metrics of one test set; `first` is BLEU with the first reference alone."""

    corpus: Corpus
    files: Sequence[Path]
    counted: dict[tuple[str, Path], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = [path.read_text(encoding="utf-8").splitlines() for path in self.files]
        self.references = [tokenized(column, self.corpus.tokenize) for column in columns]
        self.metrics = {"bleu": create("bleu"), "first": create("bleu"), "ter": create("ter")}
        everything = list(zip(*self.references, strict=True))
        only = [(line,) for line in self.references[0]]
        self.prepared = {
            kind: metric.prepare(only if kind == "first" else everything)
            for kind, metric in self.metrics.items()
        }

    def statistics(self, kind: str, run: Finished) -> Any:
        key = (kind, run.path)
        if key not in self.counted:
            self.counted[key] = self.prepared[kind].statistics(run.output)
        return self.counted[key]

    def shown(self, kind: str, run: Finished) -> float:
        return float(self.metrics[kind].shown(self.statistics(kind, run).sum(axis=0)))

    def p_value(self, kind: str, ours: Sequence[Finished], theirs: Sequence[Finished]) -> str:
        both = min(len(ours), len(theirs))
        if not both:
            return "-"
        samples = [[self.statistics(kind, run) for run in some[:both]] for some in (ours, theirs)]
        value = approximate_randomization(self.metrics[kind], *samples).p_value
        return f"{value:.3f}" if value >= 0.001 else "< 0.001"


#: Parts that a script makes of others: the source first, then the references.
DERIVED: dict[str, Callable[[Bench, Corpus], list[Path]]] = {}


def title_of(corpus: Corpus, system: str) -> str:
    return f"{corpus.title}, {system}"


def _beside(run: Path, kind: str) -> Path:
    return run.parent / f"{run.name}.{kind}"


def _name(readable: str, everything: list[Any]) -> str:
    """A name for a folder: short, and of its own for other settings."""
    digest = hashlib.sha256(json.dumps(everything).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in "-+." else "-" for c in readable)
    return f"{plain[:60]}-{digest}"


@cache
def data_is_here() -> bool:
    return (SHARED / "golden" / "aligned").is_dir()


def main(studies: Study | Sequence[Study], doc: str | None, script: str) -> list[Bench]:
    """The command line of a script with one table or several; the benches, for more."""
    known = {study.name: study for study in ([studies] if isinstance(studies, Study) else studies)}
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(known)}")
    parser.add_argument("--run", action="store_true", help="run what is not finished")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--minutes", type=float, default=40.0, help="when to stop, each table")
    parser.add_argument("--jobs", type=int, help="runs at a time; by default the table's")
    parser.add_argument("--seeds", type=int, help="fewer or more than the table's")
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA)
    parser.add_argument("--systems", nargs="+", choices=("phrase", "hiero"))
    parser.add_argument("--settings", nargs="+", metavar="LABEL", help="some of the rows only")
    for part in ("train", "dev", "test"):
        parser.add_argument(f"--{part}", type=int, help=f"sentences of the {part} set; 0: all")
    parser.add_argument("--out", type=Path, default=OUT / "study")
    a = parser.parse_args()
    wrong = [name for name in a.tables if name not in known]
    if wrong:
        parser.error(f"no table {wrong[0]}; there are {', '.join(known)}")
    if not data_is_here():
        print(f"no {SHARED / 'golden' / 'aligned'}; set HOPEFEAR_SHARED")
        sys.exit(0)
    benches = []
    for name in a.tables or known:
        changes: dict[str, Any] = {
            key: getattr(a, key)
            for key in ("seeds", "iterations", "corpora", "systems")
            if getattr(a, key) is not None
        }
        study = known[name]
        parts = [part for part in ("train", "dev", "test") if getattr(a, part) is not None]
        given = {part: getattr(a, part) or None for part in parts}
        if a.settings:
            changes["settings"] = [s for s in study.settings if s.label in a.settings]
        study = replace(study, sizes=replace(study.sizes, **given), **changes)
        bench = Bench(study, a.out, a.minutes, a.jobs or study.jobs)
        finished = bench.run_all() if a.run else True
        tables = {title_of(*task): bench.table(*task) for task in bench.tasks()}
        print("", *tables.values(), sep="\n")
        if not finished:
            print("the time is over; the same command goes on")
        if a.write:
            command = f"python bench/{script} {name if len(known) > 1 else ''}".strip()
            against = dict.fromkeys(f"the row '{study.compared(s)}'" for s in study.settings)
            text = (
                f"## {study.title}\n\n`{command} --run --write`: {study.sizes}; {study.seeds} "
                f"seed{'s' * (study.seeds > 1)}, at most {study.iterations} iterations. "
                f"p-values against {' or '.join(against)}, by stratified approximate "
                f"randomisation over all seeds.{' ' + study.text if study.text else ''}\n\n"
            )
            # What was not asked for, or has no runs here, stays as it is.
            there = tables_of(RESULTS, study.name)
            new = {title_of(*task) for task in bench.tasks() if bench.has_runs(*task)}
            every = [title_of(*task) for task in Bench(known[name]).tasks()]
            kept = [tables[t] if t in new else there[t] for t in every if t in new or t in there]
            write_section(RESULTS, study.name, text + "\n".join(kept))
        benches.append(bench)
    return benches
