"""Moses tokenising: real rules, the end of the line, what is remembered."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hopefear.text.tokenizers import make_tokenizer
from hopefear.text.tokenizers.moses import _CACHE_SIZE, Moses, MosesHyphens

CASES = [
    ("en", 'He said: "It\'s 5,300.50!"', 'He said : " It \'s 5,300.50 ! "'),
    ("en", "Mr. Smith lives in the U.S. now.", "Mr. Smith lives in the U.S. now ."),
    ("en", "It is near 3rd St.", "It is near 3rd St ."),  # always cut at the very end
    ("en", "Wait... what?", "Wait ... what ?"),
    ("en", "The end...", "The end ..."),
    ("en", "a <b> & c|d [e]", "a < b > & c | d [ e ]"),
    ("fr", "L'homme d'art n'est pas là.", "L' homme d' art n' est pas là ."),
    ("de", "Am 3. Mai z.B. bei McDonald's.", "Am 3. Mai z.B. bei McDonald ' s ."),
    ("en", "a well-known man", "a well-known man"),
]


@pytest.mark.parametrize(("language", "raw", "words"), CASES)
def test_moses(language: str, raw: str, words: str) -> None:
    assert make_tokenizer("moses", language).tokenize(raw) == words.split()


def test_no_escapes() -> None:
    words = make_tokenizer("moses", "en").tokenize("AT&T's \"x\" <y> [z] | it's")
    assert not any("&" in word and len(word) > 1 for word in words)


def test_hyphens_come_back() -> None:
    tokenizer = make_tokenizer("moses-hyphens", "en")
    words = tokenizer.tokenize("a well-known man - so")
    assert words == ["a", "well", "@-@", "known", "man", "-", "so"]
    assert tokenizer.detokenize(words) == "a well-known man - so"
    assert make_tokenizer("moses", "en").detokenize(["a", "@-@", "b"]) == "a @-@ b"


def test_language_without_abbreviations_has_a_note() -> None:
    assert make_tokenizer("moses", "fr-CA").notes() == []
    (note,) = make_tokenizer("moses", "sw").notes()
    assert "'sw'" in note
    assert "English" in note


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopefear.text.tokenizers.moses._CACHE_SIZE", 10)
    tokenizer = Moses("en")
    line = " ".join(f"w{i}" for i in range(100))
    assert tokenizer.tokenize(line) == line.split()
    assert len(tokenizer._words) <= 10 < _CACHE_SIZE


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("." * 100_000, 1),
        (" ".join(f"v{i}.{i}." for i in range(20_000)), 20_001),  # minutes for sacremoses alone
        ("' " * 50_000, 50_000),
    ],
    ids=["dots", "versions", "apostrophes"],
)
def test_long_hard_lines_do_not_hang(line: str, words: int) -> None:
    assert len(Moses("en").tokenize(line)) == words


def test_addresses_are_one_word() -> None:
    moses = Moses("en")
    line = "Go to http://a.org/x?y=1&z, mail Mr. b.c+d@e-f.org or (www.g.org/h) @home."
    assert moses.tokenize(line) == [
        *("Go", "to", "http://a.org/x?y=1&z", ",", "mail", "Mr.", "b.c+d@e-f.org", "or"),
        *("(", "www.g.org/h", ")", "@", "home", "."),
    ]
    assert moses.tokenize("http://a.org's") == ["http://a.org", "'s"]
    # What stands in for an address is no address itself.
    assert moses.tokenize("Hopefearaddress0x a@b.org") == ["Hopefearaddress0x", "a", "@", "b.org"]
    assert MosesHyphens("en").tokenize("x-y http://a-b.org") == ["x", "@-@", "y", "http://a-b.org"]


@pytest.mark.parametrize("piece", ["a.", "a@", "http://.", "@a.", "www."])
def test_long_lines_that_are_nearly_addresses_do_not_hang(piece: str) -> None:
    line = piece * 30_000 + " @"
    assert "".join(Moses("en").tokenize(line)) == line.replace(" ", "")


def test_importing_hopefear_is_light() -> None:
    code = (
        "import sys, hopefear, hopefear.text.pipeline, hopefear.text.bitext, hopefear.text.split;"
        "print([m for m in ('sacremoses', 'jieba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
