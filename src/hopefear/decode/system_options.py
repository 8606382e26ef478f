"""The options of extraction for a system that is still to be chosen.

`SystemExtractOptions` is what `hopefear extract` and `hopefear train` take: the fields that all
kinds of rules share, `system`, and the own fields of the `extract_options` of every registered
system, whose help begins with the names of the systems that have them. Its `extract_options()`
makes the options of the chosen system.
"""

from __future__ import annotations

import copy
import dataclasses
import typing
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hopefear.base.config import changed, fields_of, option, part_of
from hopefear.base.errors import OptionError
from hopefear.decode.systems.base import get_system, names
from hopefear.rules.extract import ExtractOptions, SharedOptions

DEFAULT = "phrase"


def described() -> str:
    """The systems, as help texts name them."""
    return ", ".join(f"{name} ({get_system(name).description})" for name in names())


@dataclass(kw_only=True)
class ChosenSystem(SharedOptions):
    """A system by its name, and no option of another one."""

    system: str = option(DEFAULT, metavar="|".join(names()), help=f"kind of rules: {described()}")

    def __post_init__(self) -> None:
        # An option of another system would change nothing: say so instead.
        known = own_fields(self.system).keys()
        for name in names():
            field = changed(self, own_fields(name).keys() - known)
            if field is not None:
                raise OptionError(
                    f"{field.flag} is an option of {name} rules; leave it out or give --system "
                    f"{name}"
                )

    def extract_options(self) -> ExtractOptions:
        """Those of the chosen system."""
        cls = get_system(self.system).extract_options
        here = {field.name for field in fields_of(type(self))}
        # A system of a plugin may be known only since this class was made.
        absent = {field.name for field in fields_of(cls)} - here
        return cls(**part_of(cls, self, without=absent))


def own_fields(system: str) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a system's options that not every kind of rules has."""
    common = {field.name for field in dataclasses.fields(SharedOptions)}
    fields = dataclasses.fields(get_system(system).extract_options)
    return {field.name: field for field in fields if field.name not in common}


def _all_fields() -> list[tuple[str, Any, dataclasses.Field[Any]]]:
    """As `make_dataclass` takes them. Systems may share a field if it is the same in both."""
    found: dict[str, tuple[Any, dataclasses.Field[Any], list[str]]] = {}
    for name in names():
        hints = typing.get_type_hints(get_system(name).extract_options)
        for key, field in own_fields(name).items():
            kind, first, systems = found.setdefault(key, (hints[key], field, []))
            if (kind, first.default, first.metadata) != (hints[key], field.default, field.metadata):
                raise ValueError(f"option {key} of {name} differs from that of {systems[0]}")
            systems.append(name)
    return [(key, kind, _prefixed(field, systems)) for key, (kind, field, systems) in found.items()]


def _prefixed(field: dataclasses.Field[Any], systems: list[str]) -> dataclasses.Field[Any]:
    """A copy whose help says which systems have it."""
    spec = field.metadata["option"]
    spec = dataclasses.replace(spec, help=f"{', '.join(systems)}: {spec.help}")
    made = copy.copy(field)
    made.metadata = MappingProxyType({"option": spec})
    return made


if TYPE_CHECKING:

    class SystemExtractOptions(ChosenSystem):
        """The options of single systems cannot be seen from types."""

else:
    SystemExtractOptions = dataclasses.make_dataclass(
        "SystemExtractOptions",
        _all_fields(),
        bases=(ChosenSystem,),
        namespace={"__doc__": "How rules are extracted and which are kept, of any system."},
        kw_only=True,
    )
    SystemExtractOptions.__module__ = __name__
