"""Taggers: jieba's on other words than its own, guesses by endings, and what is checked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from hopefear.base.errors import OptionError
from hopefear.text.taggers import UNKNOWN, SentenceTags, Tagger, make_tagger

LEXICON = {
    "walking": "VBG",
    "talking": "VBG",
    "king": "NN",
    "Rome": "NNP",
    "12": "CD",
    "slow": "JJ",
}


def test_words_of_the_lexicon_and_guesses() -> None:
    tagger = make_tagger("lexicon", "en", LEXICON)
    words = ["king", "KING", "Rome", "stalking", "ring", "1987", "?", "slow"]
    assert tagger.tag(words) == ["NN", "NN", "NNP", "VBG", "VBG", "CD", UNKNOWN, "JJ"]
    with pytest.raises(OptionError, match="--source-tags"):
        make_tagger("lexicon", "en", {})


def test_jieba_in_its_own_words_and_in_others() -> None:
    pytest.importorskip("jieba")
    tagger = make_tagger("jieba", "zh", {})
    assert tagger.tag(["我", "爱", "北京", "天安门", "。"]) == ["r", "v", "ns", "ns", "x"]
    # Parts of its pieces, and words of several of them.
    assert tagger.tag(["我爱", "北", "京", "天安门。"]) == ["v", "ns", "ns", "x"]
    assert tagger.tag(["Python", "3", "北京"])[-1] == "ns"
    # A word's tag may depend on its sentence.
    assert tagger.tag(["李小福"]) == ["nr"]


def test_a_tagger_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jieba", "jieba.posseg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=r"tagger 'jieba' needs.*pip install 'hopefear\[zh\]'"):
        make_tagger("jieba", "zh", {})


def test_an_unknown_tagger() -> None:
    with pytest.raises(OptionError, match=r"unknown tagger 'jeiba'.*jieba.*--plugin"):
        make_tagger("jeiba", "zh", {})


class Counting(Tagger):
    """Gives what it is told to, and counts the questions."""

    def __init__(self, tags: Sequence[str]) -> None:
        super().__init__("en", {})
        self.tags, self.asked = tags, 0

    def tag(self, words: Sequence[str]) -> Sequence[str]:
        self.asked += 1
        return self.tags


def test_sentences_are_remembered() -> None:
    tagger = Counting(["A", "B"])
    tags = SentenceTags(tagger)
    assert tags(("x", "y")) == tags(("x", "y")) == ("A", "B")
    assert tagger.asked == 1
    assert tags(("y", "x")) == ("A", "B")
    assert tagger.asked == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["A"], "gave 1 tags for the 2 words 'x y'"),
        (["A", "B C"], "gave 'y' the tag 'B C'"),
        (["", "B"], "'x' the tag ''"),
        ([1, "B"], "'x' the tag 1, expected a non-empty string"),
        (None, "'mine' failed on 'x y': TypeError: "),
    ],
)
def test_wrong_tags_are_named(given: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SentenceTags(Counting(given), "mine")(("x", "y"))
