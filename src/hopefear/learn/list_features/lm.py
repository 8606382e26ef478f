"""`lm`: the log probability (base e) of a candidate under a language model, and `lm-unknown`.

`lm-unknown` is the number of words that the model does not know, whose probability says little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.learn.list_features.base import CandidateList, ListFeature
from hopefear.lm import LanguageModel


@register("list-feature", "lm")
@dataclass(kw_only=True)
class Lm(ListFeature):
    """Log probability under an n-gram language model."""

    model: Path | None = option(None, help="language model, ARPA or compiled")

    def __post_init__(self) -> None:
        if self.model is None:
            raise OptionError("lm: model is missing; give lm:model=FILE")
        self._model = LanguageModel.load(self.model)

    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        words = [text.split() for text in list_.texts]
        return {
            "lm": [math.log(10) * self._model.score(text) for text in words],
            "lm-unknown": [sum(word not in self._model for word in text) for text in words],
        }
