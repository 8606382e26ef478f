"""Cost-augmented forests: the gain of a translation as a part of the scores of edges.
[eidelman2013, li2009oracle]

Takes a forest, weights and the gain of a translation (`Objective`); returns a forest in which

    score(d) = w.f(d) + scale * gain(y(d)),

a sum over edges, so that every inference function works on it: with a negative scale `viterbi` is
the fear, `sample` draws from the cost-augmented distribution, and `derivation_sum` is the
partition function of the softmax margin.

    fears = augment(forest, weights, objective, scale=-10.0)
    derivation_sum(fears.forest, scores=fears.scores).features

BLEU is not a sum over edges: n-gram matches are not clipped, a partial derivation is compared with
its share of the reference length, and the gain of a node is that of its best derivation (thesis,
6.2.2). It is exact along the best derivation of each node.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from hopefear import _engine
from hopefear._engine import BleuReferences, Forest
from hopefear.base.weights import Weights
from hopefear.forest.expand import Expanded, expand
from hopefear.forest.oracle import Objective
from hopefear.forest.score import Roots, roots_of, scores_of, useful_scores


def gain_scorer(
    forest: Forest, objective: Objective, *, scale: float = 1.0, by_length: bool = False
) -> _engine.EdgeScorer:
    """Return the scorer (for `expand`) that adds `scale` times the gain to the scores of a forest.

    `by_length` keeps strings of different length apart, for a better brevity penalty.
    """
    references = objective.prepared.references
    if not isinstance(references, BleuReferences):
        raise TypeError("a cost on edges needs a metric of n-grams; use a k-best list for others")
    covered = forest.covered
    return _engine.GainScorer(
        forest,
        references,
        objective.sentence,
        objective.search,
        scale,
        int(covered.max()) if len(covered) else 0,
        by_length,
        objective.prepared.lowercase,
    )


def augment(
    forest: Forest,
    weights: Weights | None = None,
    *,
    objective: Objective,
    scale: float,
    beam: int = 50,
    by_length: bool = False,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Expanded:
    """Return the forest with `scale` times the gain added to its scores, nodes split by n-grams.

    A negative scale adds the cost (fear), a positive one subtracts it (hope). `beam`: derivations
    examined per node (0: all).
    """
    values = scores_of(forest, weights, scores)
    useful = useful_scores(forest, values, roots_of(forest, roots))
    scorer = gain_scorer(forest, objective, scale=scale, by_length=by_length)
    return expand(forest, scorer, beam=beam, scores=useful)
