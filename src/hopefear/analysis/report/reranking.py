"""The report of a reranker as one HTML page.

Takes files that `hopefear rerank tune --report` and `rerank select --report` write, and returns
the page: what is gained in every metric, how far the oracle is, what each feature contributes, the
lists where the choice matters most, and the gain by the number of candidates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopefear.analysis.report.charts import Chart, Line, draw
from hopefear.analysis.report.html import Markup, element
from hopefear.analysis.report.page import document
from hopefear.analysis.report.tables import p_text, prose, section, table
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import display_name, write_text

Report = Mapping[str, Any]


def read_rerank_report(path: Path) -> Report:
    """Return the contents of a report file of `rerank tune`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] == "select":
            content["report"]["sizes"][0]["tuned"]
        elif content["kind"] == "rerank":
            content["report"]["metrics"][0]["metric"]
        else:
            raise ValueError(f"a report of {content['kind']!r:.20}")
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise InputError(
            f"{display_name(path)}: not a report of 'hopefear rerank tune --report' "
            f"({in_line(error)}); give one, or directories of 'hopefear tune'"
        ) from None
    return dict(content)


def write_rerank_report(
    path: Path, reports: Sequence[Report], names: Sequence[str], *, title: str, sentences: int
) -> dict[str, Any]:
    """Write the page of one or more rerankers; return the report of `hopefear report --json`."""
    parts: dict[str, tuple[str, Markup]] = {}
    several = len(reports) > 1
    for number, (content, name) in enumerate(zip(reports, names, strict=True), 1):
        suffix = f"-{number}" if several else ""
        label = f"{name}: " if several else ""
        for key, text, part in _sections(content, f"{label}", suffix, sentences):
            parts[key] = (text, part)
    text = document(title, " · ".join(names), parts)
    with write_text(path) as file:
        file.write(text)
    return {
        "report": str(path),
        "megabytes": round(len(text.encode()) / 2**20, 2),
        "notes": [note for content in reports for note in content["report"].get("warnings", [])],
        "systems": [
            {"name": name, **{key: content["report"].get(key) for key in _KEYS}}
            for content, name in zip(reports, names, strict=True)
        ],
    }


_KEYS = ("tuner", "metric", "first_best", "tuned", "oracle", "p_value")


def _sections(
    content: Report, label: str, suffix: str, sentences: int
) -> list[tuple[str, str, Markup]]:
    report = content["report"]
    if content["kind"] == "select":
        title = label + "Candidates"
        return [
            ("candidates" + suffix, title, section("candidates" + suffix, title, *_curve(report)))
        ]
    parts = [
        ("gain" + suffix, label + "Gain", _gain(report)),
        ("metrics" + suffix, label + "Metrics", _metrics(report)),
        ("features" + suffix, label + "Features", _features(content)),
    ]
    if content.get("examples"):
        parts.append(
            ("examples" + suffix, label + "Examples", _examples(content["examples"][:sentences]))
        )
    return [(key, title, section(key, title, *body)) for key, title, body in parts]


def _gain(report: Report) -> list[Markup | None]:
    main = report["metrics"][0]
    folds = report["folds"]
    how = (
        f"cross-validated with {folds} folds: each list is scored with weights of the other folds"
        if folds > 1
        else "on the lists that were tuned on, which overstates the gain"
    )
    share = report["oracle_share"]
    rows: list[list[str]] = [
        ["first candidates", _number(report["first_best"], main)],
        ["reranked", _number(report["tuned"], main)],
        ["reranked, weights of the same lists", _number(report["tuned_on_all"], main)],
        ["oracle: best candidates", _number(report["oracle"], main)],
    ]
    p = p_text(report["p_value"])
    text = (
        f"{report['tuner']} on {report['lists']:,} lists with {report['candidates']:,} candidates "
        f"and {report['features']:,} features, {how}. The gain is "
        f"{_number(report['gain'], main, '+')} {report['metric']}, 95 % interval "
        f"{_number(report['gain_low'], main, '+')} to {_number(report['gain_high'], main, '+')}, "
        f"p {'' if p.startswith('<') else '= '}{p}"
    )
    text += f", {100 * share:.0f} % of the oracle's gain." if share is not None else "."
    notes = [prose(f"Note: {note}.") for note in report["warnings"]]
    return [prose(text), table(["", report["metric"]], rows, "scores"), *notes]


