"""Options declared once: dataclass fields are command-line options, config keys and their help.

Takes a dataclass whose fields are declared with `option(...)` or `argument(...)`. Gives it
command-line options (`add_arguments`), makes an object from a mapping (`from_mapping`), a TOML file
(`load_toml`) or `key=value` pairs (`parse_pairs`), and returns the mapping of an object
(`to_mapping`).

    @dataclass(kw_only=True)
    class Estimate:
        text: Path = argument(help="one sentence per line")
        order: int = option(3, min=1, max=6, help="longest n-gram")

A field whose option has the same name as a method ends in an underscore (`update_`); the option and
the config key do not.

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
        """The size that `text` denotes; units are powers of 1024."""
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
    """The declaration of an option, stored in the metadata of its dataclass field."""

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
    """Declare a dataclass field as an option; without a default it is required.

    `flags` are further spellings (`-o`) besides the long one, which is the field's name. A list
    that `may_be_empty` accepts the option without a value.
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
    """Declare a dataclass field as a positional argument; with a default it is optional."""
    spec = Option(help=help, metavar=metavar, positional=True)
    return dataclasses.field(default=default, metadata={"option": spec})


@dataclass(frozen=True)
class Field:
    """A declared option or argument with its resolved type."""

    name: str  # the name of the option and the config key
    attribute: str  # the name of the dataclass field
    type: Any  # without "| None"
    optional: bool  # whether None is a legal value
    default: Any  # dataclasses.MISSING if the option is required
    option: Option

    @property
    def flag(self) -> str:
        """The long spelling on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def item_type(self) -> Any:
        """The type of one value: that of the items, for a list."""
        return get_args(self.type)[0] if get_origin(self.type) is list else self.type

    @property
    def is_list(self) -> bool:
        """Whether the option takes several values."""
        return get_origin(self.type) is list

    @property
    def required(self) -> bool:
        """Whether the option has no default."""
        return self.default is dataclasses.MISSING

    def legal(self) -> str:
        """A description of the legal values, for messages."""
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
    """A bound as text, without an exponent for integers: 1000000, not 1e+06."""
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


# Evaluating annotations is slow; the cache avoids repeating it.
_type_hints = functools.cache(typing.get_type_hints)


def fields_of(cls: type) -> list[Field]:
    """The declared options and arguments of a dataclass, in order of declaration."""
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


# Separates list items: spaces and commas, except inside parentheses, as in count(f,e).
_SEPARATOR = re.compile(r"[\s,]+(?![^()]*\))")


def convert_text(field: Field, text: str, place: str) -> Any:
    """Convert `text` to a value of the field; `place` is the option's name in messages."""
    if field.is_list:
        parts = _SEPARATOR.split(text)
        return [_convert_item(field, part, place) for part in parts if part]
    return _convert_item(field, text, place)


def _convert_item(field: Field, text: str, place: str) -> Any:
    kind = field.item_type
    if kind is Path and not text:  # Path("") is the current directory
        raise OptionError(f"{place}: '' is not valid; give a path, '.' for the current directory")
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
    """Check a typed value (from TOML or Python) and return it converted to the field's type."""
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
        value = float(value) if abs(value) < _INTEGER_LIMIT else math.inf
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


_INTEGER_LIMIT = 2**63
_LARGEST_COUNT = 2**31 - 1  # the engine's numbers have 32 bits


def _largest(field: Field) -> int:
    """The largest whole number that an option takes, unless its declaration has a smaller one."""
    counts = field.item_type is int and field.name != "seed"
    return _LARGEST_COUNT if counts else _INTEGER_LIMIT - 1


def _bounded(field: Field) -> Field:
    """The field with its smallest and largest number where the declaration has none."""
    low, high, largest = field.option.min, field.option.max, _largest(field)
    option = dataclasses.replace(
        field.option, min=-largest if low is None else low, max=largest if high is None else high
    )
    return dataclasses.replace(field, option=option)


