"""The documentation against the code: tuners and their options, commands, formats, tutorials."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hopefear import config, registry
from hopefear.forest.io.forests import FORMATS
from hopefear.text.world import generate, write
from hopefear.tune.tuner import OnlineTuner

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"


def sections(page: str) -> dict[str, str]:
    """The parts of a page under headings of the second level, by each name in the heading."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text("utf-8"), flags=re.M)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: text for heading, text in pairs for name in heading.split(", ")}


@pytest.mark.parametrize("name", registry.names("tuner"))
def test_every_tuner_and_its_options_are_described(name: str) -> None:
    cls = registry.get("tuner", name)
    found = sections("tuners.md")
    text = found[name] + found["Search-aware tuning"]  # what several have is described once
    if issubclass(cls, OnlineTuner):
        text += found["mira"] + (DOCS / "features.md").read_text("utf-8")
    options = {field.name for field in config.fields_of(cls)}
    missing = {option for option in options if not re.search(rf"`[^`\n]*\b{option}\b", text)}
    assert not missing


@pytest.mark.parametrize("name", registry.names("metric"))
def test_every_metric_is_described(name: str) -> None:
    text = (DOCS / "metrics.md").read_text("utf-8") + sections("tuners.md")["Reranking"]
    assert re.search(rf"`(--metric )?{re.escape(name)}`", text)


def test_every_lattice_format_is_described() -> None:
    text = sections("tuning.md")["Lattices of any system"]
    assert [name for name in FORMATS if f"`{name}`" not in text] == []


def test_pages_and_examples_are_listed() -> None:
    index = (DOCS / "index.md").read_text("utf-8").split()
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= set(index)
    listed = (DOCS / "examples.md").read_text("utf-8")
    assert all(f"`{path.name}`" in listed for path in (REPOSITORY / "examples").glob("*.py"))


def test_files_that_are_named_are_there() -> None:
    """Paths of the repository, in pages and in the README."""
    for page in (*DOCS.glob("*.md"), REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"):
        text = page.read_text("utf-8")
        named = re.findall(
            r"\b(?:docs|examples|bench|configs|cpp|tests|src)/[\w/]+\.(?:py|md|cpp|toml)\b", text
        )
        missing = [name for name in named if not (REPOSITORY / name).is_file()]
        assert not missing, page.name


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `hopefear` is ours, and takes little data and few iterations."""
    program = tmp_path / "bin" / "hopefear"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        '  world) set -- "$@" --train 250 --dev 8 --test 8 ;;\n'
        '  tune) set -- "$@" --iterations 1 --kbest 20 ;;\n'
        '  text) test "$2" = split && set -- "$@" --dev 8 --test 8 ;;\n'
        "esac\n"
        f'exec {sys.executable} -m hopefear "$@" --progress off\n'
    )
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("page", ["tutorial-world.md", "tutorial-data.md"])
def test_the_commands_of_the_tutorials_run(
    page: str, tmp_path: Path, shell: dict[str, str]
) -> None:
    """The blocks of a page are one script."""
    place = tmp_path / "place"
    if page == "tutorial-data.md":
        # Raw text, as a user would have it.
        write(generate(train=300, dev=0, test=0, seed=1), place)
        for ours, theirs in (("train.zh", "text.fr"), ("train.en", "text.en")):
            lines = (place / ours).read_text("utf-8").splitlines()
            raw = [re.sub(r" (?=[.,?])", "", line[:1].upper() + line[1:]) for line in lines]
            (place / theirs).write_text("\n".join(raw) + "\n", "utf-8")
    place.mkdir(exist_ok=True)
    text = (DOCS / page).read_text("utf-8")
    script = "set -eo pipefail\n" + "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S))
    done = subprocess.run(
        ["bash", "-c", script.replace("head -3", "sed 3q")],  # head ends the pipe before its time
        cwd=place,
        env=shell,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert "</html>" in (place / "report.html").read_text("utf-8")
