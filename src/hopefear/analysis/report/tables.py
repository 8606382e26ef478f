"""The sections of the page that are tables.

Takes systems and optionally their outputs, and returns the markup of a section, or None if the
section would be empty.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

from hopefear.analysis.report.charts import key, sparkline
from hopefear.analysis.report.html import Child, Markup, element
from hopefear.analysis.report.outputs import TUNING_SET, Outputs
from hopefear.analysis.report.runs import ComparedSystem, FeatureWeights
from hopefear.base.progress import duration
from hopefear.learn.loop.run import flat
from hopefear.metrics.significance import Outcome
from hopefear.model.run import Run

#: The significance test of each pair of systems; None where it cannot be made.
Comparisons = dict[tuple[int, int], Outcome | None]
LEVEL = 0.05


def section(id: str, title: str, *children: Child) -> Markup:
    """A section with a heading."""
    heading = element("h2", title, id=f"{id}-title")
    return element("section", heading, *children, id=id, aria_labelledby=f"{id}-title")


def table(
    header: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    caption: str,
    *,
    text_columns: Sequence[int] = (0,),
) -> Markup:
    """A table whose first column names the rows; other columns than `text_columns` are numbers."""

    def cell(column: int, content: Child) -> Markup:
        kind = None if column in text_columns else "number"
        if column == 0:
            return element("th", content, scope="row")
        return element("td", content, class_=kind)

    head = element(
        "tr",
        [
            element("th", name, scope="col", class_=None if i in text_columns else "number")
            for i, name in enumerate(header)
        ],
    )
    body = [element("tr", [cell(i, content) for i, content in enumerate(row)]) for row in rows]
    markup = element("table", element("thead", head), element("tbody", body))
    return element("div", markup, class_="scroll", tabindex=0, role="region", aria_label=caption)


def named(number: int, system: ComparedSystem) -> Markup:
    """The name of a system beside its mark."""
    return element("span", key(number), element("bdi", system.name), class_="name")


def p_text(value: float) -> str:
    """A p-value with three digits, or four if three hide which side of `LEVEL` it is on."""
    if value < 0.001:
        return "< 0.001"
    return f"{value:.4f}" if round(value, 3) == LEVEL else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def prose(text: Child) -> Markup:
    """A paragraph of text."""
    return element("p", text, class_="prose")


# -- summary --


def summary(
    systems: Sequence[ComparedSystem], outputs: Outputs | None, comparisons: Comparisons
) -> Markup:
    """The section of a row for each system: scores, length, iteration, time and features."""
    metrics = list(dict.fromkeys(system.shown.metric.title for system in systems))
    # On the tuning set itself, the tuning score is BLEU already.
    tested = outputs is not None and (outputs.title != TUNING_SET or metrics != ["BLEU"])
    several = outputs is not None and len(systems) > 1
    header: list[Child] = ["system", "tuner", *(f"tuning {title}" for title in metrics)]
    header += [f"BLEU of {outputs.title}"] if outputs is not None and tested else []
    header += [*(["p"] if several else []), "length", "iteration", "time", "features"]
    tops = [max(_quality(s) for s in systems if s.shown.metric.title == m) for m in metrics]
    best = max(s.summaries["bleu"].mean for s in outputs.scores) if outputs is not None else None
    rows: list[list[Child]] = []
    for number, system in enumerate(systems):
        run = system.shown
        row: list[Child] = [named(number, system), run.tuner]
        for title, top in zip(metrics, tops, strict=True):
            if run.metric.title != title:
                row.append("–")
                continue
            value = _strong(_spread([_dev(run) for run in system.runs]), _quality(system) == top)
            row.append(value)
        length = run.best["length_ratio"]
        if outputs is not None:
            length = outputs.scores[number].length_ratio
            score = outputs.scores[number].summaries["bleu"]
            if tested:
                row.append(_strong(_spread_of(score.mean, score.run_deviation), score.mean == best))
        if several:
            row.append(_p_cell(comparisons.get((number, 0))) if number else "–")
        row += [
            f"{length:.3f}",
            run.which + ("" if run.finished else ", unfinished"),
            duration(sum(run.seconds[-1] for run in system.runs)),
            f"{run.best.get('active_features', 0):,}",
        ]
        rows.append(row)
    notes = []
    if outputs is not None:
        notes.append(f"Length: ratio of output to reference length on {outputs.title}.")
    if several:
        notes.append(f"p: p-value of the difference to {systems[0].name}.")
    if any(len(system.runs) > 1 for system in systems):
        notes.append(
            "Systems with several runs: mean ± standard deviation; features and examples are "
            "those of their best run."
        )
    body = table(header, rows, "summary", text_columns=(0, 1))
    return section("summary", "Summary", body, prose(" ".join(notes)) if notes else None)


def _dev(run: Run) -> float:
    return float(run.best["score"])


def _quality(system: ComparedSystem) -> float:
    return statistics.mean(run.metric.quality(_dev(run)) for run in system.runs)


def _spread(values: Sequence[float]) -> str:
    return _spread_of(statistics.mean(values), statistics.stdev(values) if values[1:] else None)


def _spread_of(mean: float, deviation: float | None) -> str:
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"


def _strong(text: str, strong: bool) -> Child:
    return element("strong", text) if strong else text


def _p_cell(outcome: Outcome | None) -> Child:
    if outcome is None:
        return "–"
    return _strong(p_text(outcome.p_value), outcome.p_value < LEVEL)


# -- scores --


def scores(systems: Sequence[ComparedSystem], outputs: Outputs) -> Markup:
    """The section of metrics, n-gram precisions and lengths on the text."""
    several = any(len(system.runs) > 1 for system in systems)
    orders = len(outputs.scores[0].precisions)
    header: list[Child] = ["system", "BLEU", "95 % interval", "chrF", "TER"]
    header += [f"{n}-gram" for n in range(1, orders + 1)]
    header += ["brevity", "length"]
    rows = []
    for number, (system, values) in enumerate(zip(systems, outputs.scores, strict=True)):
        means = values.summaries
        rows.append(
            [
                named(number, system),
                _spread_of(means["bleu"].mean, means["bleu"].run_deviation),
                f"{means['bleu'].low:.1f} – {means['bleu'].high:.1f}",
                f"{means['chrf'].mean:.2f}",
                f"{means['ter'].mean:.2f}",
                *(f"{value:.1f}" for value in values.precisions),
                f"{values.brevity:.3f}",
                f"{values.length_ratio:.3f}",
            ]
        )
    text = (
        f"On {outputs.title}: {len(outputs.source):,} sentences, references: "
        f"{len(outputs.references[0])}. Precisions in percent; brevity is BLEU's brevity penalty; "
        "the interval is a bootstrap over sentences."
    )
    if several:
        text += " Means over runs."
    return section(
        "scores",
        "Scores",
        prose(text),
        table(header, rows, "scores"),
        element(
            "ul",
            [element("li", element("code", line)) for line in outputs.signatures.values()],
            class_="small",
        ),
    )


def significance(systems: Sequence[ComparedSystem], comparisons: Comparisons) -> Markup | None:
    """The section of paired tests of all systems; None for a single one."""
    if len(systems) < 2:
        return None
    rows: list[list[Child]] = []
    for first, system in enumerate(systems):
        row: list[Child] = [named(first, system)]
        for second in range(len(systems)):
            outcome = comparisons.get((first, second))
            if outcome is None:
                row.append("–")
                continue
            difference = _strong(_signed(outcome.difference), outcome.p_value < LEVEL)
            row.append(
                [difference, element("br"), element("small", f"p {p_text(outcome.p_value)}")]
            )
        rows.append(row)
    header: list[Child] = ["", *(element("bdi", system.name) for system in systems)]
    tests = sorted({outcome.signature for outcome in comparisons.values() if outcome is not None})
    text = (
        "BLEU of the system in the row minus that in the column. Bold: significant at "
        f"p < {LEVEL:g}, without correction for the number of pairs."
    )
    if any(outcome is None for outcome in comparisons.values()):
        text += " No test (–) where the systems have different numbers of runs."
    return section(
        "significance",
        "Significance",
        prose(text),
        table(header, rows, "differences"),
        element("ul", [element("li", element("code", line)) for line in tests], class_="small"),
    )


# -- features --


def features(systems: Sequence[ComparedSystem], weights: Sequence[FeatureWeights]) -> Markup | None:
    """The section of the heaviest features and their history; None without any."""
    if not weights:
        return None
    rows: list[list[Child]] = []
    for feature in weights:
        row: list[Child] = [element("bdi", feature.name)]
        row += [_weight(feature, number) for number in range(len(systems))]
        rows.append(row)
    header: list[Child] = ["feature", *(element("bdi", system.name) for system in systems)]
    text = (
        "The features with the largest share of the weights: the chosen weight, and its share of "
        "the sum of the absolute learned weights, since the norm of a weight vector is arbitrary. "
        "Lines show the share by iteration; the thin line is 0."
    )
    return section("features", "Features", prose(text), table(header, rows, "features"))


def _weight(feature: FeatureWeights, number: int) -> Child:
    value, path = feature.final[number], feature.path[number]
    if path is None:
        return element("span", _number(value), element("small", "fixed"), class_="weight")
    if value == 0 and not any(path):
        return "–"
    share = _percent(feature.shares[number])
    label = f"{feature.name}: {share} of the weights"
    if path:
        label += f"; from {_percent(path[0])} to {_percent(path[-1])}"
    return element(
        "span",
        sparkline(path, number, label) if len(path) > 1 else None,
        _number(value),
        element("small", share),
        class_="weight",
    )


def _number(value: float) -> Markup:
    return element("span", f"{value:.3g}".replace("-", "−"))


def _percent(share: float) -> str:
    return f"{round(share, 3) + 0.0:.1%}".replace("-", "−")  # no -0.0%


# -- configuration --


def configuration(systems: Sequence[ComparedSystem]) -> Markup:
    """The section of options that differ between the systems, then all others."""
    tables = [dict(flat(system.shown.config)) for system in systems]
    keys = list(dict.fromkeys(k for config in tables for k in config))
    parts_of = list(dict.fromkeys(k.partition(".")[0] for k in keys))
    keys.sort(key=lambda k: parts_of.index(k.partition(".")[0]))
    different = [k for k in keys if len({_shown(config.get(k)) for config in tables}) > 1]
    same = [k for k in keys if k not in different]
    parts: list[Child] = []
    if len(systems) > 1:
        rows: list[list[Child]] = [
            [element("code", k), *(element("code", _shown(config.get(k))) for config in tables)]
            for k in different
        ]
        header: list[Child] = ["option", *(element("bdi", system.name) for system in systems)]
        all_columns = range(len(systems) + 1)
        parts += [
            prose("Options that differ between the systems:"),
            table(header, rows, "differences", text_columns=all_columns),
        ]
    rows = [[element("code", k), element("code", _shown(tables[0][k]))] for k in same]
    title = "Options in common" if len(systems) > 1 else "All options"
    common = table(["option", "value"], rows, title, text_columns=(0, 1))
    parts.append(element("details", element("summary", title), common, open=len(systems) == 1))
    return section("configuration", "Configuration", *parts)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def remarks(systems: Sequence[ComparedSystem], notes: Sequence[str]) -> Markup | None:
    """The section of warnings of the runs and notes of the report; None without any."""
    places: dict[str, list[str]] = {}  # by remark
    for system in systems:
        for number, run in enumerate(system.runs, 1):
            place = system.name if len(system.runs) == 1 else f"{system.name}, run {number}"
            if not run.finished:
                places.setdefault("the run is not finished", []).append(place)
            for record in run.records:
                for text in record.get("warnings", []):
                    remark = f"iteration {record['iteration']}: {text}"
                    places.setdefault(remark, []).append(place)
    items: list[Child] = [element("li", note) for note in notes]
    items += [element("li", f"{'; '.join(names)}: {text}") for text, names in places.items()]
    if not items:
        return None
    return section("remarks", "Remarks", element("ul", items))
