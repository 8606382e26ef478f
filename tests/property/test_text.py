"""Text steps on any text that Unicode allows."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hopefear.text.casing import Casing
from hopefear.text.normalize import Normalizer
from hopefear.text.pipeline import TextPipeline
from hopefear.text.split import SplitSizes, assign
from hopefear.text.tokenizers import Tokenizer, make_tokenizer
from hopefear.text.tokenizers.moses import ADDRESS

# Any text, and text that hits the rules: words, numbers, punctuation in every order.
anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=60)
PIECES = ["a", "Bc", "'s", "'", ".", "..", ",", "5", "3.", " ", " ", "-", "St.", "U.S.", "n't", '"']
PIECES += ["’", "“", "”", "é", "中", "@", "/", "&", "?", ":", "e.g.", "No.", "\u00a0", "\u00ad"]
texty = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)


@cache
def tokenizer(name: str, language: str) -> Tokenizer:
    return make_tokenizer(name, language)


@pytest.mark.parametrize("name", ["moses", "moses-hyphens"])
@pytest.mark.parametrize("language", ["en", "fr", "de"])
@settings(max_examples=150, deadline=None)
@given(st.one_of(texty, anything))
def test_remembered_words_are_sacremoses_words(name: str, language: str, line: str) -> None:
    assume(not ADDRESS.search(line))
    moses = tokenizer(name, language)
    whole = moses.tokenize_line(line)  # type: ignore[attr-defined]
    if whole and whole[-1].endswith(".") and whole[-1].strip("."):
        whole[-1:] = [whole[-1][:-1], "."]
    assert moses.tokenize(line) == whole


@pytest.mark.parametrize("name", ["none", "whitespace", "char"])
@given(st.one_of(texty, anything))
def test_idempotent(name: str, line: str) -> None:
    words = tokenizer(name, "zh").tokenize(line)
    assert tokenizer(name, "zh").tokenize(" ".join(words)) == words
    assert all(words)


@given(anything, st.booleans(), st.booleans(), st.booleans())
def test_normalizing_twice_is_once(line: str, narrow: bool, quotes: bool, vowels: bool) -> None:
    normalize = Normalizer(narrow=narrow, plain_quotes=quotes, drop_vowel_signs=vowels)
    once = normalize(line)
    assert normalize(once) == once
    assert once == " ".join(once.split())


@pytest.mark.parametrize("language", ["en", "fr", "cs", "de"])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(texty, anything), max_size=5))
def test_raw_text_survives_but_for_blanks_and_capitals(language: str, lines: list[str]) -> None:
    for casing in ("lower", "truecase"):
        pipeline = TextPipeline(language=language, casing=casing)
        pipeline.learn(lines)
        for line in lines:
            words = pipeline.prepare(line)
            assert all(words)
            assert not any(c.isspace() for word in words for c in word)
            text = pipeline.restore(words)
            assert text.replace(" ", "").lower() == "".join(words).lower()


@given(st.lists(st.lists(st.sampled_from(["a", "A", "b", "B", ".", '"', "AB", "ab"]), max_size=6)))
def test_usual_forms_are_forms_of_their_words(sentences: list[list[str]]) -> None:
    casing = Casing.learn(sentences, "en")
    assert all(form.lower() == word for word, form in casing.forms.items())
    assert casing == Casing.learn(sentences[::-1], "en")
    for words in sentences:
        assert [w.lower() for w in casing.truecase(words)] == [w.lower() for w in words]


@given(st.integers(2, 60), st.integers(0, 9), st.integers(1, 9), st.data())
def test_parts_do_not_overlap(lines: int, seed: int, distinct: int, data: st.DataObject) -> None:
    sources = data.draw(st.lists(st.integers(0, 10 * distinct), min_size=lines, max_size=lines))
    texts = [str(source) for source in sources]
    try:
        parts = assign(texts, SplitSizes(dev=lines // 8, test=lines // 8, seed=seed))
    except Exception as error:
        assert type(error).__name__ == "OptionError"  # noqa: PT017 (either outcome is right)
        return
    used = {part: {t for t, p in zip(texts, parts, strict=True) if p == part} for part in parts}
    names = [name for name in ("train", "dev", "test") if name in used]
    for a in names:
        for b in names:
            assert a == b or not used[a] & used[b]
