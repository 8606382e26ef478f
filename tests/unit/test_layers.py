"""Imports go one way (DESIGN: top to bottom is the data flow); an upward one fails here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hopefear

PACKAGE = Path(hopefear.__file__).parent

# Every room of the package and the rooms that it may import, leaves first. A name with a dot is one
# module or folder inside a room; a module has the row of the longest name that fits it. So learning
# sees the contract of decoders, but no decoder.
CORPUS = {"base", "text"}
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "text": {"base"},
    "align": CORPUS,
    "lm": CORPUS,
    "rules": CORPUS,
    "features": CORPUS | {"rules"},
    "forest": CORPUS,
    "metrics": CORPUS,
    "decode": CORPUS | {"lm", "rules", "features", "forest"},
    "decode.contract": CORPUS | {"lm", "rules", "features"},
    "learn": CORPUS | {"forest", "metrics", "decode.contract"},
    "learn.tuner": CORPUS | {"metrics", "learn.pool"},
    "learn.pool": CORPUS | {"forest", "metrics", "decode.contract", "learn.tuner"},
    "learn.steps": CORPUS | {"learn.tuner"},
    "learn.batch": CORPUS | {"forest", "metrics", "learn.tuner", "learn.pool"},
    "learn.online": CORPUS | {"forest", "metrics", "learn.tuner", "learn.pool", "learn.steps"},
    "learn.loop": CORPUS
    | {
        "forest",
        "metrics",
        "decode.contract",
        "learn.tuner",
        "learn.pool",
        "learn.batch",
        "learn.online",
    },
}
BELOW = {"base", "text", "align", "lm", "rules", "features", "forest", "metrics", "decode", "learn"}
MAY_IMPORT["model"] = BELOW
MAY_IMPORT["analysis"] = BELOW | {"model"}
MAY_IMPORT["serve"] = BELOW | {"model"}
MAY_IMPORT["api"] = BELOW | {"model"}
MAY_IMPORT["cli"] = BELOW | {"model", "analysis", "serve", "api"}
TOP = {"__init__", "__main__"}  # may import anything


def row(module: str) -> str:
    """The longest name of the table that a module, named without `hopefear.`, is inside of."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in MAY_IMPORT:
            return name
    return parts[0]


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


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_go_down(path: Path) -> None:
    here = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    if here in TOP:
        return
    assert row(here) in MAY_IMPORT, f"{here}: new room; give it a place in MAY_IMPORT"
    allowed = MAY_IMPORT[row(here)] | {row(here)}
    upward = {
        module
        for module in imported_modules(path)
        if row(module) not in allowed and row(module).split(".")[0] not in allowed
    }
    assert not upward, f"{here} imports {sorted(upward)}"


def test_the_parser_sees_imports(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "import hopefear.learn.loop.batch\ndef f():\n    from hopefear.cli import main\n"
    )
    assert imported_modules(file) == {"learn.loop.batch", "cli.main"}
