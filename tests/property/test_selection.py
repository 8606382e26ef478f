"""Selection on random hypergraphs: what is chosen is what enumeration chooses; losses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from forest_random import Hypergraph, few, hypergraphs
from hypothesis import assume, given

from hopefear.base.weights import Weights
from hopefear.learn.online.cost import Cost, default_parts
from hopefear.learn.online.selection import AWAY, TOWARDS, Selection
from hopefear.learn.tuner import Share
from hopefear.metrics import create

pytestmark = pytest.mark.engine
WEIGHTS = {"f": 0.7, "g": -0.4, "h": 0.2}
REFERENCE = "a b c a"


def cost() -> Cost:
    metric = create("bleu")
    share = Share([3], [[REFERENCE]], metric, 500)
    return Cost(default_parts(metric), 2.0, share)


@few
@given(hypergraphs())
@pytest.mark.parametrize("space", ["kbest", "forest"])
def test_the_loss_of_hope_and_fear_is_never_negative(space: str, graph: Hypergraph) -> None:
    selection = Selection("hope", "fear", space, kbest=50)  # type: ignore[arg-type]
    found = selection.find(graph.forest, Weights(WEIGHTS), cost(), 3)
    assume(len(found) > 0)
    towards, away = selection.choose(found)
    wanted = found.gains[towards] - found.gains[away]
    margin = found.scores[towards] - found.scores[away]
    assert wanted - margin >= -1e-9
    assert wanted >= abs(margin) - 1e-9


@few
@given(hypergraphs())
def test_the_list_is_chosen_from_exactly(graph: Hypergraph) -> None:
    weights, price = Weights(WEIGHTS), cost()
    for towards, away in product(TOWARDS, AWAY):
        if towards == away == "model-best":
            continue
        selection = Selection(towards, away, kbest=100_000, distinct=False)  # type: ignore[arg-type]
        found = selection.find(graph.forest, weights, price, 3)
        assume(len(found) > 0)
        plus, minus = selection.choose(found)
        scores = np.array([weights.dot(d.features) for d in found.derivations])
        gains = price.gains([d.words for d in found.derivations], 3)
        (g1, b1), (g2, b2) = TOWARDS[towards], AWAY[away]
        assert g1 * scores[plus] + b1 * gains[plus] >= np.max(g1 * scores + b1 * gains) - 1e-6
        assert g2 * scores[minus] - b2 * gains[minus] >= np.max(g2 * scores - b2 * gains) - 1e-6
