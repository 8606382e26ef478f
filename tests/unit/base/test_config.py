"""Options declared as dataclass fields: command line, config files and help."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from hopefear.base import config
from hopefear.base.config import Size, argument, option
from hopefear.base.errors import OptionError


@dataclass(kw_only=True)
class Example:
    """An option of each type."""

    text: Path = argument(help="input")
    order: int = option(3, min=1, max=6, help="longest n-gram")
    C: float = option(0.01, min=0, help="largest step")
    prune: list[int] = option([0], min=0, help="thresholds")
    zero: int = option(0, help="none of them")
    memory: Size = option(Size(1 << 30), help="memory")
    towards: Literal["hope", "local"] = option("hope", help="selection")
    output: Path | None = option(None, flags=["-o"], help="result")
    distinct: bool = option(False, help="no repetitions")
    average: bool = option(True, help="no averaging")
    note: str = option("", help="free text, 100% of it")


@dataclass(kw_only=True)
class Named:
    fix: list[str] = option([], help="features")


def parse(*words: str) -> Example:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    config.add_arguments(parser, Example)
    return config.from_mapping(Example, vars(parser.parse_args(words)))


def _words(text: str) -> list[str]:
    return text.split()


def test_a_repeated_list_option_adds_values() -> None:
    assert parse(*_words("a --prune 0 --order 5 --prune 0 1")).prune == [0, 0, 1]


def test_defaults_and_values() -> None:
    assert parse("a.txt") == Example(text=Path("a.txt"))
    assert parse(
        *_words("a -o b --order 5 --C 1e-3 --prune 0 0 1 --memory 2M --towards local"),
        *_words("--distinct --no-average --note x"),
    ) == Example(
        text=Path("a"),
        output=Path("b"),
        order=5,
        C=1e-3,
        prune=[0, 0, 1],
        memory=Size(2 << 20),
        towards="local",
        distinct=True,
        average=False,
        note="x",
    )


def test_bounds_are_shown_without_exponents() -> None:
    @dataclass(kw_only=True)
    class Bounded:
        beam: int = option(1, min=1, max=1_000_000, help="")
        rate: float = option(0.0, min=0, max=1e-5, help="")

    legal = [field.legal() for field in config.fields_of(Bounded)]
    assert legal == ["a whole number from 1 to 1000000", "a number from 0 to 1e-05"]


def test_a_list_default_is_not_shared() -> None:
    first = parse("a")
    first.prune.append(7)
    assert parse("a").prune == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "TEXT is missing: input"),
        ("a --order 9", "--order: 9 is out of range; give a whole number from 1 to 6"),
        ("a --order x", "--order: 'x' is not valid; give a whole number from 1 to 6"),
        ("a --C -1", "--C: -1.0 is out of range; give a number of at least 0"),
        ("a --C nan", "--C: nan is not valid"),
        ("a --prune 0 -1", "--prune: -1 is out of range"),
        ("a --memory much", "--memory: 'much' is not valid; give a size such as 512M or 1G"),
        ("a --towards fear", "--towards: 'fear' is not valid; give one of hope, local"),
    ],
)
def test_bad_words(words: str, message: str) -> None:
    with pytest.raises(OptionError) as error:
        parse(*words.split())
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"ordr": 3}, "run.toml: unknown key 'ordr'; did you mean 'order'?"),
        ({"order": "3"}, "run.toml: order: '3' is not valid; give a whole number"),
        ({"order": 3.5}, "run.toml: order: 3.5 is not valid"),
        ({"order": True}, "run.toml: order: True is not valid"),
        ({"distinct": 1}, "run.toml: distinct: 1 is not valid; give true or false"),
        ({"prune": [0, "x"]}, "run.toml: prune: 'x' is not valid"),
        ({"towards": 3}, "run.toml: towards: 3 is not valid; give one of hope, local"),
        ({"C": float("inf")}, "run.toml: C: inf is not valid"),
    ],
)
def test_bad_mappings(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        config.from_mapping(Example, {"text": "a", **mapping}, "run.toml")
    assert message in str(error.value)


def test_mapping_round_trip() -> None:
    value = parse("a", "--memory", "3k", "--prune", "1", "2")
    mapping = config.to_mapping(value)
    assert mapping["memory"] == "3k"
    assert "output" not in mapping
    assert config.from_mapping(Example, mapping) == value


def test_integers_are_valid_floats() -> None:
    assert config.from_mapping(Example, {"text": "a", "C": 1}).C == 1.0


def test_pairs() -> None:
    assert config.parse_pairs(Example, ["C=0.5", "prune=0,0,1", "average=false"]) == {
        "C": 0.5,
        "prune": [0, 0, 1],
        "average": False,
    }
    named = config.parse_pairs(Named, ["fix=lm, count(f,e)  p(f|e)"])
    assert named == {"fix": ["lm", "count(f,e)", "p(f|e)"]}
    for pair, message in {
        "C": "expected key=value",
        "D=1": "unknown key 'D'",
        "C=x": "--set C: 'x' is not valid",
    }.items():
        with pytest.raises(OptionError, match=message):
            config.parse_pairs(Example, [pair])


def test_help_shows_defaults_and_ranges() -> None:
    parser = argparse.ArgumentParser()
    config.add_arguments(parser, Example)
    text = " ".join(parser.format_help().split())
    assert "longest n-gram (1 to 6, default 3)" in text
    assert "--towards hope|local" in text
    assert "-o FILE, --output FILE" in text
    assert "free text, 100% of it" in text
    assert "none of them (default 0)" in text
    assert config.usage("try", Example) == "try TEXT [options]"


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1000", 1000), ("1.5k", 1536), ("2G", 2 << 30), ("2gb", 2 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert Size.parse(text) == size
    assert Size.parse(str(Size(size))) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "1e30T", "nan", "1X"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as"):
        Size.parse(text)


def test_toml_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("a = \n")
    with pytest.raises(OptionError, match=r"c\.toml: not valid TOML: .*line 1"):
        config.load_toml(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(OptionError, match=r"c\.toml: not UTF-8 at byte 5"):
        config.load_toml(path)


def test_an_option_may_have_the_name_of_a_method() -> None:
    @dataclass(kw_only=True)
    class Learner:
        update_: Literal["early", "late"] = option("late", help="when")

        def update(self) -> str:
            return self.update_

    made = config.from_mapping(Learner, config.parse_pairs(Learner, ["update=early"]))
    assert made.update() == "early"
    assert config.to_mapping(made) == {"update": "early"}
    assert Learner(**config.part_of(Learner, made)) == made
    with pytest.raises(OptionError, match="unknown key 'update_'"):
        config.from_mapping(Learner, {"update_": "early"})
