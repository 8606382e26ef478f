"""`hopefear cluster` in a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_paths_and_a_report(hopefear: Run, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the cat sat\nthe dog sat\na cat ran\n", encoding="utf-8")
    out = tmp_path / "paths"
    done = hopefear("cluster", text, "-o", out, "--clusters", "3", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["words"], report["clusters"], report["tokens"]) == (6, 3, 9)
    lines = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert sorted(word for _, word, _ in lines) == ["a", "cat", "dog", "ran", "sat", "the"]
    assert len({path for path, _, _ in lines}) == 3
    again = hopefear("cluster", text, "-o", "-", "--clusters", "3")
    assert again.stdout == out.read_text(encoding="utf-8")


def test_input_errors(hopefear: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("", encoding="utf-8")
    out = tmp_path / "out"
    for words, message in (
        ((empty, "-o", out), "the text has no words"),
        ((tmp_path / "none", "-o", out), "none"),
        (("-o", out), "TEXT"),
    ):
        done = hopefear("cluster", *words)
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not out.exists()
