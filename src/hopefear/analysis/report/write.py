"""The report as a file: the page of systems and their translations, and its contents in short."""

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
    """Write the page of these systems; returns what `hopefear report --json` says.

    `top`: how many of the heaviest features are shown; `sentences`: how many examples.
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
            # The tests are symmetric.
            results[j, i] = outcome and outcome._replace(difference=-outcome.difference)
            step.advance()
    return results


def _system(
    number: int, system: ComparedSystem, outputs: Outputs | None, comparisons: Comparisons
) -> dict[str, Any]:
    run = system.shown
    report: dict[str, Any] = {
        "name": system.name,
        "runs": [str(one.path) for one in system.runs],
        "tuner": run.tuner,
        "dev_score": run.best["score"],
        "best_iteration": run.best["iteration"],
        "seconds": round(sum(one.seconds[-1] for one in system.runs), 3),
    }
    if outputs is not None:
        scores = outputs.scores[number]
        report |= {name: one.mean for name, one in scores.summaries.items()}
        report |= {"precisions": scores.precisions, "length_ratio": scores.length_ratio}
        outcome = comparisons.get((number, 0))
        if outcome is not None:
            report["p_value"] = outcome.p_value
    return report
