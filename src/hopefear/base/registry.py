"""Names in the registry are names in a config.

A component (tuner, feature, metric, system, command) is a class in a file of its own, decorated
with `@register(kind, name)`. Nothing else is touched: the first look-up of a kind imports all
modules of the package that the kind lives in.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hopefear.base import config
from hopefear.base.errors import InputError, OptionError, suggestion

C = TypeVar("C", bound=type)

# Where the components of a kind are found.
PACKAGES = {
    "command": ("hopefear.cli",),
    "tokenizer": ("hopefear.text.tokenizers",),
    "tagger": ("hopefear.text.taggers",),
    "metric": ("hopefear.metrics",),
    "feature": ("hopefear.features.sparse",),
    "system": ("hopefear.decode.systems",),
    "tuner": ("hopefear.learn.batch", "hopefear.learn.online"),
    "loop": ("hopefear.learn.loop",),
}

_components: dict[str, dict[str, type]] = {}
_imported: set[str] = set()


def register(kind: str, name: str) -> Callable[[C], C]:
    """Class decorator: makes the class known as `name` among the components of `kind`."""

    def decorate(cls: C) -> C:
        if kind not in PACKAGES:
            raise ValueError(f"unknown kind of component {kind!r}; {suggestion(kind, PACKAGES)}")
        others = _components.setdefault(kind, {})
        known = others.get(name)
        # The same file may be loaded twice: from the command line and from a config file.
        if known is not None and _identity(known) != _identity(cls):
            raise ValueError(f"{kind} {name!r} is registered twice: {known} and {cls}")
        others[name] = cls
        return cls

    return decorate


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def get(kind: str, name: str) -> type:
    """The component of that name, or an `OptionError` that says which there are."""
    _import_all(kind)
    try:
        return _components[kind][name]
    except KeyError:
        hint = suggestion(name, _components.get(kind, {}))
        raise OptionError(f"unknown {kind} {name!r}; {hint}") from None


def create(kind: str, name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Make the component of that name; its options are checked."""
    return config.from_mapping(get(kind, name), options or {}, f"{kind} {name}")


def names(kind: str) -> list[str]:
    """All names of a kind, sorted."""
    _import_all(kind)
    return sorted(_components.get(kind, {}))


def load_plugin(path: Path) -> None:
    """Import a user's file, whose `@register` lines make its components known."""
    spec = importlib.util.spec_from_file_location(f"hopefear_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; a plugin's name ends in .py")
    if not path.is_file():
        raise InputError(f"{path}: no such plugin file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: plugin fails with {type(error).__name__}: {error}") from error


def _import_all(kind: str) -> None:
    if kind in _imported:
        return
    for name in PACKAGES[kind]:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    _imported.add(kind)
