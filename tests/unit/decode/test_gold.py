"""Gold pairs: complete pairs, their prefixes, and prefixes consistent with the word alignment."""

from __future__ import annotations

import pytest
from phrase_small import SmallModel, gold

from hopefear.base.weights import Weights
from hopefear.decode import PhraseOptions, Sentence
from hopefear.decode.contract import GoldOptions, GoldPair, Request
from hopefear.forest import Forest, kbest

pytestmark = pytest.mark.engine

HALF = (0.5,) * 10
TABLE = {
    ("a",): {("A",): HALF},
    ("b",): {("B",): HALF, ("B", "x"): HALF},
    ("c",): {("C",): HALF, ("x",): HALF},  # x: wrong, but allows a longer prefix
    ("d",): {("Y",): HALF},
}
LINKS = ((0, 0), (1, 1), (2, 4), (3, 3))  # x has none; no phrase is "z"
TARGET = "A B x Y C z"


@pytest.fixture(scope="module")
def model() -> SmallModel:
    return SmallModel(TABLE)


def learn(
    model: SmallModel, sentence: Sentence, target: str = TARGET, shortest: int = 1
) -> tuple[GoldPair, Forest]:
    decoder = model.decoder(PhraseOptions(distortion_limit=0, long_sentence=0))
    decoded = gold(decoder, sentence, target, prefixes=shortest)
    assert decoded.gold is not None
    return decoded.gold, decoded.forest


def strings(forest: Forest) -> set[str]:
    return {one.text for one in kbest(forest, Weights(), 100)}


def test_the_longest_prefix_that_can_be_derived(model: SmallModel) -> None:
    pair, forest = learn(model, Sentence(tuple("abcd")))
    assert (len(pair.sentence.words), pair.complete) == (4, False)
    assert strings(forest) == {"A B x Y"}


def test_prefixes_consistent_with_the_alignment(model: SmallModel) -> None:
    pair, forest = learn(model, Sentence(tuple("abcd"), links=LINKS))
    assert (len(pair.sentence.words), pair.complete) == (2, False)
    assert pair.target == "A B x"
    assert strings(forest) == {"A B", "A B x"}, "x has no link"


def test_a_shorter_prefix_if_the_longest_consistent_one_has_no_derivation(
    model: SmallModel,
) -> None:
    # Only all four words are consistent with the links; "C" would be in the wrong place.
    pair, forest = learn(model, Sentence(tuple("abcd"), links=LINKS), "A B Y C")
    assert (len(pair.sentence.words), strings(forest)) == (2, {"A B"})


def test_no_prefix_is_long_enough(model: SmallModel) -> None:
    _pair, forest = learn(model, Sentence(tuple("abcd"), links=LINKS), shortest=3)
    assert forest.nodes == 0


def test_links_do_not_matter_if_the_complete_pair_is_derived(model: SmallModel) -> None:
    crossing = ((0, 2), (1, 1), (2, 0))
    pair, forest = learn(model, Sentence(tuple("abc"), links=crossing), "A B C")
    assert pair.complete
    assert strings(forest) == {"A B C"}


def test_the_table_limit_of_search(model: SmallModel) -> None:
    decoder = model.decoder(PhraseOptions(distortion_limit=0, long_sentence=0))
    weights = Weights({"words": 1.0}, names=decoder.names)

    def one_phrase(target: str) -> Forest:
        return decoder.decode(
            Request("a b", weights, target, gold=GoldOptions(table_limit=1))
        ).forest

    forest = one_phrase("A B")
    assert forest.nodes == 0, "'B x' is the better one"
    assert strings(one_phrase("A B x")) == {"A B x"}
