"""What every registered tokenizer promises (see text/tokenizers/base.py)."""

from __future__ import annotations

import pytest

from hopefear.base import registry
from hopefear.text.tokenizers import Tokenizer, make_tokenizer

LINES = [
    "word",
    "Two words.",
    "It's “fine” — isn't it? 5,300.50 (a/b) e-mail@x.org <tag> & [x] |||",
    "L'homme n'est pas là : « non » !",
    "起初，神创造天地。 Python 3.14",
    "私は学生です。ที่นี่ 안녕하세요",
    "فِي ٱلْبَدْءِ خَلَقَ ٱللهُ، نعم؟",
    "👩‍🔬👍🏽 e\u0301 \u200bx\u00ad",
    "'",
    "''''",
    "...",
    ".",
    ",",
    "\x00\x07a\x1fb",
    "\ufeff\u2028a\u0085b\x0b",
    "\u0301",
    "x" * 10_000,
    "a " * 5_000,
]
BLANK = ["", " ", "\t  \t"]


@pytest.fixture(params=registry.names("tokenizer"), scope="module")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "jieba":
        pytest.importorskip("jieba")
    return make_tokenizer(request.param, "zh" if request.param == "jieba" else "en")


@pytest.fixture(scope="module")
def another(tokenizer: Tokenizer) -> Tokenizer:
    """Of the same kind, that has seen other lines."""
    result = type(tokenizer)(tokenizer.language)
    for line in reversed(LINES):
        result.tokenize(line)
    return result


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_words(tokenizer: Tokenizer, another: Tokenizer, line: str) -> None:
    words = tokenizer.tokenize(line)
    assert words
    assert all(words)
    assert not any(set(word) & set(" \t\n\r\v\f") for word in words)
    assert tokenizer.tokenize(line) == words
    assert another.tokenize(line) == words
    if tokenizer.idempotent:
        assert tokenizer.tokenize(" ".join(words)) == words


@pytest.mark.parametrize("line", BLANK)
def test_blank_lines_have_no_words(tokenizer: Tokenizer, line: str) -> None:
    assert tokenizer.tokenize(line) == []
    assert tokenizer.detokenize([]) == ""


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_detokenizing_loses_only_blanks(tokenizer: Tokenizer, line: str) -> None:
    words = tokenizer.tokenize(line)
    text = tokenizer.detokenize(words)
    assert text.replace(" ", "").replace("@-@", "-") == "".join(words).replace("@-@", "-")
    assert "\n" not in text


def test_results_are_not_shared(tokenizer: Tokenizer) -> None:
    first = tokenizer.tokenize("word other")
    first.append("changed")
    first[0] = "changed"
    assert tokenizer.tokenize("word other") == ["word", "other"]
    assert tokenizer.tokenize("word") == ["word"]


def test_versions_are_text(tokenizer: Tokenizer) -> None:
    assert all(isinstance(version, str) and version for version in tokenizer.versions().values())
    assert all(isinstance(note, str) for note in tokenizer.notes())
