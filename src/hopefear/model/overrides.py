"""Decoder options that commands and the Python API override for a model."""

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
    """Decoder options that replace those of the model; None keeps the model's."""

    search: Search | None = option(
        None,
        help="search algorithm: cube (pruning), stack (phrase models) or full (hiero models) "
        "(default: the model's)",
    )
    beam: int | None = option(
        None,
        min=1,
        help="phrase models: maximum number of hypotheses per bin (default: the model's)",
    )
    pop_limit: int | None = option(
        None,
        min=1,
        help="cube pruning: hypotheses popped for each bin or node (default: the model's)",
    )
    distortion_limit: int | None = option(
        None,
        min=-1,
        help="phrase models: widest jump in source words, -1: unlimited (default: the model's)",
    )
    options: list[str] = option(
        [], metavar="KEY=VALUE", help="further options of the decoder, as in configs/decoder.*.toml"
    )
    templates: list[str] | None = option(
        None,
        metavar="NAME",
        may_be_empty=True,
        help="feature templates to use, as NAME or NAME:option=value:… (default: those of the "
        "model, [features.NAME] in its model.toml)",
    )
    plugin: list[Path] = option(
        [],
        metavar="FILE.py",
        help="Python files that define your own templates, taggers, tuners or metrics",
    )

    def overrides(self, options_class: type) -> dict[str, Any]:
        """The given decoder options by name, checked against the decoder's `options_class`."""
        values = {
            name: getattr(self, name)
            for name in ("search", "beam", "pop_limit", "distortion_limit")
            if getattr(self, name) is not None
        }
        for name, value in _pairs(options_class, self.options).items():
            if name in values:
                raise OptionError(
                    f"--options {name}: also given as --{name.replace('_', '-')}; give one"
                )
            values[name] = value
        return values


def chosen_templates(templates: list[str] | None, model: Model) -> dict[str, dict[str, Any]] | None:
    """The feature templates of `--templates` with their options; None keeps those of the model."""
    from hopefear.features.feature import parse_templates

    return None if templates is None else parse_templates(templates, model.templates)


def _pairs(cls: type, pairs: Iterable[str]) -> dict[str, Any]:
    try:
        return parse_pairs(cls, pairs)
    except OptionError as error:
        raise OptionError(str(error).replace("--set", "--options", 1)) from None
