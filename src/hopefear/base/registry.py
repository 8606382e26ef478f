"""The registry of components: names on the command line and in config files to classes.

A component (tuner, feature, metric, system, command) is a class in a file of its own, decorated
with `@register(kind, name)`. No other file lists it: a look-up imports the module that has the
component's name, or else all modules of the kind's packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hopefear.base import config
from hopefear.base.errors import InputError, OptionError, Terminated, describe, suggestion

C = TypeVar("C", bound=type)

# kind -> packages with its components
PACKAGES = {
    "command": ("hopefear.cli",),
    "tokenizer": ("hopefear.text.tokenizers",),
    "tagger": ("hopefear.text.taggers",),
    "metric": ("hopefear.metrics",),
    "feature": ("hopefear.features.sparse",),
    "system": ("hopefear.decode.systems",),
    "list-feature": ("hopefear.learn.list_features",),
    "list-format": ("hopefear.forest.io.lists",),
    "tuner": ("hopefear.learn.batch", "hopefear.learn.online"),
    "loop": ("hopefear.learn.loop",),
}

PLUGIN_MODULE = "hopefear_plugin_"  # beginning of the names of modules of plugins

_components: dict[str, dict[str, type]] = {}
_imported: set[str] = set()


def register(kind: str, name: str) -> Callable[[C], C]:
    """Return a class decorator that registers the class as component `name` of `kind`.

    A class without the attribute `name` gets it.
    """

    def decorate(cls: C) -> C:
        if kind not in PACKAGES:
            raise ValueError(f"unknown kind of component {kind!r}; {suggestion(kind, PACKAGES)}")
        others = _components.setdefault(kind, {})
        known = others.get(name)
        # A plugin may be loaded twice: from the command line and from a config file.
        if known is not None and _identity(known) != _identity(cls):
            places = " and ".join(sorted([_place(known), _place(cls)]))
            raise OptionError(
                f"{kind} {name!r} is registered twice, by {places}; give one another name"
            )
        others[name] = cls
        if not hasattr(cls, "name"):
            cls.name = name  # type: ignore[attr-defined]
        return cls

    return decorate


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}".removeprefix(PLUGIN_MODULE)


def get(kind: str, name: str) -> type:
    """The component `name` of `kind`; raises an `OptionError` that suggests known names."""
    if has_module(kind, name):
        return _components[kind][name]
    _import_all(kind)
    try:
        return _components[kind][name]
    except KeyError:
        hint = suggestion(name, _components.get(kind, {}))
        raise OptionError(f"unknown {kind} {name!r}; {hint}") from None


def has_module(kind: str, name: str) -> bool:
    """Whether component `name` is found without importing all modules of the kind's packages.

    This is so if it is registered already, or if its module is called like it: the command
    "lm query" is in `lm_query.py`. Start-up takes half the time then.
    """
    stem = name.replace(" ", "_").replace("-", "_")
    if name not in _components.get(kind, {}) and kind not in _imported and stem.isidentifier():
        for package in PACKAGES.get(kind, ()):
            if importlib.util.find_spec(f"{package}.{stem}") is not None:
                importlib.import_module(f"{package}.{stem}")
    return name in _components.get(kind, {})


def create(kind: str, name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Create the component `name` of `kind` with checked options."""
    return config.from_mapping(get(kind, name), options or {}, f"{kind} {name}")


def names(kind: str) -> list[str]:
    """The names of all components of a kind, sorted."""
    _import_all(kind)
    return sorted(_components.get(kind, {}))


def load_plugin(path: Path) -> None:
    """Import a user's Python file, whose `@register` decorators add components."""
    spec = importlib.util.spec_from_file_location(PLUGIN_MODULE + path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; give a plugin whose name ends in .py")
    if not path.is_file():
        raise InputError(f"{path}: no such plugin file; check the name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Terminated:
        raise
    except SystemExit as error:
        raise InputError(
            f"{path}: plugin ends the process with sys.exit({error.code!r}) while it is loaded; "
            "write what is run by itself under if __name__ == '__main__'"
        ) from error
    except Exception as error:
        raise InputError(f"{path}: plugin fails with {describe(error)}") from error


def place_in_plugin(error: BaseException) -> str:
    """The file and line of a plugin in which an error was raised; empty if it was elsewhere."""
    places = [
        f"{frame.f_code.co_filename}:{number}"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").startswith(PLUGIN_MODULE)
    ]
    return places[-1] if places else ""


def _import_all(kind: str) -> None:
    if kind in _imported:
        return
    for name in PACKAGES[kind]:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    _imported.add(kind)
