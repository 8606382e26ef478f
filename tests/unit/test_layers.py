"""Imports go one way (DESIGN: top to bottom is the data flow); an upward one fails here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hopefear

PACKAGE = Path(hopefear.__file__).parent

# Every room of the package and exactly the rooms that it imports, leaves first: a row names rows
# above it only, and nothing that it does not need. A name with a dot is one module or folder inside
# a room; a module has the row of the longest name that fits it. Naming a room names what is inside.
_ROWS = {
    "base": "",
    "text": "base",
    "align": "base",
    "lm": "base",
    "syntax": "base",
    "rules": "base syntax",
    "metrics": "base text",
    "features": "base text rules",
    "forest": "base text",
    "decode.contract": "base text lm rules features",
    "decode.source": "base decode.contract",
    "decode": "base text lm rules features forest decode.contract",
    "learn.steps": "base",
    "learn.pool.candidates": "base metrics",
    "learn.tuner": "base metrics learn.pool.candidates",
    "learn.pool": "base metrics forest decode.contract learn.pool.candidates learn.tuner",
    "learn.batch": "base metrics forest learn.tuner learn.pool",
    "learn.online": "base metrics forest learn.steps learn.tuner learn.pool",
    "learn.loop": "base metrics forest decode.contract decode.source "
    "learn.tuner learn.pool learn.online",
    "learn": "base text align lm metrics forest learn.tuner learn.pool",
    "model": "base text align lm rules metrics features forest decode learn.loop",
    "analysis": "base text metrics forest decode learn.loop model",
    "serve": "base text forest decode model",
    "api": "base text metrics learn model",
    "cli": "base text align lm syntax rules metrics forest decode learn model analysis serve",
}
MAY_IMPORT = {room: set(names.split()) for room, names in _ROWS.items()}
TOP = {"__init__", "__main__"}  # may import anything


def row(module: str) -> str:
    """The longest name of the table that a module, named without `hopefear.`, is inside of."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in MAY_IMPORT:
            return name
    return parts[0]


def is_inside(module: str, rooms: set[str]) -> bool:
    """Whether the row of `module` is one of `rooms`, or inside one."""
    return any(f"{row(module)}.".startswith(f"{room}.") for room in rooms)


def imported_modules(path: Path) -> set[str]:
    """The package's modules that a file imports, named without `hopefear.`."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # "from hopefear.a import b" may name the module a.b, or something inside a.
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        modules |= {name for name in names if name.startswith("hopefear.")}
    inside = {name.removeprefix("hopefear.") for name in modules}
    return {name for name in inside if name.split(".")[0] not in ("_engine", "__version__")}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if module_name(path) not in TOP]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    here = module_name(path)
    assert row(here) in MAY_IMPORT, f"{here}: new room; give it a place in MAY_IMPORT"
    upward = {
        module
        for module in imported_modules(path)
        if row(module) != row(here) and not is_inside(module, MAY_IMPORT[row(here)])
    }
    assert not upward, f"{here} imports {sorted(upward)}"


def test_rows_name_rows_above_them() -> None:
    rooms = list(MAY_IMPORT)
    for place, room in enumerate(rooms):
        assert MAY_IMPORT[room] <= set(rooms[:place]), room


def test_rows_list_only_actual_imports() -> None:
    imported: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for path in FILES:
        imported[row(module_name(path))] |= imported_modules(path)
    for room, allowed in MAY_IMPORT.items():
        unused = {
            other for other in allowed if not any(is_inside(m, {other}) for m in imported[room])
        }
        assert not unused, f"{room} imports nothing of {sorted(unused)}; take it off the table"


def test_the_parser_sees_imports(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "import hopefear.learn.loop.batch\ndef f():\n    from hopefear.cli import main\n"
    )
    assert imported_modules(file) == {"learn.loop.batch", "cli.main"}
