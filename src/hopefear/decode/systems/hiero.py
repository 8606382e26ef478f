"""The hierarchical system: synchronous rules with gaps, parsed on the source side.  [chiang2007]

The default weights are close to cdec's initial weights, converted to our units; see `phrase`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from hopefear.base.registry import register
from hopefear.decode.systems.base import System
from hopefear.rules.extract import ExtractOptions
from hopefear.rules.hiero import HieroExtractOptions

if TYPE_CHECKING:
    from hopefear.decode.contract import Decoder


@register("system", "hiero")
class Hiero(System):
    """The hierarchical system."""

    description = "hierarchical rules"
    extract_options: ClassVar[type[ExtractOptions]] = HieroExtractOptions
    own_weights: ClassVar[Mapping[str, float]] = {
        "words": 0.6,
        "arity0": 0.0,
        "arity1": 0.0,
        "arity2": 0.0,
        "rules": 0.0,
        "source-words": 0.0,
        "glue": -0.2,
        "pass-through": -100.0,
        "count(f)": 0.0,
        "count(f,e)": 0.0,
        "singleton(f)": 0.0,
        "singleton(f,e)": 0.0,
    }

    @property
    def decoder_class(self) -> type[Decoder]:
        from hopefear.decode.chart import HieroDecoder

        return HieroDecoder
