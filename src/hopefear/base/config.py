"""A dataclass's fields are its command-line options, its config keys, its validation and its help.

Goes in: a dataclass whose fields are declared with `option(...)` or `argument(...)`.
Comes out: an argparse parser (`add_arguments`), an object made from a mapping, a TOML file or
`key=value` pairs (`from_mapping`, `load_toml`, `parse_pairs`), and the mapping back (`to_mapping`).

    @dataclass(kw_only=True)
    class Estimate:
        text: Path = argument(help="one sentence per line")
        order: int = option(3, min=1, max=6, help="longest n-gram")

A field whose option has the name of a method is written with an underscore behind it (`update_`);
the option and the config key have none.

Field types: bool, int, float, str, Path, Literal[...], X | None, list[X], and any class with a
`parse(text)` class method (`Size`).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import math
import re
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from hopefear.base.errors import OptionError, in_line, suggestion
from hopefear.base.files import display_name

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]

T = TypeVar("T")


class Size(int):
    """A number of bytes, written `1G`, `512M`, `100k` or `1000`."""

    @classmethod
    def parse(cls, text: str) -> Size:
        units = {"k": 10, "m": 20, "g": 30, "t": 40}
        digits, unit = text.strip().lower().removesuffix("b"), 0
        if digits and digits[-1] in units:
            digits, unit = digits[:-1], units[digits[-1]]
        try:
            number = float(digits)
        except ValueError:
            number = math.nan
        if not 0 <= number < 2**63 / 2**unit:
            raise ValueError("a size such as 512M or 1G")
        return cls(int(number * 2**unit))

    def __str__(self) -> str:
        for unit, shift in (("G", 30), ("M", 20), ("k", 10)):
            if self and self % (1 << shift) == 0:
                return f"{self >> shift}{unit}"
        return str(int(self))


@dataclass(frozen=True)
class Option:
    """What a field says about itself, kept in its metadata."""

    help: str
    min: float | None = None
    max: float | None = None
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    positional: bool = False
    may_be_empty: bool = False


def option(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    min: float | None = None,
    max: float | None = None,
    flags: Sequence[str] = (),
    metavar: str | None = None,
    may_be_empty: bool = False,
) -> Any:
    """A field that is an option. Without a default it must be given.

    `flags` are further spellings (`-o`); the long one comes from the field's name. A list that
    `may_be_empty` may be given as the option alone, without any value.
    """
    spec = Option(
        help=help,
        min=min,
        max=max,
        flags=tuple(flags),
        metavar=metavar,
        may_be_empty=may_be_empty,
    )
    if isinstance(default, list):
        values = list(default)
        return dataclasses.field(default_factory=lambda: list(values), metadata={"option": spec})
    return dataclasses.field(default=default, metadata={"option": spec})


def argument(default: Any = dataclasses.MISSING, *, help: str, metavar: str | None = None) -> Any:
    """A field that is a positional argument; with a default it may be left out."""
    spec = Option(help=help, metavar=metavar, positional=True)
    return dataclasses.field(default=default, metadata={"option": spec})


@dataclass(frozen=True)
class Field:
    """A declared field with its type resolved."""

    name: str  # of the option and the config key
    attribute: str  # of the object
    type: Any  # without "| None"
    optional: bool
    default: Any  # dataclasses.MISSING if there is none
    option: Option

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def item_type(self) -> Any:
        return get_args(self.type)[0] if get_origin(self.type) is list else self.type

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is list

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    def legal(self) -> str:
        """The legal values in words."""
        kind = self.item_type
        low, high = self.option.min, self.option.max
        if get_origin(kind) is Literal:
            return "one of " + ", ".join(map(str, get_args(kind)))
        noun = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")
        if low is not None and high is not None:
            return f"{noun} from {_shown(low)} to {_shown(high)}"
        if low is not None:
            return f"{noun} of at least {_shown(low)}"
        if high is not None:
            return f"{noun} of at most {_shown(high)}"
        return noun


def _shown(bound: float) -> str:
    """A bound as a person writes it: 1000000, not 1e+06."""
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


# It evaluates each annotation's text, which takes two thirds of reading a model's options.
_type_hints = functools.cache(typing.get_type_hints)


def fields_of(cls: type) -> list[Field]:
    """The declared options of a dataclass, in order."""
    hints = _type_hints(cls)
    result = []
    for field in dataclasses.fields(cls):
        if "option" not in field.metadata:
            continue
        kind, optional = hints[field.name], False
        if get_origin(kind) in (Union, types.UnionType):
            members = [a for a in get_args(kind) if a is not type(None)]
            optional = len(members) < len(get_args(kind))
            (kind,) = members
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        name = field.name.removesuffix("_")
        result.append(Field(name, field.name, kind, optional, default, field.metadata["option"]))
    return result


# Of the values of a list: blanks and commas, but not those of a name such as count(f,e).
_SEPARATOR = re.compile(r"[\s,]+(?![^()]*\))")


def convert_text(field: Field, text: str, place: str) -> Any:
    """The value that `text` stands for; `place` is how the user wrote the option's name."""
    if field.is_list:
        parts = _SEPARATOR.split(text)
        return [_convert_item(field, part, place) for part in parts if part]
    return _convert_item(field, text, place)


