"""The example configurations are complete, valid, and say the defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hopefear.base import config, registry
from hopefear.decode.systems.base import get_system

CONFIGS = sorted((Path(__file__).resolve().parent.parent.parent / "configs").glob("*.toml"))
EXPERIMENTS = {"papers-11-features.toml"}  # parts of configurations that are not the defaults


def fields_of(path: Path, name: str) -> dict[str, config.Field]:
    """Of a command, of a component `command.component`, or of a decoder (decoder.NAME.toml)."""
    command, _, component = name.partition(".")
    if component:
        kinds = registry.get("command", command).components.values()
        (kind,) = (kind for kind in kinds if component in registry.names(kind))
        cls = registry.get(kind, component)
    elif name == "decoder":
        cls = get_system(path.name.split(".")[1]).decoder_class.options_class
    else:
        cls = registry.get("command", name)
    return {field.name: field for field in config.fields_of(cls) if not field.required}


def tables_of(path: Path) -> dict[str, tuple[dict[str, Any], set[str]]]:
    """Of each table what it sets and what it only mentions, behind '# '."""
    parts = re.split(r"^\[(.+)\]\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        mentioned = set(re.findall(r"^# (\w+) = ", text, re.MULTILINE))
        found[name] = config.parse_toml(text, path.name), mentioned
    return found


@pytest.mark.parametrize(
    "path", [path for path in CONFIGS if path.name not in EXPERIMENTS], ids=lambda path: path.name
)
def test_example(path: Path) -> None:
    assert config.load_toml(path)
    for name, (table, mentioned) in tables_of(path).items():
        if name == "decoder" and path.name.split(".")[1] not in registry.names("system"):
            pytest.skip(f"{path.name}: this version has no such decoder")
        fields = fields_of(path, name)
        assert table.keys() | mentioned == fields.keys(), name
        for key, value in table.items():
            assert config.convert_value(fields[key], value, key) == fields[key].default, key
        assert all(fields[key].default is None for key in mentioned), name


def test_every_tuner_has_its_table() -> None:
    (path,) = (path for path in CONFIGS if path.name == "tune.toml")
    assert {f"tune.{name}" for name in registry.names("tuner")} <= tables_of(path).keys()


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_experiment(name: str) -> None:
    (path,) = (path for path in CONFIGS if path.name == name)
    for command, table in config.load_toml(path).items():
        fields = fields_of(path, command)
        for key, value in table.items():
            config.convert_value(fields[key], value, key)


def test_there_are_some() -> None:
    assert CONFIGS
    described = {path.name for path in CONFIGS}
    for decoder in registry.names("system"):
        if not decoder.startswith("toy"):  # of the tests
            assert f"decoder.{decoder}.toml" in described
