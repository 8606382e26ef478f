"""Promises about the project itself: versions, requirements, references, import time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hopefear

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parent.parent.parent
#: The pages of the documentation that have Python in them, or may have.
PAGES = sorted(page for page in (REPOSITORY / "docs").rglob("*.md") if "_build" not in page.parts)


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def test_one_version(pyproject: dict) -> None:
    assert pyproject["project"]["version"] == hopefear.__version__
    assert f"## {hopefear.__version__}" in (REPOSITORY / "CHANGELOG.md").read_text()


def test_the_build_group_has_the_build_requirements(pyproject: dict) -> None:
    group = pyproject["dependency-groups"]["build"]
    assert set(pyproject["build-system"]["requires"]) <= set(group)


def test_every_dependency_has_its_reason(pyproject: dict) -> None:
    reasons = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    extras = pyproject["project"]["optional-dependencies"].values()
    wanted = pyproject["project"]["dependencies"] + [name for extra in extras for name in extra]
    wanted += pyproject["dependency-groups"]["build"]
    for requirement in wanted:
        name = re.split(r"[<>=;~! ]", requirement)[0]
        assert re.search(rf"\| `{re.escape(name)}` \|", reasons), f"no reason given for {name}"


def test_every_reference_is_in_the_bibliography() -> None:
    """Module docstrings cite papers as [key], [key, key]."""
    bibliography = (REPOSITORY / "docs" / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{([^,]+),", bibliography, re.MULTILINE)
    known = set(keys)
    assert len(keys) == len(known), "a key is there twice"
    for entry in re.split(r"^(?=@)", bibliography, flags=re.MULTILINE)[1:]:
        assert entry.count("{") == entry.count("}"), entry
    key = r"[a-z]+(?:-[a-z]+)*(?:19|20)\d\d[a-z]?"
    cited: dict[str, Path] = {}
    for folder, pattern in (("src", "*.py"), ("cpp", "*.?pp")):
        for path in (REPOSITORY / folder).rglob(pattern):
            text = path.read_text(encoding="utf-8")
            for group in re.findall(rf"\[({key}(?:, {key})*)\]", text):
                cited.update(dict.fromkeys(group.split(", "), path))
    unknown = {name: str(path) for name, path in cited.items() if name not in known}
    assert not unknown


def test_the_package_imports_little() -> None:
    """`import hopefear` takes under 0.3 s because it loads nothing heavy; neither does --help."""
    code = "import sys, hopefear.cli; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split())
    assert "hopefear.cli.main" in loaded
    assert not loaded & {"numpy", "hopefear._engine"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "page", PAGES, ids=lambda path: path.relative_to(REPOSITORY / "docs").as_posix()
)
def test_the_python_of_the_pages_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page are one program; a comment after an expression may say its value."""
    monkeypatch.chdir(tmp_path)
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S))
    names: dict[str, object] = {}
    exec(compile(program, page.name, "exec"), names)
    for expression, value in re.findall(r"^(\S+\(.*\)) +#.*: (-?[\d.]+)$", program, re.M):
        assert eval(expression, names) == pytest.approx(float(value)), expression
