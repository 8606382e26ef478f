"""The example configurations and the tables of options are current, complete and valid."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from hopefear.base import config, registry
from hopefear.decode.systems.base import get_system

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = sorted((REPOSITORY / "configs").glob("*.toml"))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", REPOSITORY / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_current() -> None:
    made = generator()
    outdated = [str(path.relative_to(REPOSITORY)) for path in made.outdated()]
    assert not outdated, f"not current; run `{made.COMMAND}` and commit what it writes"


@pytest.mark.parametrize(
    "kind",
    [
        *("tuner", "metric", "feature", "list-feature", "list-format"),
        *("system", "tokenizer", "command"),
    ],
)
def test_every_component_is_listed(kind: str) -> None:
    made = generator()
    (page,) = (REPOSITORY / "docs" / "options").glob(f"{kind}s.md")
    text = page.read_text(encoding="utf-8")
    assert [name for name, *_ in made.components(kind) if f"\n## {name}\n" not in text] == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_values_are_valid(path: Path) -> None:
    for name, table in config.load_toml(path).items():
        if name == "decoder":
            system = get_system(path.name.split(".")[1])
            config.from_mapping(system.decoder_class.options_class, table)
            continue
        cls = registry.get("command", name)
        kinds = {part: kind for kind in cls.components.values() for part in registry.names(kind)}
        fields = {field.name: field for field in config.fields_of(cls)}
        for key, value in table.items():
            if isinstance(value, dict):
                config.from_mapping(registry.get(kinds[key], key), value)
            else:
                config.convert_value(fields[key], value, key)


def test_all_tuners_are_in_the_example_of_tune() -> None:
    table = config.load_toml(REPOSITORY / "configs" / "tune.toml")["tune"]
    assert {name for name, *_ in generator().components("tuner")} <= table.keys()
