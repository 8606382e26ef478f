"""Tags of source words, from a tagger or given, for the templates that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest
from features_small import SmallHiero, fired_by
from features_small import named as named_by
from phrase_small import SmallModel, gold, named, random_weights

from hopefear.base.errors import InputError
from hopefear.decode.chart import HieroDecoder
from hopefear.decode.contract import Decoder, Request, Sentence
from hopefear.decode.phrase import PhraseDecoder
from hopefear.features.feature import Feature, PythonFeature, RuleUse
from hopefear.features.sparse.word_edges import WordEdges
from hopefear.features.word_classes import WordClasses
from hopefear.features.word_lists import WordLists
from hopefear.forest import kbest
from hopefear.text.taggers import SentenceTags, Tagger

pytestmark = pytest.mark.engine

PAIRS = {("d",): {("a",): (0.5,) * 10}, ("e",): {("b",): (0.5,) * 10}}
LISTS = WordLists(classes=WordClasses(tagger=True))


class Numbers(Tagger):
    """Tags each word with its position from the end of the sentence: all tags differ."""

    def __init__(self) -> None:
        super().__init__("en", {})
        self.calls: list[str] = []

    def tag(self, words: Sequence[str]) -> list[str]:
        self.calls.append(" ".join(words))
        return [f"{word}{len(words) - i}" for i, word in enumerate(words)]


class Tagged(PythonFeature):
    """Fires the tags of the words that a rule covers."""

    label = "tagged"
    needs_tags = True

    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        yield "tagged:" + "_".join(use.tags[slice(*use.span)]), 1.0


def phrase_decoder(features: Iterable[Feature], tagger: Tagger) -> PhraseDecoder:
    model = SmallModel(PAIRS)
    made = lambda: SentenceTags(tagger)  # noqa: E731
    return PhraseDecoder(
        model.rules, {"lm": model.lm}, templates=features, lists=LISTS, tagger=made
    )


def fired(decoder: PhraseDecoder, text: str | Sentence, label: str) -> set[str]:
    weights = random_weights(1, SmallModel(PAIRS))
    forest = decoder.forest(text, weights)
    return {
        name
        for derivation in kbest(forest, weights, 50)
        for name in fired_by(named(derivation.features, decoder), label)
    }


def test_a_feature_has_the_tag_of_the_word_in_its_sentence(tmp_path: object) -> None:
    tagger = Numbers()
    decoder = phrase_decoder([WordEdges(levels="t"), Tagged()], tagger)
    features = fired(decoder, "d e d", "word-edges")
    assert {"sp.t+s0.t|<s>|d3", "sp.t+s0.t|d3|e2", "sp.t+s0.t|e2|d1"} <= features
    assert "s1.t+sn.t|d1|</s>" in features
    assert fired(decoder, "d e d", "tagged") == {"d3", "e2", "d1"}
    # The sentence's own tags are used; the target side has no tags here.
    given = Sentence(("d", "e"), tags=("N", "V"))
    assert fired(decoder, given, "tagged") == {"N", "V"}
    assert tagger.calls == ["d e d"]
    assert not any("t0" in name or "t1" in name for name in features)


def test_hierarchical_search_uses_the_tagger() -> None:
    small = SmallHiero()
    tagger = Numbers()
    decoder = HieroDecoder(
        small.rules, {"lm": small.lm}, templates=[Tagged()], tagger=lambda: SentenceTags(tagger)
    )
    weights = small.weights()
    forests = [decoder.forest("d e", weights), decoder.parse("d e", weights)]
    forests.append(decoder.forest("d e", weights, "a b"))
    for forest in forests:
        (best, *_) = kbest(forest, weights, 5)
        names = fired_by(named_by(best.features, decoder), "tagged")
        assert "_".join(names).split("_") != []
        assert set("_".join(names).split("_")) == {"d2", "e1"}
    assert tagger.calls == ["d e"]


@pytest.mark.parametrize("make", [phrase_decoder])
def test_the_tagger_is_not_loaded_if_no_template_uses_tags(
    make: Callable[[Iterable[Feature], Tagger], Decoder],
) -> None:
    tagger = Numbers()
    decoder = make([WordEdges(levels="wcy")], tagger)
    assert decoder.tagger is None
    decoder.forest("d e", random_weights(1, SmallModel(PAIRS)))
    assert tagger.calls == []


def test_a_prefix_keeps_the_words_that_follow() -> None:
    decoder = phrase_decoder([Tagged(), WordEdges(levels="wt")], Numbers())
    part = decoder.tagged("d e d").prefix(2)
    assert (part.words, part.after, part.tags) == (("d", "e"), ("d",), ("d3", "e2", "d1"))
    features = fired(decoder, part, "word-edges")
    assert {"s1.t+sn.t|e2|d1", "s1.w+sn.w|e|d"} <= features
    assert not any("</s>" in name for name in features)
    assert fired(decoder, part, "tagged") == {"d3", "e2"}, "it is not translated"
    # The reference lacks the last word: the gold derivations are of the first two.
    decoded = gold(decoder, "d e x", "a b y", prefixes=1)
    pair = decoded.gold
    assert pair is not None
    assert not pair.complete
    assert pair.sentence == Sentence(("d", "e"), after=("x",), tags=("d3", "e2", "x1"))
    vector = next(iter(kbest(decoded.forest, random_weights(1, SmallModel(PAIRS)), 1))).features
    assert set(fired_by(named(vector, decoder), "tagged")) == {"d3", "e2"}


def test_derivations_are_scored_and_named_with_tags() -> None:
    decoder = phrase_decoder([Tagged()], Numbers())
    vector = decoder.score_derivation("d e", [(0, 1, "a"), (1, 2, "b")])
    assert set(fired_by(named(vector, decoder), "tagged")) == {"d2", "e1"}
    quiet = phrase_decoder([Tagged()], Numbers())
    weights = random_weights(1, SmallModel(PAIRS))
    (best, *_) = kbest(quiet.decode(Request("d e", weights, named=False)).forest, weights, 1)
    quiet.name_features("d e", best, best.features)
    assert set(fired_by(named(best.features, quiet), "tagged")) == {"d2", "e1"}


def test_the_number_of_tags_must_match() -> None:
    with pytest.raises(InputError, match=r"'7': 1 tags for 2 words"):
        Sentence(("d", "e"), "7", tags=("N",))
    sentence = Sentence(("d", "e"), tags=("N", "V"))
    assert replace(sentence, id="8").tags == ("N", "V")
    assert sentence.prefix(1) == Sentence(("d",), after=("e",), tags=("N", "V"))