def _convert_item(field: Field, text: str, place: str) -> Any:
    kind = field.item_type
    try:
        if kind is bool:
            value: Any = {"true": True, "false": False}[text.lower()]
        elif get_origin(kind) is Literal:
            value = next(v for v in get_args(kind) if str(v) == text)
        elif hasattr(kind, "parse"):
            value = kind.parse(text)
        else:
            value = kind(text)
    except (ValueError, KeyError, StopIteration) as error:
        legal = str(error) if hasattr(kind, "parse") else field.legal()
        raise OptionError(f"{place}: {text!r} is not valid; give {legal}") from None
    return _check_range(field, value, place)


def convert_value(field: Field, value: Any, place: str) -> Any:
    """Check a value that already has a type (from TOML or from Python)."""
    if value is None and field.optional:
        return None
    if field.is_list:
        if not isinstance(value, list):
            value = [value]
        return [_check_item(field, item, place) for item in value]
    return _check_item(field, value, place)


def _check_item(field: Field, value: Any, place: str) -> Any:
    kind = field.item_type
    if isinstance(value, str) and kind is not str:
        if kind is bool or kind is int or kind is float:
            raise OptionError(f"{place}: {value!r} is not valid; give {field.legal()}")
        return _convert_item(field, value, place)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < _MOST else math.inf
    if get_origin(kind) is Literal:
        good = value in get_args(kind)
    elif kind is int or kind is float:
        good = isinstance(value, kind) and not isinstance(value, bool)
    elif hasattr(kind, "parse") and isinstance(value, int):
        value, good = kind(value), True
    else:
        good = isinstance(value, kind)
    if not good:
        raise OptionError(f"{place}: {value!r} is not valid; give {field.legal()}")
    return _check_range(field, value, place)


_MOST = 2**63


def _check_range(field: Field, value: Any, place: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{place}: {value} is not valid; give {field.legal()}")
    low, high = field.option.min, field.option.max
    if isinstance(value, int) and not -_MOST < value < _MOST:  # the engine's are smaller
        raise OptionError(f"{place}: {value} is not valid; give {field.legal()}")
    if (low is not None and value < low) or (high is not None and value > high):
        raise OptionError(f"{place}: {value} is out of range; give {field.legal()}")
    return value


def from_mapping(cls: type[T], mapping: Mapping[str, Any], place: str = "") -> T:
    """An object of `cls` from keys and values; every key must be a field's name."""
    fields = {field.name: field for field in fields_of(cls)}
    prefix = f"{place}: " if place else ""
    values = {}
    for key, value in mapping.items():
        if key not in fields:
            raise OptionError(f"{prefix}unknown key {key!r}; {suggestion(key, fields)}")
        values[key] = convert_value(fields[key], value, prefix + key)
    for field in fields.values():
        if field.required and field.name not in values:
            own = field.option.metavar or field.name.upper()
            what = own if field.option.positional else field.flag
            raise OptionError(f"{prefix}{what} is missing: {field.option.help}")
    return cls(**{fields[key].attribute: value for key, value in values.items()})


def to_mapping(value: Any) -> dict[str, Any]:
    """The object's fields as plain TOML-able values; None is left out."""
    result = {}
    for field in fields_of(type(value)):
        item = getattr(value, field.attribute)
        if item is not None:
            result[field.name] = _plain(item)
    return result


def part_of(cls: type, value: Any, without: Iterable[str] = ()) -> dict[str, Any]:
    """The values of the fields that `cls` declares, of an object that has more: `cls(**…)`."""
    left_out = set(without)
    names = [field.attribute for field in fields_of(cls) if field.name not in left_out]
    return {name: getattr(value, name) for name in names}


def changed(value: Any, names: Iterable[str]) -> Field | None:
    """The first of these fields that is not as by default; for options that would do nothing."""
    wanted = set(names)
    for field in fields_of(type(value)):
        if field.name in wanted and getattr(value, field.attribute) != field.default:
            return field
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (Path, Size)):
        return str(value)
    return value


def load_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a mapping; what is wrong with it names its place."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), display_name(path))
    except UnicodeDecodeError as error:
        raise OptionError(f"{display_name(path)}: not UTF-8 at byte {error.start}") from None


