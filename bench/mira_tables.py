"""The tables of online learning: selection, learners, cutting plane, bound, and all tuners.

    python bench/mira_tables.py selection --run     # thesis, tables 3.3 and 3.4
    python bench/mira_tables.py learners --run      # table 3.9: 1, 5, 15 learners
    python bench/mira_tables.py steps --run         # table 3.10: cutting plane or PA, others
    python bench/mira_tables.py bound --run         # table 4.7: B and k
    python bench/mira_tables.py tuners --run        # tables 4.3, 4.4: MERT, PRO, RAMPION, MIRA, RM

Each is one command of at most 40 minutes; the same one goes on where it was. Models (Multi30k
de-en, Bible zh-en; phrase-based and hierarchical) are trained once, on the first --train-lines
lines; weights are learned from the first --dev-sentences of the dev sets with --seeds seeds, and
the first --test-sentences of the test sets are translated. Means over seeds of BLEU and TER, and
p-values against the first row (stratified approximate randomisation over all seeds). Without --run
only what was finished is shown; --write puts it into docs/results.md. Everything lies in
bench/out/mira-tables.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from support.results import markdown, write_section

from hopefear.files import open_input
from hopefear.metrics import create
from hopefear.metrics.significance import approximate_randomization
from hopefear.metrics.tokenizing import tokenized

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))


@dataclass(frozen=True)
class Corpus:
    """A task: where its files are, by part; the first is the source, the others are references."""

    title: str
    name: str
    tokenized: bool
    files: dict[str, list[Path]]
    align: Path | None = None


@dataclass(frozen=True)
class Row:
    """A line of a table: how it is called, a tuner, its options."""

    label: str
    tuner: str
    options: tuple[str, ...] = ()
    kbest: int | None = None

    @property
    def name(self) -> str:
        parts = [self.tuner, *self.options, *([f"kbest={self.kbest}"] if self.kbest else [])]
        return "_".join(parts).replace("=", "-").replace(",", "+")


def corpora() -> list[Corpus]:
    multi = SHARED / "data" / "multi30k" / "de-en"
    bible = SHARED / "golden" / "aligned" / "zh-en"
    return [
        Corpus(
            "Multi30k de-en",
            "de-en",
            False,
            {
                "train": [multi / "train.de.gz", multi / "train.en.gz"],
                "dev": [multi / "dev.de", multi / "dev.en"],
                "test": [multi / "test.de", multi / "test.en"],
            },
        ),
        Corpus(
            "Bible zh-en",
            "zh-en",
            True,
            {
                "train": [bible / "train.zh.gz", bible / "train.en.gz"],
                "dev": [bible / "dev.zh", *(bible / f"dev.en.{i}" for i in range(4))],
                "test": [bible / "test.zh", *(bible / f"test.en.{i}" for i in range(4))],
            },
            bible / "train.gdfa.gz",
        ),
    ]


TABLES: dict[str, tuple[str, list[Row]]] = {
    "selection": (
        "What to learn towards and away from (thesis, tables 3.3 and 3.4)",
        [
            Row(f"{towards} / {away}", "mira", (f"towards={towards}", f"away={away}"))
            for towards in ("hope", "local")
            for away in ("fear", "max-cost", "model-best")
        ],
    ),
    "learners": (
        "Learners (thesis, table 3.9)",
        [Row(f"{n} learners", "mira", (f"learners={n}", "average=none")) for n in (1, 5, 15)],
    ),
    "steps": (
        "Passive-aggressive step, cutting plane and others (thesis, table 3.10)",
        [
            Row(step, "mira", (f"step={step}",))
            for step in ("pa", "cutting-plane", "kbest", "perceptron")
        ]
        + [Row("rm-pa", "rm"), Row("rm-cp", "rm", ("step=rm-cp",))],
    ),
    "bound": (
        "Bound and size of the list of relative margin (thesis, table 4.7)",
        [
            Row("B 1, k 500", "rm"),
            Row("B 5, k 500", "rm", ("B=5",)),
            Row("B 1, k 5000", "rm", (), 5000),
        ],
    ),
    "tuners": (
        "MERT, PRO, RAMPION, MIRA, RM with dense features (thesis, tables 4.3 and 4.4)",
        [Row(name, name) for name in ("mert", "pro", "rampion", "mira", "rm")],
    ),
}


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


class Bench:
    """The folder of all runs, and the clock."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.a = arguments
        self.began = time.monotonic()

    def hopefear(self, *words: str | Path | int) -> dict[str, Any]:
        """Run a command; what it says, if it is JSON. It is stopped when the time is over."""
        passed = time.monotonic() - self.began
        left = 60 * self.a.minutes - passed
        if left <= 0:
            raise OutOfTimeError
        command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
        print(f"{passed / 60:5.1f} min  {shlex.join(command[2:])}", flush=True)
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            raise OutOfTimeError from None
        if done.returncode:
            sys.exit(f"{shlex.join(command)} ended with exit code {done.returncode}")
        return dict(json.loads(done.stdout)) if done.stdout.strip() else {}

    # -- files: the beginnings of the sets --

    def folder(self, corpus: Corpus, system: str) -> Path:
        return Path(self.a.out) / f"{corpus.name}-{system}"

    def part(self, corpus: Corpus, part: str) -> list[Path]:
        """The first lines of a part, in files of their own."""
        limits = {"train": self.a.train_lines, "dev": self.a.dev_sentences}
        lines = limits.get(part, self.a.test_sentences)
        folder = Path(self.a.out) / f"{corpus.name}-text-{lines}"
        folder.mkdir(parents=True, exist_ok=True)
        sources = list(corpus.files[part])
        if part == "train" and corpus.align is not None:
            sources.append(corpus.align)
        made = []
        for path in sources:
            target = folder / path.name.removesuffix(".gz")
            if not target.exists():
                with open_input(path) as file:
                    target.write_bytes(b"".join(islice(file, lines)))
            made.append(target)
        return made

    def model(self, corpus: Corpus, system: str) -> Path:
        path = self.folder(corpus, system) / "model"
        ready = path.parent / "model.json"
        if not ready.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            source, target, *align = self.part(corpus, "train")
            said = self.hopefear(
                "train", source, target, "--model", path, "--system", system,
                *(["--tokenized"] if corpus.tokenized else []),
                *(["--align", align[0]] if align else []),
                "--threads", self.a.threads, "--json",
            )  # fmt: skip
            ready.write_text(json.dumps(said), encoding="utf-8")
        return path

    # -- runs --

    def result(self, corpus: Corpus, system: str, row: Row, seed: int) -> Path:
        return self.folder(corpus, system) / f"{row.name}.{seed}.json"

    def run(self, corpus: Corpus, system: str, row: Row, seed: int) -> None:
        """Tune and translate, as far as that is not done."""
        result = self.result(corpus, system, row, seed)
        if result.exists():
            return
        model = self.model(corpus, system)
        source, *references = self.part(corpus, "dev")
        run = result.with_suffix(".run")
        plain = ["--tokenized"] if corpus.tokenized else []
        said = self.hopefear(
            "tune", "--model", model, "--dev", source, "--refs", *references, *plain,
            "--tuner", row.tuner, "-o", run, "--seed", seed, "--iterations", self.a.iterations,
            "--threads", self.a.threads, "--json",
            *(["--kbest", row.kbest] if row.kbest else []),
            *(["--set", *row.options] if row.options else []),
            *(["--resume"] if run.exists() else []),
        )  # fmt: skip
        test = self.part(corpus, "test")[0]
        self.hopefear(
            "translate", "--model", model, "--weights", run / "weights.tsv", *plain, "-i", test,
            "-o", result.with_suffix(".txt"), "--threads", self.a.threads,
        )  # fmt: skip
        result.write_text(json.dumps(said), encoding="utf-8")

    def run_all(self, rows: Sequence[Row]) -> bool:
        """Everything, seed by seed, so that a table of what is finished is a fair one."""
        try:
            for seed in range(1, self.a.seeds + 1):
                for corpus, system in self.tasks():
                    for row in rows:
                        self.run(corpus, system, row, seed)
        except OutOfTimeError:
            return False
        return True

    def tasks(self) -> Iterator[tuple[Corpus, str]]:
        for system in self.a.systems:
            for corpus in corpora():
                yield corpus, system

    # -- tables --

    def table(self, corpus: Corpus, system: str, rows: Sequence[Row]) -> str:
        """Of what is finished."""
        _, *references = self.part(corpus, "test")
        columns = [path.read_text(encoding="utf-8").splitlines() for path in references]
        metrics = {"bleu": create("bleu"), "ter": create("ter")}
        # Raw output is scored as sacreBLEU does it by default.
        kind: Any = "none" if corpus.tokenized else "13a"
        texts = [tokenized(column, kind) for column in columns]
        prepared = {k: m.prepare(list(zip(*texts, strict=True))) for k, m in metrics.items()}
        lines, first = [], None
        for row in rows:
            paths = [self.result(corpus, system, row, s) for s in range(1, self.a.seeds + 1)]
            finished = [path for path in paths if path.exists()]
            if not finished:
                lines.append([row.label, "0", *["-"] * 7])
                continue
            said = [json.loads(path.read_text(encoding="utf-8")) for path in finished]
            outputs = [
                tokenized(path.with_suffix(".txt").read_text("utf-8").splitlines(), kind)
                for path in finished
            ]
            counted = {k: [p.statistics(o) for o in outputs] for k, p in prepared.items()}
            scores = {
                k: [float(metrics[k].shown(rows_.sum(axis=0))) for rows_ in counted[k]]
                for k in metrics
            }
            p_values = ["-", "-"]
            if first is None:
                first = counted
            else:
                p_values = [_p(metrics[k], counted[k], first[k]) for k in ("bleu", "ter")]
            seconds = [_seconds_each(path.with_suffix(".run")) for path in finished]
            lines.append(
                [
                    row.label,
                    str(len(finished)),
                    f"{np.mean([one['dev_bleu'] for one in said]):.2f}",
                    f"{np.mean(scores['bleu']):.2f}",
                    f"{np.std(scores['bleu'], ddof=1):.2f}" if len(finished) > 1 else "-",
                    p_values[0],
                    f"{np.mean(scores['ter']):.2f}",
                    p_values[1],
                    f"{np.mean(seconds):.1f}",
                ]
            )
        head = [f"{corpus.title}, {system}", "runs", "dev BLEU", "test BLEU", "deviation", "p"]
        return markdown([*head, "test TER", "p", "CPU s an iteration"], lines)


