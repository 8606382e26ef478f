"""The one place where studies call Hopefear.

Each call is a process of its own: a study is stopped when its time is over, and two calls go on at
a time. What is asked for is written as in a command line (`--kbest 100`), since a run's folder is
named by it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.corpora import Corpus

Words = Sequence[str | Path | int]


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


@dataclass(kw_only=True)
class Calls:
    """Hopefear, and the clock."""

    minutes: float = 40.0
    jobs: int = 2
    began: float = field(default_factory=time.monotonic)

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

    def train(
        self, corpus: Corpus, files: Sequence[Path], model: Path, system: str, words: Words = ()
    ) -> dict[str, Any]:
        """A model of SRC TGT [ALIGN]."""
        source, target, *align = files
        return self.hopefear(
            "train", source, target, "--model", model, "--system", system, *_plain(corpus),
            *(["--align", align[0]] if align else []), *words, "--threads", self.jobs, "--json",
        )  # fmt: skip

    def tune(
        self,
        corpus: Corpus,
        model: Path,
        dev: Sequence[Path],
        run: Path,
        tuner: str,
        words: Words = (),
        options: Sequence[str] = (),
        *,
        train: Sequence[Path] | None = None,
        weights: Path | None = None,
        seed: int = 1,
        iterations: int = 15,
        threads: int = 1,
        log: Path | None = None,
    ) -> dict[str, Any]:
        """The report of a run; it goes on where it was stopped."""
        return self.hopefear(
            "tune", "--model", model, "--dev", dev[0], "--refs", *dev[1:], *_plain(corpus),
            "--tuner", tuner, "-o", run, "--seed", seed, "--iterations", iterations,
            "--threads", threads, "--json", *words,
            *(["--weights", weights] if weights else []), *(["--train", *train] if train else []),
            *(["--set", *options] if options else []), *(["--resume"] if run.exists() else []),
            log=log,
        )  # fmt: skip

    def translate(
        self,
        corpus: Corpus,
        model: Path,
        weights: Path,
        source: Path,
        output: Path,
        words: Words = (),
        threads: int = 1,
    ) -> None:
        self.hopefear(
            "translate", "--model", model, "--weights", weights, *_plain(corpus), "-i", source,
            "-o", output, *words, "--threads", threads,
        )  # fmt: skip

    def forced(
        self, corpus: Corpus, model: Path, files: Sequence[Path], words: Words = ()
    ) -> dict[str, Any]:
        """The report of forced decoding."""
        return self.hopefear("forced", "--model", model, *files, *_plain(corpus), *words, "--json")


def _plain(corpus: Corpus) -> list[str]:
    return ["--tokenized"] if corpus.tokenized else []
