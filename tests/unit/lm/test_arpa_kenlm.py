"""ARPA files with the oddities of other tools: read with KenLM's numbers, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lm_arpa import SMALL

from hopefear.base.errors import InputError
from hopefear.lm import LanguageModel

kenlm = pytest.importorskip("kenlm", reason="the test extra has it")

SENTENCES = ["a b a b c", "c c b", "", "d a b", "b b b a", "a </s> b", "b c d a"]
ONLY_A_BACKOFF = SMALL.replace("<s>\t-0.5", "<s>").replace("b\t-0.4", "b").replace("c\t-0.25", "c")
# What KenLM reads, it reads in the same way.
READ_BY_BOTH = {
    "as it is": SMALL,
    "-inf for <s>": SMALL.replace("-99\t<s>", "-inf\t<s>"),
    "exponent": SMALL.replace("-99\t<s>", "-9.9e1\t<s>"),
    "-99 for a 2-gram": SMALL.replace("-0.2\ta b", "-99\ta b"),
    "missing back-offs": ONLY_A_BACKOFF,
    "back-off above 0": SMALL.replace("a\t-0.3", "a\t0.3"),
    "back-off of </s>": SMALL.replace("-0.9\t</s>", "-0.9\t</s>\t-0.2"),
    "no <unk>": SMALL.replace("-2\t<unk>\t0\n", "").replace("1=6", "1=5"),
    "<UNK>": SMALL.replace("<unk>", "<UNK>"),
    "<unk> in a 2-gram": SMALL.replace("-0.35\tc c", "-0.35\tc <unk>"),
    "blank lines in a section": SMALL.replace("-0.6\ta", "\n\n-0.6\ta"),
    "blank lines first": "\n\n" + SMALL,
    "more blank lines": SMALL.replace("\n\n\\", "\n\n\n\\"),
    "tabs between words": SMALL.replace("a b\t", "a\tb\t"),
    "CRLF": SMALL.replace("\n", "\r\n"),
    "no line end": SMALL[:-1],
    "blanks in the header": SMALL.replace("ngram 1=6", "ngram  1=   6 "),
    "+0": SMALL.replace("-0.2\ta b", "+0\ta b"),
    "</s> in a context": SMALL.replace("-0.35\tc c", "-0.35\t</s> c"),
}
# What KenLM refuses, and we read as these.
READ_BY_US = {
    "blanks for tabs": (SMALL.replace("\t", " "), SMALL),
    "blanks at line ends": (SMALL.replace("c c\n", "c c \n"), SMALL),
    "text before": ("a title\n" + SMALL, SMALL),
    "text after": (SMALL + "the end\n", SMALL),
    "no blank lines": (SMALL.replace("\n\n\\", "\n\\"), SMALL),
    "byte order mark": ("\ufeff" + SMALL, SMALL),
    "back-off of the highest order": (SMALL.replace("<s> a b\n", "<s> a b\t-0.1\n"), SMALL),
    "rounding": (
        SMALL.replace("-0.05\t<s>", "0.000005\t<s>"),
        SMALL.replace("-0.05\t<s>", "0\t<s>"),
    ),
    "-INF": (SMALL.replace("-99\t<s>", "-INF\t<s>"), SMALL),
}
REFUSED_BY_BOTH = {
    "a count too high": SMALL.replace("2=5", "2=6"),
    "a count too low": SMALL.replace("2=5", "2=4"),
    "nan": SMALL.replace("-0.2\ta b", "nan\ta b"),
    "inf": SMALL.replace("-0.2\ta b", "inf\ta b"),
    "-inf as a back-off": SMALL.replace("a\t-0.3", "a\t-inf"),
    "above 0": SMALL.replace("-0.2\ta b", "0.2\ta b"),
    "a word that is no 1-gram": SMALL.replace("-0.2\ta b", "-0.2\ta z"),
    "no end": SMALL.replace("\\end\\\n", ""),
}


def theirs(path: Path) -> Any:
    config = kenlm.Config()
    config.show_progress = False
    return kenlm.Model(str(path), config)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lm.arpa"
    path.write_bytes(text.encode())
    return path


def assert_same(path: Path, reference: Path) -> None:
    ours, kens = LanguageModel.load(path), theirs(reference)
    for line in SENTENCES:
        assert ours.score(line) == pytest.approx(kens.score(line), abs=1e-4)
        mine, full = ours.full_scores(line), list(kens.full_scores(line))
        assert [each[0] for each in mine] == pytest.approx([each[0] for each in full], abs=1e-4)
        assert [each[2] for each in mine] == [each[2] for each in full]


@pytest.mark.parametrize("name", READ_BY_BOTH)
def test_read_by_both(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, READ_BY_BOTH[name])
    assert_same(path, path)


@pytest.mark.parametrize("name", READ_BY_US)
def test_read_by_us(tmp_path: Path, name: str) -> None:
    text, meant = READ_BY_US[name]
    assert text != meant
    path = write(tmp_path, text)
    with pytest.raises((OSError, RuntimeError)):
        theirs(path)
    (tmp_path / "meant").mkdir()
    assert_same(path, write(tmp_path / "meant", meant))


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_refused_by_both(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, REFUSED_BY_BOTH[name])
    with pytest.raises(InputError, match=r"lm\.arpa:\d+: "):
        LanguageModel.load(path)
    with pytest.raises((OSError, RuntimeError)):
        theirs(path)


@pytest.mark.parametrize("mark", ["<s>", "</s>"])
def test_a_missing_mark_is_scored_as_unk(tmp_path: Path, mark: str) -> None:
    """KenLM refuses such a file by default; given the mark with the scores of <unk> it agrees."""
    lines = [line for line in SMALL.splitlines() if mark not in line.split()]
    text = "\n".join(lines) + "\n"
    for n, old in ((1, 6), (2, 5), (3, 3)):
        count = sum(len(line.split("\t")[1].split()) == n for line in lines if "\t" in line)
        text = text.replace(f"ngram {n}={old}", f"ngram {n}={count}")
    path = write(tmp_path, text)
    with pytest.raises((OSError, RuntimeError)):
        theirs(path)
    (tmp_path / "meant").mkdir()
    meant = text.replace("ngram 1=5", "ngram 1=6").replace("-2\t<unk>", f"-2\t{mark}\n-2\t<unk>")
    ours, kens = LanguageModel.load(path), theirs(write(tmp_path / "meant", meant))
    for line in SENTENCES:
        assert ours.score(line) == pytest.approx(kens.score(line), abs=1e-4)
