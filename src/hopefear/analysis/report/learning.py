"""The learning curves: scores by iteration and by time, hope and fear scores, length ratios.

Takes systems and returns the section of the page: charts, then all their numbers.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from hopefear.analysis.report.charts import Chart, Line, draw
from hopefear.analysis.report.html import Markup, element
from hopefear.analysis.report.runs import ComparedSystem
from hopefear.analysis.report.tables import prose, section, table


def learning(systems: Sequence[ComparedSystem]) -> Markup:
    """The section of learning curves, with a table of the numbers."""
    charts = []
    for title in dict.fromkeys(system.shown.metric.title for system in systems):
        members = [(n, s) for n, s in enumerate(systems) if s.shown.metric.title == title]
        lines = [line for n, s in members for line in _curves(n, s, "score")]
        charts.append(Chart(f"{title} by iteration", "iteration", title, lines, whole_x=True))
        lines = [_timed(n, s) for n, s in members]
        ends = [line.points[-1][0] for line in lines]
        log = max(ends) > 12 * max(min(ends), 1e-9)
        charts.append(Chart(f"{title} against time", "seconds", title, lines, log_x=log))
    lines = [line for n, s in enumerate(systems) for line in _curves(n, s, "length_ratio")]
    charts.append(Chart("Length ratio", "iteration", "output : reference", lines, whole_x=True))
    for number, system in enumerate(systems):
        line = _hopes(number, system)
        if line is not None:
            names = " and ".join(reversed(line.bar_names))
            title = f"{system.name}: {names}"
            metric = system.shown.metric.title
            charts.append(Chart(title, "iteration", metric, [line], whole_x=True))
    notes = ["A ring marks the iteration whose weights were chosen."]
    drawn = [line for chart in charts for line in chart.lines]
    if any(line.band for line in drawn):
        notes.append("Lines are means over runs, bands the range from minimum to maximum.")
    if any(line.dashed for line in drawn):
        notes.append("Dashed lines are the held-out set.")
    if any(line.bars for line in drawn):
        notes.append(
            "Bars reach from the derivations that were updated away from (fear) to those that were "
            "updated towards (hope)."
        )
    figures = element("div", [draw(chart) for chart in charts], class_="charts")
    numbers = element(
        "details",
        element("summary", "All numbers"),
        [_records(system) for system in systems],
    )
    return section("learning", "Learning", prose(" ".join(notes)), figures, numbers)


def _curves(number: int, system: ComparedSystem, name: str) -> list[Line]:
    """A line of a score by iteration, and a dashed one for the held-out set."""
    lines = []
    for prefix, dashed in (("", False), ("heldout_", True)):
        runs = [[r for r in run.records if f"{prefix}{name}" in r] for run in system.runs]
        if not all(runs):
            continue
        length = max(map(len, runs))
        columns = [
            [run[i][f"{prefix}{name}"] for run in runs if i < len(run)] for i in range(length)
        ]
        points = [(float(i), statistics.mean(values)) for i, values in enumerate(columns)]
        band = [(float(i), min(c), max(c)) for i, c in enumerate(columns)] if runs[1:] else []
        chosen = None if runs[1:] else system.shown.chosen
        label = f"{system.name}, held out" if dashed else system.name
        lines.append(Line(label, number, points, band, dashed=dashed, best=chosen))
    return lines


def _timed(number: int, system: ComparedSystem) -> Line:
    """A line of the score by time."""
    run = system.shown
    points = [(max(s, 1e-3), r["score"]) for s, r in zip(run.seconds, run.records, strict=True)]
    return Line(system.name, number, points, best=run.chosen)


def _hopes(number: int, system: ComparedSystem) -> Line | None:
    """A line of the score, with bars from the fear scores to the hope scores."""
    run = system.shown
    bars = [
        (float(record["iteration"]), float(record["away_score"]), float(record["towards_score"]))
        for record in run.records
        if "away_score" in record and "towards_score" in record
    ]
    if not bars:
        return None
    tuner = run.config.get("tuner", {})
    names = str(tuner.get("away", "away")), str(tuner.get("towards", "towards"))
    points = [(float(record["iteration"]), record["score"]) for record in run.records]
    return Line(system.name, number, points, bars=bars, bar_names=names, best=run.chosen)


def _records(system: ComparedSystem) -> Markup:
    """A table of the numbers in the charts for each run."""
    columns = {
        "score": ".2f",
        "heldout_score": ".2f",
        "bleu": ".2f",
        "length_ratio": ".3f",
        "objective": ".4f",
        "change": ".4f",
        "towards_score": ".2f",
        "away_score": ".2f",
        "candidates": ",d",
        "updates": ",d",
        "active_features": ",d",
        "decode_seconds": ".1f",
        "optimise_seconds": ".1f",
    }
    parts = []
    for number, run in enumerate(system.runs, 1):
        present = [k for k in columns if any(k in record for record in run.records)]
        rows = [
            [
                str(record["iteration"]),
                *(format(record[k], columns[k]) if k in record else "–" for k in present),
            ]
            for record in run.records
        ]
        header = ["iteration", *(k.replace("_", " ") for k in present)]
        title = system.name if len(system.runs) == 1 else f"{system.name}, run {number}"
        parts += [element("h3", title), table(header, rows, title)]
    return element("div", parts)
