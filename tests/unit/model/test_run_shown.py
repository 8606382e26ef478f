"""How tuning runs are shown: the table of iterations and the outcome."""

from __future__ import annotations

import pytest

from hopefear.base.console import Console
from hopefear.base.progress import Display
from hopefear.cli.tune_shown import show_outcome
from hopefear.model.run import iteration_table


def test_the_row_of_a_mean_is_named() -> None:
    records = [
        {"iteration": 0, "score": 30.0},
        {"iteration": 1, "score": 31.0},
        {"iteration": 2, "score": 30.5, "mean_of": [0, 1]},
    ]
    header, rows = iteration_table({"metric": {"name": "bleu"}}, records)
    assert header[:2] == ["iteration", "bleu"]
    assert [row[0] for row in rows] == ["0", "1", "mean 0-1"]
    several = [{"run": 1, **record} for record in records]
    header, rows = iteration_table({}, several)
    assert header[:2] == ["run", "iteration"]
    assert rows[2][:2] == ["1", "mean 0-1"]


@pytest.mark.parametrize(
    ("stopped", "expected"),
    [
        ("iterations", "iteration 2 of 3, 5.0 s, of which"),
        ("no new candidates", "iteration 2 of 3 (stopped: no new candidates), 5.0 s"),
    ],
)
def test_the_outcome_names_the_reason_of_an_early_stop(
    stopped: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = {"run": "r", "dev_bleu": 31.0, "best_iteration": 2, "iterations": 3, "seconds": 5.0}
    show_outcome({**report, "decode_seconds": 1.0, "stopped": stopped}, Console(Display()))
    assert expected in capsys.readouterr().out


def test_repeated_runs_name_their_means(capsys: pytest.CaptureFixture[str]) -> None:
    run = {"dev_bleu": 31.0, "best_iteration": 6, "mean_of": [3, 4, 5], "iterations": 5}
    run |= {"seconds": 5.0, "stopped": "iterations", "decode_seconds": 1.0, "run": "r"}
    both = {"runs": [run, run | {"mean_of": None, "best_iteration": 4}]}
    show_outcome(
        {**run, **both, "dev_bleu_mean": 31.0, "dev_bleu_deviation": 0.0}, Console(Display())
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:5] == ["run", "1", "31.00", "mean", "3-5"]
    assert lines[3].split()[:4] == ["run", "2", "31.00", "4"]