def _metrics(report: Report) -> list[Markup | None]:
    rows = [
        [
            row["metric"] + {"optimised": " (optimised)", "part": " (part)"}.get(row["role"], ""),
            _number(row["first_best"], row),
            _number(row["tuned"], row),
            _number(row["difference"], row, "+"),
            f"{_number(row['low'], row, '+')} … {_number(row['high'], row, '+')}",
            p_text(row["p_value"]),
            "lower" if row["lower_is_better"] else "higher",
        ]
        for row in report["metrics"]
    ]
    head = ["metric", "first", "reranked", "difference", "95 % interval", "p", "better"]
    return [
        prose(
            "Every metric that the lists allow. If another metric falls while the optimised one "
            "rises, the reranker exploits the metric rather than improving the output."
        ),
        table(head, rows, "metrics"),
    ]


def _features(content: Report) -> list[Markup | None]:
    report = content["report"]
    main = report["metrics"][0]
    if not report["ablation"]:
        rows = [[name, f"{value:.4g}"] for name, value in list(content["weights"].items())[:50]]
        return [
            prose(
                "Weights depend on the scales of the features; --ablation shows what each gains."
            ),
            table(["feature", "weight"], rows, "weights"),
        ]
    rows = [
        [
            row["feature"],
            f"{row['weight']:.4g}",
            _number(row["tuned"], main),
            _number(row["difference"], main, "+"),
            p_text(row["p_value"]),
        ]
        for row in report["ablation"]
    ]
    return [
        prose("Each feature left out, and the others tuned again: the score and what it loses."),
        table(["without", "weight", report["metric"], "difference", "p"], rows, "features"),
    ]


def _examples(examples: Sequence[Mapping[str, Any]]) -> list[Markup | None]:
    blocks: list[Markup | None] = [
        prose("Lists whose sentence score changes most, on lists that were not used in tuning.")
    ]
    for example in examples:
        rows = [["first", example["first_best"]], ["reranked", example["tuned"]]]
        rows += [["reference", text] for text in example["references"]]
        better = "better" if example["gain"] > 0 else "worse"
        blocks.append(element("h3", f"{example['id']}: {better}"))
        blocks.append(
            element(
                "dl",
                [[element("dt", kind), element("dd", text)] for kind, text in rows],
            )
        )
    return blocks


def _curve(report: Report) -> list[Markup | None]:
    rows = report["sizes"]
    lines = [
        Line(name, colour, [(float(row["candidates"]), row[key]) for row in rows])
        for colour, (name, key) in enumerate((("reranked", "tuned"), ("oracle", "oracle")))
    ]
    chart = Chart("", "candidates", report["metric"], lines, log_x=True, whole_x=True)
    cells = [
        [
            f"{row['candidates']:,}",
            f"{row['mean_candidates']:.1f}",
            f"{row['tuned']:.4g}",
            f"{row['difference']:+.4g}",
            p_text(row["p_value"]),
            f"{row['oracle']:.4g}",
        ]
        for row in rows
    ]
    head = ["candidates", "mean", f"{report['metric']}, reranked", "difference", "p", "oracle"]
    return [
        prose(
            f"{report['tuner']} on the first candidates of {report['lists']:,} lists, "
            f"cross-validated. {report['enough']:,} candidates are enough: fewer are significantly "
            "worse than all (p ≤ 0.05)."
        ),
        *(prose(f"Note: {note}.") for note in report.get("warnings", [])),
        draw(chart),
        table(head, cells, "candidates"),
    ]


def _number(value: float, row: Mapping[str, Any], sign: str = "") -> str:
    return f"{value:{sign}.{2 if row['percent'] else 4}f}"
