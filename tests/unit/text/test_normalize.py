"""Unicode normalisation."""

from __future__ import annotations

import pytest

from hopefear.text.normalize import Normalizer


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ""),
        ("  a \t b  ", "a b"),
        ("\ufeffa\u200bb\u00adc\u2060", "abc"),
        ("a\u00a0b\u3000c\u2009d\u202fe", "a b c d e"),
        ("a\u2028b\u0085c\x1cd\re", "a b c d e"),
        ("a\x00b\x07c\x7fd\x80", "abcd"),
        ("\u200eא\u202b", "א"),
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),  # hidden between a letter and its accent
        ("می\u200cرود", "می\u200cرود"),  # joiners mean something
        ("½ ² ﬁ Ａ", "½ ² ﬁ Ａ"),  # numbers and letters stay what they are
        ("“It’s”", "“It’s”"),
    ],
)
def test_always(raw: str, expected: str) -> None:
    assert Normalizer()(raw) == expected


def test_narrow() -> None:
    assert Normalizer(narrow=True)("ＡＢＣ１２３，（ｘ）\u3000中。") == "ABC123,(x) 中。"


def test_plain_quotes() -> None:
    assert Normalizer(plain_quotes=True)("“It’s” ‘so’ «là»") == "\"It's\" 'so' «là»"


def test_vowel_signs() -> None:
    assert Normalizer(drop_vowel_signs=True)("فِي ٱلْبَدْءِ كـــتاب") == "في البدء كتاب"
