"""How well each batch tuner recovers known weights, as in Hopkins & May (2011).

Gold weights are a random direction. Candidates have standard normal features; a candidate's gain is
its score under the gold weights, brought to 0..1 (three standard deviations to each side), plus
noise of the given share of a standard deviation, in steps of 1/10,000. So without noise the gold
weights are the best possible, and a tuner that ranks well finds their direction. The metric is the
mean gain.

Results are the cosine of learned and gold weights and, on new sentences, the gain of the learned
weights over random weights as a share of the gain of the gold weights. Every tuner runs once (no
new decoding) with its defaults; MERT has two random starts for more than 300 features. Finished
cells can be kept in a file (--keep) and are not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from harness import RESULTS, markdown, write_section

from hopefear.analysis.plot import line_plot
from hopefear.base import registry
from hopefear.base.weights import Weights
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import BatchTuner, Pool, Task
from hopefear.metrics.metric import FloatArray, Metric

UNIT = 10_000  # of a gain of 1
MANY = 300  # features; beyond that MERT with its defaults would take most of the time
LIGHT: Mapping[str, Any] = {"mert": {"restarts": 2, "kept": 1, "kicks": 0, "directions": 5}}
TUNERS = ("mert", "pro", "batch-mira", "rampion", "risk", "svm")


@dataclass(kw_only=True)
class MeanGain(Metric):
    """The mean gain of candidates whose gains are given."""

    name: ClassVar[str] = "mean-gain"
    title: ClassVar[str] = "mean gain"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the statistics."""
        return ("gain", "sentences")

    def prepare(self, references: Any) -> Any:
        raise NotImplementedError("gains are given")

    def score(self, statistics: Any) -> FloatArray:
        """Returns the mean gain of summed statistics."""
        values = np.asarray(statistics, np.float64)
        return values[..., 0] / np.maximum(UNIT * values[..., 1], 1.0)


@dataclass(frozen=True)
class Study:
    """Sizes of the pools."""

    sentences: int
    candidates: int
    noises: Sequence[float]
    dimensions: Sequence[int]
    seeds: int


def make(
    study: Study, gold: FloatArray, noise: float, random: np.random.Generator
) -> tuple[Candidates, FloatArray]:
    """Returns candidates and their gains without noise."""
    rows = study.sentences * study.candidates
    features = random.standard_normal((rows, len(gold)), dtype=np.float32)
    true = 0.5 + (features @ gold) / 6
    seen = true + noise / 6 * random.standard_normal(rows)
    statistics = np.ones((rows, 2), np.int64)
    statistics[:, 0] = np.rint(UNIT * np.clip(seen, 0, 1))
    sentences = np.repeat(np.arange(study.sentences), study.candidates)
    names = [f"f{i}" for i in range(len(gold))]
    return from_arrays(sentences, features, statistics, names), np.clip(true, 0, 1)


def cell(study: Study, tuner_name: str, dimensions: int, noise: float, seed: int) -> dict[str, Any]:
    """Returns the result of one run of a tuner."""
    random = np.random.default_rng([seed, dimensions, round(1000 * noise)])
    gold = random.standard_normal(dimensions)
    gold /= np.linalg.norm(gold)
    start = random.standard_normal(dimensions)
    start /= np.linalg.norm(start)
    candidates, _ = make(study, gold, noise, random)
    options = LIGHT.get(tuner_name, {}) if dimensions > MANY else {}
    tuner: BatchTuner = registry.get("tuner", tuner_name)(**options)
    pool = Pool(metric=MeanGain(), candidates=candidates)
    weights = Weights({f"f{i}": float(value) for i, value in enumerate(start)})
    began = time.process_time()
    optimized = tuner.optimize(pool, weights, Task(random=np.random.default_rng(seed)))
    seconds = time.process_time() - began
    vector = candidates.vector(optimized.weights)
    fresh, true = make(study, gold, 0.0, random)

    def gain(w: FloatArray) -> float:
        return float(true[fresh.best(fresh.scores(w))].mean())

    low, high = gain(start), gain(gold)
    return {
        "cosine": float(vector @ gold / max(np.linalg.norm(vector), 1e-30)),
        "share": (gain(vector) - low) / (high - low),
        "seconds": seconds,
    }


