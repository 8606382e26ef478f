"""Includes of the engine go one way, like imports (test_layers.py); an upward one fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CPP = Path(__file__).resolve().parents[2] / "cpp"
if not CPP.is_dir():
    pytest.skip(f"ENGINE SOURCES ABSENT: no {CPP}; run in the repository", allow_module_level=True)

# Every folder of the engine and exactly the folders that it includes, leaves first. The engine's
# tests may include anything.
_ROWS = {
    "base": "",
    "text": "base",
    "align": "base",
    "lm": "base",
    "syntax": "base",
    "rules": "base syntax",
    "metrics": "base",
    "features": "base lm rules",
    "forest": "base features metrics",
    "decode": "base lm rules features forest",
    "learn": "base forest",
    "bind": "base text align lm syntax rules metrics features forest decode learn",
}
MAY_INCLUDE = {folder: set(names.split()) for folder, names in _ROWS.items()}
TOP = {"tests"}


def folder_of(path: Path) -> str:
    return path.relative_to(CPP).parts[0]


FILES = [path for path in sorted(CPP.rglob("*.?pp")) if folder_of(path) not in TOP]


def included(path: Path) -> list[str]:
    """What a file includes, as written, without the quotes or brackets."""
    return re.findall(r"""^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)""", path.read_text("utf-8"), re.M)


def folders_included(path: Path) -> set[str]:
    return {name.split("/")[0] for name in included(path) if (CPP / name).is_file()}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(CPP)))
def test_includes_go_down(path: Path) -> None:
    here = folder_of(path)
    assert here in MAY_INCLUDE, f"{here}: new folder; give it a place in MAY_INCLUDE"
    upward = folders_included(path) - MAY_INCLUDE[here] - {here}
    assert not upward, f"{path.relative_to(CPP)} includes {sorted(upward)}"


def test_thread_local_data_is_allocated_with_the_thread() -> None:
    """Otherwise a thread that first uses it without memory left aborts the process."""
    users = {str(path.relative_to(CPP)) for path in FILES if "thread_local" in path.read_text()}
    listed = set(re.findall(r"/cpp/(\S+\.cpp)", (CPP.parent / "CMakeLists.txt").read_text()))
    assert users == listed


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(CPP)))
def test_python_is_in_the_binding_only(path: Path) -> None:
    foreign = [name for name in included(path) if re.match(r"nanobind/|Python\.h", name)]
    assert folder_of(path) == "bind" or not foreign


def test_rows_name_rows_above_them() -> None:
    folders = list(MAY_INCLUDE)
    for place, folder in enumerate(folders):
        assert MAY_INCLUDE[folder] <= set(folders[:place]), folder


def test_rows_list_only_actual_includes() -> None:
    seen: dict[str, set[str]] = {folder: set() for folder in MAY_INCLUDE}
    for path in FILES:
        seen[folder_of(path)] |= folders_included(path)
    for folder, allowed in MAY_INCLUDE.items():
        unused = allowed - seen[folder]
        assert not unused, f"{folder} includes nothing of {sorted(unused)}; take it off the table"


def test_the_parser_sees_includes(tmp_path: Path) -> None:
    file = tmp_path / "a.cpp"
    file.write_text('#include "decode/future.hpp"\n// #include "x"\n#  include <nanobind/a.h>\n')
    assert included(file) == ["decode/future.hpp", "nanobind/a.h"]
    assert folders_included(file) == {"decode"}
