"""Good and bad derivations of bins, and every update rule, equal enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phrase_small import (
    EXACT,
    Phrase,
    SmallModel,
    best_spans,
    gold,
    named,
    phrases_of,
    random_model,
    random_weights,
    uncovered,
)

from hopefear.base.config import to_mapping
from hopefear.base.weights import Weights
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.sparse.target_bigrams import TargetBigrams
from hopefear.forest import Forest, bin_nodes, kbest
from hopefear.learn.online.search_errors import Violations, early, max_violation, standard
from hopefear.learn.online.violation import Violation
from hopefear.learn.tuner import Example, Share, Task
from hopefear.metrics import create

pytestmark = pytest.mark.engine

MOST = 1500  # derivations to enumerate
seeds = st.integers(0, 10_000)
sentences = st.lists(st.sampled_from("deuv"), min_size=1, max_size=5)
Partial = tuple[Phrase, ...]


def options(**changes: Any) -> PhraseOptions:
    return PhraseOptions(**{**to_mapping(EXACT), **changes})  # type: ignore[arg-type]


def text(phrases: Partial) -> tuple[str, ...]:
    return tuple(word for _, _, target in phrases for word in target)


def covered(phrases: Partial) -> int:
    return sum(end - begin for begin, end, _ in phrases)


def _nothing(phrases: Partial) -> float:
    return 0.0


Rest = Callable[[Partial], float]


class Slow:
    """The definitions, on lists of all derivations; `rest` is added to the score of one."""

    def __init__(
        self, forest: Forest, weights: Weights, words: int, complete: bool, rest: Rest = _nothing
    ) -> None:
        self.bins: list[dict[Partial, float]] = []
        for bin in range(words + 1):
            roots = [n for n in bin_nodes(forest, bin).tolist() if n != forest.goal]
            if complete and bin == words:
                roots = [forest.goal]
            found = kbest(forest, weights, 4 * MOST, roots=roots)
            assume(len(found) < 4 * MOST)
            self.bins.append({phrases_of(d): d.score + rest(phrases_of(d)) for d in found})

    def best(self, bin: int, wanted: Any) -> float:
        return max((s for d, s in self.bins[bin].items() if wanted(d)), default=-math.inf)


class Case:
    """A small model, a sentence, a reference that can be derived, and two searches."""

    def __init__(
        self, seed: int, words: list[str], beam: int, limit: int, complete: bool, future: bool
    ) -> None:
        self.model: SmallModel = random_model(seed, templates=(TargetBigrams(),))
        self.words, self.complete = words, complete
        self.weights = random_weights(seed, self.model)
        self.decoder: PhraseDecoder = self.model.decoder(
            options(beam=beam, pop_limit=4 * beam, distortion_limit=limit)
        )
        whole = self.model.decoder(options(distortion_limit=limit))
        every = list(itertools.islice(self.model.derivations(words, limit), MOST + 1))
        assume(len(every) <= MOST)
        self.target = text(random.Random(seed).choice(every))
        self.beam = self.decoder.forest(words, self.weights)
        self.gold = self.decoder.forest(words, self.weights, self.target)
        gold = [d for d in every if text(d) == self.target]
        self.good = {d[:k] for d in gold for k in range(len(d) + 1)}
        self.spans = best_spans(self.decoder, words, self.weights) if future else None
        all_ = Slow(
            whole.forest(words, self.weights), self.weights, len(words), complete, self.rest
        )
        self.kept = kept = Slow(self.beam, self.weights, len(words), complete, self.rest)
        bins = range(len(words) + 1)
        is_good = self.good.__contains__
        self.best_good = [all_.best(i, is_good) for i in bins]
        self.best_bad = [kept.best(i, lambda d: d not in self.good) for i in bins]
        self.survivor = [kept.best(i, is_good) for i in bins]
        self.found = Violations(
            self.beam, self.gold, self.weights, complete=complete, spans=self.spans
        )

    def rest(self, phrases: Partial) -> float:
        """The future cost of what a derivation leaves open."""
        if self.spans is None:
            return 0.0
        done = {place for begin, end, _ in phrases for place in range(begin, end)}
        gaps = uncovered(len(self.words), done)
        return sum(self.spans.score(begin, end) for begin, end in gaps)

    def margin(self, bin: int) -> float:
        return self.best_good[bin] - self.best_bad[bin]

    def usable(self, bin: int) -> bool:
        return self.best_good[bin] > -math.inf and self.best_bad[bin] > -math.inf

    def wrong(self, bin: int) -> bool:
        return self.usable(bin) and self.best_bad[bin] >= self.survivor[bin]


cases = st.builds(
    Case, seeds, sentences, st.integers(1, 6), st.integers(-1, 3), st.booleans(), st.booleans()
)


@settings(max_examples=120, deadline=None)
@given(cases)
def test_good_and_bad_of_each_bin(case: Case) -> None:
    found = case.found
    assert found.length == len(case.words)
    near = {"rel": 1e-4, "abs": 1e-4}
    assert found.good.tolist() == pytest.approx(case.best_good, **near)
    assert found.bad.tolist() == pytest.approx(case.best_bad, **near)
    assert found.survivor.tolist() == pytest.approx(case.survivor, **near)
    lengths = [end - begin for d in case.good for begin, end, _ in d]
    assert found.longest == max(lengths)
    for bin in range(1, found.length + 1):
        if not case.usable(bin):
            assert math.isnan(found.margins[bin])
            continue
        good, bad = found.pair(bin)
        assert phrases_of(good) in case.good
        assert phrases_of(bad) not in case.good
        assert covered(phrases_of(good)) == covered(phrases_of(bad)) == bin
        ends = case.complete and bin == found.length
        assert (good.root == case.gold.goal) == (bad.root == case.beam.goal) == ends
        expected = named(good.features, case.decoder)
        for name, value in named(bad.features, case.decoder).items():
            expected[name] = expected.get(name, 0.0) - value
        step = named(found.difference(bin), case.decoder)
        if case.spans is None:
            assert step == pytest.approx({k: v for k, v in expected.items() if v}, abs=1e-5)
        assert case.weights.dot(found.difference(bin)) == pytest.approx(
            found.margins[bin], abs=1e-3
        )


@settings(max_examples=120, deadline=None)
@given(cases, st.integers(1, 3))
def test_update_rules_follow_their_definitions(case: Case, limit: int) -> None:
    found, last = case.found, len(case.words)
    bins = range(1, last + 1)

    wrong = [i for i in bins if case.wrong(i)]
    chosen = max_violation(found)
    assert (chosen is not None) == bool(wrong)
    if chosen is not None:
        assert case.margin(chosen.bin) == pytest.approx(min(map(case.margin, wrong)), abs=1e-3)
        # A violation that one of the others has is no larger, and what is chosen is valid if any.
        assert chosen.valid == any(found.margins[i] <= 0 for i in wrong)

    chosen = standard(found)
    assert (chosen is not None) == case.wrong(last)
    if chosen is not None:
        assert chosen.bin == last

    expected = None
    empty = [case.survivor[i] == -math.inf for i in range(last + 1)]
    for stop in bins:  # the bin at which search is given up
        window = range(max(1, stop - limit + 1), stop + 1)
        full = len(window) == limit and all(empty[i] for i in window)
        if not (full or (stop == last and empty[last])):
            continue
        first = stop
        while first > 1 and empty[first - 1]:
            first -= 1
        usable = [i for i in range(first, stop + 1) if case.usable(i)]
        if usable:
            expected = usable[0]
            break
    else:
        expected = last if case.wrong(last) else None
    chosen = early(found, limit)
    assert (None if chosen is None else chosen.bin) == expected


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(("early", "max-violation", "standard", "local")))
def test_the_step_of_each_update(case: Case, rule: Any) -> None:
    """Valid updates of max-violation and local; no update where search was right."""
    learner = Violation(update_=rule, eta=1.0)
    learner.begin(Share([0], [[" ".join(case.target)]], create("bleu"), 4 * MOST))
    example = Example(0, case.beam, [" ".join(case.target)], case.gold, case.complete, case.spans)
    found = learner.update(case.weights, [example], Task(np.random.default_rng(1)))
    gain = case.weights.dot(found.step)
    if rule in ("max-violation", "local"):
        assert gain <= 1e-4
        assert found.updates == 0 or gain == pytest.approx(-found.measures["loss"][0], abs=1e-3)
    if not any(map(case.wrong, range(1, len(case.words) + 1))):
        assert found.updates == len(found.step) == 0
    assert found.counts["updates_by_tenth"].sum() == found.updates
    if rule == "local" and found.updates:
        assert case.wrong(len(case.words))
        kept = case.kept.bins[-1]
        metric = create("bleu+1")
        texts = [" ".join(text(d)) for d in kept]
        rows = metric.prepare([[" ".join(case.target)]]).statistics(texts, [0] * len(texts))
        gains = metric.sentence_scores(rows)
        bad = max((s, d) for d, s in kept.items() if d not in case.good)[0]
        best = max(s for g, s in zip(gains, kept.values(), strict=True) if g >= max(gains) - 1e-9)
        assert gain == pytest.approx(best - bad, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(seeds, sentences, st.integers(1, 4), st.integers(0, 6))
def test_prefix_pairs(seed: int, words: list[str], beam: int, cut: int) -> None:
    """A pair that cannot be derived is learned from as far as it can be."""
    model = random_model(seed)
    decoder = model.decoder(options(beam=beam, distortion_limit=2))
    every = list(itertools.islice(model.derivations(words, 2), MOST + 1))
    assume(len(every) <= MOST)
    target = (*text(random.Random(seed).choice(every))[:cut], "nobody", "says", "this")
    weights = random_weights(seed, model)
    assert not gold(decoder, words, target).forest.nodes
    decoded = gold(decoder, words, target, prefixes=1)
    pair = decoded.gold
    assert pair is not None
    if not decoded.forest.nodes:
        assert not any(text(d[:1]) == target[: len(text(d[:1]))] and d[0][0] == 0 for d in every)
        return
    length = len(pair.sentence.words)
    assert not pair.complete
    assert pair.sentence.words == tuple(words[:length])
    good = {
        d[:k]
        for d in model.derivations(words[:length], 2)
        if text(d) == target[: len(text(d))]
        for k in range(len(d) + 1)
    }
    assert " ".join(max(map(text, good), key=len)) == pair.target
    beam_forest = decoder.forest(pair.sentence, weights)
    found = Violations(beam_forest, decoded.forest, weights, complete=pair.complete)
    slow = Slow(beam_forest, weights, length, complete=False)
    for bin in range(length + 1):
        assert found.survivor[bin] == pytest.approx(slow.best(bin, good.__contains__), abs=1e-4)
        assert found.bad[bin] == pytest.approx(slow.best(bin, lambda d: d not in good), abs=1e-4)
