"""The report as one HTML page: style, script and sections.

Takes systems, outputs and features, and returns the text of the file. The page loads nothing: style
and script are inline, and its content security policy forbids all others, so that no text in it can
run as a script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from hopefear import __version__
from hopefear.analysis.report.examples import examples
from hopefear.analysis.report.html import Markup, element
from hopefear.analysis.report.learning import learning
from hopefear.analysis.report.outputs import Outputs
from hopefear.analysis.report.runs import ComparedSystem, FeatureWeights
from hopefear.analysis.report.tables import (
    Comparisons,
    configuration,
    features,
    remarks,
    scores,
    significance,
    summary,
)

TITLES = {
    "summary": "Summary",
    "learning": "Learning",
    "scores": "Scores",
    "significance": "Significance",
    "features": "Features",
    "examples": "Examples",
    "configuration": "Configuration",
    "remarks": "Remarks",
}


def page(
    systems: Sequence[ComparedSystem],
    outputs: Outputs | None,
    comparisons: Comparisons,
    heaviest: Sequence[FeatureWeights],
    *,
    title: str = "Tuning report",
    count: int = 100,
    notes: Sequence[str] = (),
) -> str:
    """The HTML of the report, with `count` examples; `notes`: remarks to add."""
    all_notes = [*notes, *(outputs.notes if outputs is not None else [])]
    parts = {
        "summary": summary(systems, outputs, comparisons),
        "learning": learning(systems),
        "scores": scores(systems, outputs) if outputs is not None else None,
        "significance": significance(systems, comparisons) if outputs is not None else None,
        "features": features(systems, heaviest),
        "examples": examples(systems, outputs, count) if outputs is not None else None,
        "configuration": configuration(systems),
        "remarks": remarks(systems, all_notes),
    }
    present = {key: part for key, part in parts.items() if part is not None}
    names = ", ".join(system.name for system in systems)
    return document(title, names, {key: (TITLES[key], part) for key, part in present.items()})


def document(title: str, names: str, parts: Mapping[str, tuple[str, Markup]]) -> str:
    """The HTML of a page from its parts: by their ids, their titles and contents."""
    links = [element("a", name, href=f"#{key}") for key, (name, _) in parts.items()]
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element(
            "header",
            element("h1", title),
            element("p", names, class_="systems"),
            element("nav", links, aria_label="parts of the report"),
        ),
        element("main", [part for _, part in parts.values()], id="content", tabindex=-1),
        element("footer", f"hopefear {__version__}"),
        _script(),
    )
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files("hopefear.analysis.report").joinpath(name).read_text(encoding="utf-8")


def _script() -> Markup:
    return Markup(f"<script>{_asset('page.js')}</script>")


def _head(title: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{_asset('page.css')}</style>"),
    )
