"""The phrase-based system: phrase pairs, combined from left to right.  [koehn2003]

The default weights are close to Moses's initial weights, converted to our units: `words` is the
number of words (a positive weight makes the output longer), `unknown` the number of unknown words.
On the development sets of the built-in world and of Multi30k French-English, halving or doubling
any single weight did not improve both. Tuning starts from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from hopefear.base.registry import register
from hopefear.decode.systems.base import System
from hopefear.rules.phrase import PhraseExtractOptions

if TYPE_CHECKING:
    from hopefear._engine import Derivation
    from hopefear.decode.contract import Decoder
    from hopefear.decode.trace import Use


@register("system", "phrase")
class Phrase(System):
    """The phrase-based system."""

    description = noun = "phrase pairs"
    extract_options = PhraseExtractOptions
    moses_table = "phrase-table.gz"
    own_weights: ClassVar[Mapping[str, float]] = {
        "words": 0.6,
        "phrases": 0.2,
        "distortion": 0.2,
        "unknown": -100.0,
    }

    sparse_templates = (*System.sparse_templates, "rule-history")

    @property
    def decoder_class(self) -> type[Decoder]:
        from hopefear.decode.phrase import PhraseDecoder

        return PhraseDecoder

    def uses(self, derivation: Derivation) -> list[Use]:
        from hopefear.decode.trace.phrases import phrase_uses

        return phrase_uses(derivation)

    def show(self, uses: Sequence[Use]) -> str:
        from hopefear.decode.trace.phrases import segmentation

        return segmentation(uses)
