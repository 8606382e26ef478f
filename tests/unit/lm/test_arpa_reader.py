"""ARPA files as other tools write them, and malformed ones, which name their line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from lm_arpa import SMALL, BackoffModel, Ngrams, format_arpa, parse_arpa, write_arpa

from hopefear.base.errors import InputError
from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine


def load(tmp_path: Path, text: str | bytes) -> LanguageModel:
    path = tmp_path / "lm.arpa"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return LanguageModel.load(path)


def assert_same(lm: LanguageModel, text: str = SMALL) -> None:
    definition = BackoffModel(parse_arpa(text), lm.order)
    for words in ("a b a b c", "c c b", "", "d a b", "b b b a"):
        expected = sum(each[0] for each in definition.full_scores(words.split()))
        assert lm.score(words) == pytest.approx(expected, abs=1e-5)


def test_srilm_style(tmp_path: Path) -> None:
    """A title first, blanks as separators, no <unk>, exponents, missing back-offs."""
    text = SMALL.replace("-2\t<unk>\t0\n", "").replace("ngram 1=6", "ngram 1=5")
    text = text.replace("\t", " ").replace("-0.35", "-3.5e-01").replace("-0.8 ", "-0.80000000  ")
    lm = load(tmp_path, "a model of something\n\n\n" + text)
    assert lm.unknown_added
    assert lm.vocabulary_size == 6
    assert lm.full_scores("d")[0][:2] == (pytest.approx(-100.5), 1)
    assert_same(lm, text)


def test_irstlm_style(tmp_path: Path) -> None:
    """Blanks in the header, CR at line ends, <unk> last, back-offs for </s>, text after the end."""
    text = SMALL.replace("-2\t<unk>\t0\n", "").replace("\\2-grams", "-2\t<unk>\n\n\\2-grams")
    text = text.replace("ngram 1=6", "ngram  1=    6").replace("-0.9\t</s>", "-0.9\t</s>\t-0")
    text = text.replace("\n", "\r\n").replace("\\end\\", "\\end") + "anything\n"
    lm = load(tmp_path, text)
    assert not lm.unknown_added
    assert lm.index("a") == 3
    assert next(lm.words()) == "<unk>"
    assert_same(lm)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    assert_same(load(tmp_path, "\ufeff" + SMALL))


def test_messages_quote_any_bytes(tmp_path: Path) -> None:
    bad = SMALL.encode().replace(b"-0.3\t<s> a", b"-0.3\t<s> \xe9")
    with pytest.raises(InputError, match=r"lm\.arpa:15: the word '\\xe9' of this 2-gram"):
        load(tmp_path, bad)


def test_capital_unk(tmp_path: Path) -> None:
    lm = load(tmp_path, SMALL.replace("<unk>", "<UNK>"))
    assert not lm.unknown_added
    assert_same(lm)


def test_any_order_of_lines(tmp_path: Path) -> None:
    ngrams = parse_arpa(SMALL)
    assert_same(load(tmp_path, format_arpa(dict(reversed(ngrams.items())))))


def test_gz_and_order_one(tmp_path: Path) -> None:
    text = SMALL.split("\\2-grams")[0].replace("ngram 2=5\nngram 3=3\n", "") + "\\end\\\n"
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(text.encode()))
    lm = LanguageModel.load(path)
    assert lm.order == 1
    assert lm.score("a b") == pytest.approx(-0.6 - 0.7 - 0.9)
    assert lm.begin_state.length == 0
    assert lm.combine(["a", lm.combine(["b", "</s>"])]).score == pytest.approx(-2.2)
    lm.compile(tmp_path / "lm.bin")
    assert LanguageModel.load(tmp_path / "lm.bin").score("a b") == lm.score("a b")


def test_order_six(tmp_path: Path) -> None:
    ngrams: Ngrams = {(w,): (-1.5, -0.25) for w in ("<s>", "</s>", "a", "b")}
    ngrams["<unk>",] = (-3.0, 0.0)
    for n in range(2, 7):
        ngrams[("a",) * n] = (-1.0 / n, -0.125 if n < 6 else 0.0)
    lm = load(tmp_path, format_arpa(ngrams))
    assert lm.order == 6
    scores = lm.full_scores("a " * 8, bos=False, eos=False)
    assert [each.ngram_length for each in scores] == [1, 2, 3, 4, 5, 6, 6, 6]
    assert scores[-1].log10 == pytest.approx(-1 / 6)
    assert_same(lm, format_arpa(ngrams))


def test_empty_highest_order(tmp_path: Path) -> None:
    text = SMALL.split("\\3-grams")[0].replace("ngram 3=3", "ngram 3=0")
    for section in ("", "\\3-grams:\n\n"):
        lm = load(tmp_path, text + section + "\\end\\\n")
        assert lm.ngrams == [6, 5, 0]
        assert_same(lm, text)


def test_missing_suffixes_and_prefixes_are_filled_in(tmp_path: Path) -> None:
    """SRILM keeps "c b a" though it dropped "b a"; nobody should keep it without "c b", but."""
    ngrams = parse_arpa(SMALL)
    ngrams["c", "b", "a"] = (-0.02, 0.0)
    del ngrams["b", "a"]
    text = format_arpa(ngrams)
    lm = load(tmp_path, text)
    assert lm.filled == [0, 2, 0]
    assert_same(lm, text)
    for words in ("c b a b", "a b a b", "b a", "c b b"):
        expected = [each[0] for each in BackoffModel(ngrams).full_scores(words.split())]
        assert [each.log10 for each in lm.full_scores(words)] == pytest.approx(expected)
        halves = [lm.combine(words.split()[:1]), lm.combine(words.split()[1:])]
        whole = lm.combine([*halves, "</s>"], bos=True)
        assert whole.score == pytest.approx(lm.score(words), abs=1e-5)


def test_rounding_above_zero_is_zero(tmp_path: Path) -> None:
    lm = load(tmp_path, SMALL.replace("-0.05\t<s> a b", "0.000005\t<s> a b"))
    assert lm.full_scores("a b")[1].log10 == 0


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    lm = load(tmp_path, SMALL.encode().replace(b"c", b"\xff\xfe"))
    assert "\udcff\udcfe" in lm
    assert list(lm.words())[-1] == "\udcff\udcfe"


LINES = SMALL.splitlines()


def line_of(text: str) -> int:
    return LINES.index(text) + 1


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("-0.2\ta b\t-0.2", "-0.2\ta\t-0.2", 0, "the word '-0.2' of this 2-gram is not"),
        ("-0.2\ta b\t-0.2", "-0.2\ta", 0, "expected 2 words, found 1 in"),
        ("-0.2\ta b\t-0.2", "-0.2\ta b c\t-0.2", 0, "expected a log10 back-off .* found 'c'"),
        ("-0.2\ta b\t-0.2", "-0.2\ta b\t-0.2\t7", 0, "at most one back-off weight"),
        ("-0.2\ta b\t-0.2", "-0.2x\ta b\t-0.2", 0, "a log10 probability, found '-0.2x'"),
        ("-0.2\ta b\t-0.2", "nan\ta b\t-0.2", 0, "a log10 probability, found 'nan'"),
        ("-0.2\ta b\t-0.2", "inf\ta b\t-0.2", 0, "of at most 0, found 'inf'"),
        ("-0.2\ta b\t-0.2", "-0.2\ta b\t-inf", 0, "back-off weight .* found '-inf'"),
        ("-0.2\ta b\t-0.2", "--1\ta b\t-0.2", 0, "a log10 probability, found '--1'"),
        ("-0.2\ta b\t-0.2", "-\ta b\t-0.2", 0, "a log10 probability, found '-'"),
        ("-0.2\ta b\t-0.2", "0.2\ta b\t-0.2", 0, "of at most 0, found '0.2'"),
        ("-0.2\ta b\t-0.2", "-0.2\ta b\tNaN", 0, "back-off weight .* found 'NaN'"),
        ("-0.2\ta b\t-0.2", "-0.2\ta zzz\t-0.2", 0, "'zzz' of this 2-gram is not among"),
        ("-0.2\ta b\t-0.2", "-0.45\tb a", 1, "the 2-gram 'b a' is there twice"),
        ("-0.2\ta b\t-0.2", "a\0b", 0, "a log10 probability, found 'a'"),
        ("-0.6\ta\t-0.3", "-0.7\tb", 1, "the word 'b' is there twice"),
        ("-0.6\ta\t-0.3", "-0.7\t<unk>", 0, "<unk> is there twice"),
        ("-0.2\ta b\t-0.2\n", "", 4, "the 2-grams end after 4, the header says 5"),
        ("-0.2\ta b\t-0.2", "-0.2\ta b\n-0.2\tb c\n-1\tc a", 4, "more 2-grams than the 5"),
        ("ngram 2=5", "ngram 2=4", 16, "more 2-grams than the 4"),
        ("ngram 2=5", "ngram 2=x", 0, "expected 'ngram N=COUNT', found 'ngram 2=x'"),
        ("ngram 2=5", "ngrams 2=5", 0, "expected 'ngram N=COUNT' or"),
        ("ngram 2=5", "ngram 4=5", 0, "expected the count of the 2-grams"),
        ("ngram 2=5\n", "", 0, "expected the count of the 2-grams, found 'ngram 3=3'"),
        ("ngram 1=6", "ngram 1=0", 4, "there are no 1-grams"),
        ("\\1-grams:", "\\2-grams:", 0, "expected '.1-grams:', found '.2-grams:'"),
        ("\\3-grams:", "\\4-grams:", 0, "expected '.3-grams:', found"),
        ("\\end\\", "\\4-grams:", 0, "expected '.end.', found"),
        ("\\3-grams:", "\\end\\", 0, "expected '.3-grams:', found '.end"),
    ],
)
def test_malformed(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    """`line` counts from the first changed line."""
    text = SMALL.replace(old, new, 1)
    assert text != SMALL
    at = line_of(old.rstrip("\n")) + line
    with pytest.raises(InputError, match=rf"lm\.arpa:{at}: .*({message})") as caught:
        load(tmp_path, text)
    assert "make the ARPA file again" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", range(1, len(LINES)))
def test_every_truncation_is_noticed(tmp_path: Path, keep: int) -> None:
    with pytest.raises(InputError, match=r"lm\.arpa:\d+: "):
        load(tmp_path, "\n".join(LINES[:keep]))


def test_too_high_an_order(tmp_path: Path) -> None:
    header = "".join(f"ngram {n}=1\n" for n in range(1, 8))
    with pytest.raises(InputError, match=r"lm\.arpa:8: order 7 is more than the 6 supported"):
        load(tmp_path, "\\data\\\n" + header)


@pytest.mark.parametrize("count", [2**62, 2**64 - 1, 10**13])
def test_absurd_counts(tmp_path: Path, count: int) -> None:
    with pytest.raises(InputError, match=r"lm.arpa.*(more than fit|end after)"):
        load(tmp_path, SMALL.replace("ngram 2=5", f"ngram 2={count}"))


@pytest.mark.parametrize("zero", ["-inf", "-Infinity", "-1e99", "-99"])
def test_the_log_of_zero(tmp_path: Path, zero: str) -> None:
    """The log probability of <s>, which no word is scored with, as other tools write it."""
    lm = load(tmp_path, SMALL.replace("-99\t<s>", f"{zero}\t<s>"))
    assert_same(lm)
    assert lm.full_scores("<s>")[0].log10 == pytest.approx(-99.5)
    lm = load(tmp_path, SMALL.replace("-0.2\ta b", f"{zero}\ta b"))
    assert lm.full_scores("a b", bos=False)[1].log10 == -99


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_a_model_without_a_sentence_mark(tmp_path: Path, mark: str) -> None:
    """It is scored as <unk>, with the same words after it."""
    lines = [line for line in LINES if mark not in line.split()]
    counts = [
        sum(len(line.split("\t")[1].split()) == n for line in lines if "\t" in line)
        for n in (1, 2, 3)
    ]
    text = "\n".join(lines)
    for n, (old, new) in enumerate(zip((6, 5, 3), counts, strict=True), 1):
        text = text.replace(f"ngram {n}={old}", f"ngram {n}={new}")
    lm = load(tmp_path, text + "\n")
    assert lm.missing_marks == [mark]
    assert lm.vocabulary_size == 5
    unknown = parse_arpa(text)["<unk>",]
    complete = BackoffModel({**parse_arpa(text), (mark,): unknown}, lm.order)
    for words in ("a b a b c", "c c b", "", "b b b a"):
        expected = sum(each[0] for each in complete.full_scores(words.split()))
        assert lm.score(words) == pytest.approx(expected, abs=1e-5)
    lm.compile(tmp_path / "lm.bin")
    again = LanguageModel.load(tmp_path / "lm.bin")
    assert (again.missing_marks, again.score("a b")) == ([mark], lm.score("a b"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty, expected an ARPA file"),
        (b"one\ntwo\n", "has no .data. line, expected"),
        (b"x\n" * 20_000, "has no .data. line among the first"),
        (b"\x7fELF\0\0\0", "a binary file of another kind"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "a KenLM binary file"),
        (gzip.compress(SMALL.encode()), "compressed with gzip; give it a name that ends in .gz"),
    ],
)
def test_foreign_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"lm\.arpa: {message}"):
        load(tmp_path, content)


def test_broken_gz(tmp_path: Path) -> None:
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(SMALL.encode())[:-30])
    with pytest.raises(InputError, match="truncated gzip file"):
        LanguageModel.load(path)
    write_arpa(path, SMALL)
    with pytest.raises(InputError, match="not a gzip file"):
        LanguageModel.load(path)
    with pytest.raises(FileNotFoundError):
        LanguageModel.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        LanguageModel.load(tmp_path)
