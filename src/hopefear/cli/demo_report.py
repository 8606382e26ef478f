"""The demo's last chapter: the runs of the chapters before, side by side in one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopefear.base.console import Console
from hopefear.cli.demo_stage import Stage, prose


def make_report(stage: Stage) -> dict[str, Any]:
    """All of it on one page"""
    from hopefear.analysis.report.write import write_report

    return write_report(
        stage.path("report.html"),
        stage.kept["systems"],
        stage.kept["outputs"],
        sentences=60,
        title="The built-in world",
        display=stage.console.display,
    )


def tell_report(report: Mapping[str, Any], console: Console) -> None:
    text = (
        f"{report['report']} has the learning curves, the weights, what the differences mean, and "
        "the sentences on which the methods differ, with a picture of how each translation came "
        "about. Open it in a browser; it is one file and needs no network."
    )
    console.print(prose(text))
