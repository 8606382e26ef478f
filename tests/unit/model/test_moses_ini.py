"""Import of moses.ini: its settings in the model directory, and errors in it."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.model.directory import Model
from hopefear.model.importing import import_model

INI = """
# a comment
[input-factors]
0
[mapping]
0 T 0
[dl]
5
[s]
100
[cbp]
40
[search-algorithm]
1
[b]
0.1

[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=2 path=sub/table input-factor=0 output-factor=0
LexicalReordering name=LR num-features=6 type=wbe-msd-bidirectional-fe-allff path=reorder.gz
Distortion
KENLM name=LM0 factor=0 path=lm.arpa order=1
KENLM name=LM1 factor=0 path=lm.arpa order=1   # the same again

[weight]
LM0= 0.5
TM= 0.25 -0.125
LR= 1 2 3 4 5 6
WordPenalty0= -1
Gone0= 3
"""
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-1\t</s>\n-0.5\ta\n\n\\end\\\n"


def make(folder: Path, ini: str = INI) -> Path:
    (folder / "sub").mkdir(parents=True)
    with gzip.open(folder / "sub" / "table.gz", "wt") as file:
        file.write("x ||| a ||| 0.5 0.25 ||| 0-0 ||| 2 2 1 ||| |||\n")
    with gzip.open(folder / "reorder.gz", "wt") as file:
        file.write("x ||| a ||| 0.5 0.25 0.25 0.2 0.2 0.6\n")
    (folder / "lm.arpa").write_text(ARPA)
    (folder / "moses.ini").write_text(ini)
    return folder / "moses.ini"


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "theirs")
    monkeypatch.chdir(tmp_path)
    notes: list[str] = []
    report = import_model("theirs/moses.ini", "ours", tell=notes.append)
    assert report["rules"]["rules"] == 1
    assert [note for note in notes if "Gone0" in note]
    (tmp_path / "ours").rename(tmp_path / "moved")
    model = Model.load("moved")
    assert model.system == "phrase"
    assert model.rules.columns == ("TM_1", "TM_2", *(f"LR_{i}" for i in range(1, 7)))
    (rule,) = model.rules.lookup(["x"])
    assert rule.scores[1] == pytest.approx(math.log(0.25))
    assert list(model.lms) == ["LM0", "LM1"]
    assert dict(model.weights().items()) == {
        **{f"LR_{i}": float(i) for i in range(1, 7)},
        **{"TM_1": 0.25, "TM_2": -0.125, "LM0": 0.5, "LM1": 0, "WordPenalty0": -1},
        **{"Distortion0": 0, "UnknownWordPenalty0": 1},
    }
    features = model.decoder_parts().features
    assert features is not None
    assert {key: (spec.name, spec.factor) for key, spec in features.items()} == {
        "unknown": ("UnknownWordPenalty0", -100),
        "words": ("WordPenalty0", -1),
        "distortion": ("Distortion0", 1),
    }
    options = dict(model.settings["decoder"])
    assert options.pop("threshold") == pytest.approx(math.log(10))
    options.pop("features")
    assert options == {
        "table_limit": 20,
        "distortion_limit": 5,
        "beam": 100,
        "pop_limit": 40,
        "search": "cube",
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Distortion\n", "TargetBigram name=x\n", "unsupported feature TargetBigram"),
        ("PhraseDictionaryMemory", "PhraseDictionaryCompact", "binary table"),
        ("sub/table", "sub/tabel", "no file"),
        ("TM= 0.25 -0.125", "TM= 0.25", "2 values (num-features), but 1 weights"),
        ("LM0= 0.5", "LM0= nan", "finite"),
        ("LM0= 0.5", "LM0 0.5", "expected NAME="),
        ("wbe-msd", "hier-msd", "reordering type"),
        ("fe-allff", "fe-collapseff", "num-features=6, but a LexicalReordering of type"),
        ("fe-allff", "fe-allff-fe", "expected one of fe, f"),
        ("fe-allff", "fe-allff-x", "unknown part 'x'"),
        ("[search-algorithm]\n1", "[search-algorithm]\n3", "'3' of search-algorithm"),
        ("[dl]\n5", "[dl]\nfive", "'five' of distortion-limit"),
        ("[dl]\n5", "[dl]\n-5", "distortion_limit: -5 is out of range"),
        ("[s]\n100", "[s]\n0", "beam: 0 is out of range"),
        ("[b]\n0.1", "[b]\n2", "threshold: -0.69"),
        ("0 T 0", "0 T 0\n1 G 0", "factors"),
        ("factor=0 path=lm.arpa order=1\n", "factor=1 path=lm.arpa\n", "factors"),
        ("[weight]", "[ttable-file]\nx\n[weight]", "before 2013"),
        ("num-features=2", "num-features=two", "whole number"),
        ("num-features=2", "num-features=200000000000", "expected a number up to 1000"),
        ("num-features=2", "num-features=-2", "expected a whole number of at least 0"),
        ("num-features=2", "num-features=3", "3 values (num-features), but 2"),
        ("name=LM1", "name=LM0", "a second feature LM0, the first is at"),
        ("[input-factors]", "what\n[input-factors]", "before the first"),
        ("[input-factors]", "[input-factors", "expected [SECTION]"),
        ("[weight]", "[drop-unknown]\ntrue\n[weight]", "[drop-unknown]"),
    ],
)
def test_bad_ini(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in INI
    make(tmp_path / "theirs", INI.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        import_model(tmp_path / "theirs" / "moses.ini", tmp_path / "ours")
    assert message in str(caught.value)
    assert "moses.ini" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs"]


def test_a_kenlm_binary_is_refused(tmp_path: Path) -> None:
    ini = make(tmp_path / "theirs")
    (tmp_path / "theirs" / "lm.arpa").write_bytes(
        b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(100)
    )
    with pytest.raises(InputError, match="KenLM binary"):
        import_model(ini, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_target_directory(tmp_path: Path) -> None:
    ini = make(tmp_path / "theirs")
    with pytest.raises(OptionError, match="not empty and not a model"):
        import_model(ini, tmp_path / "theirs")
    for _ in range(2):  # the second replaces the first
        import_model(ini, tmp_path / "a" / "ours")
    assert Model.load(tmp_path / "a" / "ours")
    (tmp_path / "empty.ini").write_text("# nothing\n")
    with pytest.raises(HopefearError, match="nothing in it"):
        import_model(tmp_path / "empty.ini", tmp_path / "b")


def test_other_weights(tmp_path: Path) -> None:
    ini = make(tmp_path / "theirs")
    (tmp_path / "w.tsv").write_text("LM0\t2\nMore\t3\n")
    notes: list[str] = []
    import_model(ini, tmp_path / "ours", weights=tmp_path / "w.tsv", tell=notes.append)
    weights = Model.load(tmp_path / "ours").weights()
    # Features without a line have the default weights of Moses.
    assert {name: value for name, value in weights.items() if value} == {
        "LM0": 2.0,
        "More": 3.0,
        "UnknownWordPenalty0": 1.0,
    }
    assert [note for note in notes if "no weight of UnknownWordPenalty0; using 1" in note]
    assert [note for note in notes if "weight of More, but the model" in note]
