"""A run, or several that differ in their seed only: `--runs 3`.

Tuning is noisy; one run says little. With several, each has a directory of its own in the given one
(`run-1`, `run-2` …), the report has the mean and the spread, and the weights of the best run on the
tuning set (or the held-out set) are the result.
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

#: Gives the loop of one run; everything but directory and options is the same in all of them. It
#: refuses what cannot be, and writes nothing: a refused command leaves no directory.
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
    """Run the loop once or several times; returns what there is to report.

    `config` is everything else that says what the runs are (inputs, tuner, metric).
    """
    if runs == 1:
        return summary(_run(make_loop(RunDirectory(directory), options), config, resume=resume))
    outcomes = []
    for number in range(1, runs + 1):
        own = replace(options, seed=options.seed + number - 1)
        loop = make_loop(RunDirectory(directory / f"run-{number}"), own)
        if number == 1:
            whole = {**config, "runs": runs, "loop": to_mapping(options)}
            prepare_directory(directory, whole, resume=resume)
        tell(f"run {number} of {runs}")
        # The directories in it go on where they are: the one above was checked.
        outcomes.append(_run(loop, config, resume=True))
    return _together(directory, outcomes)


def _run(loop: BaseLoop, config: Mapping[str, Any], *, resume: bool) -> Outcome:
    loop.directory.prepare({**config, "loop": to_mapping(loop.options)}, resume=resume)
    return loop.run()


def _together(directory: Path, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The files of all runs together, and the report."""
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
    """The report of several runs; `best` is the place of the chosen one."""
    report = {"best_run": best + 1, **reports[best]}
    for key in ("seconds", "decode_seconds", "optimise_seconds"):
        report[key] = round(sum(one[key] for one in reports), 3)
    for key in ("dev_bleu", "dev_score", "heldout_score"):
        if key in report:
            values = [one[key] for one in reports]
            report[f"{key}_mean"] = statistics.mean(values)
            report[f"{key}_deviation"] = statistics.stdev(values)
    report["runs"] = list(reports)
    return report
