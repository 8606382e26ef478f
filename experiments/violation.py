"""The violation-fixing perceptron: learning curves and invalid updates.

    python experiments/violation.py curves invalid            # Yu et al. 2013, figures 8 and 9
    python experiments/violation.py curves invalid --write    # also into docs/results

On the built-in world. Curves: each of the four updates, dense features and rule ids, learns from
the bitext that the model was trained on, without a pair's own rules; BLEU of the development set
after each iteration. Invalid: the share of violations whose good derivation already has the higher
score, over all iterations. bench/violation.py measures the cost of an iteration.

Steps have the paper's size (eta 1), which soon overwrites the start weights; the tuners' default is
smaller. A command that was stopped resumes when it is called again.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from harness import RESULTS, Corpus, markdown, parser, write_section
from harness.calls import Calls, train, tune

from hopefear.analysis.plot import line_plot
from hopefear.text.world import generate, write

TITLES = {"curves": "Learning curves (figure 8)", "invalid": "Invalid updates (figure 9)"}
UPDATES = ("max-violation", "early", "standard", "local")
BEAMS = (2, 5, 10, 20, 30)
WORLD = Corpus("world", "the built-in world", {})
Records = list[dict[str, Any]]


class World:
    """The built-in world with a model trained on it."""

    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        self.calls = Calls(minutes=a.minutes)
        self.folder = a.out / "violation" / f"world-{a.train}-{a.dev}"
        self.model = self.folder / "model"
        self.dev = [self.folder / "dev.zh", *(self.folder / f"dev.en.{i}" for i in range(4))]
        self.bitext = [self.folder / "train.zh", self.folder / "train.en"]
        if not (self.folder / "ready").exists():
            write(generate(train=a.train, dev=a.dev, test=1), self.folder)
            self.calls.call(train, self.model, WORLD, self.bitext, "phrase")
            (self.folder / "ready").touch()

    def run(self, update: str, beam: int, iterations: int) -> Records:
        """Returns the records of a run; makes or resumes it if need be."""
        a = self.a
        run = self.folder / f"{update}-{a.examples}-{beam}-{iterations}-{a.seed}"
        words = [
            "--max-examples", a.examples, "--leave-out", "--templates", "rule-id", "--beam", beam,
            "--pop-limit", max(60, 2 * beam), "--patience", 0, "--tolerance", 0,
        ]  # fmt: skip
        self.calls.call(
            tune, run, WORLD, self.model, self.dev, "violation", words,
            [f"update={update}", "eta=1"],
            train=self.bitext, seed=a.seed, iterations=iterations, threads=0,
        )  # fmt: skip
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def curves(a: argparse.Namespace) -> str:
    """Returns the table of learning curves in Markdown and draws its figure."""
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
        f"Dev BLEU after each iteration, {examples} reachable pairs of {a.train}, beam "
        f"{a.beam}.\n\n![learning curves](violation-curves.svg)\n\n{table}\n"
        f"{markdown(head, last)}"
    )


def invalid(a: argparse.Namespace) -> str:
    """Returns the table of invalid updates in Markdown and draws its figure."""
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
        f"Share of violations whose good derivation already has the higher score, in "
        f"{a.invalid_iterations} iterations. `max-violation` skips them; `local` has none.\n\n"
        f"![invalid updates](violation-invalid.svg)\n\n{markdown(head, rows)}"
    )


def picture(a: argparse.Namespace, name: str, text: str) -> None:
    """Writes a figure to the pages of results, if `--write` is given."""
    if a.write:
        (RESULTS / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Runs the command line."""
    known = {"curves": curves, "invalid": invalid}
    made = parser(__doc__)
    made.add_argument(
        "tables", nargs="*", metavar="TABLE", help=f"tables to make: {', '.join(known)}"
    )
    made.add_argument("--train", type=int, default=3000, help="number of training pairs")
    made.add_argument("--dev", type=int, default=200, help="number of dev sentences")
    made.add_argument("--examples", type=int, default=1000, help="reachable pairs to learn from")
    made.add_argument("--beam", type=int, default=30)
    made.add_argument("--iterations", type=int, default=10)
    made.add_argument("--invalid-iterations", type=int, default=3)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--minutes", type=float, default=120.0, help="time limit")
    a = made.parse_args()
    unknown = [name for name in a.tables if name not in known]
    if unknown:
        made.error(f"no table {unknown[0]}; choose from {', '.join(known)}")
    for name in a.tables or known:
        text = known[name](a)
        print(f"\n{text}")
        if a.write:
            title = f"## {TITLES[name]}\n\n"
            command = f"`python experiments/violation.py {name} --write`\n\n"
            write_section("violation", f"violation {name}", title + command + text)


if __name__ == "__main__":
    main()
