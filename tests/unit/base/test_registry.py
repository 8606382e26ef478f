"""The registry of components, and plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base import registry
from hopefear.base.errors import InputError, OptionError


def test_unknown_names_suggest_known_ones() -> None:
    with pytest.raises(OptionError, match="unknown command 'verson'; did you mean 'version'"):
        registry.get("command", "verson")


def test_a_plugin_file_adds_a_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_components", {"command": dict(registry._components["command"])})
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from hopefear.base.registry import register\n"
        "@register('command', 'mine')\nclass Mine:\n    pass\n"
    )
    registry.load_plugin(plugin)
    assert registry.get("command", "mine").__name__ == "Mine"
    assert "mine" in registry.names("command")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.py", None, "no such plugin"),
        ("a.txt", "", "not a Python file"),
        ("a.py", "1/0", "plugin fails with ZeroDivisionError"),
        ("a.py", "x = (", "plugin fails with SyntaxError"),
    ],
)
def test_bad_plugins(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        registry.load_plugin(path)


def test_duplicate_names_are_refused() -> None:
    with pytest.raises(OptionError, match="registered twice"):

        @registry.register("command", "version")
        class Other:
            pass

    with pytest.raises(OptionError, match="registered twice"):  # same class name

        @registry.register("command", "version")
        class Version:
            __qualname__ = "Version"

    with pytest.raises(ValueError, match="unknown kind"):
        registry.register("comand", "x")(Other if False else type("X", (), {}))
