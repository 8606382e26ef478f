"""What every registered tagger promises (see text/taggers/base.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopefear.base import registry
from hopefear.text.taggers import SentenceTags, Tagger, make_tagger

LEXICON = {"house": "NN", "houses": "NNS", "the": "DT", "runs": "VBZ", "1984": "CD", ".": "."}
SENTENCES = [
    ["word"],
    ["The", "house", "of", "1,000", "houses", "."],
    ["起初", "，", "神", "创造", "天地", "。", "Python", "3.14"],
    ["起", "初，神", "创", "造天", "地。", "and", "so", "on"],
    ["a\u00a0b", "\u3000", "e\u0301", "\ud83d", "👩‍🔬", "|||", "x" * 1000],
    ["的"] * 300,
]


@pytest.fixture(params=registry.names("tagger"), scope="module")
def tagger(request: pytest.FixtureRequest) -> Tagger:
    if request.param == "jieba":
        pytest.importorskip("jieba")
    return make_tagger(request.param, "zh" if request.param == "jieba" else "en", LEXICON)


@pytest.mark.parametrize("words", SENTENCES, ids=range(len(SENTENCES)))
def test_tags(tagger: Tagger, words: list[str]) -> None:
    tags = SentenceTags(tagger)(tuple(words))  # which looks at them
    assert len(tags) == len(words)
    for other in reversed(SENTENCES):
        tagger.tag(other)
    assert list(tagger.tag(words)) == list(tags)


@given(st.lists(st.text(min_size=1).filter(lambda word: word.split() == [word]), max_size=8))
def test_any_words(tagger: Tagger, words: list[str]) -> None:
    assert len(SentenceTags(tagger)(tuple(words))) == len(words)


def test_no_words(tagger: Tagger) -> None:
    assert list(tagger.tag([])) == []


def test_versions_are_text(tagger: Tagger) -> None:
    assert all(isinstance(version, str) and version for version in tagger.versions().values())
