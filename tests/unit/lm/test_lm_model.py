"""LanguageModel: the back-off rule written out, states, files, what text may contain."""

from __future__ import annotations

import gzip
import io
import math
import random
import threading
from pathlib import Path

import pytest
from lm_arpa import SMALL, BackoffModel, Ngrams, format_arpa, parse_arpa, sections, write_arpa

from hopefear.base.errors import InputError, OptionError
from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine


@pytest.fixture
def small(tmp_path: Path) -> LanguageModel:
    return LanguageModel.load(write_arpa(tmp_path / "small.arpa", SMALL))


def sentences(model: BackoffModel, count: int, seed: int) -> list[list[str]]:
    generator = random.Random(seed)
    words = [*model.words, "unheard", "of"]
    return [generator.choices(words, k=generator.randrange(9)) for _ in range(count)]


def test_properties_of_a_model(small: LanguageModel) -> None:
    assert small.order == 3
    assert small.ngrams == [6, 5, 3]
    assert small.filled == [0, 0, 0]
    assert not small.unknown_added
    assert small.vocabulary_size == 6
    assert list(small.words()) == ["<unk>", "<s>", "</s>", "a", "b", "c"]
    assert [small.index(word) for word in small.words()] == list(range(6))
    assert "a" in small
    assert "d" not in small
    assert "<unk>" not in small
    assert "order 3" in repr(small)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("eos", [True, False])
def test_scores_follow_the_back_off_rule(small: LanguageModel, bos: bool, eos: bool) -> None:
    definition = BackoffModel(parse_arpa(SMALL))
    for words in sentences(definition, 300, seed=1):
        expected = definition.full_scores(words, bos, eos)
        found = small.full_scores(words, bos, eos)
        assert [each[1:] for each in found] == [each[1:] for each in expected]
        assert [each.log10 for each in found] == pytest.approx([each[0] for each in expected])
        total = sum(each[0] for each in expected)
        assert small.score(words, bos, eos) == pytest.approx(total, abs=1e-5)
        assert small.score(" ".join(words), bos, eos) == small.score(words, bos, eos)


def test_a_known_number(small: LanguageModel) -> None:
    # p(a | <s>) -0.3, p(b | <s> a) -0.05, then c: back-offs of "a b" and "b", p(c) -1.2; </s> -0.9
    assert small.score("a b c") == pytest.approx(-0.3 - 0.05 + (-0.2 - 0.4 - 1.2) + (-0.25 - 0.9))


def test_states_are_minimal(small: LanguageModel) -> None:
    begin = small.begin_state
    assert begin.length == 1
    assert small.empty_state.length == 0
    _, after = small.score_word(begin, "a")
    assert after.length == 2  # "<s> a" goes on with b
    _, unknown = small.score_word(after, "unheard")
    assert unknown == small.empty_state
    # "c" has a back-off weight but "b c" is nothing: whatever came before, the state is "c".
    _, one = small.score_word(small.score_word(begin, "b")[1], "c")
    _, other = small.score_word(small.empty_state, "c")
    assert one == other
    assert hash(one) == hash(other)
    assert one != begin
    assert one != "c"
    assert len({begin, one, other}) == 2
    assert "1 word" in repr(begin)


def test_sums_of_words_are_the_sentence(small: LanguageModel) -> None:
    words = ["b", "a", "b", "c", "d", "a"]
    state, total = small.begin_state, 0.0
    for word in [*words, "</s>"]:
        log10, state = small.score_word(state, word)
        total += log10
    assert total == pytest.approx(small.score(words))


def test_constituents(small: LanguageModel) -> None:
    inner = small.combine(["b", "c"])
    whole = small.combine(["a", inner, "</s>"], bos=True)
    assert whole.score == pytest.approx(small.score("a b c"))
    assert whole.full
    assert whole.left_length == 0
    one = small.combine(["a"])
    assert (one.left_length, one.full) == (1, False)
    assert one.right.length == 1
    assert one.same_state(small.combine([small.combine(["a"])]))
    assert not one.same_state(inner)
    nothing = small.combine([])
    assert nothing.score == 0
    assert small.combine([nothing, one, nothing]).same_state(one)
    with pytest.raises(TypeError):
        small.combine([3])  # type: ignore[list-item]


def unclosed(*ngrams: str) -> Ngrams:
    """N-grams; those with a star have a back-off weight."""
    words = ("<unk>*", "<s>*", "</s>", "w*", "x*", "y*", "z*", "q*", "r*")
    return {
        tuple(ngram.rstrip("*").split()): (
            -2.0 + 0.25 * ngram.count(" "),
            -0.125 * ngram.count("*"),
        )
        for ngram in (*words, *ngrams)
    }


