"""State splitting of a forest for a stateful scorer, with cube pruning.  [chiang2007, huang2007]

A scorer gives each edge a score that depends on the states of the edge's tails, and gives its head
a state. Examples: a language model (the state: the words at both ends), an automaton that reads the
string, BLEU. A node of the new forest is an old node in one state; the score is again a sum over
edges, so every inference function works on the new forest.

    expanded = expand(forest, LanguageModelScorer(lm), weights, beam=200)
    viterbi(expanded.forest, scores=expanded.scores)

For experiments, a scorer can be a Python function:

    def long_words(edge, tail_states):    # states are any hashable objects
        return score, state               # or score, state, {feature id: value}; None: forbid edge
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
    """A factory of the engine's edge scorers: `bind` makes the scorer for one forest."""

    def bind(self, forest: Forest, weights: Weights | None) -> _engine.EdgeScorer:
        """Return the scorer of a forest's edges under the weights."""


class HasModel(Protocol):
    """An object with an engine's language model: a `hopefear.lm.LanguageModel`."""

    @property
    def engine(self) -> _engine.LmModel:
        """The engine's model."""


@dataclass(frozen=True)
class LanguageModelScorer:
    """Scorer: the natural log probability of the target string, a feature times its weight.

    Edges into the goal complete the sentence: `<s>` and `</s>` are scored there. `weight` is by
    default the weight of `feature`.
    """

    model: HasModel
    feature: str = "lm"
    weight: float | None = None

    def bind(self, forest: Forest, weights: Weights | None) -> _engine.EdgeScorer:
        """Return the scorer of a forest's edges; without `weight` the weights must have it."""
        weight = self.weight
        if weight is None:
            if weights is None:
                raise TypeError("give weights, or the language model's weight")
            weight = float(weights[self.feature])
        names = forest.names if forest.names is not None else FeatureNames()
        id = names.intern(self.feature)
        return _engine.LmScorer(forest, self.model.engine, weight, id)


class Expanded(NamedTuple):
    """A forest with split states, and how its nodes and edges map to the original forest."""

    forest: Forest
    scores: NDArray[np.float64]  #: per edge: the original score plus the scorer's
    edges: NDArray[np.uint32]  #: per edge: the original edge
    nodes: NDArray[np.uint32]  #: per node: the original node
    best: NDArray[np.float64]  #: per node: the score of its best derivation
    scored: int  #: number of calls of the scorer

    def roots(self, nodes: ArrayLike) -> NDArray[np.uint32]:
        """Take nodes of the original forest and return all their split nodes."""
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
    """Take a forest and a scorer; return the forest with each node split by the scorer's states.

    `beam` is the number of derivations examined per original node (0: all, which is exact), in the
    order of a priority queue. An entry is queued with an estimate of the scorer's part and scored
    when it reaches the top; with `eager`, it is scored before it is queued. The goal's states are
    merged into one node; without `merge_goal` they stay apart and the new forest has no goal.
    Raises `InputError` if the new forest has more than `limit` edges.
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
