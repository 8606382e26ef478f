"""The demo's last chapter: the comparison of all runs as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopefear.base.console import Console
from hopefear.cli.demo_stage import Stage, prose


def make_report(stage: Stage) -> dict[str, Any]:
    """The comparison as a page"""
    from hopefear.analysis.report.write import write_report

    return write_report(
        stage.path("report.html"),
        stage.objects["systems"],
        stage.objects["outputs"],
        notes=stage.reports["compare"]["reasons"],
        sentences=60,
        title="The built-in world",
        display=stage.console.display,
    )


def tell_report(report: Mapping[str, Any], console: Console) -> None:
    """Print what the page shows."""
    text = (
        f"{report['report']} has the learning curves, the weights, the significance of the "
        "differences, and the sentences on which the methods differ, with the derivation of each "
        "translation. Open it in a browser; it is one file and needs no network."
    )
    console.print(prose(text))
