"""The forest, one value for everything a decoder explored for a sentence, and inference on it.

A forest is a hypergraph: nodes in topological order, edges with any number of tails, a target side
with words and slots for the tails, features, labels. A lattice is a forest whose edges have one
tail, an n-best list one with a single node. Every function here takes a forest, weights (or one
score per edge) and `roots`, the nodes whose derivations are meant: the goal by default, a *bin* of
phrase search (all nodes that cover i source words) or any other set.
"""

from __future__ import annotations

from hopefear.forest.envelope import Segment, envelope
from hopefear.forest.forest import Derivation, Forest, ForestBuilder, Vocabulary, bin_nodes
from hopefear.forest.inference import (
    Expectation,
    Marginals,
    entropy,
    expectation,
    expected_features,
    inside,
    log_partition,
    marginals,
    outside,
)
from hopefear.forest.kbest import (
    Translation,
    best_scores,
    kbest,
    max_translation,
    sample,
    viterbi,
    viterbi_each,
)
from hopefear.forest.pool import Pool, save_pool
from hopefear.forest.prune import max_marginals, prune, select, trim
from hopefear.forest.score import edge_scores
from hopefear.forest.semiring import Semiring, count, fold

__all__ = [
    "Derivation",
    "Expectation",
    "Forest",
    "ForestBuilder",
    "Marginals",
    "Pool",
    "Segment",
    "Semiring",
    "Translation",
    "Vocabulary",
    "best_scores",
    "bin_nodes",
    "count",
    "edge_scores",
    "entropy",
    "envelope",
    "expectation",
    "expected_features",
    "fold",
    "inside",
    "kbest",
    "log_partition",
    "marginals",
    "max_marginals",
    "max_translation",
    "outside",
    "prune",
    "sample",
    "save_pool",
    "select",
    "trim",
    "viterbi",
    "viterbi_each",
]
