"""Tuning, forced decoding and translating on a cluster: the same bytes as with threads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hopefear
from hopefear.analysis.forced import force_bitext
from hopefear.analysis.reachability import ForcedOptions
from hopefear.base.cluster.executor import ClusterExecutor
from hopefear.base.executor import Executor, Threads
from hopefear.base.progress import Display, Progress
from hopefear.text import world as built_in

LEARN = {"max_examples": 40, "templates": ["word-pairs", "rule-bigrams"]}
#: tuner, its options, options of `tune`
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "mert": ("mert", {"restarts": 5, "kicks": 2}, {}),
    "forests": ("batch-mira", {"space": "forest"}, {}),
    "bins": ("mert", {"search_aware": "potential", "restarts": 2, "kicks": 1}, {}),
    "lattices": ("lattice-svm", {}, {"held": True}),
    "end": (
        "mira",
        {"learners": 3, "mixing": "end", "top": 20, "average": "learners"},
        {"templates": ["word-pairs", "rule-id"]},
    ),
    "frequent": (
        "mira",
        {"learners": 4, "rate": "adagrad", "minibatch": 3, "average": "iterations"},
        {"templates": ["word-pairs"], "min_sentences": 3},
    ),
    "bitext": ("mira", {"learners": 2}, {"train": True, "folds": True, **LEARN}),
    "gold": ("maxforce", {}, {"train": True, "prefixes": 5, **LEARN}),
    "hiero": ("mira", {"learners": 2}, {"templates": ["rule-shape", "target-bigrams"]}),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in world, small, with a model of each system."""
    place = tmp_path_factory.mktemp("world")
    built_in.write(built_in.generate(train=500, dev=24, test=12, seed=1), place)
    for system in ("phrase", "hiero"):
        hopefear.train(
            place / "train.zh", place / "train.en", model=place / system, system=system,
            order=2, folds=2, display="off",
        )  # fmt: skip
    return place


def tune(world: Path, output: Path, name: str, **more: Any) -> Path:
    tuner, tuner_options, given = RUNS[name]
    options = dict(given)
    if options.pop("train", False):
        options["train"] = [world / "train.zh", world / "train.en"]
    if options.pop("held", False):
        options |= {"heldout": world / "test.zh", "heldout_refs": [world / "test.en.0"]}
    hopefear.tune(
        world / ("hiero" if name == "hiero" else "phrase"),
        dev=world / "dev.zh",
        refs=[world / "dev.en.0", world / "dev.en.1"],
        tuner=tuner,
        tuner_options=tuner_options,
        output=output,
        **{"iterations": 2, "display": "off", **options, **more},
    )
    return output


def results(run: Path) -> dict[str, Any]:
    """The bytes of all weights, and the records without times."""
    files = sorted([*run.glob("iterations/*"), run / "weights.tsv"])
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {
        "weights": [(path.name, path.read_bytes()) for path in files],
        "records": [{k: v for k, v in r.items() if "seconds" not in k} for r in records],
    }


@pytest.mark.filterwarnings("ignore:constant within every sentence")
@pytest.mark.parametrize("name", [name for name in RUNS if name != "bitext"])
def test_tuning(name: str, world: Path, machines: Any, tmp_path: Path) -> None:
    threads = tune(world, tmp_path / "threads", name, threads=2)
    cluster = tune(world, tmp_path / "cluster", name, cluster=machines.address, workers=3)
    assert results(cluster) == results(threads)


class KillsAMachine(Display):
    """A progress display that kills a machine in the middle of a step."""

    def __init__(self, machines: Any, label: str, done: int) -> None:
        super().__init__()
        self.machines, self.label, self.done = machines, label, done
        self.killed = False

    def refresh(self, step: Progress) -> None:
        if not self.killed and step.label == self.label and step.done >= self.done:
            self.machines.kill(self.machines.not_first())
            self.killed = True


def test_a_machine_dies_in_the_middle_of_a_pass(world: Path, machines: Any, tmp_path: Path) -> None:
    options = {"max_examples": 120, "iterations": 3}
    threads = tune(world, tmp_path / "threads", "bitext", **options)
    display = KillsAMachine(machines, "iteration 2: mira", 50)
    cluster = tune(
        world, tmp_path / "cluster", "bitext", cluster=machines.address, workers=3,
        display=display, **options,
    )  # fmt: skip
    machines.add()
    assert display.killed
    assert results(cluster) == results(threads)


def test_a_killed_command_resumes(world: Path, machines: Any, tmp_path: Path, start: Any) -> None:
    threads = tune(world, tmp_path / "threads", "bitext", iterations=4)
    command = [
        *(sys.executable, "-m", "hopefear", "tune", "--model", world / "phrase"),
        *("--dev", world / "dev.zh", "--refs", world / "dev.en.0", world / "dev.en.1"),
        *("--tuner", "mira", "--set", "learners=2", "--iterations", "4"),
        *("--train", world / "train.zh", world / "train.en", "--folds", "--max-examples", "40"),
        *("--templates", "word-pairs", "rule-bigrams", "-o", tmp_path / "run"),
        *("--cluster", machines.address, "--workers", "3", "--resume"),
    ]
    process = start(command, stderr=subprocess.PIPE)
    metrics = tmp_path / "run" / "metrics.jsonl"
    limit = time.monotonic() + 60
    while not metrics.is_file() or len(metrics.read_text().splitlines()) < 3:
        assert time.monotonic() < limit, "two iterations in time"
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert results(tmp_path / "run") == results(threads)


def test_translating(world: Path, machines: Any) -> None:
    def translated(**more: Any) -> Any:
        return hopefear.translate(
            world / "phrase", world / "dev.zh", nbest=5, trace=True, display="off",
            templates=["word-pairs"], **more,
        )  # fmt: skip

    threads = translated(threads=2)
    cluster = translated(cluster=machines.address, workers=2)
    assert list(cluster) == list(threads)


def test_forced_decoding(world: Path, machines: Any, tmp_path: Path) -> None:
    model = hopefear.Model.load(world / "phrase")

    def forced(name: str, executor: Executor) -> tuple[Any, bytes, bytes]:
        output, gold = tmp_path / f"{name}.txt", tmp_path / f"{name}.gold"
        with executor:
            report = force_bitext(
                model, world / "dev.zh", [world / "dev.en.0"], ForcedOptions(leave_out=True),
                limits=[2], output=output, gold_out=gold, executor=executor,
            )  # fmt: skip
        kept = {k: v for k, v in report.items() if k not in ("cpu_seconds", "peak_mb")}
        return kept, output.read_bytes(), gold.read_bytes()

    threads = forced("threads", Threads(2))
    assert forced("cluster", ClusterExecutor(machines.address, workers=2)) == threads
    assert threads[0]["reachable_sentences"] > 0