@pytest.mark.parametrize(
    "ngrams",
    [
        # "w x y z" makes "x y z" a context; "y z" is not there at all.
        unclosed("w x*", "x y*", "z q", "q q", "w x y*", "x y z", "q q q", "w x y z*", "q q q q")
        | {("q",) * 5: (-0.75, 0.0)},
        # "w z r" makes "z r" a context, and only "z r" extends "r" to the left.
        unclosed("w z*", "z r", "q q", "w z r*", "q q q", "q q q q"),
    ],
)
@pytest.mark.parametrize("sentence", ["w x y z q", "x y z q q", "y z q", "q w x y z", "w z r q"])
def test_suffixes_of_contexts_are_contexts(tmp_path: Path, ngrams: Ngrams, sentence: str) -> None:
    """An n-gram that becomes a context only as the suffix of another has a suffix of its own."""
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    words = sentence.split()
    expected = [each[0] for each in BackoffModel(ngrams).full_scores(words)]
    assert [each.log10 for each in lm.full_scores(words)] == pytest.approx(expected, abs=1e-5)
    for cut in range(len(words) + 1):
        parts = [lm.combine(words[:cut]), lm.combine([*words[cut:], "</s>"])]
        assert lm.combine(parts, bos=True).score == pytest.approx(sum(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   \t ", []),
        ("a\tb\r\nc\n", ["a", "b", "c"]),
        ("a\0b", ["a", "b"]),
        ("a\x01 b", ["a\x01", "b"]),
        ("a\u00a0b a", ["a\u00a0b", "a"]),
        ("eightchr ninechars a", ["eightchr", "ninechars", "a"]),
        (b"a b", ["a", "b"]),
        ("\udcff a", ["\udcff", "a"]),
        ("\ud800 b", ["\ud800", "b"]),
    ],
)
def test_how_text_is_split(small: LanguageModel, text: str, words: list[str]) -> None:
    assert small.full_scores(text) == small.full_scores(words)
    assert small.score(text) == pytest.approx(small.score(words))


def test_marks_in_the_text_are_words(small: LanguageModel) -> None:
    marks = small.full_scores("<s> </s> <unk> a", bos=False, eos=False)
    assert [each.oov for each in marks] == [False, False, True, False]
    assert marks[0].log10 == -99


def test_words_from_an_iterator(small: LanguageModel) -> None:
    assert small.score(iter(["a", "b"])) == small.score("a b")
    assert small.full_scores(word for word in ["a", "b"]) == small.full_scores("a b")
    with pytest.raises(TypeError):
        small.score([1, 2])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        small.score(3)  # type: ignore[arg-type]


def test_long_words_are_found(tmp_path: Path) -> None:
    words = ["x" * n + "y" for n in range(40)]
    unigrams = "".join(f"-1\t{word}\n" for word in ["<s>", "</s>", *words])
    arpa = f"\\data\\\nngram 1={len(words) + 2}\n\n\\1-grams:\n{unigrams}\n\\end\\\n"
    lm = LanguageModel.load(write_arpa(tmp_path / "long.arpa", arpa))
    assert all(word in lm for word in words)
    assert not any(word[1:] + "z" in lm for word in words)
    for text in (" ".join(words), " ".join(words) * 9):  # on the stack, and too long for it
        assert sum(each.oov for each in lm.full_scores(text)) == len(text.split()) - len(
            [word for word in text.split() if word in words]
        )
        assert lm.score(text, eos=False) == pytest.approx(
            sum(each.log10 for each in lm.full_scores(text, eos=False)), rel=1e-5
        )