def _check_range(field: Field, value: Any, place: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{place}: {value} is not valid; give {field.legal()}")
    if isinstance(value, int) and abs(value) > _largest(field):
        raise OptionError(f"{place}: {value} is out of range; give {_bounded(field).legal()}")
    low, high = field.option.min, field.option.max
    if (low is not None and value < low) or (high is not None and value > high):
        raise OptionError(f"{place}: {value} is out of range; give {field.legal()}")
    return value


def from_mapping(cls: type[T], mapping: Mapping[str, Any], place: str = "") -> T:
    """Make an object of `cls` from names and values; `place` begins error messages.

    Raises an `OptionError` for unknown names, invalid values and missing required options.
    """
    fields = {field.name: field for field in fields_of(cls)}
    prefix = f"{place}: " if place else ""
    values = {}
    for key, value in mapping.items():
        if key not in fields:
            raise OptionError(f"{prefix}unknown key {key!r}; {suggestion(key, fields)}")
        values[key] = convert_value(fields[key], value, prefix + key)
    for field in fields.values():
        if field.required and field.name not in values:
            positional = field.option.metavar or field.name.upper()
            name = positional if field.option.positional else field.flag
            raise OptionError(f"{prefix}{name} is missing: {field.option.help}")
    return cls(**{fields[key].attribute: value for key, value in values.items()})


def to_mapping(value: Any) -> dict[str, Any]:
    """The options of an object as a mapping of values that TOML can represent, without None."""
    result = {}
    for field in fields_of(type(value)):
        item = getattr(value, field.attribute)
        if item is not None:
            result[field.name] = _plain(item)
    return result


def part_of(cls: type, value: Any, without: Iterable[str] = ()) -> dict[str, Any]:
    """The values of an object's fields that `cls` declares, except `without`: for `cls(**…)`."""
    excluded = set(without)
    names = [field.attribute for field in fields_of(cls) if field.name not in excluded]
    return {name: getattr(value, name) for name in names}


def changed(value: Any, names: Iterable[str]) -> Field | None:
    """The first of the named fields whose value differs from its default, or None."""
    candidates = set(names)
    for field in fields_of(type(value)):
        if field.name in candidates and getattr(value, field.attribute) != field.default:
            return field
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (Path, Size)):
        return str(value)
    return value


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as a mapping; errors name the file and the line."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_TOML + 1)
        if len(content) > _LONGEST_TOML:
            raise OptionError(
                f"{display_name(path)}: more than {_LONGEST_TOML:,} bytes, expected a TOML file; "
                "check the name"
            )
        return parse_toml(content.decode("utf-8").replace("\r\n", "\n"), display_name(path))
    except UnicodeDecodeError as error:
        raise OptionError(f"{display_name(path)}: not UTF-8 at byte {error.start}") from None


_LONGEST_TOML = 1 << 26  # bytes

# tomllib takes time quadratic in the parts of a key: minutes for 20,000 parts.
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:["']?[\w-]+["']?[ \t]*\.[ \t]*){100}""")


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """Parse TOML text to a mapping; `place` is the name of its file in messages."""
    if deep_key := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep_key.start()) + 1
        raise OptionError(
            f"{place}:{line}: a key of more than 100 parts, expected fewer; check the file's name"
        )
    try:
        return dict(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # ValueError also for numbers of many digits
        raise OptionError(f"{place}: not valid TOML: {in_line(error)}") from None


def parse_pairs(cls: type, pairs: Iterable[str], flag: str = "--set") -> dict[str, Any]:
    """Convert pairs `key=value` to a mapping of values for the fields of `cls`.

    `flag` is the option that has the pairs, for messages.
    """
    fields = {field.name: field for field in fields_of(cls)}
    values = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise OptionError(f"{flag} {pair}: expected key=value")
        if key not in fields:
            raise OptionError(f"{flag}: unknown key {key!r}; {suggestion(key, fields)}")
        values[key] = convert_text(fields[key], text.strip(), f"{flag} {key}")
    return values


def add_arguments(parser: argparse._ActionsContainer, cls: type) -> None:
    """Add an option to `parser` for every declared field of `cls`.

    Options that are absent on the command line are absent from the namespace, so that config files
    and defaults can supply them; `from_mapping` reports those that are missing.
    """
    for field in help_order(cls):
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
            extra["action"] = "extend"  # a repeated option adds values
        extra["metavar"] = field.option.metavar or _metavar(field)
        parser.add_argument(*names, dest=field.name, type=_TextType(field, field.flag), **extra)


def help_order(cls: type) -> list[Field]:
    """The fields in the order of help: required ones, then those of the class, then inherited ones.

    The fields of the class are those of its first base that declares any.
    """
    classes = (set(inspect.get_annotations(base)) for base in cls.__mro__)
    names = {field.attribute for field in fields_of(cls)}
    own = next((declared for declared in classes if declared & names), set())
    return sorted(
        fields_of(cls), key=lambda field: (not field.required, field.attribute not in own)
    )


def usage(prog: str, cls: type) -> str:
    """The usage line with all required options: `hopefear train SRC TGT --model DIR [options]`."""
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
    """A `type` for argparse: converts one word of the command line."""

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
            # argparse takes an argument after an option without values for a value of the option.
            hint = f"{error}; give the command's arguments before {self.place}"
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
