"""Leaving out the rules of a training pair in hierarchical search."""

from __future__ import annotations

from dataclasses import replace

import pytest
from features_small import BITEXT, SmallHiero, named

from hopefear.decode.chart import HieroDecoder
from hopefear.decode.contract import Sentence, TrainingPair
from hopefear.forest import Forest, kbest

pytestmark = pytest.mark.engine
MOST = 5000


@pytest.fixture(scope="module")
def hiero() -> SmallHiero:
    return SmallHiero()


@pytest.fixture(scope="module")
def decoder(hiero: SmallHiero) -> HieroDecoder:
    return hiero.decoder([], search="full", rule_limit=0)


Rows = list[tuple[float, str, tuple[int, ...]]]


def derivations(hiero: SmallHiero, decoder: HieroDecoder, forest: Forest) -> Rows:
    """Score, text and rules of all derivations that copy no word."""
    every = kbest(forest, hiero.weights(), MOST)
    assert len(every) < MOST
    return sorted(
        (round(d.score, 3), d.text, tuple(sorted(forest.rules[d.edges].tolist())))
        for d in every
        if "pass-through" not in named(d.features, decoder)
    )


def table(hiero: SmallHiero) -> list[tuple[tuple[str | int, ...], int | None]]:
    """The target side and the only sentence of each rule, by its number in the table."""
    every = (hiero.rules.engine.rule(number) for number in range(len(hiero.rules)))
    return [(rule[0], rule[4]) for rule in every]


@pytest.mark.parametrize("number", [at for at, row in enumerate(BITEXT) if len(row[0]) < 8])
def test_it_is_decoding_without_the_rules_of_the_pair(
    number: int, hiero: SmallHiero, decoder: HieroDecoder
) -> None:
    source, target, _ = BITEXT[number]
    own = {at for at, (_, only) in enumerate(table(hiero)) if only == number}
    full = derivations(hiero, decoder, decoder.forest(source, hiero.weights()))
    pair = TrainingPair(tuple(target.split()), number)
    sentence = replace(Sentence.of(source), leave_out=pair)
    smaller = decoder.forest(sentence, hiero.weights())
    assert derivations(hiero, decoder, smaller) == [row for row in full if not own & set(row[2])]


def test_some_rules_are_left_out(hiero: SmallHiero, decoder: HieroDecoder) -> None:
    source, target, _ = BITEXT[1]
    sentence = replace(Sentence.of(source), leave_out=TrainingPair(tuple(target.split()), 1))
    full, smaller = (
        set(decoder.forest(text, hiero.weights()).rules.tolist()) for text in (source, sentence)
    )
    assert smaller < full
    assert {table(hiero)[at][1] for at in full - smaller} == {1}


def fits(side: tuple[str | int, ...], words: list[str]) -> bool:
    """Whether a target side, whose nonterminals are a word or more, occurs in a sentence."""

    def matches(at: int, symbol: int) -> bool:
        if symbol == len(side):
            return True
        if at == len(words):
            return False
        if isinstance(side[symbol], str):
            return side[symbol] == words[at] and matches(at + 1, symbol + 1)
        return any(matches(end, symbol + 1) for end in range(at + 1, len(words) + 1))

    return any(matches(at, 0) for at in range(len(words)))


@pytest.mark.parametrize("target", ["a b c", "b", "x b a c y", "c b a", "a c a b", "b a", ""])
@pytest.mark.parametrize("source", ["d e f", "d e f u", "f u d"])
def test_without_a_number_the_targets_of_rules_are_compared(
    source: str, target: str, hiero: SmallHiero, decoder: HieroDecoder
) -> None:
    own = {
        at
        for at, (side, only) in enumerate(table(hiero))
        if only is not None and fits(side, target.split())
    }
    full = derivations(hiero, decoder, decoder.forest(source, hiero.weights()))
    sentence = replace(Sentence.of(source), leave_out=TrainingPair(tuple(target.split())))
    smaller = decoder.forest(sentence, hiero.weights())
    assert derivations(hiero, decoder, smaller) == [row for row in full if not own & set(row[2])]


def test_words_that_only_the_pair_translates_are_copied(
    hiero: SmallHiero, decoder: HieroDecoder
) -> None:
    copied = False
    for number, (source, target, _) in enumerate(BITEXT):
        pair = TrainingPair(tuple(target.split()), number)
        for word in source.split():
            (rules,) = [hiero.rules.lookup([word])]
            if rules and all(rule.sentence == number for rule in rules):
                copied = True
                sentence = replace(Sentence.of(word), leave_out=pair)
                (best,) = kbest(decoder.forest(sentence, hiero.weights()), hiero.weights(), 1)
                assert best.text == word
    assert copied
