"""The documentation against the code: tuners and their options, commands, formats, tutorials."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base import registry
from hopefear.forest.io.forests import FORMATS
from hopefear.text.world import generate, write

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def sections(page: str) -> dict[str, str]:
    """The parts of a page under headings of the second level, by each name in the heading."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text("utf-8"), flags=re.M)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: text for heading, text in pairs for name in heading.split(", ")}


@pytest.mark.parametrize("name", registry.names("tuner"))
def test_every_tuner_is_described_with_its_options(name: str) -> None:
    """Its section includes the generated table, or leads to it if it is a preset of another one."""
    text = sections("tuners.md")[name]
    included = f":start-after: <!-- {name} -->" in text and "options/tuners.md" in text
    assert included or "options/tuners.md#" in text or "preset" in text


@pytest.mark.parametrize("name", registry.names("metric"))
def test_every_metric_is_described(name: str) -> None:
    text = (DOCS / "metrics.md").read_text("utf-8") + sections("tuners.md")["Reranking"]
    assert re.search(rf"`(--metric )?{re.escape(name)}`", text)


def test_every_lattice_format_is_described() -> None:
    text = sections("tuning.md")["Lattices of any system"]
    assert [name for name in FORMATS if f"`{name}`" not in text] == []


def test_pages_and_examples_are_listed() -> None:
    indexes = {path.parent: path.read_text("utf-8").split() for path in DOCS.glob("**/index.md")}
    for page in {*DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md")} - {DOCS / "index.md"}:
        assert any(
            str(page.relative_to(folder).with_suffix("")) in words
            for folder, words in indexes.items()
            if folder in page.parents
        ), page
    listed = (DOCS / "examples.md").read_text("utf-8")
    assert all(f"`{path.name}`" in listed for path in (REPOSITORY / "examples").glob("*.py"))


def test_files_that_are_named_are_there() -> None:
    """Paths of the repository, in pages and in the README."""
    for page in (*DOCS.glob("*.md"), REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"):
        text = page.read_text("utf-8")
        named = re.findall(
            r"\b(?:docs|examples|bench|experiments|configs|cpp|tests|src)/[\w/]+\.(?:py|md|cpp|toml)\b",
            text,
        )
        missing = [name for name in named if not (REPOSITORY / name).is_file()]
        assert not missing, page.name


#: What makes a command small; of an option that is given twice the last counts.
SMALL = {
    "world": ["--train", "250", "--dev", "8", "--test", "8"],
    "text split": ["--dev", "8", "--test", "8"],
    "tune": ["--iterations", "1", "--kbest", "20"],
}


def raw_texts(place: Path) -> None:
    """text.fr and text.en, as a user would have them."""
    write(generate(train=300, dev=0, test=0, seed=1), place)
    for ours, theirs in (("train.zh", "text.fr"), ("train.en", "text.en")):
        lines = (place / ours).read_text("utf-8").splitlines()
        raw = [re.sub(r" (?=[.,?])", "", line[:1].upper() + line[1:]) for line in lines]
        (place / theirs).write_text("\n".join(raw) + "\n", "utf-8")


def shell(line: str, place: Path) -> str:
    return subprocess.run(
        ["bash", "-c", line], cwd=place, check=True, text=True, stdout=subprocess.PIPE
    ).stdout


@pytest.mark.parametrize("page", ["tutorial-world.md", "tutorial-data.md"])
def test_the_commands_of_the_tutorials_run(page: str, tmp_path: Path, hopefear: Run) -> None:
    """Line by line, with little data and few iterations."""
    if page == "tutorial-data.md":
        raw_texts(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    script = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)).replace("\\\n", " ")
    for line in script.splitlines():
        before, bar, command = line.rpartition(" | ")
        if not command.startswith("hopefear "):
            assert shell(line, tmp_path) or line.startswith("cp "), line
            continue
        words: list[str] = []
        for word in shlex.split(command)[1:]:
            pattern = re.fullmatch(r"[\w./]+\?", word)  # world/dev.en.?
            words += sorted(map(str, tmp_path.glob(word))) if pattern else [word]
        small = SMALL.get(words[0], SMALL.get(" ".join(words[:2]), []))
        if "maxforce" in words:  # learns from no lists
            small = small[: small.index("--kbest")]
        given = shell(before, tmp_path) if bar else None
        done = hopefear(*words, *small, cwd=tmp_path, input=given)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "</html>" in (tmp_path / "report.html").read_text("utf-8")
