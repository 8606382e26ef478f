"""All batch tuners on two tasks: BLEU on new text, and what is more than chance.

For Multi30k fr-en and the Bible zh-en (tokenised, aligned: ../shared/golden/aligned) a phrase-based
model is trained once; each tuner learns its weights from the beginning of the dev set with each
seed, and the test set is translated with the result. The table has means over seeds, their standard
deviation, and p-values against the first tuner (stratified approximate randomisation over all
seeds, as `hopefear score --versus` does it).

    python bench/batch_tuners.py --run            # at most 40 minutes; again: goes on
    python bench/batch_tuners.py --run --write    # also into docs/results.md

Without --run only what was finished before is shown. Everything lies in bench/out/batch-tuners;
delete it to begin anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support.results import markdown, write_section

from hopefear.metrics import create
from hopefear.metrics.significance import approximate_randomization

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))
TUNERS = ("mert", "pro", "batch-mira", "rampion", "risk", "svm")


@dataclass(frozen=True)
class Corpus:
    """A task: where its files are."""

    title: str
    folder: str
    source: str
    references: int

    @property
    def where(self) -> Path:
        return SHARED / "golden" / "aligned" / self.folder

    def sources(self, part: str) -> Path:
        return self.where / f"{part}.{self.source}"

    def targets(self, part: str) -> list[Path]:
        return [self.where / f"{part}.en.{i}" for i in range(self.references)]


CORPORA = (Corpus("Multi30k fr-en", "fr-en", "fr", 1), Corpus("Bible zh-en", "zh-en", "zh", 4))


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


@dataclass
class Bench:
    """The folder of all runs, and the clock."""

    out: Path
    dev_sentences: int
    iterations: int
    threads: int
    minutes: float
    seeds: int
    tuners: Sequence[str]

    def __post_init__(self) -> None:
        self.began = time.monotonic()

    def hopefear(self, *words: str | Path | int) -> dict[str, Any]:
        """Run a command; what it says, if it is JSON. It is stopped when the time is over."""
        left = 60 * self.minutes - (time.monotonic() - self.began)
        if left <= 0:
            raise OutOfTimeError
        command = [sys.executable, "-m", "hopefear", *map(str, words)]
        print(
            f"{(time.monotonic() - self.began) / 60:5.1f} min  {shlex.join(command[2:])}",
            flush=True,
        )
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            raise OutOfTimeError from None
        if done.returncode:
            sys.exit(f"{shlex.join(command)} ended with exit code {done.returncode}")
        return dict(json.loads(done.stdout)) if done.stdout.strip() else {}

    def model(self, corpus: Corpus) -> Path:
        path = self.out / corpus.folder / "model"
        ready = path.parent / "model.json"
        if not ready.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            train = [corpus.where / f"train.{e}.gz" for e in (corpus.source, "en", "gdfa")]
            said = self.hopefear(
                "train", train[0], train[1], "--model", path, "--system", "phrase", "--tokenized",
                "--align", train[2], "--threads", self.threads, "--json",
            )  # fmt: skip
            ready.write_text(json.dumps(said), encoding="utf-8")
        return path

    def dev(self, corpus: Corpus) -> tuple[Path, list[Path]]:
        """The beginning of the dev set."""
        made = []
        for path in [corpus.sources("dev"), *corpus.targets("dev")]:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            made.append(self.out / corpus.folder / path.name)
            made[-1].write_text("".join(lines[: self.dev_sentences]), encoding="utf-8")
        return made[0], made[1:]

    def run(self, corpus: Corpus, tuner: str, seed: int) -> None:
        """Tune and translate, as far as that is not done."""
        result = self.result(corpus, tuner, seed)
        if result.exists():
            return
        model = self.model(corpus)
        source, references = self.dev(corpus)
        run = result.with_suffix(".run")
        more = ["--resume"] if run.exists() else []
        said = self.hopefear(
            "tune", "--model", model, "--dev", source, "--refs", *references, "--tuner", tuner,
            "-o", run, "--seed", seed, "--iterations", self.iterations, "--tokenized",
            "--threads", self.threads, "--json", *more,
        )  # fmt: skip
        self.hopefear(
            "translate", "--model", model, "--weights", run / "weights.tsv", "--tokenized",
            "-i", corpus.sources("test"), "-o", result.with_suffix(".txt"),
            "--threads", self.threads,
        )  # fmt: skip
        result.write_text(json.dumps(said), encoding="utf-8")

    def result(self, corpus: Corpus, tuner: str, seed: int) -> Path:
        return self.out / corpus.folder / f"{tuner}.{seed}.json"

    def run_all(self) -> bool:
        """Everything, seed by seed, so that a table of what is finished is a fair one."""
        try:
            for seed in range(1, self.seeds + 1):
                for corpus in CORPORA:
                    for tuner in self.tuners:
                        self.run(corpus, tuner, seed)
        except OutOfTimeError:
            return False
        return True

    def table(self, corpus: Corpus) -> str:
        """Of what is finished."""
        lines = [path.read_text(encoding="utf-8").splitlines() for path in corpus.targets("test")]
        metric = create("bleu")
        prepared = metric.prepare(list(zip(*lines, strict=True)))
        rows: list[list[str]] = []
        first: tuple[str, list[Any]] | None = None
        for tuner in self.tuners:
            results = [self.result(corpus, tuner, seed) for seed in range(1, self.seeds + 1)]
            finished = [path for path in results if path.exists()]
            if not finished:
                rows.append([f"`{tuner}`", "0", *["-"] * 6])
                continue
            said = [json.loads(path.read_text(encoding="utf-8")) for path in finished]
            texts = [path.with_suffix(".txt").read_text(encoding="utf-8") for path in finished]
            counted = [prepared.statistics(text.splitlines()) for text in texts]
            scores = [float(metric.shown(found.sum(axis=0))) for found in counted]
            deviation = f"{np.std(scores, ddof=1):.2f}" if len(scores) > 1 else "-"
            p_value = "-"
            if first is None:
                first = (tuner, counted)
            else:
                both = min(len(first[1]), len(counted))
                test = approximate_randomization(metric, counted[:both], first[1][:both])
                p_value = f"{test.p_value:.3f}"
            rows.append(
                [
                    f"`{tuner}`",
                    str(len(finished)),
                    f"{np.mean([s['dev_bleu'] for s in said]):.2f}",
                    f"{np.mean(scores):.2f}",
                    deviation,
                    p_value,
                    f"{np.mean([s['iterations'] for s in said]):.1f}",
                    f"{np.mean([s['optimise_seconds'] for s in said]):.1f}",
                ]
            )
        versus = f"p against {first[0]}" if first else "p"
        columns = ["runs", "dev BLEU", "test BLEU", "deviation", versus, "iterations", "learning s"]
        return markdown([corpus.title, *columns], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", action="store_true", help="run what is not finished")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--minutes", type=float, default=40.0, help="when to stop")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tuners", nargs="+", default=list(TUNERS))
    parser.add_argument("--dev-sentences", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench/out/batch-tuners")
    a = parser.parse_args()
    if not all(corpus.where.is_dir() for corpus in CORPORA):
        print(f"no {SHARED / 'golden' / 'aligned'}; set HOPEFEAR_SHARED")
        sys.exit(0)
    bench = Bench(a.out, a.dev_sentences, a.iterations, a.threads, a.minutes, a.seeds, a.tuners)
    finished = bench.run_all() if a.run else True
    tables = "\n".join(bench.table(corpus) for corpus in CORPORA)
    print(f"\n{tables}")
    if not finished:
        print("the time is over; the same command goes on")
    if a.write:
        text = (
            "## Batch tuners\n\nPhrase-based models tuned on the first "
            f"{a.dev_sentences} sentences of the dev sets with {a.seeds} seeds, at most "
            f"{a.iterations} iterations (`python bench/batch_tuners.py --run --write`). p-values "
            "by stratified approximate randomisation over all seeds.\n\n"
        )
        write_section(REPOSITORY / "docs" / "results.md", "batch tuners", text + tables)


if __name__ == "__main__":
    main()
