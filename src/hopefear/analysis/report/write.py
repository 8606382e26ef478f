"""Write the report as an HTML file.

Takes systems and their outputs, writes the page and returns a summary of its contents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopefear.analysis.report.outputs import Outputs, compare
from hopefear.analysis.report.page import page
from hopefear.analysis.report.runs import ComparedSystem, heaviest
from hopefear.base.files import write_text
from hopefear.base.progress import Display
from hopefear.metrics.significance import Outcome

Comparisons = Mapping[tuple[int, int], Outcome | None]


def write_report(
    path: Path,
    systems: Sequence[ComparedSystem],
    outputs: Outputs | None,
    *,
    notes: Sequence[str] = (),
    top: int = 20,
    sentences: int = 100,
    title: str = "Tuning report",
    display: Display | None = None,
) -> dict[str, Any]:
    """Write the page and return the report of `hopefear report --json`.

    `notes`: remarks to add; `top`: number of heaviest features; `sentences`: number of examples.
    """
    comparisons = _comparisons(outputs, display or Display())
    text = page(
        systems,
        outputs,
        comparisons,
        heaviest(systems, top),
        title=title,
        count=sentences,
        notes=notes,
    )
    with write_text(path) as file:
        file.write(text)
    return {
        "report": str(path),
        "megabytes": round(len(text.encode()) / 2**20, 2),
        "notes": [*notes, *(outputs.notes if outputs is not None else [])],
        "systems": [
            _system(number, system, outputs, comparisons) for number, system in enumerate(systems)
        ],
    }


def _comparisons(outputs: Outputs | None, display: Display) -> dict[tuple[int, int], Any]:
    """The paired tests of all pairs of systems."""
    if outputs is None:
        return {}
    size = len(outputs.scores)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    results: dict[tuple[int, int], Any] = {}
    with display.step("compare", total=len(pairs), unit="pairs") as step:
        for i, j in pairs:
            outcome = compare(outputs, i, j)
            results[i, j] = outcome
            # Tests are symmetric.
            results[j, i] = outcome and outcome._replace(difference=-outcome.difference)
            step.advance()
    return results


def _system(
    number: int, system: ComparedSystem, outputs: Outputs | None, comparisons: Comparisons
) -> dict[str, Any]:
    run = system.shown
    report: dict[str, Any] = {
        "name": system.name,
        "runs": [str(run.path) for run in system.runs],
        "tuner": run.tuner,
        "dev_score": run.best["score"],
        "best_iteration": run.best["iteration"],
        "seconds": round(sum(run.seconds[-1] for run in system.runs), 3),
    }
    if outputs is not None:
        scores = outputs.scores[number]
        report |= {name: summary.mean for name, summary in scores.summaries.items()}
        report |= {"precisions": scores.precisions, "length_ratio": scores.length_ratio}
        outcome = comparisons.get((number, 0))
        if outcome is not None:
            report["p_value"] = outcome.p_value
    return report
