"""Reachability counts of forced decoding."""

from __future__ import annotations

import math

import pytest
from phrase_small import SmallModel

from hopefear.analysis.reachability import (
    ForcedOptions,
    Reachability,
    derivations,
    reach,
    reach_all,
    shares,
)
from hopefear.base.executor import Threads
from hopefear.base.weights import Weights
from hopefear.decode import PhraseDecoder, PhraseOptions, Sentence

HALF = (0.5,) * 10
PAIRS = {(word,): {(word.upper(),): HALF} for word in "abcdefgh"}


@pytest.fixture(scope="module")
def decoders() -> dict[int, PhraseDecoder]:
    model = SmallModel(PAIRS)
    return {limit: model.decoder(PhraseOptions(distortion_limit=limit)) for limit in (-1, 0, 2, 4)}


def pairs() -> list[tuple[Sentence, list[list[str]]]]:
    texts = [
        ("a b c d e f", "A B C D E F"),  # in order
        ("a b c", "C A B"),  # jumps of 2 and 3
        ("a b c d e f g h", "A B C D E X G H"),  # a prefix of five
        ("a b", "X"),
    ]
    return [(Sentence(tuple(s.split())), [t.split()]) for s, t in texts]


@pytest.mark.parametrize("threads", [1, 3])
def test_table_3(decoders: dict[int, PhraseDecoder], threads: int) -> None:
    reachability = Reachability()
    kinds = []
    for pair in reach_all(
        decoders[2], pairs(), ForcedOptions(), others=decoders, executor=Threads(threads)
    ):
        reachability.add(pair)
        kinds.append(pair.kind)
    assert kinds == ["full", "none", "prefix", "none"]
    report = reachability.report()
    assert report["sentences"] == 4
    assert report["words"] == 19
    assert (report["reachable_sentences"], report["reachable_words"]) == (1, 6)
    assert (report["prefix_sentences"], report["prefix_words"]) == (1, 5)
    assert shares(report) == {"full": (1 / 4, 6 / 19), "+prefix": (2 / 4, 11 / 19)}
    short, long = report["lengths"]
    assert (short["from"], short["to"], short["sentences"]) == (1, 5, 2)
    assert short["by_limit"] == {"0": 0, "2": 0, "4": 0.5, "-1": 0.5}
    assert short["derivations"] is None
    assert long["by_limit"] == dict.fromkeys(["0", "2", "4", "-1"], 0.5)
    assert long["derivations"] == 1


def test_without_a_limit_only_up_to_30_words(decoders: dict[int, PhraseDecoder]) -> None:
    sentence, target = ["a"] * 31, [["A"] * 31]
    reached = reach(decoders[0], decoders, sentence, target, ForcedOptions(prefix=False))
    assert reached.by_limit == {0: True, 2: True, 4: True, -1: None}


def test_the_number_of_derivations(decoders: dict[int, PhraseDecoder]) -> None:
    forest = decoders[-1].forest(["a"] * 5, Weights(), ["A"] * 5)
    assert derivations(forest) == pytest.approx(math.factorial(5))
    assert derivations(decoders[-1].forest("a", Weights(), "X")) == 0


def test_searches_at_the_state_limit(decoders: dict[int, PhraseDecoder]) -> None:
    sentence, target = Sentence(("a",) * 20), [["A"] * 19 + ["B"]]
    sentence = Sentence((*sentence.words[:10], "b", *sentence.words[10:-1]))
    reachability = Reachability()
    reachability.add(reach(decoders[2], decoders, sentence, target, ForcedOptions(max_states=500)))
    report = reachability.report()
    assert report["limit_hits"] == 0
    assert report["limit_hits_by_limit"] == {"0": 0, "2": 0, "4": 0, "-1": 1}


def test_no_pairs() -> None:
    report = Reachability().report()
    assert report["lengths"] == []
    assert shares(report) == {"full": (0, 0), "+prefix": (0, 0)}
