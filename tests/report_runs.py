"""Run directories for tests of the report, written by hand: no tuning is needed to read one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopefear.base.weights import Weights
from hopefear.learn.loop.run import RunDirectory, write_config, write_metrics

CONFIG: dict[str, Any] = {
    "tuner": {"name": "mira", "towards": "hope", "away": "fear", "C": 0.01},
    "metric": {"name": "bleu"},
    "system": {"tokenized": True},
    "loop": {"seed": 1},
}


def record(iteration: int, score: float, **more: Any) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "score": score,
        "bleu": score,
        "length_ratio": 1.0,
        "decode_seconds": 1.0,
        "active_features": 2,
        **more,
    }


def write_run(
    path: Path,
    scores: Sequence[float] = (20.0, 25.0, 23.0),
    *,
    config: Mapping[str, Any] | None = None,
    weights: Sequence[Mapping[str, float]] | None = None,
    more: Mapping[str, Any] | None = None,
    phase: str = "finished",
) -> Path:
    """A finished run; `more` is added to the configuration, `weights` are those by iteration."""
    directory = RunDirectory(path)
    for folder in (directory.checkpoint, path / "iterations"):
        folder.mkdir(parents=True)
    write_config(path / "config.toml", {**(config or CONFIG), **(more or {})})
    records = [record(n, s) for n, s in enumerate(scores)]
    for one in records[1:]:
        one |= {"towards_score": one["score"] + 9, "away_score": one["score"] - 9, "warnings": []}
    write_metrics(path / "metrics.jsonl", records)
    for number in range(len(scores)):
        values = weights[number] if weights else {"lm": 1.0 + number, "words": -1.0}
        directory.save_weights(number, Weights(values))
    best = max(range(len(scores)), key=lambda n: scores[n])
    directory.choose(directory.load_weights(best))
    (directory.checkpoint / "state.json").write_text(json.dumps({"phase": phase}))
    return path
