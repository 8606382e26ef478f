"""The pages of results against the studies that write them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "docs" / "results"
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))

#: Writes the sections of all studies of a script, from no runs: their tables stay.
WRITE = """
import runpy, sys
from pathlib import Path
from harness import results
results.RESULTS = Path(sys.argv.pop(1))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def write(script: str, pages: Path, out: Path, *words: str) -> None:
    """Run a script with --write on a copy of the pages."""
    command = [sys.executable, "-c", WRITE, pages, f"{REPOSITORY}/experiments/{script}", *words]
    done = subprocess.run(
        [*command, "--write", "--out", out],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "experiments")},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("batch_tuners.py", ()),
        ("forest_mert.py", ("mert",)),
        ("latent.py", ()),
        ("lattice_svm.py", ()),
        ("maxforce.py", ()),
        ("mira_tables.py", ()),
        ("search_aware.py", ()),
        ("sparse_tables.py", ()),
    ],
)
def test_write_reproduces_the_sections(script: str, words: tuple[str, ...], tmp_path: Path) -> None:
    if not (SHARED / "golden" / "aligned").is_dir():
        pytest.skip(f"no {SHARED / 'golden' / 'aligned'}")
    pages = tmp_path / "results"
    shutil.copytree(RESULTS, pages)
    command = rf"`python experiments/{script}[^`]*--run --write`"
    intro = re.compile(rf"(?<=: begin -->\n)## [^\n]+\n\n{command}.*?(?=^\|)", re.M | re.S)
    replaced = 0
    for page in pages.glob("*.md"):
        text, count = intro.subn("old text\n\n", page.read_text("utf-8"))
        page.write_text(text, "utf-8")
        replaced += count
    assert replaced
    write(script, pages, tmp_path / "out", "--data", str(SHARED), *words)
    for page in RESULTS.glob("*.md"):
        assert (pages / page.name).read_text("utf-8") == page.read_text("utf-8"), page.name


def test_every_section_has_both_marks() -> None:
    for page in RESULTS.glob("*.md"):
        text = page.read_text("utf-8")
        begins = re.findall(r"<!-- (.+): begin -->", text)
        assert begins == re.findall(r"<!-- (.+): end -->", text), page.name
        assert len(begins) == len(set(begins)), page.name
