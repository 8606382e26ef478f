"""The contract of every registered command. A new command is tested without any change here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from hopefear.base import config, registry
from hopefear.cli.command import SECTIONS, Command

Run = Callable[..., subprocess.CompletedProcess[str]]
COMMANDS = registry.names("command")


@pytest.mark.parametrize("name", COMMANDS)
def test_it_describes_itself(name: str) -> None:
    cls = registry.get("command", name)
    assert issubclass(cls, Command)
    assert cls.section in SECTIONS
    summary = (cls.__doc__ or "").strip().split("\n")[0]
    assert summary.endswith("."), "the docstring begins with one sentence"
    assert len(summary) + len(name) <= 100
    assert cls.examples, "help with examples"
    for example in cls.examples:
        assert f"hopefear {name}" in example
    for field in config.fields_of(cls):
        assert field.option.help, field.name


def test_a_command_loads_its_own_module_only() -> None:
    """Importing the modules of all commands took half of the time of a start."""
    code = (
        "import sys\n"
        "from hopefear.cli import main\n"
        "from hopefear.base import registry\n"
        "registry.get('command', 'lm query')\n"
        "print(*(name for name in sys.modules if name.startswith('hopefear.cli.')))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    modules = {name.removeprefix("hopefear.cli.") for name in result.stdout.split()}
    assert modules == {"main", "command", "lm_query"}, result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns(name: str, hopefear: Run) -> None:
    result = hopefear(*name.split(), "--help", env={"COLUMNS": "80"})
    assert result.returncode == 0
    assert result.stderr == ""
    assert "examples:" in result.stdout
    text = result.stdout.partition("examples:")[0]  # a command is not broken
    too_long = [line for line in text.splitlines() if len(line) > 80]
    assert not too_long


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_one_line_and_exit_2(name: str, hopefear: Run) -> None:
    result = hopefear(*name.split(), "--no-such-option")
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "--no-such-option" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_required_options_are_one_line_and_exit_2(name: str, hopefear: Run) -> None:
    fields = config.fields_of(registry.get("command", name))
    if not any(field.required for field in fields):
        pytest.skip("nothing is required")
    result = hopefear(*name.split())
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "is missing" in result.stderr


def test_json_is_one_object(hopefear: Run) -> None:
    result = hopefear("version", "--json")
    assert json.loads(result.stdout).keys() == {"hopefear", "engine", "python", "platform"}
