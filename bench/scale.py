"""What millions of features cost: memory and seconds of learning, and of the files.

    python bench/scale.py stream     # 20 million features through the loop that learns
    python bench/scale.py sets       # an iteration of maxforce by feature set, from the Bible zh-en

With --write their tables go into docs/results.md, too.

Stream: an online tuner with AdaGrad and averages whose steps are generated, half of their features
new, with names as long as those of `word-edges`; nothing is decoded, everything else is as in a
run: names, weights, sums, means, checkpoints, the files of each iteration and of the result.
Budget: 20 million features in under 8 GB.

Sets: `hopefear tune --train` on a part of the text that the model was trained on (once; it is kept
in bench/out), with each template and with all, one thread, one iteration. Budget: with all, 150,000
source words in under 10 minutes on two cores. The last row has the folds' tables in memory, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from support.results import markdown, write_section
from support.study import REPOSITORY, RESULTS, SHARED

from hopefear.base.files import open_input
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.decode.contract import Decoder, Sentence, Tokens
from hopefear.forest import Forest, ForestBuilder
from hopefear.learn.loop.judge import TuningSet
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.runs import tune
from hopefear.learn.steps.rates import AdaGrad
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task, Update
from hopefear.metrics import create

TEMPLATES = ("rule-id", "word-edges", "rule-bigrams", "rule-history")
TEXT = "a b c d e f g h"
BATCHES = 500
ITERATIONS = 2
BUDGET_GB, BUDGET_MINUTES, BUDGET_WORDS = 8, 10, 150_000


def peak() -> float:
    """GB that this process had at most; ru_maxrss would be at least that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**20


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


# -- a stream of steps --