# tomllib takes the square of a key's length: minutes for one of 20,000 parts.
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:["']?[\w-]+["']?[ \t]*\.[ \t]*){100}""")


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """The mapping that a TOML text stands for; `place` is where it comes from."""
    if found := _DEEP_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise OptionError(f"{place}:{line}: a key of more than 100 parts; is it the right file?")
    try:
        return dict(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise OptionError(f"{place}: not valid TOML: {in_line(error)}") from None


def parse_pairs(cls: type, pairs: Iterable[str]) -> dict[str, Any]:
    """The values of `--set key=value …`, converted by the fields of `cls`."""
    fields = {field.name: field for field in fields_of(cls)}
    values = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise OptionError(f"--set {pair}: expected key=value")
        if key not in fields:
            raise OptionError(f"--set: unknown key {key!r}; {suggestion(key, fields)}")
        values[key] = convert_text(fields[key], text.strip(), f"--set {key}")
    return values


def add_arguments(parser: argparse._ActionsContainer, cls: type) -> None:
    """Give `parser` an option for every field of `cls`.

    Options that were not given are absent from the namespace, so that config files and defaults can
    fill in; `from_mapping` then reports what is missing.
    """
    for field in in_order_of_help(cls):
        extra: dict[str, Any] = {"help": _help(field), "default": argparse.SUPPRESS}
        if field.option.positional:
            extra["nargs"] = "*" if field.is_list else "?"
            extra["metavar"] = field.option.metavar or field.name.upper()
            parser.add_argument(field.name, type=_TextType(field, extra["metavar"]), **extra)
            continue
        names = [*field.option.flags, field.flag]
        if field.type is bool:
            if field.default is True:
                names, action = ["--no-" + field.name.replace("_", "-")], "store_false"
            else:
                action = "store_true"
            parser.add_argument(*names, dest=field.name, action=action, **extra)
            continue
        if field.is_list:
            extra["nargs"] = "*" if field.option.may_be_empty else "+"
            extra["action"] = "extend"  # given twice, all of them count
        extra["metavar"] = field.option.metavar or _metavar(field)
        parser.add_argument(*names, dest=field.name, type=_TextType(field, field.flag), **extra)


def in_order_of_help(cls: type) -> list[Field]:
    """What must be given first, then what the class itself declares, then what it inherits.

    A class without options of its own, as a command that is thin, stands for its first base.
    """
    classes = (set(inspect.get_annotations(base)) for base in cls.__mro__)
    names = {field.attribute for field in fields_of(cls)}
    own = next((declared for declared in classes if declared & names), set())
    return sorted(
        fields_of(cls), key=lambda field: (not field.required, field.attribute not in own)
    )


def usage(prog: str, cls: type) -> str:
    """The words that must be given: `hopefear train SRC TGT --model DIR [options]`."""
    words = [prog]
    for field in fields_of(cls):
        name = field.option.metavar or (
            field.name.upper() if field.option.positional else _metavar(field)
        )
        name += f" [{name} ...]" if field.is_list else ""
        if field.option.positional:
            words.append(name if field.required else f"[{name}]")
        elif field.required:
            words.append(f"{[*field.option.flags, field.flag][0]} {name}")
    line = " ".join([*words, "[options]"]).replace("%", "%%")
    return textwrap.fill(line, 72, subsequent_indent=" " * 10, break_on_hyphens=False)


class _TextType:
    """argparse's `type`: converts one word of the command line."""

    def __init__(self, field: Field, place: str) -> None:
        self.field, self.place = field, place

    def __call__(self, text: str) -> Any:
        if text is argparse.SUPPRESS:  # argparse converts the default of an absent positional
            return text
        try:
            return _convert_item(self.field, text, self.place)
        except OptionError as error:
            if not self.field.option.may_be_empty:
                raise
            # The option alone, and then a file: argparse takes the file for its value.
            hint = f"{error}; the command's arguments come before {self.place}"
            raise OptionError(hint) from None


def _metavar(field: Field) -> str:
    kind = field.item_type
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    return {int: "N", float: "X", Path: "FILE", Size: "SIZE"}.get(kind, "TEXT")


def _help(field: Field) -> str:
    notes = []
    low, high = field.option.min, field.option.max
    if low is not None and high is not None:
        notes.append(f"{_shown(low)} to {_shown(high)}")
    if field.required:
        if not field.option.positional:
            notes.append("required")
    elif field.type is not bool and str(field.default) not in ("", "[]", "None"):
        shown = field.default
        if isinstance(shown, list):
            shown = " ".join(map(str, shown))
        notes.append(f"default {shown}")
    text = field.option.help + (f" ({', '.join(notes)})" if notes else "")
    return text.replace("%", "%%")
