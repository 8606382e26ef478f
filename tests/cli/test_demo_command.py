"""`hopefear demo`: text and JSON, resuming after an interrupt, and a wrong directory."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hopefear.cli import demo_compare, demo_tune, main
from hopefear.text import world

METHODS = tuple(replace(method, iterations=method.iterations and 1) for method in demo_tune.METHODS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "generate", partial(world.generate, train=200, dev=8, test=9))
    for module in (demo_tune, demo_compare):
        monkeypatch.setattr(module, "METHODS", METHODS)


def interrupting(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def tune(stage: Any, method: demo_tune.Method, step: Any) -> Any:
        if method.run == name:
            raise KeyboardInterrupt
        return original(stage, method, step)

    return tune


def test_interrupt_resume_and_json(
    small: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as interrupted:
        changed = interrupting(demo_tune._tune, "phrase-pro")
        interrupted.setattr(demo_tune, "_tune", changed)
        assert main(["demo", "-o", "demo"]) == 130
    assert "the same command resumes" in capsys.readouterr().err
    first = tmp_path / "demo" / "runs" / "phrase-mert" / "iterations" / "01.tsv"
    written = first.stat().st_mtime_ns
    assert not (tmp_path / "demo" / "report.html").exists()

    assert main(["demo", "-o", "demo"]) == 0
    output, progress = capsys.readouterr()
    assert first.stat().st_mtime_ns == written, "what was done is kept"
    assert not any(sign in output + progress for sign in "\r\x1b")
    assert max(map(len, (output + progress).splitlines())) <= 80
    assert all(f"\n{number}. " in "\n" + output for number in range(1, 6))
    assert output.count("  references  ") == 3
    for method in METHODS:
        assert f"{method.model} {method.name}" in output
        lines = (tmp_path / "demo" / "runs" / method.run / "test.out").read_text().splitlines()
        assert len(lines) == 9
    assert "</html>" in (tmp_path / "demo" / "report.html").read_text()

    assert main(["demo", "-o", "demo", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["steps"]["world"]["train"]["sentences"] == 200
    rows = {f"{row['model']}-{row['method']}": row for row in report["steps"]["compare"]["rows"]}
    assert list(rows) == [method.run for method in METHODS]
    assert rows["phrase-mert"]["p_value"] is None
    assert 0 < rows["hiero-mert"]["p_value"] <= 1
    reasons = report["steps"]["compare"]["reasons"]
    page = html.unescape((tmp_path / "demo" / "report.html").read_text())
    for name in ("phrase-search-aware", "phrase-recipe"):
        lower = rows[name]["test"] < rows["phrase-mert"]["test"]
        title = name.replace("-", " ", 1)
        assert sum(reason.startswith(f"{title} has ") for reason in reasons) == lower
        assert (f"{title} has {rows[name]['test']:.2f} BLEU, mert" in page) == lower
    for example in report["steps"]["compare"]["examples"]:
        assert len(set(example["outputs"].values())) > 1
        assert len(example["references"]) == 4
    assert report["steps"]["report"]["systems"][0]["name"] == "phrase-mert"
    assert report["steps"]["report"]["notes"][: len(reasons)] == reasons

    assert main(["demo", "-o", "demo", "--seed", "2"]) == 2
    assert "has a demo with seed 1" in capsys.readouterr().err


def test_a_directory_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("mine")
    assert main(["demo", "-o", str(tmp_path)]) == 2
    assert "neither empty nor a demo; give another directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_score_below_mert_is_explained() -> None:
    tests = {"mert": 50.0, "search-aware": 50.0, "recipe": 49.0}
    rows = [
        {"model": method.model, "method": method.name, "test": tests.get(method.name, 48.0)}
        for method in METHODS
    ]
    (reason,) = demo_compare._reasons(rows)
    assert reason.startswith("phrase recipe has 49.00 BLEU, mert 50.00. Why: ")
    assert reason.endswith("(docs/results/recipes.md).")
