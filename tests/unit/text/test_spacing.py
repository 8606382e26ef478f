"""Whether texts are tokenised, judged by their blanks before commas and full stops."""

from __future__ import annotations

import pytest

from hopefear.text.spacing import is_tokenized, tokenization_mismatch

RAW = ["Yes, the house is small.", "Mr. Smith, who is old, left.", "It costs 3.50 here..."]
TOKENIZED = [
    "Yes , the house is small .",
    "Mr. Smith , who is old , left .",
    "It costs 3.50 here ...",
]
FRENCH = ["Oui, pourquoi ? Voilà : tout.", "Non ! Je pense, donc je suis.", "« Ah » ; bon."]
CHINESE = ["我喜欢你。", "你好，世界。", "好。"]


def test_texts() -> None:
    assert is_tokenized(RAW) is False
    assert is_tokenized(TOKENIZED) is True
    assert is_tokenized(FRENCH) is False


@pytest.mark.parametrize(
    "text", [CHINESE, [" ".join(line) for line in CHINESE], [], ["A."], RAW[2:]]
)
def test_unclear_texts(text: list[str]) -> None:
    assert is_tokenized(text) is None


def test_a_mismatch_is_told_either_way() -> None:
    message = tokenization_mismatch(RAW, TOKENIZED)
    assert message is not None
    assert "the references seem to be tokenised" in message
    message = tokenization_mismatch(TOKENIZED, RAW)
    assert message is not None
    assert "the translations seem to be tokenised" in message


def test_no_alarm() -> None:
    assert tokenization_mismatch(RAW, RAW) is None
    assert tokenization_mismatch(TOKENIZED, TOKENIZED) is None
    assert tokenization_mismatch(RAW, FRENCH) is None
    assert tokenization_mismatch(FRENCH, RAW) is None
    assert tokenization_mismatch(CHINESE, [" ".join(line) for line in CHINESE]) is None
    assert tokenization_mismatch(RAW, RAW + TOKENIZED) is None  # neither the one nor the other
