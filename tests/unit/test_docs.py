"""The documentation against the code: tuners and their options, commands, formats, tutorials."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear import api
from hopefear.base import registry
from hopefear.forest.io.forests import FORMATS
from hopefear.text.world import generate, write

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


PAGES = {
    page.relative_to(DOCS).as_posix(): page.read_text("utf-8")
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts
}


@pytest.mark.parametrize("name", registry.names("tuner"))
def test_every_tuner_has_a_page_with_its_options_and_when_to_use_it(name: str) -> None:
    text = PAGES[f"reference/tuners/{name}.md"]
    assert f":start-after: <!-- {name} -->" in text
    assert "**When to use it:**" in text
    assert f"({name}.md)" in PAGES["reference/tuners/index.md"]


@pytest.mark.parametrize("name", registry.names("metric"))
def test_every_metric_is_described(name: str) -> None:
    text = PAGES["reference/metrics.md"] + PAGES["guides/reranking.md"]
    assert re.search(rf"`(--metric )?{re.escape(name)}`", text)


def test_every_lattice_format_is_described() -> None:
    text = PAGES["guides/other-systems.md"]
    assert [name for name in FORMATS if f"`{name}`" not in text] == []


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for page, text in PAGES.items():
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
            for line in re.findall(r"^(?!:)(\S.*)$", tree, re.M):
                entry = re.sub(r".*<(.+)>$", r"\1", line)
                target = (DOCS / page).parent / f"{entry}.md"
                listed.add(target.resolve().relative_to(DOCS).as_posix())
    assert PAGES.keys() == listed | {"index.md"}


def test_every_example_is_described() -> None:
    examples = (REPOSITORY / "examples").glob("*.py")
    assert [
        path.name for path in examples if f"`{path.name}`" not in PAGES["guides/examples.md"]
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_a_page_and_a_heading(page: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", PAGES[page], flags=re.S)):
        path, _, anchor = link.partition("#")
        if "://" in link or not (path.endswith(".md") or anchor):
            continue
        target = ((DOCS / page).parent / path).resolve() if path else DOCS / page
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.M)
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, link


def test_files_that_are_named_are_there() -> None:
    """Paths of the repository, in pages, at its top and in the package."""
    files = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
    files += [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "examples").glob("*.py")]
    texts = {str(file): file.read_text("utf-8") for file in files}
    folders = "docs|examples|bench|experiments|configs|cpp|tests|src"
    for page, text in {**PAGES, **texts}.items():
        named = re.findall(rf"(?<![\w/])(?:{folders})/[\w/-]+\.(?:py|md|cpp|toml)\b", text)
        assert [name for name in named if not (REPOSITORY / name).is_file()] == [], page


#: What makes a command small; of an option that is given twice the last counts.
SMALL = {
    "world": ["--train", "250", "--dev", "8", "--test", "8"],
    "text split": ["--dev", "8", "--test", "8"],
    "tune": ["--iterations", "1", "--kbest", "20"],
    "train": ["--order", "3"],
}


def raw_texts(place: Path, name: str = "text", pairs: int = 300, seed: int = 1) -> None:
    """Write NAME.fr and NAME.en, parallel texts as a user would have them."""
    write(generate(train=pairs, dev=0, test=0, seed=seed), place)
    for ours, language in (("train.zh", "fr"), ("train.en", "en")):
        lines = (place / ours).read_text("utf-8").splitlines()
        raw = [re.sub(r" (?=[.,?])", "", line[:1].upper() + line[1:]) for line in lines]
        (place / f"{name}.{language}").write_text("\n".join(raw) + "\n", "utf-8")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with parallel texts and the model fr-en, which many pages start from."""
    place = tmp_path_factory.mktemp("trained")
    for name, pairs, seed in (("dev", 8, 2), ("test", 8, 3), ("train", 250, 1)):
        raw_texts(place, name, pairs, seed)
    api.train(place / "train.fr", place / "train.en", model=place / "fr-en", order=3, display="off")
    return place


def shell(line: str, place: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line],
        cwd=place,
        env={**os.environ, "PATH": path},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout


def commands(script: str) -> list[str]:
    """The commands of a shell script; one in quotes may have several lines."""
    found: list[str] = []
    for line in script.replace("\\\n", " ").splitlines():
        if found and found[-1].count('"') % 2:
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
    return found


SCRIPTS = {
    page: script
    for page, text in PAGES.items()
    if (script := "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)))
}


@pytest.mark.parametrize("page", SCRIPTS)
def test_the_commands_of_a_page_run(
    page: str, tmp_path: Path, trained: Path, hopefear: Run, hopefear_process: Run
) -> None:
    """Line by line, with little data and few iterations."""
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    if page == "guides/own-data.md":
        raw_texts(tmp_path)
    elif "--model fr-en" in SCRIPTS[page]:
        shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    for line in commands(SCRIPTS[page]):
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
        if "--recipe" in words:  # its steps have iterations of their own
            small = ["--beam", "5", "--pop-limit", "10"]
        text = shell(before, tmp_path) if bar else None
        # A server that has imported training knows the options of the systems of that time only.
        run = hopefear_process if "--plugin" in words else hopefear
        done = run(*words, *small, cwd=tmp_path, input=text)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    if "report.html" in SCRIPTS[page]:
        assert "</html>" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_that_a_page_shows_are_valid(page: str) -> None:
    """Commands in indented blocks do not run; their options exist and have values they may have."""
    cli = importlib.import_module("hopefear.cli.main")
    blocks = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S).replace("\\\n", " ")
    for line in re.findall(r"^ {4,}(hopefear .+)$", blocks, re.M):
        text = re.split(r"  +#|\|", line)[0].replace("$templates", "--templates rule-id")
        words = shlex.split(text.replace("{k}", "100"))[1:]
        if page.startswith("options/") or words[0].startswith("--"):
            continue  # the usage of a command
        name, rest = cli._find(words)
        cli._parse(name, cli._command(name), rest)
