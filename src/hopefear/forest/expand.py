"""Splits the states of a forest for a stateful scorer, with cube pruning.  [chiang2007, huang2007]

A scorer gives each edge a score that depends on the states of its tails, and its head a state: a
language model (the words at both ends), an automaton that reads the string, BLEU. In the new forest
a node is an old node in one state, and the score is a sum over edges again, so all of inference
works on it.

    made = expand(forest, LanguageModelScorer(lm), weights, beam=200)
    viterbi(made.forest, scores=made.scores)

A scorer to try something out is a function:

    def long_words(edge, tails):          # states are any hashable objects
        return score, state               # or score, state, {feature id: value}; None forbids it
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest.score import scores_of

Answer = tuple[float, Hashable] | tuple[float, Hashable, Mapping[int, float]] | None
Function = Callable[[int, tuple[Any, ...]], Answer]


class Scorer(Protocol):
    """What makes a scorer of the engine for one forest."""

    def bind(self, forest: Forest, weights: Weights | None) -> _engine.EdgeScorer: ...


class HasModel(Protocol):
    """A `hopefear.lm.LanguageModel`."""

    @property
    def engine(self) -> _engine.LmModel: ...


@dataclass(frozen=True)
class LanguageModelScorer:
    """The log probability (natural) of the string, as a feature with a weight.

    Edges of the goal end the sentence: there `<s>` and `</s>` are added. Without `weight` it is the
    feature's in the weights.
    """

    model: HasModel
    feature: str = "lm"
    weight: float | None = None

    def bind(self, forest: Forest, weights: Weights | None) -> _engine.EdgeScorer:
        weight = self.weight
        if weight is None:
            if weights is None:
                raise TypeError("give weights, or the language model's weight")
            weight = float(weights[self.feature])
        names = forest.names if forest.names is not None else FeatureNames()
        id = names.intern(self.feature)
        return _engine.LmScorer(forest, self.model.engine, weight, id)


class Expanded(NamedTuple):
    """The new forest, and where its parts come from."""

    forest: Forest
    scores: NDArray[np.float64]  # of its edges, with what the scorer added
    edges: NDArray[np.uint32]  # of each edge the old one
    nodes: NDArray[np.uint32]  # of each node the old one
    best: NDArray[np.float64]  # of each node the score of its best derivation
    scored: int  # how often the scorer was asked

    def roots(self, nodes: ArrayLike) -> NDArray[np.uint32]:
        """The new nodes that old ones became."""
        return np.flatnonzero(np.isin(self.nodes, np.asarray(nodes))).astype(np.uint32)


def expand(
    forest: Forest,
    scorer: Scorer | Function | _engine.EdgeScorer,
    weights: Weights | None = None,
    *,
    beam: int = 0,
    scores: ArrayLike | None = None,
    merge_goal: bool = True,
    eager: bool = False,
    limit: int = _engine.EXPAND_LIMIT,
) -> Expanded:
    """Every node of the forest in each of its states; the goal's states become one node.

    `beam` is the number of derivations looked at for each old node (0: all of them, exactly): the
    queue's best one, then its neighbours. They wait with a guess of what the scorer will add and
    are scored when they come to the top, or with `eager` before they are queued. Without
    `merge_goal` the goal's states stay apart, and the new forest has no goal. More than `limit`
    edges are an `InputError`.
    """
    if beam < 0:
        raise ValueError(f"beam {beam}: expected a number from 0")
    values = scores_of(forest, weights, scores)
    bound: _engine.EdgeScorer
    if isinstance(scorer, _engine.EdgeScorer):
        bound = scorer
    elif hasattr(scorer, "bind"):
        bound = scorer.bind(forest, weights)
    else:
        bound = _engine.PythonScorer(scorer)
    return Expanded(*_engine.expand(forest, values, bound, beam, limit, merge_goal, eager))
