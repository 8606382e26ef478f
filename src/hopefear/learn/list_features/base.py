"""The contract of a list feature, which takes an n-best list and returns columns of numbers.

    @register("list-feature", "mine")
    @dataclass(kw_only=True)
    class Mine(ListFeature):
        power: float = option(1.0, help="…")

        def columns(self, list_):
            return {"mine": [len(text) ** self.power for text in list_.texts]}

Its fields are its options. A column has one finite number for each candidate; its name is that of
the feature. tests/contract/test_list_features.py checks every list feature: the numbers depend on
the list and on the source only, and an empty text has them, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from numpy.typing import ArrayLike

from hopefear.base.errors import InputError
from hopefear.forest.io.nbest import NbestList
from hopefear.learn.pool.candidate_builder import entries


@dataclass(frozen=True)
class CandidateList:
    """An n-best list with its source sentence."""

    nbest: NbestList
    source: str | None = None  #: the source sentence, if a source text is given

    @cached_property
    def texts(self) -> Sequence[str]:
        """The texts of the candidates."""
        return [derivation.text for derivation in entries(self.nbest.forest)]


class ListFeature(ABC):
    """Base class of list features; subclasses are dataclasses whose fields are their options."""

    name: ClassVar[str]  #: name in the registry
    needs_source: ClassVar[bool] = False  #: whether lists must have their source sentence

    @abstractmethod
    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        """Take a list and return, by name, a number for each candidate."""

    def source(self, list_: CandidateList) -> str:
        """Return the source sentence of a list."""
        if list_.source is None:
            raise InputError(f"{self.name}: id {list_.nbest.id!r} has no source; give --source")
        return list_.source
