"""Expansion, intersection, hope and fear equal enumeration of every derivation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forest_random import Hypergraph, few, hypergraphs
from hopefear._engine import BleuReferences, GainScorer
from hypothesis import assume, given
from hypothesis import strategies as st
from lm_arpa import SMALL, write_arpa

from hopefear import forest as hf
from hopefear.lm import LanguageModel
from hopefear.metrics.bleu_decayed import BleuDecayed
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.context_bleu import ContextBleu

pytestmark = pytest.mark.engine
beams = st.sampled_from((0, 0, 1, 2, 3, 1000))
words = st.lists(st.sampled_from("ab"), max_size=5)


def bigrams(graph: Hypergraph) -> Callable[[int, tuple[Any, ...]], Any]:
    """A score that needs a state: 0.5 for each 'a b', the first and last word as state."""

    def score(edge: int, tails: tuple[Any, ...]) -> Any:
        first, last, total = None, None, 0.0
        for symbol in graph.edges[edge].target:
            part = (symbol, symbol) if isinstance(symbol, str) else tails[symbol]
            if part[0] is None:
                continue
            total += 0.5 * (last == "a" and part[0] == "b")
            first, last = first or part[0], part[1]
        return total, (first, last), {7: 1.0}

    return score


def bigram_score(string: tuple[str, ...]) -> float:
    return 0.5 * sum(pair == ("a", "b") for pair in pairwise(string))


def strings_of(graph: Hypergraph, made: hf.Expanded, nodes: list[int]) -> Counter[Any]:
    found = hf.kbest(
        made.forest, k=10_000, scores=made.scores, roots=made.roots(np.array(nodes, np.uint32))
    )
    return Counter(
        (tuple(made.edges[d.edges].tolist()), tuple(d.words), round(d.score, 6)) for d in found
    )


@few
@given(hypergraphs(), st.booleans())
def test_each_derivation_occurs_once(graph: Hypergraph, merge: bool) -> None:
    made = hf.expand(graph.forest, bigrams(graph), scores=graph.scores, merge_goal=merge)
    nodes = [n for n in range(graph.nodes) if not (merge and n == graph.forest.goal)]
    wanted = Counter(
        (path.edges, path.words, round(path.score + bigram_score(path.words), 6))
        for n in nodes
        for path in graph.paths[n]
    )
    assert strings_of(graph, made, nodes) == wanted
    states = [made.nodes.tolist().count(n) for n in range(graph.nodes)]
    for n in nodes:
        ends = {(p.words[0], p.words[-1]) if p.words else None for p in graph.paths[n]}
        assert states[n] == len(ends)


@few
@given(hypergraphs(), beams, st.booleans())
def test_best_under_a_beam(graph: Hypergraph, beam: int, eager: bool) -> None:
    assume(graph.forest.goal is not None)
    goal = graph.forest.goal
    assert goal is not None
    made = hf.expand(graph.forest, bigrams(graph), scores=graph.scores, beam=beam, eager=eager)
    best = hf.viterbi(made.forest, scores=made.scores)
    totals = {p.edges: p.score + bigram_score(p.words) for p in graph.paths[goal]}
    assert (best is None) == (not totals)
    if best is None:
        assert made.forest.goal is None
        return
    edges = tuple(made.edges[best.edges].tolist())
    assert best.score == pytest.approx(totals[edges])
    if beam in (0, 1000):
        assert best.score == pytest.approx(max(totals.values()))
        assert hf.count(made.forest) == len(totals)
    assert made.best == pytest.approx(hf.best_scores(made.forest, scores=made.scores))
    if beam:
        counts = Counter(made.nodes[made.forest.heads].tolist())
        twice = goal in made.forest.tails  # the goal's edges are there once more then
        assert all(n <= beam or (twice and v == goal) for v, n in counts.items())


@few
@given(hypergraphs())
def test_features_stay_and_rows_that_have_an_edge(graph: Hypergraph) -> None:
    made = hf.expand(graph.forest, bigrams(graph), scores=graph.scores)
    used = {graph.edges[old].row for old in made.edges.tolist()} - {None}
    assert made.forest.rows == len(used)
    for new, old in enumerate(made.edges.tolist()):
        before = graph.forest.edge_features(old)
        after = made.forest.edge_features(new)
        wanted = dict(zip(before.ids.tolist(), before.values.tolist(), strict=True)) | {7: 1.0}
        assert dict(zip(after.ids.tolist(), after.values.tolist(), strict=True)) == wanted


@few
@given(hypergraphs(), beams)
def test_forbidding(graph: Hypergraph, beam: int) -> None:
    """A scorer that reads an automaton: no two equal words in a row."""

    def alternating(edge: int, tails: tuple[Any, ...]) -> Any:
        string = []
        for symbol in graph.edges[edge].target:
            string += [symbol] if isinstance(symbol, str) else list(tails[symbol])
        if any(x == y for x, y in pairwise(string)):
            return None
        return 0.0, tuple(string)

    made = hf.expand(graph.forest, alternating, scores=graph.scores, merge_goal=False, beam=beam)
    found = dict.fromkeys(range(graph.nodes), 0)
    for n, paths in hf_count(made):
        found[n] += paths
    for n in range(graph.nodes):
        good = [
            p for p in graph.paths[n]
            if all(x != y for x, y in pairwise(p.words))
        ]  # fmt: skip
        if beam in (0, 1000):
            assert found[n] == len(good)
        assert (found[n] > 0) <= (len(good) > 0)


def hf_count(made: hf.Expanded) -> list[tuple[int, int]]:
    return [
        (int(old), int(hf.count(made.forest, roots=[new])))
        for new, old in enumerate(made.nodes.tolist())
    ]


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    path: Path = tmp_path_factory.mktemp("lm") / "small.arpa"
    return LanguageModel.load(write_arpa(path, SMALL))


@few
@given(graph=hypergraphs())
def test_language_model(lm: LanguageModel, graph: Hypergraph) -> None:
    goal = graph.forest.goal
    assume(goal is not None and goal not in graph.forest.tails)
    assert goal is not None
    scorer = hf.LanguageModelScorer(lm, weight=0.5)
    made = hf.expand(graph.forest, scorer, scores=graph.scores)
    found = hf.kbest(made.forest, k=1000, scores=made.scores)
    totals = {p.edges: (p.score, lm.score(list(p.words)) * math.log(10)) for p in graph.paths[goal]}
    assert len(found) == len(totals)
    names = made.forest.names
    assert names is not None
    for d in found:
        score, log_p = totals[tuple(made.edges[d.edges].tolist())]
        assert d.score == pytest.approx(score + 0.5 * log_p, abs=1e-4)
        fired = dict(zip(d.features.ids.tolist(), d.features.values.tolist(), strict=True))
        assert fired.get(names.intern("lm"), 0.0) == pytest.approx(log_p, abs=1e-4)


@few
@given(hypergraphs(), words, st.booleans())
def test_intersection(graph: Hypergraph, target: list[str], prefix: bool) -> None:
    def yields(string: tuple[str, ...]) -> bool:
        return string == tuple(target[: len(string)] if prefix else target)

    made = hf.intersect(graph.forest, target, prefix=prefix, roots=graph.roots, scores=graph.scores)
    found = hf.kbest(made.forest, k=10_000, scores=graph.scores[made.edges], roots=made.roots)
    got = sorted(tuple(made.edges[d.edges].tolist()) for d in found)
    assert got == sorted(d.edges for d in graph.derivations if yields(d.words))
    assert set(made.nodes[made.roots].tolist()) <= set(graph.roots)
    if made.forest.goal is not None:
        assert made.nodes[made.forest.goal] == graph.forest.goal
    for d in found[:3]:
        old = made.derivation(graph.forest, d, graph.scores)
        assert (old.words, old.score) == (d.words, pytest.approx(d.score))

    others = hf.best_other(
        graph.forest, target, prefix=prefix, roots=graph.roots, scores=graph.scores
    )
    for root, other in zip(graph.roots, others, strict=True):
        bad = [p for p in graph.paths[root] if not yields(p.words)]
        assert (other is None) == (not bad)
        if other is not None:
            assert other.root == root
            assert not yields(tuple(other.words))
            assert other.score == pytest.approx(max(p.score for p in bad))
            known = {p.edges: p.score for p in bad}
            assert other.score == pytest.approx(known[tuple(other.edges.tolist())])


ALL = hf.Search(beam=0, candidates=1000)


@few
@given(
    hypergraphs(),
    st.lists(words, min_size=1, max_size=2),
    st.sampled_from((0.0, 0.1, 1.0)),
    st.sampled_from((0.5, 4.0)),
)
def test_hope_and_fear(
    graph: Hypergraph, references: list[list[str]], model: float, scale: float
) -> None:
    metric = BleuPlusOne()
    prepared = metric.prepare([references])
    objective = hf.Objective.of(metric, prepared, 0)
    question = {"model": model, "scale": scale, "scores": graph.scores, "roots": graph.roots}
    pair = hf.hope_fear(graph.forest, None, objective, search=ALL, **question)
    if not graph.derivations:
        assert pair is None
        return
    assert pair is not None
    scores = np.array([d.score for d in graph.derivations])
    rows = prepared.statistics([list(d.words) for d in graph.derivations], np.zeros(len(scores)))
    gains = metric.sentence_scores(rows)
    alone = (
        hf.hope(graph.forest, None, objective, search=ALL, **question),
        hf.fear(graph.forest, None, objective, search=ALL, **question),
    )
    listed = hf.hope_fear(graph.forest, None, objective, search=hf.Search(kbest=1000), **question)
    assert listed is not None
    for sign, choice, single, exact in zip((1.0, -1.0), pair, alone, listed, strict=True):
        best = (model * scores + sign * scale * gains).max()
        assert single is not None
        for found in (choice, single, exact):
            # All strings were compared, so the choice is exact.
            assert model * found.derivation.score + sign * scale * found.gain == pytest.approx(best)
            assert metric.sentence_scores(found.statistics) == pytest.approx(found.gain)
    good, bad = pair
    loss = scale * (good.gain - bad.gain) - model * (good.derivation.score - bad.derivation.score)
    assert loss >= -1e-9


@few
@given(
    hypergraphs(), st.lists(words, min_size=1, max_size=2), st.integers(1, 4), st.booleans(), beams
)
def test_matches_are_carried(
    graph: Hypergraph, references: list[list[str]], order: int, by_length: bool, beam: int
) -> None:
    """The sum along each node's best derivation is its score and the unclipped gain."""
    metric = BleuDecayed(order=order)
    prepared = metric._prepare([references], clip=False)
    counted = prepared.references
    assert isinstance(counted, BleuReferences)
    scorer = GainScorer(
        graph.forest, counted, 0, metric.search_gain(), -2.0, 0, by_length, lowercase=False
    )
    made = hf.expand(graph.forest, scorer, scores=graph.scores, beam=beam, merge_goal=False)
    nodes = np.arange(made.forest.nodes, dtype=np.uint32)
    best = hf.viterbi_each(made.forest, scores=made.scores, nodes=nodes)
    for node, derivation in zip(nodes.tolist(), best, strict=True):
        assert derivation is not None
        rows = prepared.statistics([derivation.words], [0])
        gain = float(metric.sentence_scores(rows)[0])
        score = graph.scores[made.edges[derivation.edges]].sum()
        assert derivation.score == pytest.approx(score - 2 * gain)
        assert made.best[node] == pytest.approx(derivation.score)


@pytest.mark.parametrize("context", ["document", "previous"])
@pytest.mark.parametrize("scale", ["reference-length", "sentences", "constant", "source-length"])
def test_context_gain_of_the_search(context: str, scale: str) -> None:
    """Clipped or not, the two gains are the same function of the statistics."""
    metric = ContextBleu(context=context, scale=scale, factor=3.0)  # type: ignore[arg-type]
    references = [["a b c d e f"], ["a b b a d c e"], ["d d d a b c"]]
    prepared = metric.prepare(references)
    rows = prepared.statistics(["a b c d f", "a b b a d e", "d d d a b c d"])
    state = metric.start(3, [5.0, 6.0, 7.0])
    for end in range(3):
        for sentence in range(3):
            gain = state.search_gain(sentence)
            parts = metric.parts(rows[sentence])
            assert gain(parts[0].tolist(), parts[1][0], float(parts[2])) == pytest.approx(
                float(state.gains(rows[sentence], sentence))
            )
            state.record(rows[sentence], sentence)
        if end:
            state.end_iteration()
