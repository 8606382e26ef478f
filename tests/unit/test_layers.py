"""Imports go one way (DESIGN: top to bottom is the data flow); an upward one fails here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hopefear

PACKAGE = Path(hopefear.__file__).parent

# Every unit of the package and what it may import; leaves of the tree first.
BASE = {"errors", "files", "config", "registry", "progress", "threads", "plot"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "files": {"errors"},
    "progress": set(),
    "threads": set(),
    "plot": set(),
    "config": {"errors", "files"},
    "registry": {"errors"},
    "weights": BASE,
    "text": BASE,
    "align": BASE | {"text"},
    "lm": BASE | {"text"},
    "rules": BASE | {"text", "align", "lm"},
    "features": BASE | {"weights", "text", "align", "lm", "rules"},
    "forest": BASE | {"weights", "text"},
    "metrics": BASE | {"text"},
    "decode": BASE | {"weights", "text", "align", "lm", "rules", "features", "forest"},
    "tune": BASE | {"weights", "text", "forest", "metrics"},
}
MAY_IMPORT["model"] = BASE | set(MAY_IMPORT)
MAY_IMPORT["folds"] = BASE | set(MAY_IMPORT)
MAY_IMPORT["translate_options"] = BASE
MAY_IMPORT["translate"] = BASE | set(MAY_IMPORT)
MAY_IMPORT["serve"] = BASE | set(MAY_IMPORT)
MAY_IMPORT["importing"] = BASE | set(MAY_IMPORT) - {"translate", "serve"}
MAY_IMPORT["train_options"] = BASE | {"text", "rules"}
MAY_IMPORT["train"] = BASE | set(MAY_IMPORT)
MAY_IMPORT["report"] = BASE | set(MAY_IMPORT) - {"serve", "importing", "train", "train_options"}
MAY_IMPORT["cli"] = BASE | set(MAY_IMPORT)
TOP = {"__init__", "__main__"}  # may import anything


def unit(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_units(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # "from hopefear import x" names a unit, "from hopefear.a import x" has it already.
            module = node.module or ""
            names = [f"{module}.{a.name}" for a in node.names] if module == "hopefear" else [module]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("hopefear.")}
    return found - {"_engine"}


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_go_down(path: Path) -> None:
    here = unit(path)
    if here in TOP:
        return
    assert here in MAY_IMPORT, f"{here}: new unit; give it a place in MAY_IMPORT"
    upward = imported_units(path) - MAY_IMPORT[here] - {here, "__version__"}
    assert not upward, f"{path.relative_to(PACKAGE)} imports {sorted(upward)}"


def test_the_parser_sees_imports(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import hopefear.tune.loop\ndef f():\n    from hopefear.cli import main\n")
    assert imported_units(file) == {"tune", "cli"}
