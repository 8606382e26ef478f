"""The tasks of a study: models to train, and runs, each a tuning and a translation.

A task is complete in itself, so that any machine can do it that sees the same folders.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.calls import Calls, train, translate, tune
from harness.corpora import Corpus
from harness.settings import Setting


@dataclass(frozen=True)
class ModelTask:
    """A model to train."""

    path: Path  # its directory
    corpus: Corpus
    files: Sequence[Path]
    system: str
    words: Sequence[str]  # options of training

    @property
    def mark(self) -> Path:
        """The file that says that the model is complete."""
        return self.path.parent / f"{self.path.name}.json"

    def make(self, calls: Calls, threads: int) -> None:
        """Train the model unless it is complete."""
        if self.mark.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        arguments = self.path, self.corpus, self.files, self.system, self.words
        calls.call(train, *arguments, threads=threads)
        self.mark.write_text("{}", encoding="utf-8")


@dataclass(frozen=True)
class RunTask:
    """A run of a setting with a seed; its model is complete."""

    path: Path  # the run directory
    corpus: Corpus
    model: Path
    setting: Setting
    search: Sequence[str]  # options of search
    dev: Sequence[Path]
    bitext: Sequence[Path]  # to learn from, if that is not `dev`
    test: Path
    weights: Path | None  # of the start
    seed: int
    iterations: int

    @property
    def mark(self) -> Path:
        """The file with the report of a finished run."""
        return beside(self.path, "json")

    def make(self, calls: Calls) -> None:
        """Tune and translate unless that is done."""
        if self.mark.exists():
            return
        setting = self.setting
        report = calls.call(
            tune, self.path, self.corpus, self.model, self.dev, setting.tuner,
            [*setting.tune, *self.search], setting.options, train=self.bitext,
            weights=self.weights, seed=self.seed, iterations=self.iterations,
            threads=setting.threads, log=beside(self.path, "log"),
        )  # fmt: skip
        texts = self.path / "weights.tsv", self.test
        output = beside(self.path, "txt")
        calls.call(translate, output, self.corpus, self.model, *texts, self.search)
        self.mark.write_text(json.dumps(report), encoding="utf-8")


def beside(run: Path, kind: str) -> Path:
    """Returns a file of a run that is not in its directory."""
    return run.parent / f"{run.name}.{kind}"