def _p(metric: Any, ours: list[Any], theirs: list[Any]) -> str:
    both = min(len(ours), len(theirs))
    value = approximate_randomization(metric, ours[:both], theirs[:both]).p_value
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _seconds_each(run: Path) -> float:
    """CPU seconds of an iteration, learning and decoding together."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines][1:]
    keys = ("optimise_cpu_seconds", "decode_cpu_seconds")
    return float(np.mean([sum(record.get(key, 0.0) for key in keys) for record in records] or [0]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES, help="which one")
    parser.add_argument("--run", action="store_true", help="run what is not finished")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--minutes", type=float, default=40.0, help="when to stop")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--systems", nargs="+", default=["phrase", "hiero"])
    parser.add_argument("--train-lines", type=int, default=20_000)
    parser.add_argument("--dev-sentences", type=int, default=200)
    parser.add_argument("--test-sentences", type=int, default=400)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench/out/mira-tables")
    a = parser.parse_args()
    missing = [path for corpus in corpora() for path in corpus.files["train"] if not path.exists()]
    if missing:
        print(f"no {missing[0]}; set HOPEFEAR_SHARED")
        sys.exit(0)
    title, rows = TABLES[a.table]
    bench = Bench(a)
    finished = bench.run_all(rows) if a.run else True
    tables = "\n".join(bench.table(corpus, system, rows) for corpus, system in bench.tasks())
    print(f"\n{tables}")
    if not finished:
        print("the time is over; the same command goes on")
    if a.write:
        text = (
            f"## {title}\n\n`python bench/mira_tables.py {a.table} --run --write`: models of the "
            f"first {a.train_lines:,} lines, tuned on the first {a.dev_sentences} sentences of the "
            f"dev sets with {a.seeds} seeds and {a.iterations} iterations at most, the first "
            f"{a.test_sentences} sentences of the test sets. p-values against the first row, by "
            "stratified approximate randomisation over all seeds.\n\n"
        )
        write_section(REPOSITORY / "docs" / "results.md", f"mira {a.table}", text + tables)


if __name__ == "__main__":
    main()
