"""The demo's last chapter: the runs of the chapter before, side by side in one HTML file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hopefear.cli.command import Console
from hopefear.cli.report import Report

if TYPE_CHECKING:
    from hopefear.cli.demo import Stage


def write_report(stage: Stage) -> dict[str, Any]:
    """All of it on one page"""
    world = stage.path("world")
    return dict(
        Report(
            run_directories=[stage.path("runs") / name for name in stage.found["tune"]["tuners"]],
            output=stage.path("report.html"),
            test=world / "test.zh",
            refs=[world / f"test.en.{number}" for number in range(4)],
            sentences=60,
            title="The built-in world",
        ).run(stage.console)
    )


def tell_report(report: Mapping[str, Any], console: Console) -> None:
    text = (
        f"{report['report']} has the learning curves, the weights, what the differences mean, and "
        "the sentences on which the methods differ, with a picture of how each translation came "
        "about. Open it in a browser; it is one file and needs no network."
    )
    console.print(textwrap.fill(text, 88))
