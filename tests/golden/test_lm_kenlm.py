"""The numbers of KenLM: its query program's totals, and the kenlm module on random sentences."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest

from hopefear.lm import LanguageModel

kenlm = pytest.importorskip("kenlm", reason="the test extra has it")


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "golden" / "lm"


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def order5(folder: Path) -> LanguageModel:
    return LanguageModel.load(folder / "en3000.o5.arpa.gz")


def test_totals_of_unseen_text(folder: Path, order5: LanguageModel) -> None:
    out = io.BytesIO()
    order5.query(folder / "unseen200.txt", out)
    ours = [line.split() for line in out.getvalue().decode().splitlines()]
    golden = [line.split() for line in lines_of(folder / "unseen200.o5.query.txt")]
    totals = [line for line in golden if line[0] == "Total:"]
    assert len(ours) == len(totals) == 200
    for mine, theirs in zip(ours, totals, strict=True):
        assert float(mine[1]) == pytest.approx(float(theirs[1]), abs=1e-5)
        assert mine[2:] == theirs[2:]


def test_perplexity_of_unseen_text(folder: Path, order5: LanguageModel) -> None:
    golden = dict(
        line.split("\t") for line in lines_of(folder / "unseen200.o5.query.txt") if "\t" in line
    )
    ours = order5.score_text(folder / "unseen200.txt", threads=2)
    assert ours.tokens == int(golden["Tokens:"])
    assert ours.oov == int(golden["OOVs:"])
    assert ours.perplexity == pytest.approx(float(golden["Perplexity including OOVs:"]), rel=1e-6)
    assert ours.perplexity_without_oov == pytest.approx(
        float(golden["Perplexity excluding OOVs:"]), rel=1e-6
    )


def random_sentences(folder: Path, lm: LanguageModel, count: int) -> list[str]:
    """Half of the words at random, half in pieces of real text; a tenth of all unknown."""
    generator = random.Random(7)
    vocabulary = [word for word in lm.words() if not word.startswith("<")]
    text = [line.split() for line in lines_of(folder / "unseen200.txt")]
    sentences = []
    for _ in range(count):
        words: list[str] = []
        length = generator.randrange(25)
        while len(words) < length:
            real = generator.choice(text)
            start = generator.randrange(len(real))
            words += real[start : start + generator.randrange(1, 8)]
            words += generator.choices(vocabulary, k=generator.randrange(4))
            if generator.random() < 0.5:
                words.append(f"unknown{generator.randrange(1000)}")
        sentences.append(" ".join(words[:length]))
    return sentences


@pytest.mark.parametrize(
    "name", ["en3000.o5", "en3000.o4.prune001", "en3000.o3", "zh800.o3", "tiny.o3.fallback"]
)
def test_random_sentences(folder: Path, tmp_path: Path, name: str) -> None:
    ours = LanguageModel.load(folder / f"{name}.arpa.gz")
    arpa = tmp_path / "lm.arpa"
    arpa.write_bytes(gzip.decompress((folder / f"{name}.arpa.gz").read_bytes()))
    config = kenlm.Config()
    config.show_progress = False
    theirs = kenlm.Model(str(arpa), config)
    assert theirs.order == ours.order
    assert ours.filled == [0] * ours.order
    sentences = random_sentences(folder, ours, 10_000 if name == "en3000.o5" else 1_000)
    assert sum(word not in ours for line in sentences for word in line.split()) > 1_000
    for line in sentences:
        assert ours.score(line) == pytest.approx(theirs.score(line), abs=1e-5)
    for line in sentences[:1000]:
        assert ours.score(line, bos=False, eos=False) == pytest.approx(
            theirs.score(line, bos=False, eos=False), abs=1e-5
        )
        mine, full = ours.full_scores(line), list(theirs.full_scores(line))
        assert [each[1:] for each in mine] == [each[1:] for each in full]
        assert [each[0] for each in mine] == pytest.approx([each[0] for each in full], abs=1e-5)


def test_states_are_as_short_as_they_can_be(folder: Path, order5: LanguageModel) -> None:
    """Mean length 2.0 words on this text instead of 4."""
    lengths = []
    for line in lines_of(folder / "unseen200.txt"):
        state = order5.begin_state
        for word in [*line.split(), "</s>"]:
            _, state = order5.score_word(state, word)
            lengths.append(state.length)
    assert sum(lengths) / len(lengths) == pytest.approx(2.0, abs=0.05)


def test_bracketings_of_real_sentences(folder: Path, order5: LanguageModel) -> None:
    generator = random.Random(3)

    def bracket(words: list[str]):
        if len(words) < 3 or generator.random() < 0.1:
            return order5.combine(words)
        cut = generator.randrange(1, len(words))
        middle = generator.randrange(cut, len(words))
        left, right = bracket(words[:cut]), bracket(words[middle:])
        return order5.combine([left, *words[cut:middle], right])

    for line in lines_of(folder / "unseen200.txt"):
        whole = order5.combine([bracket(line.split()), "</s>"], bos=True)
        assert whole.score == pytest.approx(order5.score(line), abs=1e-4)