class Silent(Decoder):
    """Gives a longer beginning of the translation for more features, so that BLEU rises."""

    def __init__(self, features: int) -> None:
        self.names = FeatureNames()
        self.features = features

    @property
    def dense(self) -> list[str]:
        return ["words"]

    def decode(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
        builder = ForestBuilder(names=self.names)
        words = TEXT.split()[: 6 + round(2 * len(weights) / self.features)]
        builder.edge(builder.node(), (), words, features={"words": 1.0})
        return builder.finish(0)


@dataclass(kw_only=True)
class Stream(OnlineTuner):
    """Steps of new features, and of as many that were there."""

    name: ClassVar[str] = "stream"
    size: int = 0  # new features of a step

    _rate: AdaGrad = field(init=False)

    def begin(self, share: Share) -> None:
        self._rate = AdaGrad(0.01, 1.0)
        self._known: list[Any] = []

    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        first = len(self._known) * self.size
        intern = examples[0].forest.names.intern
        # About as long as names of word-edges: 39 bytes.
        new = [
            intern(f"word-edges:lfa|{n % 9}|{n:08x}|{n % 1000:03d}|{n % 97:012b}")
            for n in range(first, first + self.size)
        ]
        self._known.append(np.array(new, np.uint64))
        old = self._known[int(task.random.integers(len(self._known)))]
        ids = np.unique(np.concatenate([self._known[-1], old]))
        values = task.random.choice(np.array([-1.0, 1.0]), len(ids))
        step = (self._rate.metric(ids, values) * values).astype(np.float32)
        return Update(SparseVector(ids, step), 1)

    def state(self) -> dict[str, Any]:
        return self._rate.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._rate.restore(state)


def stream(features: int, out: Path) -> str:
    out.mkdir(parents=True, exist_ok=True)
    data = TuningSet(["x"] * BATCHES, [[TEXT]] * BATCHES)
    size = features // (BATCHES * ITERATIONS)
    decoder = Silent(features)
    loops: list[OnlineLoop] = []

    def make(place: Any, options: LoopOptions) -> OnlineLoop:
        loops.append(
            OnlineLoop(
                make_tuner=lambda: Stream(size=size),
                decoder=decoder,
                metric=create("bleu"),
                data=TuningSet(["x"], [[TEXT]]),
                training=data,
                start=Weights({"words": 1.0}),
                directory=place,
                options=options,
                tell=lambda text: print(f"{text} (peak so far {peak():.2f} GB)", flush=True),
            )
        )
        return loops[-1]

    options = LoopOptions(iterations=ITERATIONS, patience=0, tolerance=0, average_last=0)
    with tempfile.TemporaryDirectory(prefix="stream.", dir=out) as folder:
        run = Path(folder) / "run"
        seconds, _ = timed(lambda: tune(make, run, {"tuner": {}}, options))
        memory = peak()
        (loop,) = loops
        assert loop.mean is not None
        rate = loop.learners[0]
        assert isinstance(rate, Stream)
        count = len(loop.mean)
        rows = [
            ("features", f"{count:,}", ""),
            ("CPU seconds of the run", f"{seconds:.0f}", ""),
            ("peak memory", f"{memory:.2f} GB", f"budget {BUDGET_GB} GB"),
            ("names", f"{decoder.names.bytes / count:.0f} bytes each", ""),
            ("weights", f"{loop.current[0].table.bytes / count:.0f} bytes each", ""),
            ("their means", f"{loop.mean.table.bytes / count:.0f} bytes each", ""),
            ("sums of AdaGrad", f"{rate._rate._sums.table.bytes / count:.0f} bytes each", ""),
            *files(run),
        ]
    return markdown(["stream of steps", "", ""], rows)


def files(run: Path) -> list[tuple[str, str, str]]:
    """Size and loading of a run's files, each in a process of its own."""
    rows = []
    paths = [run / "weights.tsv", run / "iterations" / f"{ITERATIONS:02d}.bin"]
    for path in [path for path in paths if path.is_file()]:
        command = [sys.executable, __file__, "--load", str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        rows.append(
            (
                f"`{path.name}`",
                f"{path.stat().st_size / 2**20:,.0f} MB",
                f"loads in {found['seconds']:.1f} CPU s and {found['peak']:.2f} GB",
            )
        )
    return rows


# -- feature sets --


def hopefear(*words: str | Path | int) -> float:
    """Runs a command; the GB that it had at most."""
    command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return usage.ru_maxrss / 2**20


def sets(a: argparse.Namespace) -> str:
    data = SHARED / "golden" / "aligned" / "zh-en"
    if not data.is_dir():
        print(f"{data} is not there: nothing to learn from")
        return ""
    folder = a.out / f"zh-en-{a.train}"
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "zh": data / "train.zh.gz",
        "en": data / "train.en.gz",
        "links": data / "train.gdfa.gz",
    }
    for name, path in parts.items():
        with open_input(path) as file, (folder / name).open("wb") as out:
            out.writelines(islice(file, a.train))
    model = folder / "model"
    hopefear(
        "train", folder / "zh", folder / "en", "--align", folder / "links", "--tokenized",
        "--order", 3, "--clusters", 200, "--folds", 5, "--model", model,
    )  # fmt: skip
    dev = [data / "dev.zh", *(data / f"dev.en.{i}" for i in range(4))]
    for number, path in enumerate(dev):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:50]
        dev[number] = folder / path.name
        dev[number].write_text("".join(lines), encoding="utf-8")
    settings: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("none", (), ()),
        *((f"`{name}`", (name,), ()) for name in TEMPLATES),
        ("all four", TEMPLATES, ()),
        ("all four, `--folds`", TEMPLATES, ("--folds",)),
    ]
    rows, words = [], 0
    for label, templates, more in settings:
        chosen = ("--templates", *templates) if templates else ()
        with tempfile.TemporaryDirectory(prefix="run.", dir=folder) as run:
            memory = hopefear(
                "tune", "--model", model, "--tokenized", "--train", folder / "zh", folder / "en",
                "--dev", dev[0], "--refs", *dev[1:], "--tuner", "maxforce", "--prefixes", 5,
                "--max-examples", a.examples, "--beam", 30, "--iterations", 1, "--threads", 1,
                "-o", Path(run) / "run", *chosen, *more,
            )  # fmt: skip
            lines = (Path(run) / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        record = json.loads(lines[1])
        words = record["example_words"]
        seconds = record["optimise_cpu_seconds"]
        scaled = seconds * BUDGET_WORDS / words
        rows.append(
            (
                label,
                f"{words:,}",
                f"{seconds:.2f}",
                f"{scaled:.0f}",
                f"{record['active_features']:,}",
                f"{memory:.2f}",
            )
        )
    head = ("templates", "words", "CPU s", f"of {BUDGET_WORDS:,}", "features", "peak GB")
    return (
        f"An iteration of maxforce on {a.examples:,} pairs, the model of {a.train:,}; two cores "
        f"have {120 * BUDGET_MINUTES:,} CPU s in the budget.\n\n{markdown(head, rows)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="stream, sets; by default both")
    parser.add_argument("--features", type=int, default=20_000_000, help="of the stream")
    parser.add_argument("--examples", type=int, default=400, help="sentence pairs of an iteration")
    parser.add_argument("--train", type=int, default=10_000, help="sentence pairs of the model")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench" / "out" / "scale")
    parser.add_argument("--write", action="store_true", help="into docs/results.md")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.load is not None:
        seconds, _ = timed(lambda: Weights.load(a.load))
        print(json.dumps({"seconds": seconds, "peak": peak()}))
        return
    if not {"stream", "sets"}.issuperset(a.what):
        parser.error("give stream, sets or both")
    makers: dict[str, Callable[[], str]] = {
        "stream": lambda: stream(a.features, a.out),
        "sets": lambda: sets(a),
    }
    for name, make in makers.items():
        if a.what and name not in a.what:
            continue
        text = make()
        print(f"\n{text}")
        if text and a.write:
            title = f"## What many features cost: {name}\n\n"
            command = f"`python bench/scale.py {name} --write`.\n\n"
            write_section(RESULTS, f"scale {name}", title + command + text)


if __name__ == "__main__":
    main()
