"""Your own system: phrase pairs of limited length that are never reordered.

hopefear train train.fr train.en --model fr-en --plugin my_system.py --system monotone
hopefear translate --model fr-en --plugin my_system.py -i test.fr
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.decode.systems.phrase import Phrase
from hopefear.rules.extract import ExtractOptions


@dataclass(kw_only=True)
class MonotoneExtractOptions(ExtractOptions):
    system: ClassVar[str] = "monotone"
    longest: int = option(
        3, min=1, max=100, help="largest number of words of a phrase, on either side"
    )

    def content(self) -> dict[str, Any]:
        own = {"longest": self.longest, "limit": self.limit, "min_count": self.min_count}
        return {"system": self.system, **own}

    def engine_arguments(self) -> dict[str, Any]:
        return {"max_length": self.longest}


@dataclass(frozen=True, kw_only=True)
class MonotoneOptions(PhraseOptions):
    distortion_limit: int = option(
        0, min=0, max=0, help="largest jump between phrases: 0, since no phrase is moved"
    )


class MonotoneDecoder(PhraseDecoder):
    options_class = MonotoneOptions


@register("system", "monotone")
class Monotone(Phrase):
    description = "phrase pairs in the order of the source"
    extract_options = MonotoneExtractOptions

    @property
    def decoder_class(self) -> type[PhraseDecoder]:
        return MonotoneDecoder
