"""Options of a model's decoder that commands and the Python API override."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import option, parse_pairs
from hopefear.base.errors import OptionError

if TYPE_CHECKING:
    from hopefear.model.directory import Model

Search = Literal["cube", "stack", "full"]


@dataclass(kw_only=True)
class DecoderOverrides:
    """Options of the model's decoder that are given often; None: as the model says."""

    search: Search | None = option(
        None, help="cube pruning, or what it is compared with: stack (phrases), full (hiero)"
    )
    beam: int | None = option(None, min=1, help="phrase models: hypotheses per bin")
    pop_limit: int | None = option(None, min=1, help="what cube pruning takes for each bin or node")
    distortion_limit: int | None = option(
        None, min=-1, help="phrase models: widest jump in source words; -1: any"
    )
    options: list[str] = option(
        [], metavar="KEY=VALUE", help="other options of the decoder, as in configs/decoder.*.toml"
    )
    templates: list[str] | None = option(
        None,
        metavar="NAME",
        may_be_empty=True,
        help="the feature templates that are on, as NAME or NAME:option=value:…; without this "
        "those of the model ([features.NAME] in its model.toml)",
    )
    plugin: list[Path] = option(
        [],
        metavar="FILE.py",
        help="Python files with templates, taggers, tuners or metrics of your own",
    )

    def overrides(self, options_class: type) -> dict[str, Any]:
        """What was given, by name; `options_class` is that of the decoder."""
        given = {
            name: getattr(self, name)
            for name in ("search", "beam", "pop_limit", "distortion_limit")
            if getattr(self, name) is not None
        }
        for name, value in _pairs(options_class, self.options).items():
            if name in given:
                raise OptionError(f"--options {name}: is given as --{name.replace('_', '-')} too")
            given[name] = value
        return given


def chosen_templates(given: list[str] | None, model: Model) -> dict[str, dict[str, Any]] | None:
    """What --templates says; None: as the model says."""
    from hopefear.features.feature import parse_templates

    return None if given is None else parse_templates(given, model.templates)


def _pairs(cls: type, pairs: Iterable[str]) -> dict[str, Any]:
    try:
        return parse_pairs(cls, pairs)
    except OptionError as error:
        raise OptionError(str(error).replace("--set", "--options", 1)) from None
