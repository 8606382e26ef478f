"""The times of training steps, in `work/times.json` of a model directory.

The file is a log and no part of the model: two trainings with equal inputs and options differ in
nothing else, so that a tuning run resumes with a model that was trained again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopefear.base.files import write_text

TIMES_FILE = "times.json"
_KEYS = ("seconds", "cpu_seconds")

Times = dict[str, dict[str, float]]  # step -> wall and CPU seconds


def read_times(work: Path) -> Times:
    """Return the times in a `work` directory; none if the file is missing or damaged."""
    try:
        times = json.loads((work / TIMES_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return _valid(times) if isinstance(times, dict) else {}


def write_times(work: Path, times: Times) -> None:
    """Write the times into a `work` directory."""
    with write_text(work / TIMES_FILE) as file:
        json.dump(times, file, indent=1)


def training_times(work: Path, steps: Mapping[str, Any]) -> Times:
    """Return the times of `steps`, the table of model.toml, in its order, as far as known."""
    times = read_times(work)
    # Before there was a file, the times were in model.toml.
    return _valid({name: times.get(name, step) for name, step in steps.items()})


def without_times(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of a step without its times."""
    return {key: value for key, value in report.items() if key not in _KEYS}


def _valid(times: Mapping[str, Any]) -> Times:
    return {
        name: {key: float(step[key]) for key in _KEYS}
        for name, step in times.items()
        if isinstance(step, dict) and all(isinstance(step.get(key), int | float) for key in _KEYS)
    }
