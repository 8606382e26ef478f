"""The violation-fixing perceptron: learning curves, invalid updates, and what an iteration costs.

    python bench/violation.py curves invalid     # on the built-in world (Yu et al. 2013, fig. 8, 9)
    python bench/violation.py speed              # CPU seconds of an iteration, from the Bible zh-en
    python bench/violation.py curves invalid speed --write      # also into docs/results.md

Curves: each of the four updates, dense features and rule ids, learns from the bitext that the model
was trained on, without a pair's own rules; BLEU of the development set after each iteration.
Invalid: of the mistakes that an update is about the share where the good derivation has the higher
score, in all iterations.

The steps are the paper's own (eta 1), under which the start weights are soon forgotten; the tuners'
default is smaller.

Runs lie in bench/out/violation; a command that was stopped goes on when it is given again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from support.results import markdown, write_section
from support.study import REPOSITORY, RESULTS, SHARED

from hopefear.analysis.plot import line_plot
from hopefear.base.files import open_input

UPDATES = ("max-violation", "early", "standard", "local")
BEAMS = (2, 5, 10, 20, 30)
DOCS = REPOSITORY / "docs"
Records = list[dict[str, Any]]


def hopefear(*words: str | Path | int) -> dict[str, Any]:
    command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    print(shlex.join(command[2:]), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout)) if done.stdout.startswith("{") else {}


def tune(run: Path, model: Path, dev: Sequence[Path], *words: str | Path | int) -> Records:
    """Records of a run, made now or before."""
    hopefear(
        "tune", "--model", model, "--tokenized", "--dev", dev[0], "--refs", *dev[1:],
        "--tuner", "violation", "--templates", "rule-id", "--patience", 0, "--tolerance", 0,
        "-o", run, "--json", *words, *(["--resume"] if run.exists() else []),
    )  # fmt: skip
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


class World:
    """The built-in world, and a model of it."""

    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        self.folder = a.out / f"world-{a.train}-{a.dev}"
        self.model = self.folder / "model"
        self.dev = [self.folder / "dev.zh", *(self.folder / f"dev.en.{i}" for i in range(4))]
        self.bitext = [self.folder / "train.zh", self.folder / "train.en"]
        if not (self.folder / "ready").exists():
            hopefear("world", "-o", self.folder, "--train", a.train, "--dev", a.dev, "--test", 1)
            hopefear("train", *self.bitext, "--model", self.model, "--tokenized")
            (self.folder / "ready").touch()

    def run(self, update: str, beam: int, iterations: int) -> Records:
        name = f"{update}-{self.a.examples}-{beam}-{iterations}-{self.a.seed}"
        return tune(
            self.folder / name, self.model, self.dev, "--train", *self.bitext, "--max-examples",
            self.a.examples, "--leave-out", "--beam", beam, "--pop-limit", max(60, 2 * beam),
            "--iterations", iterations, "--seed", self.a.seed, "--set", f"update={update}", "eta=1",
        )  # fmt: skip


def curves(a: argparse.Namespace) -> str:
    world = World(a)
    runs = {update: world.run(update, a.beam, a.iterations) for update in UPDATES}
    examples = runs["early"][-1]["examples"]
    head = ["iteration", *map(str, range(a.iterations + 1))]
    rows = [[f"`{u}`", *(f"{r['bleu']:.2f}" for r in records)] for u, records in runs.items()]
    values = [record["bleu"] for records in runs.values() for record in records]
    low = 5 * (min(values) // 5)
    series = {u: [(float(i), r["bleu"]) for i, r in enumerate(rs)] for u, rs in runs.items()}
    picture(
        a,
        "violation-curves.svg",
        line_plot(
            {f"beam {a.beam}": series},
            "iteration",
            "dev BLEU",
            y_range=(low, 5 * (max(values) // 5 + 1)),
            log_x=False,
        ),
    )
    table = markdown(head, rows)
    last = [
        [
            f"`{u}`",
            str(records[-1]["updates"]),
            str(records[-1]["invalid"]),
            f"{records[-1]['violation']:.2f}",
            " ".join(map(str, records[-1]["updates_by_tenth"])),
            f"{records[-1]['active_features']:,}",
        ]
        for u, records in runs.items()
    ]
    head = ["last iteration", "updates", "invalid", "mean violation", "by tenth", "features"]
    return (
        f"Dev BLEU after each iteration, {examples} reachable pairs of {a.train}, beam {a.beam} "
        f"(figure 8).\n\n![learning curves](violation-curves.svg)\n\n{table}\n"
        f"{markdown(head, last)}"
    )


def invalid(a: argparse.Namespace) -> str:
    world = World(a)
    shares: dict[str, list[tuple[float, float]]] = {}
    for update in UPDATES[:3]:
        for beam in BEAMS:
            records = world.run(update, beam, a.invalid_iterations)[1:]
            mistakes = sum(record["mistakes"] for record in records)
            share = sum(record["invalid"] for record in records) / max(1, mistakes)
            shares.setdefault(update, []).append((float(beam), share))
    picture(a, "violation-invalid.svg", line_plot({"": shares}, "beam", "invalid updates"))
    head = ["beam", *map(str, BEAMS)]
    rows = [[f"`{u}`", *(f"{100 * y:.1f} %" for _, y in points)] for u, points in shares.items()]
    return (
        f"Share of invalid updates in {a.invalid_iterations} iterations (figure 9). "
        "`max-violation` does not make them; `local` cannot.\n\n"
        f"![invalid updates](violation-invalid.svg)\n\n{markdown(head, rows)}"
    )


def speed(a: argparse.Namespace) -> str:
    """An iteration over a sample, and what follows for 150,000 words on two cores."""
    where = SHARED / "golden" / "aligned" / "zh-en"
    if not where.is_dir():
        print(f"no {where}; set HOPEFEAR_SHARED")
        return ""
    folder = a.out / f"zh-en-{a.lines}"
    model = folder / "model"
    bitext = [folder / "train.zh", folder / "train.en"]
    if not (folder / "ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("train.zh", "train.en", "train.gdfa"):
            with open_input(where / f"{name}.gz") as file:
                (folder / name).write_bytes(b"".join(islice(file, a.lines)))
        align = folder / "train.gdfa"
        hopefear("train", *bitext, "--model", model, "--tokenized", "--align", align)
        (folder / "ready").touch()
    dev = [folder / "dev.zh", folder / "dev.en"]
    for path, short in zip(bitext, dev, strict=True):  # hardly anything: not what is measured
        short.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:10]))
    run = folder / f"run-{a.speed_examples}"
    records = tune(
        run, model, dev, "--train", *bitext, "--max-examples", a.speed_examples, "--prefixes", 5,
        "--beam", 30, "--pop-limit", 60, "--iterations", 2, "--threads", 1,
    )  # fmt: skip
    words = records[-1]["example_words"]
    cpu = min(record["optimise_cpu_seconds"] for record in records[1:])
    whole = cpu / words * 150_000
    head = ["", "source words", "CPU s an iteration", "for 150,000 words", "on two cores"]
    row = [
        "dense + rule id, beam 30",
        f"{words:,}",
        f"{cpu:.1f}",
        f"{whole:.0f}",
        f"{whole / 2:.0f}",
    ]
    return "What an iteration costs, sentence pairs and prefixes.\n\n" + markdown(head, [row])


def picture(a: argparse.Namespace, name: str, text: str) -> None:
    if a.write:
        (DOCS / name).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {"curves": curves, "invalid": invalid, "speed": speed}
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(known)}")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--train", type=int, default=3000, help="pairs of the world's bitext")
    parser.add_argument("--dev", type=int, default=200)
    parser.add_argument("--examples", type=int, default=1000, help="reachable pairs to learn from")
    parser.add_argument("--beam", type=int, default=30)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--invalid-iterations", type=int, default=3)
    parser.add_argument("--lines", type=int, default=20_000, help="of the Bible, for its speed")
    parser.add_argument("--speed-examples", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench" / "out" / "violation")
    a = parser.parse_args()
    wrong = [name for name in a.tables if name not in known]
    if wrong:
        parser.error(f"no table {wrong[0]}; there are {', '.join(known)}")
    for name in a.tables or known:
        text = known[name](a)
        print(f"\n{text}")
        if a.write and text:
            title = f"## Violation-fixing perceptron: {name}\n\n"
            command = f"`python bench/violation.py {name} --write`\n\n"
            write_section(RESULTS, f"violation {name}", title + command + text)


if __name__ == "__main__":
    main()
