"""Weights in a moses.ini."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.base.weights import Weights
from hopefear.decode.remote.moses_ini import MosesIni

TEXT = """# a comment
[input-factors]
0

[feature]
KENLM name=LM0 path=lm.bin order=3

[weight-file]
old-sparse

[weight]
LM0= 0.5
TranslationModel0= 0.2 0.3   # two of them
UnknownWordPenalty0= 1

[threads]
4
"""


@pytest.fixture
def ini(tmp_path: Path) -> MosesIni:
    path = tmp_path / "moses.ini"
    path.write_text(TEXT, encoding="utf-8")
    return MosesIni.read(path)


def test_features_have_the_names_of_n_best_lists(ini: MosesIni) -> None:
    assert ini.weights == {
        "LM0": 0.5,
        "TranslationModel0_1": 0.2,
        "TranslationModel0_2": 0.3,
        "UnknownWordPenalty0": 1.0,
    }


def test_a_copy_differs_in_the_weights_only(ini: MosesIni, tmp_path: Path) -> None:
    new = Weights({"LM0": -0.125, "TranslationModel0_2": 0.75})
    ini.write(tmp_path / "new.ini", new, sparse=tmp_path / "sparse")
    text = (tmp_path / "new.ini").read_text(encoding="utf-8")
    expected = TEXT.replace("LM0= 0.5", "LM0= -0.125")
    expected = expected.replace("0.2 0.3   # two of them", "0.2 0.75")
    assert text == expected
    assert not (tmp_path / "sparse").exists()
    assert MosesIni.read(tmp_path / "new.ini").weights["UnknownWordPenalty0"] == 1.0


def test_weights_without_a_label_go_to_a_file(ini: MosesIni, tmp_path: Path) -> None:
    new = Weights({"LM0": 1.0, "wt_a~b": 0.25, "wt_zero": 0.0})
    ini.write(tmp_path / "new.ini", new, sparse=tmp_path / "sparse")
    assert (tmp_path / "sparse").read_text(encoding="utf-8") == "wt_a~b 0.25\n"
    text = (tmp_path / "new.ini").read_text(encoding="utf-8")
    assert "old-sparse" not in text
    assert text.endswith(f"\n[weight-file]\n{tmp_path / 'sparse'}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[feature]\nLM\n", "no section \\[weight\\]"),
        ("[weight]\nLM0= much\n", ":2: 'LM0= much', expected a weight"),
        ("[weight]\n0.5\n", ":2: '0.5', expected a weight"),
    ],
)
def test_files_that_are_not_a_moses_ini_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "moses.ini"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        MosesIni.read(path)
