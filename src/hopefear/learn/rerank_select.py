"""How many candidates are enough: the gain of a reranker by the length of its lists.

Takes `RerankJob` and lengths; returns for each the scores of the oracle and of a reranker that is
tuned and applied on the first n candidates of each list, cross-validated, and its comparison with
the longest lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.learn.rerank import RerankJob
from hopefear.learn.rerank_report import FEW_LISTS, compared
from hopefear.learn.rerank_tuning import check_folds, oracle_of, tune_reranker

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def selected(job: RerankJob, sizes: Sequence[int], start: Weights) -> list[dict[str, Any]]:
    """Return a row for each number of candidates, ascending; the last is all candidates."""
    lists, metric = job.lists, job.lists.metric
    longest = int((lists.candidates.begin[1:] - lists.candidates.begin[:-1]).max())
    if any(size < 1 for size in sizes):
        raise OptionError(f"--sizes {min(sizes)}: expected numbers of candidates, from 1")
    wanted = sorted({size for size in sizes or SIZES if size < longest} | {longest})
    folds = check_folds(job.options.folds, lists.candidates.groups)
    statistics = {}
    rows = []
    with job.display.step("select", total=len(wanted), unit="sizes") as step:
        for size in wanted:
            part = lists.candidates.shortened(size)
            tuned = tune_reranker(
                metric,
                part,
                job.make_tuner,
                start,
                folds=folds,
                seed=job.options.seed,
                threads=job.threads,
                fixed=job.fixed(start),
            )
            statistics[size] = part.statistics[tuned.held_out]
            rows.append(
                {
                    "candidates": size,
                    "mean_candidates": part.rows / part.groups,
                    "tuned": float(metric.shown(part.total(tuned.held_out))),
                    "oracle": oracle_of(metric, part),
                }
            )
            step.advance()
    for size, row in zip(wanted, rows, strict=True):
        outcome = compared(metric, statistics[longest], statistics[size])
        row |= {name: outcome[name] for name in ("difference", "low", "high", "p_value")}
    return rows


def warnings_of(rows: Sequence[dict[str, Any]], count: int, enough: int) -> list[str]:
    """Return what a reader of the rows of `count` lists should know."""
    row = next(row for row in rows if row["candidates"] == enough)
    if count >= FEW_LISTS or row is rows[-1]:
        return []
    return [
        f"{count:,} lists are few, and {enough:,} candidates may be too few: the difference to all "
        f"is between {row['low']:+.4g} and {row['high']:+.4g}; give {FEW_LISTS:,} lists or more"
    ]


def enough(rows: Sequence[dict[str, Any]], *, lower: bool, level: float = 0.05) -> int:
    """Return the smallest number of candidates that is not significantly worse than all."""
    for row in rows:
        worse = row["difference"] > 0 if lower else row["difference"] < 0
        if not worse or row["p_value"] > level:
            return int(row["candidates"])
    return int(rows[-1]["candidates"])