def run(study: Study, tuners: Sequence[str], keep: Path | None) -> dict[str, dict[str, Any]]:
    """Returns all cells; reads finished ones from the file and adds new ones to it."""
    done: dict[str, dict[str, Any]] = {}
    if keep is not None and keep.exists():
        done = {r["key"]: r for r in map(json.loads, keep.read_text().splitlines())}
    for noise in study.noises:
        for dimensions in study.dimensions:
            for tuner in tuners:
                for seed in range(1, study.seeds + 1):
                    size = f"{study.sentences}x{study.candidates}"
                    key = f"{tuner} {dimensions} {noise:g} {seed} {size}"
                    if key in done:
                        continue
                    done[key] = {"key": key, **cell(study, tuner, dimensions, noise, seed)}
                    if keep is not None:
                        with keep.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(done[key]) + "\n")
                print(f"{tuner} {dimensions} features, noise {noise:g}: done", flush=True)
    return done


def mean(
    done: Mapping[str, Mapping[str, Any]], study: Study, tuner: str, d: int, noise: float, what: str
) -> float:
    """Returns the mean of a figure over the seeds of a condition."""
    size = f"{study.sentences}x{study.candidates}"
    keys = [f"{tuner} {d} {noise:g} {seed} {size}" for seed in range(1, study.seeds + 1)]
    return float(np.mean([done[key][what] for key in keys]))


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=25, help="candidates per sentence")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tuners", nargs="+", default=None)
    parser.add_argument("--keep", type=Path, help="file with finished cells")
    parser.add_argument(
        "--write", action="store_true", help="write docs/results/synthetic.md and its plot"
    )
    a = parser.parse_args()
    known = registry.names("tuner")
    tuners = a.tuners or [name for name in TUNERS if name in known]
    study = Study(a.sentences, a.candidates, a.noise, a.dimensions, a.seeds)
    done = run(study, tuners, a.keep)
    text = [
        f"{study.sentences} sentences with {study.candidates} candidates each, means of "
        f"{study.seeds} seeds; each cell is the cosine with the gold weights and, after the "
        "stroke, the share of the possible gain on new sentences. All options have their "
        f"defaults, except two random starts for `mert` with more than {MANY} features.\n"
    ]
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for noise in study.noises:
        rows = []
        title = "no noise" if noise == 0 else f"noise {noise:g}"
        panels[title] = {}
        for tuner in tuners:
            values = [
                [mean(done, study, tuner, d, noise, what) for what in ("cosine", "share")]
                for d in study.dimensions
            ]
            seconds = mean(done, study, tuner, study.dimensions[-1], noise, "seconds")
            cells = [f"{cosine:.2f} / {share:.2f}" for cosine, share in values]
            rows.append([f"`{tuner}`", *cells, f"{seconds:.1f}"])
            panels[title][tuner] = [
                (d, cosine) for d, (cosine, _) in zip(study.dimensions, values, strict=True)
            ]
        head = [title, *(f"{d}" for d in study.dimensions), "CPU s, last"]
        text.append(markdown(head, rows))
    print("\n" + "\n".join(text))
    if a.write:
        command = "python experiments/synthetic.py --write"
        picture = line_plot(panels, "number of features", "cosine with the gold weights")
        (RESULTS / "synthetic.svg").write_text(picture, encoding="utf-8")
        heading = f"## Cosine and gain\n\n`{command}`\n\n"
        plot = "![cosine with the gold weights by number of features](synthetic.svg)\n"
        write_section("synthetic", "synthetic", heading + "\n".join([*text, plot]))


if __name__ == "__main__":
    main()
