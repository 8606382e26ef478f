"""The example configurations are complete, valid, and say the defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hopefear import config, registry

CONFIGS = sorted((Path(__file__).resolve().parent.parent.parent / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_example(path: Path) -> None:
    mentioned = set(re.findall(r"^# (\w+) = ", path.read_text(encoding="utf-8"), re.MULTILINE))
    ((name, table),) = config.load_toml(path).items()
    fields = {
        field.name: field
        for field in config.fields_of(registry.get("command", name))
        if not field.required
    }
    assert table.keys() | mentioned == fields.keys()
    for key, value in table.items():
        assert config.convert_value(fields[key], value, key) == fields[key].default, key
    assert all(fields[key].default is None for key in mentioned)


def test_there_are_some() -> None:
    assert CONFIGS
