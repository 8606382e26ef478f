"""Features of two successive rules, and of a rule with the words before it."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from features_small import CLASSES, SmallHiero, fired_by
from features_small import named as named_by
from phrase_small import SmallModel, named, phrases_of, random_model, random_weights

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.feature import make_feature
from hopefear.features.word_lists import WordLists
from hopefear.forest import Derivation, kbest, viterbi

pytestmark = pytest.mark.engine

SENTENCES = ["d", "neu", "d e f", "e d f u d", "u neu f d e d"]
OPTIONS = PhraseOptions(beam=20, pop_limit=100, distortion_limit=3)


def model_with(name: str, **options: object) -> SmallModel:
    lists = WordLists(classes=CLASSES)
    return random_model(4, templates=(make_feature(name, options),), lists=lists)


def rules_of(sentence: str, derivation: Derivation) -> list[tuple[str | None, tuple[str, ...]]]:
    """Return its rules as text (None for copied words) with their target words."""
    numbers = [
        int(derivation.forest.rules[edge])
        for edge in reversed(derivation.edges.tolist())
        if derivation.forest.heads[edge] not in (0, derivation.forest.goal)
    ]
    words = sentence.split()
    return [
        (None if number < 0 else f"{'_'.join(words[begin:end])}|{'_'.join(target)}", target)
        for number, (begin, end, target) in zip(numbers, phrases_of(derivation), strict=True)
    ]


def test_rule_bigrams_of_phrases() -> None:
    model = model_with("rule-bigrams")
    decoder, weights = model.decoder(OPTIONS), random_weights(1, model)
    seen: Counter[str] = Counter()
    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 40):
            texts: list[str | None] = ["<s>", *(rule for rule, _ in rules_of(sentence, derivation))]
            texts.append("</s>")
            expected = Counter(
                f"{a}+{b}"
                for a, b in itertools.pairwise(texts)
                if a is not None and b is not None and a + b != "<s></s>"
            )
            assert fired_by(named(derivation.features, decoder), "rule-bigrams") == expected
            seen.update(expected)
    assert len(seen) > 5


def test_rule_bigrams_are_search_state() -> None:
    """A weight on a pair of rules changes the best derivation despite recombination."""
    model = model_with("rule-bigrams")
    decoder, weights = model.decoder(OPTIONS), random_weights(1, model)
    forest = decoder.forest("d e f", weights)
    names = {
        name
        for derivation in kbest(forest, weights, 40)
        for name in named(derivation.features, decoder)
        if name.startswith("rule-bigrams:")
    }
    for name in sorted(names):
        liked = Weights(dict(weights.items()))
        liked[name] = 100.0
        best = viterbi(decoder.forest("d e f", liked), liked)
        assert best is not None
        assert name in named(best.features, decoder)


def test_rule_bigrams_of_gaps() -> None:
    hiero = SmallHiero()
    features = [make_feature("rule-bigrams"), make_feature("rule-id")]
    decoder, weights = hiero.decoder(features), hiero.weights()
    seen = False
    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 40):
            features = named_by(derivation.features, decoder)
            ids = fired_by(features, "rule-id")
            pairs = fired_by(features, "rule-bigrams")
            gaps = sum(rule.split("|")[0].count("[") * n for rule, n in ids.items())
            # Every gap is filled by a rule or by a copied word.
            assert sum(pairs.values()) <= gaps
            if "neu" not in sentence:
                assert sum(pairs.values()) == gaps
            for pair in pairs:
                inner, outer = pair.split("+")
                assert inner in ids
                assert outer in ids
                assert "[" in outer
                seen = True
    assert seen


@pytest.mark.parametrize("levels", ["w", "b", "64", "t", None])
def test_rule_history(levels: str | None) -> None:
    model = model_with("rule-history", levels=levels)
    decoder, weights = model.decoder(OPTIONS), random_weights(1, model)
    paths, tags = CLASSES.target.paths, CLASSES.target.tags

    def at(word: str, level: str) -> str:
        if word == "<s>" or level == "w":
            return word
        if level == "t":
            return tags.get(word, "<unk>")
        return paths.get(word, "")[: {"b": None, "6": 6, "4": 4}[level]] or "<unk>"

    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 40):
            expected: Counter[str] = Counter()
            words = ["<s>", "<s>"]
            for rule, target in rules_of(sentence, derivation):
                for level in levels or "wb64t" if rule is not None else "":
                    two = [at(word, level) for word in words[-2:]]
                    expected["|".join([level, rule or "", *two])] += 1
                    expected["|".join([level, rule or "", two[1]])] += 1
                words += target
            assert fired_by(named(derivation.features, decoder), "rule-history") == expected


def test_errors_with_remedies() -> None:
    with pytest.raises(OptionError, match="from left to right"):
        SmallHiero().decoder([make_feature("rule-history")])
    with pytest.raises(OptionError, match="levels=cx"):
        make_feature("rule-history", {"levels": "cx"}).make(WordLists(classes=CLASSES))
    with pytest.raises(InputError, match="no target clusters"):
        make_feature("rule-history", {"levels": "wb"}).make(WordLists())
