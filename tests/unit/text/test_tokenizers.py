"""The other tokenizers, and which one `auto` is."""

from __future__ import annotations

import sys

import pytest

from hopefear.base.errors import OptionError
from hopefear.text.tokenizers import default_tokenizer, make_tokenizer


def test_none_splits_as_other_tools_do() -> None:
    tokenizer = make_tokenizer("none", "en")
    words = tokenizer.tokenize(" a\tb\u00a0c  d\u3000e\u2028f ")
    assert words == ["a", "b\u00a0c", "d\u3000e\u2028f"]
    assert tokenizer.detokenize(["it", "'s", "."]) == "it 's ."


def test_whitespace_splits_at_any_white_space() -> None:
    tokenizer = make_tokenizer("whitespace", "en")
    assert tokenizer.tokenize("a\u00a0b c.\u3000d") == ["a", "b", "c.", "d"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("起初，神创造天地。", "起 初 ， 神 创 造 天 地 。"),
        ("用Python 3.14写don't!", "用 Python 3.14 写 don't !"),
        ("がぎ", "が ぎ"),
        ("か\u3099き", "か\u3099 き"),
        ("ที่นี่", "ที่ นี่"),
        ("안녕 하세요.", "안녕 하세요 ."),
        ("👩‍🔬好👍🏽", "👩‍🔬 好 👍🏽"),
        ("𠀀𠀁", "𠀀 𠀁"),
    ],
)
def test_characters(raw: str, words: str) -> None:
    tokenizer = make_tokenizer("char", "zh")
    assert tokenizer.tokenize(raw) == words.split(" ")


def test_characters_are_joined() -> None:
    tokenizer = make_tokenizer("char", "zh")
    for raw in ("他6:30起床，说：“好！”", "用Python写", "Mr. Smith和Tom", "12.5%"):
        assert tokenizer.detokenize(tokenizer.tokenize(raw)) == raw


def test_jieba_cuts_words_and_joins_them() -> None:
    pytest.importorskip("jieba")
    tokenizer = make_tokenizer("jieba", "zh")
    raw = "我来到北京清华大学，学习Python。"
    words = tokenizer.tokenize(raw)
    assert "清华大学" in words
    assert len(words) < len(raw) - 6
    assert tokenizer.detokenize(words) == raw
    assert set(tokenizer.versions()) == {"jieba"}


def test_jieba_missing_names_both_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(OptionError, match=r"pip install 'hopefear\[zh\]'.*'char'"):
        make_tokenizer("auto", "zh")


def test_auto_goes_by_the_language() -> None:
    names = {code: default_tokenizer(code) for code in ("fr", "pt-BR", "zh_CN", "ja", "ko", "ar")}
    assert names == {
        "fr": "moses",
        "pt-BR": "moses",
        "zh_CN": "jieba",
        "ja": "char",
        "ko": "moses",
        "ar": "moses",
    }


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(OptionError, match="did you mean 'moses'"):
        make_tokenizer("mosse", "en")
