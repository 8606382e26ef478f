"""Inference where enumeration on random hypergraphs does not look: edges of the definition."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from forest_small import tiny_forest, tiny_weights

from hopefear import forest as hf
from hopefear.base.errors import InputError
from hopefear.base.weights import Weights, sparse_vector
from hopefear.forest.semiring import BOOLEAN, COUNTING, Semiring, node_values, strings

pytestmark = pytest.mark.engine
NEVER = -math.inf


def test_no_derivation() -> None:
    empty, no_goal = hf.Forest(), hf.ForestBuilder()
    no_goal.node()
    bare = hf.ForestBuilder()
    bare.node()
    for forest in (empty, no_goal.finish(None), bare.finish(0)):
        weights = Weights()
        assert hf.viterbi(forest, weights) is None
        assert hf.kbest(forest, weights, 5) == []
        assert hf.sample(forest, weights, 5, seed=1) == []
        assert hf.max_translation(forest, weights) is None
        assert hf.envelope(forest, weights, weights) == []
        assert hf.log_partition(forest, weights) == NEVER
        assert hf.entropy(forest, weights) == 0
        assert len(hf.expected_features(forest, weights)) == 0
        assert hf.expectation(forest, weights, gains=[]).value == 0
        assert hf.count(forest) == 0
        assert hf.trim(forest).edges == hf.prune(forest, weights, margin=1).edges == 0


def test_forbidden_edges() -> None:
    forest = tiny_forest()
    scores = hf.edge_scores(forest, tiny_weights())
    scores[[0, 1]] = NEVER
    assert [d.text for d in hf.kbest(forest, scores=scores)] == ["cats sleep"]
    assert hf.inside(forest, scores=scores)[0] == NEVER
    scores[5] = NEVER
    assert hf.viterbi(forest, scores=scores) is None
    assert not hf.marginals(forest, scores=scores).edges.any()


def test_weights_that_give_no_score() -> None:
    forest = tiny_forest()
    with pytest.raises(InputError, match=r"edge 0 has score inf, .* damaged"):
        hf.viterbi(forest, Weights({"len": 1e300}))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_scores(bad: float) -> None:
    forest = tiny_forest()
    scores = np.zeros(forest.edges)
    scores[4] = bad
    for ask in (hf.viterbi, hf.kbest, hf.inside, hf.marginals, hf.log_partition):
        with pytest.raises(ValueError, match="edge 4 has score"):
            ask(forest, scores=scores)
    with pytest.raises(ValueError, match="3 scores for a forest of 8 edges"):
        hf.viterbi(forest, scores=np.zeros(3))


def test_bad_questions() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    with pytest.raises(TypeError, match="either weights or scores"):
        hf.kbest(forest)
    with pytest.raises(TypeError, match="either weights or scores"):
        hf.viterbi(forest, weights, scores=np.zeros(8))
    with pytest.raises(ValueError, match="expected nodes below 5"):
        hf.viterbi(forest, weights, roots=[5])
    with pytest.raises(ValueError, match="expected nodes below 5"):
        hf.viterbi(forest, weights, roots=[-1])
    with pytest.raises(TypeError, match="one of margin, posterior and density"):
        hf.prune(forest, weights)
    with pytest.raises(ValueError, match="from 0"):
        hf.prune(forest, weights, margin=math.nan)
    with pytest.raises(ValueError, match="from 0"):
        hf.kbest(forest, weights, -1)
    with pytest.raises(ValueError, match="more than 3 derivations"):
        hf.max_translation(forest, weights, exact=True, limit=3)
    with pytest.raises(TypeError, match="either direction or slopes"):
        hf.envelope(forest, weights)
    with pytest.raises(ValueError, match="2 values for 8 edges"):
        hf.fold(forest, COUNTING, [1, 2])


def test_ties_go_to_smaller_edges() -> None:
    forest = tiny_forest()
    found = hf.kbest(forest, scores=np.zeros(forest.edges))
    first = [d.edges.tolist() for d in found]
    best = hf.viterbi(forest, scores=np.zeros(forest.edges))
    assert best is not None
    assert first[0] == best.edges.tolist() == [6, 3, 0, 2]
    assert [edges[0] for edges in first] == sorted(edges[0] for edges in first)


def test_a_long_distinct_list() -> None:
    """Thousands of strings, each derived in thousands of ways."""
    builder = hf.ForestBuilder()
    node = builder.node()
    builder.edge(node, (), ["<s>"])
    for place in range(11):
        after = builder.node()
        for word, bonus in (("a", 0.0), ("b", 2.0**-place), ("a", -0.3)):
            builder.edge(after, [node], [0, word], features={"f": bonus})
        node = after
    forest = builder.finish(node)
    found = hf.kbest(forest, Weights({"f": 1.0}), 5000, distinct=True)
    assert len({one.text for one in found}) == len(found) == 2**11
    wanted = np.arange(2**11)[::-1] / 2.0**10  # 'b' is a bit of a number
    np.testing.assert_allclose([one.score for one in found], wanted, atol=1e-6)


def test_distinct_merges_below_the_root() -> None:
    """Thirty positions, each with ten derivations of one string: 10^30 derivations of one."""
    builder = hf.ForestBuilder()
    for node in range(30):
        builder.node()
        for i in range(10):
            tails = [node - 1] if node else []
            builder.edge(node, tails, [*range(len(tails)), "a"], features={"x": -float(i)})
    other = builder.node()
    builder.edge(other, [29], [0, "b"], features={"x": -1000.0})
    builder.edge(other, [29], [0, "c"], features={"x": -1001.0})
    forest, weights = builder.finish(other), Weights({"x": 1.0})
    assert hf.count(forest) == 2 * 10**30
    found = hf.kbest(forest, weights, 5, distinct=True)
    assert [d.words[-1] for d in found] == ["b", "c"]
    assert [d.score for d in found] == [-1000, -1001]
    assert len(hf.kbest(forest, weights, 5, distinct=True, limit=100)) < 2
    # The limit ends the search in what would be a very long list otherwise.
    assert len(hf.kbest(forest, weights, 10, limit=5)) <= 5


def test_large_differences_of_scores() -> None:
    """Log sums neither overflow nor lose what is small."""
    builder = hf.ForestBuilder()
    builder.node()
    for value in (-1000.0, -1001.0, 1000.0, 1000.5):
        builder.edge(0, (), (), features={"x": value})
    goal = builder.node()
    builder.edge(goal, [0])
    forest, weights = builder.finish(goal), Weights({"x": 1.0})
    assert hf.log_partition(forest, weights) == pytest.approx(1000.5 + math.log1p(math.exp(-0.5)))
    low = hf.marginals(forest, scores=[-1e6, -1e6 - 1, NEVER, -3e6, 0.0]).edges
    assert low[:3] == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1)), 0])
    outside = hf.outside(forest, scores=[-1e6, -1e6 - 1, NEVER, -3e6, -5e5])
    assert outside.tolist() == pytest.approx([-5e5, 0.0])


def test_samples_follow_the_distribution() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    drawn = hf.sample(forest, weights, 20_000, seed=7)
    exact = hf.kbest(forest, weights, 100)
    log_z = hf.log_partition(forest, weights)
    counts: dict[tuple[int, ...], int] = {}
    for d in drawn:
        counts[tuple(d.edges.tolist())] = counts.get(tuple(d.edges.tolist()), 0) + 1
    for d in exact:
        p = math.exp(d.score - log_z)
        seen = counts.get(tuple(d.edges.tolist()), 0) / len(drawn)
        assert abs(seen - p) < 5 * math.sqrt(p * (1 - p) / len(drawn))
    other = hf.sample(forest, weights, 50, seed=8)
    assert [d.edges.tolist() for d in other] != [d.edges.tolist() for d in drawn[:50]]


def test_max_translation_by_sampling_finds_the_exact_one() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    exact = hf.max_translation(forest, weights, exact=True)
    sampled = hf.max_translation(forest, weights, samples=5000, seed=1)
    assert exact is not None
    assert sampled is not None
    assert sampled.text == exact.text == "cats sleep"
    assert sampled.probability == pytest.approx(exact.probability, abs=0.05)
    best = hf.viterbi(forest, weights)
    assert best is not None


def test_envelope_of_a_direction() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    direction = sparse_vector({"len": 1.0, "copy": -0.5})
    segments = hf.envelope(forest, weights, direction)
    for segment in segments[1:]:
        at = weights.copy()
        at.add(direction, segment.start)
        best = hf.viterbi(forest, at)
        assert best is not None
        assert best.score == pytest.approx(segment.intercept + segment.slope * segment.start)


def test_gradient_of_entropy() -> None:
    forest = tiny_forest()
    scores = hf.edge_scores(forest, tiny_weights())
    gradient = -hf.expectation(forest, scores=scores, gains=scores).edges
    for edge in range(forest.edges):
        step = np.zeros(forest.edges)
        step[edge] = 1e-5
        up = hf.entropy(forest, scores=scores + step)
        down = hf.entropy(forest, scores=scores - step)
        assert gradient[edge] == pytest.approx((up - down) / 2e-5, abs=1e-7)


def test_own_semirings() -> None:
    forest = tiny_forest()
    assert hf.count(forest) == 9
    assert hf.fold(forest, BOOLEAN) is True
    assert hf.fold(forest, BOOLEAN, roots=[4]) is False
    assert node_values(forest, COUNTING) == [2, 1, 5, 9, 0]
    longest: Semiring[int] = Semiring(-(10**9), 0, max, lambda a, b: a + b)
    assert hf.fold(forest, longest, word=lambda _: 1) == 5
    assert ("cats", "and", "the", "cats") in strings(forest)
    assert len(strings(forest)) == 8


def test_threads_change_nothing() -> None:
    forest, weights = tiny_forest(), tiny_weights()

    def ask(seed: int) -> tuple[object, ...]:
        return (
            [(d.text, d.score) for d in hf.kbest(forest, weights, 20, distinct=True)],
            [d.text for d in hf.sample(forest, weights, 30, seed=seed)],
            hf.marginals(forest, weights).edges.tolist(),
            hf.expected_features(forest, weights).values.tolist(),
            [s.start for s in hf.envelope(forest, weights, weights)],
        )

    alone = [ask(seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(40))) == alone
