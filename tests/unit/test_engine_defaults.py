"""One default for each option: Python has it, the engine is always told."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hopefear

STUB = Path(hopefear.__file__).parent / "_engine.pyi"
CPP = Path(__file__).resolve().parents[2] / "cpp"

# Arguments of the engine that may be left out. None is an option of a user.
NEUTRAL = {
    "SparseVector.plus": {"factor"},
    "Forest.edge_features": {"shared", "own"},
    "Envelope.derivation": {"x"},
    "NgramGain.__init__": {"length", "reference", "constant", "by_reference"},
    "Violations.__init__": {"spans"},
}
# Structs named as options whose fields are not given by Python.
INTERNAL = {"ParseOptions"}


def with_default(function: ast.FunctionDef) -> set[str]:
    """The arguments of a function that have a default."""
    arguments = function.args.posonlyargs + function.args.args
    last = arguments[len(arguments) - len(function.args.defaults) :]
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return {a.arg for a in last} | {a.arg for a, default in named if default is not None}


def test_arguments_of_the_engine_are_required() -> None:
    found = {}
    for node in ast.parse(STUB.read_text("utf-8")).body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef) and with_default(function):
                found[owner + function.name] = with_default(function)
    assert found == NEUTRAL


def test_option_structs_of_the_engine_have_no_defaults() -> None:
    if not CPP.is_dir():
        pytest.skip(f"ENGINE SOURCES ABSENT: no {CPP}; run in the repository")
    seen = set()
    for path in sorted(CPP.rglob("*.hpp")):
        for name, body in re.findall(
            r"^ *struct (\w*(?:Options|Settings|Limits)) \{(.*?)^ *\};",
            path.read_text("utf-8"),
            re.M | re.S,
        ):
            seen.add(name)
            code = re.sub(r"//.*", "", body)
            has_default = re.search(r"(?<![=!<>])=(?!=)|\w\{", code)
            assert name in INTERNAL or not has_default, f"{path.name}: {name}"
    assert {"ExtractOptions", "ChartOptions", "PhraseSettings", "SearchLimits"} <= seen
