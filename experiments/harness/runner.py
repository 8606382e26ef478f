"""The runs of a study: each is made once, in its own process, within the time limit."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from harness.calls import Calls, OutOfTimeError
from harness.cluster import do_all
from harness.corpora import CORPORA, Corpus
from harness.settings import Setting, Study
from harness.tables import Finished
from harness.tasks import ModelTask, RunTask, beside
from hopefear.base.executor import Executor
from hopefear.base.files import atomic_directory, open_input
from hopefear.metrics.tokenizing import tokenized

#: Functions that make a part of a corpus from others: its source first, then the references.
DERIVED: dict[str, Callable[[Runner, Corpus], list[Path]]] = {}


@dataclass
class Runner(Calls):
    """The files of a study, made when they are needed."""

    study: Study
    data: Path
    out: Path
    jobs: int = 2
    locks: dict[Path, threading.Lock] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def once(self, path: Path) -> threading.Lock:
        """Returns the lock of a path, so that two threads do not make the same model."""
        with self.guard:
            return self.locks.setdefault(path, threading.Lock())

    # -- files --

    def part(self, corpus: Corpus, part: str) -> list[Path]:
        """Returns the files of a part, cut to the study's size; the alignment last, if any."""
        if part in DERIVED:
            return DERIVED[part](self, corpus)
        sources = [self.data / name for name in corpus.files[part]]
        if part == "train" and corpus.align is not None:
            sources.append(self.data / corpus.align)
        if corpus.held_out and part in ("train", "test"):
            sources = self._divided(corpus, part)
        if part == "dev" and corpus.short is not None:
            sources = self._short(sources, self.out / "text" / corpus.name, corpus.short)
        size = self.study.sizes.of(part)
        if size is None:
            return sources
        drawn = corpus.drawn and part == "train"
        folder = self.out / "text" / f"{corpus.name}-{part}-{size}"
        with self.once(folder):
            folder.mkdir(parents=True, exist_ok=True)
            targets = [folder / path.name.removesuffix(".gz") for path in sources]
            for path, target in zip(sources, targets, strict=True):
                if not target.exists():
                    with open_input(path) as file:
                        lines = self._drawn(file, size) if drawn else islice(file, size)
                        target.write_bytes(b"".join(lines))
        return targets

    def _divided(self, corpus: Corpus, part: str) -> list[Path]:
        """Returns the training text without its last pairs, or these pairs as a test set."""
        paths = [self.data / name for name in corpus.files["train"]]
        if part == "train" and corpus.align is not None:
            paths.append(self.data / corpus.align)
        folder = self.out / "text" / f"{corpus.name}-{corpus.held_out}"
        targets = [folder / f"{part}.{path.name.removesuffix('.gz')}" for path in paths]
        with self.once(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for path, target in zip(paths, targets, strict=True):
                if not target.exists():
                    with open_input(path) as file:
                        lines = file.readlines()
                    rest = len(lines) - corpus.held_out
                    target.write_bytes(b"".join(lines[:rest] if part == "train" else lines[rest:]))
        return targets

    @staticmethod
    def _drawn(lines: Iterable[bytes], size: int) -> list[bytes]:
        """Returns lines drawn at random, the same ones of all parallel files, in their order."""
        every = list(lines)
        numbers = sorted(Random(1).sample(range(len(every)), min(size, len(every))))
        return [every[number] for number in numbers]

    def _short(self, files: Sequence[Path], folder: Path, words: int) -> list[Path]:
        """Returns parallel files with only the sentences that have fewer source words."""
        with self.once(folder):
            if not folder.exists():
                lines = [path.read_text(encoding="utf-8").splitlines() for path in files]
                kept = [at for at, line in enumerate(lines[0]) if len(line.split()) < words]
                folder.parent.mkdir(parents=True, exist_ok=True)
                with atomic_directory(folder) as made:
                    for path, column in zip(files, lines, strict=True):
                        text = "".join(column[at] + "\n" for at in kept)
                        (made / path.name).write_text(text, encoding="utf-8")
        return [folder / path.name for path in files]

    def model_task(self, corpus: Corpus, system: str, words: Sequence[str]) -> ModelTask:
        """Returns what to do for a model. `words` are options of training."""
        size = self.study.sizes.train
        name = _name(f"{corpus.name}-{system}-{size or 'all'}", list(words))
        files = self.part(corpus, "train")
        return ModelTask(self.out / "models" / name, corpus, files, system, words)

    def model(self, corpus: Corpus, system: str, words: Sequence[str]) -> Path:
        """Returns a model's directory; trains it if need be."""
        task = self.model_task(corpus, system, words)
        with self.once(task.path):
            task.make(self, threads=self.jobs)
        return task.path

    # -- runs --

    def folder(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path:
        """Returns the run directory of a setting and seed."""
        sizes = [self.study.sizes.of(part) for part in ("train", "dev", "test")]
        key = [sizes, setting.key(corpus, self.study.iterations)]
        name = _name("-".join([setting.tuner, *setting.options]), key)
        return self.out / "runs" / f"{corpus.name}-{system}" / f"{name}.{seed}"

    def run(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path:
        """Tune and translate unless that is done; returns the run directory."""
        run = self.folder(corpus, system, setting, seed)
        with self.once(run):
            if beside(run, "json").exists():
                return run
            if setting.start is not None:
                self.run(corpus, system, setting.start, seed)
            self.model(corpus, system, _training(setting, corpus))
            self.run_task(corpus, system, setting, seed).make(self)
        return run

    def run_task(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> RunTask:
        """Returns what to do for a run whose model and start weights are made before."""
        run = self.folder(corpus, system, setting, seed)
        run.parent.mkdir(parents=True, exist_ok=True)
        weights = None
        if setting.start is not None:
            weights = self.folder(corpus, system, setting.start, seed) / "weights.tsv"
        elif setting.weights is not None:
            weights = beside(run, "weights.tsv")
            weights.write_text(setting.weights, encoding="utf-8")
        return RunTask(
            run,
            corpus,
            self.model_task(corpus, system, _training(setting, corpus)).path,
            setting,
            setting.searching(corpus, system),
            dev=self.part(corpus, setting.dev),
            bitext=self.part(corpus, setting.learn_from)[:2] if setting.learn_from else (),
            test=self.part(corpus, "test")[0],
            weights=weights,
            seed=seed,
            iterations=setting.iterations or self.study.iterations,
        )

    def tasks(self) -> Iterator[tuple[Corpus, str]]:
        """Yields the corpora and systems of the study."""
        for system in self.study.systems:
            for name in self.study.corpora:
                yield CORPORA[name], system

    def unfinished(self) -> dict[Path, tuple[Corpus, str, Setting, int]]:
        """Returns the runs of all rows, seed by seed, so that unfinished tables are fair."""
        todo = [
            (corpus, system, setting, seed)
            for seed in range(1, self.study.seeds + 1)
            for corpus, system in self.tasks()
            for setting in self.study.settings
        ]
        return {self.folder(*task): task for task in todo}  # rows may share a run

    def run_all(self) -> bool:
        """Make all runs; False: the time is over."""
        unfinished = self.unfinished()
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

    def run_all_on(self, executor: Executor) -> bool:
        """Make all runs on the workers of an executor; False: the time is over."""
        every = self.unfinished()
        for corpus, system, setting, seed in list(every.values()):
            while setting.start is not None:  # a row that --settings left out, perhaps
                setting = setting.start
                task = corpus, system, setting, seed
                every.setdefault(self.folder(*task), task)
        todo = {run: task for run, task in every.items() if not beside(run, "json").exists()}
        models = {
            model.path: model
            for corpus, system, setting, _ in todo.values()
            if not (
                model := self.model_task(corpus, system, _training(setting, corpus))
            ).mark.exists()
        }
        if models and not do_all(executor, list(models.values()), self.out, self.minutes_left()):
            return False
        while todo:
            ready = [run for run, task in todo.items() if self._start(*task) not in todo]
            tasks = [self.run_task(*todo.pop(run)) for run in ready]
            if not do_all(executor, tasks, self.out, self.minutes_left()):
                return False
        return True

    def _start(self, corpus: Corpus, system: str, setting: Setting, seed: int) -> Path | None:
        """Returns the run whose weights a run starts from."""
        return None if setting.start is None else self.folder(corpus, system, setting.start, seed)

    def finished(self, corpus: Corpus, system: str, setting: Setting) -> list[Finished]:
        """Returns the finished runs of a row."""
        runs = (
            self.folder(corpus, system, setting, seed) for seed in range(1, self.study.seeds + 1)
        )
        return [self.result(corpus, run) for run in runs if beside(run, "json").exists()]

    def has_runs(self, corpus: Corpus, system: str) -> bool:
        """Whether any row of a table has a finished run."""
        return any(self.finished(corpus, system, setting) for setting in self.study.settings)

    def result(self, corpus: Corpus, run: Path) -> Finished:
        """Returns a finished run with its report and output."""
        report = json.loads(beside(run, "json").read_text(encoding="utf-8"))
        lines = beside(run, "txt").read_text(encoding="utf-8").splitlines()
        return Finished(run, report, list(tokenized(lines, corpus.tokenize)))


def _training(setting: Setting, corpus: Corpus) -> list[str]:
    """Returns the options of training of a setting."""
    return [word.replace("{corpus}", corpus.name) for word in setting.train]


def _name(readable: str, settings: list[Any]) -> str:
    """Returns a short folder name that is unique to the settings."""
    digest = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in "-+." else "-" for c in readable)
    return f"{plain[:60]}-{digest}"
