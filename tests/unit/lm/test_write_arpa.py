"""A model written as ARPA text reads back as the same model."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hopefear.lm import LanguageModel

ARPA = """\\data\\
ngram 1=6
ngram 2=4
ngram 3=2

\\1-grams:
-1.5\t<unk>
0\t<s>\t-0.5
-1\t</s>
-0.75\ta\t-0.25
-1.25\tb\t-0.125
-2\tc

\\2-grams:
-0.5\t<s> a\t-0.0625
-0.25\ta b\t-0.03125
-0.75\tb a
-0.5\tb </s>

\\3-grams:
-0.125\t<s> a b
-0.0625\ta b </s>

\\end\\
"""


def entries(text: str) -> set[tuple[str, float, float]]:
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line]
    return {(row[1], float(row[0]), float(row[2]) if row[2:] else 0.0) for row in rows}


@pytest.mark.parametrize("without", [None, "-1.5\t<unk>\n"])
def test_write_arpa(tmp_path: Path, without: str | None) -> None:
    text = ARPA if without is None else ARPA.replace(without, "").replace("1=6", "1=5")
    (tmp_path / "a.arpa").write_text(text)
    model = LanguageModel.load(tmp_path / "a.arpa")
    model.compile(tmp_path / "a.bin")
    file = io.BytesIO()
    LanguageModel.load(tmp_path / "a.bin").write_arpa(file)
    written = file.getvalue().decode()
    assert entries(written) == entries(text)
    assert written.split("\n\n")[0] == text.split("\n\n")[0]
    assert written.endswith("\n\\end\\\n")


def test_filled_ngrams_are_written(tmp_path: Path) -> None:
    """An n-gram whose suffix the file lacks: the suffix is written with its backed-off score."""
    text = ARPA.replace("-0.25\ta b\t-0.03125\n", "").replace("2=4", "2=3")
    (tmp_path / "a.arpa").write_text(text)
    model = LanguageModel.load(tmp_path / "a.arpa")
    assert model.filled == [0, 1, 0]
    with (tmp_path / "b.arpa").open("wb") as file:
        model.write_arpa(file)
    again = LanguageModel.load(tmp_path / "b.arpa")
    assert again.filled == [0, 0, 0]
    for sentence in ("a b", "b a b", "c a b c"):
        assert again.score(sentence) == model.score(sentence)