def test_a_line_of_a_million_words(small: LanguageModel, tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text("a b c d " * 250_000 + "\na b\n")
    total = small.score_text(text)
    assert (total.sentences, total.tokens, total.oov) == (2, 1_000_004, 250_000)
    four = sum(each.log10 for each in small.full_scores("d a b c d", bos=False, eos=False)[1:])
    assert total.log10_prob == pytest.approx(250_000 * four, rel=1e-5)
    assert small.score("a b c d " * 250_000) + small.score("a b") == pytest.approx(
        total.log10_prob, rel=1e-9
    )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_text_does_not_depend_on_threads_or_pieces(
    small: LanguageModel, tmp_path: Path, threads: int
) -> None:
    lines = sentences(BackoffModel(parse_arpa(SMALL)), 40_000, seed=3)
    text = tmp_path / "text.gz"
    with gzip.open(text, "wt") as file:
        file.writelines(" ".join(words) + "\n" for words in lines)
        file.write("a b")  # the last line without its end
    total = small.score_text(text, threads=threads)
    scores = [small.score(words) for words in [*lines, ["a", "b"]]]
    running = 0.0
    for score in scores:
        running += score
    assert total.log10_prob == running  # to the last bit
    assert total.sentences == 40_001
    assert total.tokens == sum(map(len, lines)) + 2 + 40_001
    assert total.oov == sum(word not in small for words in lines for word in words)
    known = total.log10_prob - total.log10_prob_oov
    assert total.perplexity == pytest.approx(10 ** (-total.log10_prob / total.tokens))
    assert total.perplexity_without_oov == pytest.approx(
        10 ** (-known / (total.tokens - total.oov))
    )
    assert small.perplexity(text, threads=threads) == total.perplexity


def test_text_without_boundaries(small: LanguageModel, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a\n\n\nb c\n\n")
    total = small.score_text(text, bos=False, eos=False)
    assert (total.sentences, total.tokens) == (5, 3)
    expected = small.score("a", False, False) + small.score("b c", False, False)
    assert total.log10_prob == pytest.approx(expected)
    assert small.score_text(text).tokens == 8
    with pytest.raises(OptionError, match="threads: 0"):
        small.score_text(text, threads=0)


def test_an_empty_text(small: LanguageModel, tmp_path: Path) -> None:
    text = tmp_path / "empty"
    text.write_text("")
    total = small.score_text(text)
    assert (total.sentences, total.tokens, total.log10_prob) == (0, 0, 0.0)
    assert math.isnan(total.perplexity)


def test_query_lines(small: LanguageModel, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"a d\n\nb\xff\n")
    out = io.BytesIO()
    small.query(text, out)
    totals = [line.split() for line in out.getvalue().decode().splitlines()]
    assert [(line[0], line[2], line[3]) for line in totals] == [
        ("Total:", "OOV:", count) for count in "101"
    ]
    assert float(totals[0][1]) == pytest.approx(small.score("a d"))
    out = io.BytesIO()
    small.query(text, out, words=True, bos=False, eos=False)
    first, second, third = out.getvalue().split(b"\n")[:3]
    assert first.startswith(b"a=3 1 -0.6\td=0 1 ")
    assert second == b"Total: 0 OOV: 0"
    assert third.startswith(b"b\xff=0 1 -2\tTotal: -2 OOV: 1")


def test_threads_share_a_model(small: LanguageModel) -> None:
    lines = [" ".join(w) for w in sentences(BackoffModel(parse_arpa(SMALL)), 500, seed=9)]
    expected = [small.score(line) for line in lines]
    results: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: results.append([small.score(line) for line in lines]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


class TestCompiled:
    def test_the_same_answers(self, small: LanguageModel, tmp_path: Path) -> None:
        path = tmp_path / "lm.bin"
        small.compile(path)
        compiled = LanguageModel.load(path)
        assert list(compiled.words()) == list(small.words())
        assert compiled.ngrams == small.ngrams
        for words in sentences(BackoffModel(parse_arpa(SMALL)), 200, seed=5):
            assert compiled.full_scores(words) == small.full_scores(words)
        compiled.compile(tmp_path / "again.bin")
        assert (tmp_path / "again.bin").read_bytes() == path.read_bytes()

    def test_the_name_does_not_matter(self, small: LanguageModel, tmp_path: Path) -> None:
        path = tmp_path / "lm.arpa"
        small.compile(path)
        assert LanguageModel.load(path).order == 3

    def test_it_outlives_its_file(self, small: LanguageModel, tmp_path: Path) -> None:
        path = tmp_path / "lm.bin"
        small.compile(path)
        compiled = LanguageModel.load(path)
        path.unlink()
        assert compiled.score("a b") == small.score("a b")

    @pytest.mark.parametrize("size", [0, 5, 100, 1216, -1])
    def test_truncated(self, small: LanguageModel, tmp_path: Path, size: int) -> None:
        path = tmp_path / "lm.bin"
        small.compile(path)
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(InputError, match=r"lm\.bin.*(truncated|is empty|no .data)"):
            LanguageModel.load(path)

    def test_every_damaged_byte_is_noticed(self, small: LanguageModel, tmp_path: Path) -> None:
        path = tmp_path / "lm.bin"
        small.compile(path)
        content = bytearray(path.read_bytes())
        ranges = [range(offset, offset + size) for offset, size in sections(content).values()]
        covered = {at for part in [range(8, 1216), *ranges] for at in part}
        for at in sorted(covered)[::97]:  # between sections there is padding
            content[at] ^= 0x10
            path.write_bytes(content)
            content[at] ^= 0x10
            with pytest.raises(InputError, match=r"lm\.bin: .*'hopefear lm compile'"):
                LanguageModel.load(path)

    def test_only_a_real_file(self, small: LanguageModel) -> None:
        for path in ("-", "/dev/null"):
            with pytest.raises(OptionError, match="a compiled model must be a real file"):
                small.compile(path)
