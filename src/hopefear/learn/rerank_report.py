"""What a tuned reranker gains: every metric with its significance, the oracle, and warnings.

Takes `Lists` and the chosen candidates and returns values that JSON can represent. Scores are those
of the lists that were not used in tuning, if there are folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.console import format_value
from hopefear.learn.rerank_lists import Lists
from hopefear.learn.rerank_metrics import GIVEN, ListMetrics, complete_scores
from hopefear.metrics.given import GivenScore
from hopefear.metrics.metric import Metric
from hopefear.metrics.mix import Mix
from hopefear.metrics.significance import paired_bootstrap, paired_interval

SIGNIFICANT = 0.05
FEW_LISTS = 200
LISTS_PER_FEATURE = 20

Rows = NDArray[np.int64]


def compared(metric: Metric, first: NDArray[Any], second: NDArray[Any]) -> dict[str, Any]:
    """Compare the statistics of the first candidates and of the chosen ones, by a paired test."""
    outcome = paired_bootstrap(metric, [second], [first])
    low, high = paired_interval(metric, [second], [first])
    return {
        "first_best": float(metric.shown(first.sum(axis=0, dtype=np.int64))),
        "tuned": float(metric.shown(second.sum(axis=0, dtype=np.int64))),
        "difference": outcome.difference,
        "low": low,
        "high": high,
        "p_value": outcome.p_value,
        "test": outcome.signature,
    }


def all_metrics(
    lists: Lists, metrics: ListMetrics, chosen: Rows, threads: int
) -> list[dict[str, Any]]:
    """Return the comparison for each metric: the optimised one, its parts, and all others."""
    statistics, first = lists.candidates.statistics, lists.first
    names = [term.name for term in metrics.terms]
    rows = []
    mixed = isinstance(lists.metric, Mix)

    def add(name: str, metric: Metric, left: NDArray[Any], right: NDArray[Any], role: str) -> None:
        lower = metric.lower_is_better or getattr(metric, "lower", False)
        row = {"metric": name, "role": role, "lower_is_better": lower, "percent": _percent(metric)}
        rows.append({**row, **compared(metric, left, right)})

    if mixed:
        assert isinstance(lists.metric, Mix)
        add(
            lists.metric.describe(),
            lists.metric,
            statistics[first],
            statistics[chosen],
            "optimised",
        )
        begin = 0
        for name, part in zip(names, lists.metric.parts, strict=True):
            end = begin + len(part.columns)
            left, right = statistics[first, begin:end], statistics[chosen, begin:end]
            add(name, part, left, right, "part")
            begin = end
    else:
        add(names[0], lists.metric, statistics[first], statistics[chosen], "optimised")
    numbers = lists.candidates.sentences.tolist()
    for name, counted in metrics.report_text_metrics().items():
        left, right = (
            counted.rows(lists.texts(part), numbers, threads) for part in (first, chosen)
        )
        add(name, counted.metric, left, right, "other")
    for name in complete_scores(lists.read):
        if name not in names:
            values = [lists.given(name, part) for part in (first, chosen)]
            given = GivenScore.of(np.concatenate(values), lower=name in metrics.lower)
            add(name, given, given.rows(values[0]), given.rows(values[1]), "other")
    return rows


def _percent(metric: Metric) -> bool:
    """Whether shown values are in percent, and not in units of given scores."""
    return not isinstance(metric, GivenScore | Mix)


def oracle_share(first: float, tuned: float, oracle: float) -> float | None:
    """Return how much of the oracle's gain is reached; None if the oracle gains nothing."""
    return (tuned - first) / (oracle - first) if abs(oracle - first) > 1e-9 else None


def warnings_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the report should know, one sentence each."""
    texts = []
    lists, features = report["lists"], report["active_features"]
    need = max(FEW_LISTS, LISTS_PER_FEATURE * features)
    main = report["metrics"][0]
    if lists < need:
        half = (main["high"] - main["low"]) / 2
        chance = f"; chance alone makes differences of {number(half, main)}" if half > 0 else ""
        kinds = "feature" if features == 1 else "features"
        texts.append(
            f"{lists:,} lists are few for {features} {kinds}, tune on {need:,} or more{chance}"
        )
    if report["folds"] == 1:
        texts.append(
            "the gain is that on the lists that were tuned on, which overstates it; give --folds 5"
        )
    if main["p_value"] > SIGNIFICANT:
        texts.append(f"the gain in {main['metric']} may be chance (p = {main['p_value']:.3f})")
    elif gain(main) < 0:
        texts.append(
            f"{main['metric']} becomes worse (p = {main['p_value']:.3f}); choose another tuner, or "
            "bring the features to one scale"
        )
    better = gain(main) > 0
    for row in report["metrics"][1:]:
        if row["metric"] != GIVEN and better and gain(row) < 0 and row["p_value"] <= SIGNIFICANT:
            texts.append(
                f"{row['metric']} becomes worse by {number(abs(row['difference']), row)} "
                f"(p = {row['p_value']:.3f}) while {main['metric']} becomes better: "
                + _remedy(row, main)
            )
    return texts


def _remedy(row: Mapping[str, Any], main: Mapping[str, Any]) -> str:
    """Return what to do about a metric that becomes worse while the optimised one improves."""
    if row["role"] == "part":
        return "raise its weight"
    weighed = main["metric"] if "=" in main["metric"] else f"{main['metric']}=1"
    both = f"weigh both, as in --metric {weighed} {row['metric']}=1"
    if row["percent"] or row["lower_is_better"]:
        return both
    return f"{both} (or give --lower {row['metric']}, if lower values are better)"


def gain(row: Mapping[str, Any]) -> float:
    """Return the difference of a row as an improvement: positive is better."""
    difference = float(row["difference"])
    return -difference if row["lower_is_better"] else difference


def number(value: float, row: Mapping[str, Any], sign: str = "") -> str:
    """Return a value of a row as text."""
    return f"{value:{sign}.{2 if row['percent'] else 4}f}"


def metric_table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[list[str]], list[str]]:
    """Return rows and header of the table of all metrics."""
    header = ["", "first best", "tuned", "difference", "95 % interval", "p"]
    return [
        [
            ("> " if row["role"] == "optimised" else "  ") + row["metric"],
            number(row["first_best"], row),
            number(row["tuned"], row),
            number(row["difference"], row, "+"),
            f"{number(row['low'], row, '+')} … {number(row['high'], row, '+')}",
            f"{row['p_value']:.4f}",
        ]
        for row in rows
    ], header


def ablation_table(
    rows: Sequence[Mapping[str, Any]], main: Mapping[str, Any]
) -> tuple[list[list[str]], list[str]]:
    """Return rows and header of the table of features, each left out."""
    header = ["without", "weight", "tuned", "difference", "p"]
    return [
        [
            row["feature"],
            format_value(float(row["weight"])),
            number(row["tuned"], main),
            number(row["difference"], main, "+"),
            f"{row['p_value']:.4f}",
        ]
        for row in rows
    ], header
