"""The extraction options of all systems in one dataclass, and the choice of a system.

`SystemExtractOptions` has the options of `hopefear extract` and `hopefear train`: `system`, the
fields that all systems share, and the specific fields of the `extract_options` of every registered
system, with the names of these systems before the help text. Its method `extract_options()` returns
the options of the chosen system.
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
    """Return the names and descriptions of all systems, for help texts."""
    return ", ".join(f"{name} ({get_system(name).description})" for name in names())


@dataclass(kw_only=True)
class ChosenSystem(SharedOptions):
    """The name of a system, and options of that system only."""

    system: str = option(DEFAULT, metavar="|".join(names()), help=f"kind of rules: {described()}")

    def __post_init__(self) -> None:
        # Refuse an option of another system: it would have no effect.
        known = own_fields(self.system).keys()
        for name in names():
            field = changed(self, own_fields(name).keys() - known)
            if field is not None:
                raise OptionError(
                    f"{field.flag} is an option of {name} rules; leave it out or give --system "
                    f"{name}"
                )

    def extract_options(self) -> ExtractOptions:
        """Return the options of the chosen system."""
        cls = get_system(self.system).extract_options
        present = {field.name for field in fields_of(type(self))}
        # A plugin may have registered the system after this class was created.
        absent = {field.name for field in fields_of(cls)} - present
        return cls(**part_of(cls, self, without=absent))


def own_fields(system: str) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a system's extraction options that are not common to all systems."""
    common = {field.name for field in dataclasses.fields(SharedOptions)}
    fields = dataclasses.fields(get_system(system).extract_options)
    return {field.name: field for field in fields if field.name not in common}


def _system_fields() -> list[tuple[str, Any, dataclasses.Field[Any]]]:
    """Return the fields of all systems for `make_dataclass`.

    Systems may share a field if it is the same in all of them.
    """
    fields: dict[str, tuple[Any, dataclasses.Field[Any], list[str]]] = {}
    for name in names():
        hints = typing.get_type_hints(get_system(name).extract_options)
        for key, field in own_fields(name).items():
            kind, first, systems = fields.setdefault(key, (hints[key], field, []))
            if (kind, first.default, first.metadata) != (hints[key], field.default, field.metadata):
                raise ValueError(f"option {key} of {name} differs from that of {systems[0]}")
            systems.append(name)
    return [
        (key, kind, _prefix_help(field, systems)) for key, (kind, field, systems) in fields.items()
    ]


def _prefix_help(field: dataclasses.Field[Any], systems: list[str]) -> dataclasses.Field[Any]:
    """Return a copy of a field with the systems' names before its help text."""
    spec = field.metadata["option"]
    spec = dataclasses.replace(spec, help=f"{', '.join(systems)}: {spec.help}")
    copied = copy.copy(field)
    copied.metadata = MappingProxyType({"option": spec})
    return copied


if TYPE_CHECKING:

    class SystemExtractOptions(ChosenSystem):
        """The fields of single systems are unknown to type checkers."""

else:
    SystemExtractOptions = dataclasses.make_dataclass(
        "SystemExtractOptions",
        _system_fields(),
        bases=(ChosenSystem,),
        namespace={"__doc__": "The extraction options of all systems."},
        kw_only=True,
    )
    SystemExtractOptions.__module__ = __name__
