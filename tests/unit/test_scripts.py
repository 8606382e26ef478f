"""Benchmarks and studies import, and say how they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted((REPOSITORY / "bench").glob("[!_]*.py"))
STUDIES = sorted((REPOSITORY / "experiments").glob("*.py"))
SCRIPTS = [path for path in (*BENCHMARKS, *STUDIES) if "__main__" in path.read_text("utf-8")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_help(path: Path) -> None:
    done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {path.name}")


def test_every_benchmark_gives_figures() -> None:
    lacking = [path.name for path in BENCHMARKS if "\ndef run(quick: bool)" not in path.read_text()]
    assert lacking == []


def test_benchmark_reports_absent_data(tmp_path: Path) -> None:
    environment = {**os.environ, "HOPEFEAR_SHARED": str(tmp_path)}
    command = [sys.executable, REPOSITORY / "bench", "brown"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert f"no {tmp_path}" in done.stdout


def test_study_reports_absent_data(tmp_path: Path) -> None:
    command = [sys.executable, REPOSITORY / "experiments" / "batch_tuners.py", "--data", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"no {tmp_path}" in done.stdout
