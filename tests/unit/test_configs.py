"""The example configurations are complete, valid, and say the defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hopefear import config, registry

CONFIGS = sorted((Path(__file__).resolve().parent.parent.parent / "configs").glob("*.toml"))
EXPERIMENTS = {"papers-11-features.toml"}  # parts of configurations that are not the defaults


def fields_of(path: Path, name: str) -> dict[str, config.Field]:
    """Of a command, or of the decoder that a file decoder.NAME.toml is for."""
    if name == "decoder":
        cls = registry.get("decoder", path.name.split(".")[1]).options_class
    else:
        cls = registry.get("command", name)
    return {field.name: field for field in config.fields_of(cls) if not field.required}


@pytest.mark.parametrize(
    "path", [path for path in CONFIGS if path.name not in EXPERIMENTS], ids=lambda path: path.name
)
def test_example(path: Path) -> None:
    mentioned = set(re.findall(r"^# (\w+) = ", path.read_text(encoding="utf-8"), re.MULTILINE))
    ((name, table),) = config.load_toml(path).items()
    if name == "decoder" and path.name.split(".")[1] not in registry.names("decoder"):
        pytest.skip(f"{path.name}: this version has no such decoder")
    fields = fields_of(path, name)
    assert table.keys() | mentioned == fields.keys()
    for key, value in table.items():
        assert config.convert_value(fields[key], value, key) == fields[key].default, key
    assert all(fields[key].default is None for key in mentioned)


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
    for decoder in registry.names("decoder"):
        if not decoder.startswith("toy"):  # of the tests
            assert f"decoder.{decoder}.toml" in described
