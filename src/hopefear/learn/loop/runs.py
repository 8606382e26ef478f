"""One tuning run, or several that differ only in their seed (`--runs 3`).

Tuning is noisy, and one run is little evidence. Several runs have a directory each in the given one
(`run-1`, `run-2` …); the report has the mean and the standard deviation, and the weights of the run
that scores best on the tuning set (or the held-out set) are the result.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopefear.base.config import to_mapping
from hopefear.learn.loop.base import BaseLoop, Outcome, summary
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import (
    METRICS_FILE,
    WEIGHTS_FILE,
    RunDirectory,
    prepare_directory,
    sweep,
    write_metrics,
)

#: Takes directory and options of a run and returns its loop. Raises errors for wrong options and
#: writes nothing, so that a refused command leaves no directory.
MakeLoop = Callable[[RunDirectory, LoopOptions], BaseLoop]


def tune(
    make_loop: MakeLoop,
    directory: Path,
    config: Mapping[str, Any],
    options: LoopOptions,
    *,
    runs: int = 1,
    resume: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run the loop once or several times and return the report.

    `config` has all other settings of the runs (inputs, tuner, metric).
    """
    if runs == 1:
        return summary(_run(make_loop(RunDirectory(directory), options), config, resume=resume))
    outcomes = []
    for number in range(1, runs + 1):
        own = replace(options, seed=options.seed + number - 1)
        loop = make_loop(RunDirectory(directory / f"run-{number}"), own)
        if number == 1:
            settings = {**config, "runs": runs, "loop": to_mapping(options)}
            prepare_directory(directory, settings, resume=resume)
        tell(f"run {number} of {runs}")
        # Runs in it always resume: `resume` was checked for the directory that contains them.
        outcomes.append(_run(loop, config, resume=True))
    return _together(directory, outcomes)


def _run(loop: BaseLoop, config: Mapping[str, Any], *, resume: bool) -> Outcome:
    loop.directory.prepare({**config, "loop": to_mapping(loop.options)}, resume=resume)
    return loop.run()


def _together(directory: Path, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Write the files that summarise all runs, and return the report."""
    sweep(directory)
    best = max(range(len(outcomes)), key=lambda number: (outcomes[number].quality, -number))
    records = [
        {"run": number, **record}
        for number, outcome in enumerate(outcomes, 1)
        for record in outcome.records
    ]
    write_metrics(directory / METRICS_FILE, records)
    outcomes[best].weights.save(directory / WEIGHTS_FILE)
    return together([summary(outcome) for outcome in outcomes], best)


def together(reports: Sequence[Mapping[str, Any]], best: int) -> dict[str, Any]:
    """Take the reports of several runs and the index of the chosen one; return one report."""
    report = {"best_run": best + 1, **reports[best]}
    for key in ("seconds", "decode_seconds", "optimise_seconds"):
        report[key] = round(sum(other[key] for other in reports), 3)
    for key in ("dev_bleu", "dev_score", "heldout_score"):
        if key in report:
            values = [other[key] for other in reports]
            report[f"{key}_mean"] = statistics.mean(values)
            report[f"{key}_deviation"] = statistics.stdev(values)
    report["runs"] = list(reports)
    return report
