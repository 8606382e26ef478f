"""Forests (everything a decoder explored for a sentence) and inference on them.

A forest is a hypergraph: nodes in topological order, edges with any number of tails, a target side
with words and slots for the tails, features, and labels. A lattice is a forest whose edges have one
tail; an n-best list is a forest with a single node. Functions take a forest, weights (or one score
per edge) and `roots`, the nodes whose derivations are considered: by default the goal; also a *bin*
of phrase search (all nodes that cover i source words) or any other set of nodes.
"""

from __future__ import annotations

from hopefear.forest.envelope import Segment, best_on_lines, envelope
from hopefear.forest.expand import Expanded, LanguageModelScorer, Scorer, expand
from hopefear.forest.forest import Derivation, Forest, ForestBuilder, Vocabulary, bin_nodes
from hopefear.forest.forest_file import (
    ForestFile,
    forest_from_bytes,
    forest_to_bytes,
    save_pool,
)
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
from hopefear.forest.intersect import Intersection, best_other, intersect
from hopefear.forest.kbest import (
    Translation,
    best_scores,
    kbest,
    max_translation,
    sample,
    viterbi,
    viterbi_each,
)
from hopefear.forest.mbr import Consensus, consensus, expected_gains, mbr
from hopefear.forest.oracle import (
    Choice,
    Objective,
    Search,
    choose,
    fear,
    find_candidates,
    hope,
    hope_fear,
    oracle,
)
from hopefear.forest.prune import max_marginals, prune, select, trim
from hopefear.forest.score import edge_scores
from hopefear.forest.semiring import Semiring, count, fold

__all__ = [
    "Choice",
    "Consensus",
    "Derivation",
    "Expanded",
    "Expectation",
    "Forest",
    "ForestBuilder",
    "ForestFile",
    "Intersection",
    "LanguageModelScorer",
    "Marginals",
    "Objective",
    "Scorer",
    "Search",
    "Segment",
    "Semiring",
    "Translation",
    "Vocabulary",
    "best_on_lines",
    "best_other",
    "best_scores",
    "bin_nodes",
    "choose",
    "consensus",
    "count",
    "edge_scores",
    "entropy",
    "envelope",
    "expand",
    "expectation",
    "expected_features",
    "expected_gains",
    "fear",
    "find_candidates",
    "fold",
    "forest_from_bytes",
    "forest_to_bytes",
    "hope",
    "hope_fear",
    "inside",
    "intersect",
    "kbest",
    "log_partition",
    "marginals",
    "max_marginals",
    "max_translation",
    "mbr",
    "oracle",
    "outside",
    "prune",
    "sample",
    "save_pool",
    "select",
    "trim",
    "viterbi",
    "viterbi_each",
]
