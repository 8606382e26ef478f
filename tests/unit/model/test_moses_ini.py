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
        ("[weight]", "[drop-unknown]\n[weight]", "unsupported section [drop-unknown]"),
        ("[weight]", "[inputtype]\n2\n[weight]", "unsupported section [inputtype] with '2'"),
        ("[weight]", "[stack-diversity]\n5\n[weight]", "[stack-diversity] with '5'"),
        ("[weight]", "[max-trans-opt-per-coverage]\n50\n[weight]", "expected at least 1000"),
        ("[weight]", "[no-such]\n5\n[weight]", "unknown section [no-such]"),
        ("[weight]", "[feature-add]\nx\n[weight]", "unsupported section [feature-add]"),
        ("[weight]", "[early-distortion-cost]\nperhaps\n[weight]", "expected true or false"),
        ("[weight]", "[distortion-limit]\n7\n[weight]", "a second value '7' of [distortion-limit]"),
        ("[dl]\n5", "[dl]", "[distortion-limit] has no value"),
        ("[dl]\n5", "[max-phrase-length]\n0", "expected a whole number above 0"),
        ("[b]\n0.1", "[b]\nnan", "unsupported value 'nan' of beam-threshold"),
        ("[b]\n0.1", "[b]\ninf", "unsupported value 'inf' of beam-threshold"),
        ("[cbp]\n40", "[cbp]\nnan", "'nan' of cube-pruning-pop-limit"),
        ("TM= 0.25 -0.125", "TM= 0.25 inf", "weight 'inf', expected a finite number"),
        ("Gone0= 3", "Gone0= nan", "weight 'nan', expected a finite number"),
        ("Gone0= 3", "LM0= 3", "LM0 has weights already, at"),
        ("Gone0= 3", "LM0 LM1= 3", "expected NAME="),
        ("LM0 factor=0", "TM_1 factor=0", "a second feature TM_1, the first is at"),
        ("WordPenalty\n", "WordPenalty name=LM0\n", "a second feature LM0, the first is at"),
        ("LM0 factor=0", "LM0 name=LM3 factor=0", "name= is given twice"),
        ("order=1\n", "order=1 oov-feature=1\n", "LM0 has 2 values (num-features), but 1 weights"),
        ("order=1\n", "order=1 num-features=2\n", "of unknown words add oov-feature=1"),
        ("order=1\n", "order=1 oov-feature=maybe\n", "expected true or false"),
        ("order=1\n", "order=1 cache=5\n", "cache=5: not supported for KENLM"),
        ("path=reorder.gz", "path=reorder.gz sparse-phrase=1", "sparse reordering features"),
        ("path=reorder.gz", "path=reorder.gz default-scores=1,1,1", "default-scores=1,1,1: not"),
        ("WordPenalty\n", "WordPenalty factor=0\n", "factor=0: not supported for Unknown"),
        ("Distortion\n", "PhrasePenalty per-phrase-table=1\n", "per-phrase-table=1: not supported"),
        ("input-factor=0", "input-factor=0 table-limit=-1", "table-limit=-1, expected a whole"),
        ("wbe-msd", "msd-mslr", "expected one of msd, mslr, monotonicity, leftright"),
        ("wbe-msd-bidirectional", "wbe-bidirectional", "expected one of msd, mslr"),
        ("KENLM name=LM1 factor=0 path=lm.arpa order=1", "SRILM path=lm.arpa order=0", "order 1"),
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


def test_precedence_of_weights(tmp_path: Path) -> None:
    ini = make(
        tmp_path / "theirs",
        INI + "[weight-overwrite]\nLM0= 7 TM= 8 9\n[weight-add]\nLM1= 2\nLM0= 3\n",
    )
    import_model(ini, tmp_path / "ours")
    weights = Model.load(tmp_path / "ours").weights()
    assert [weights[name] for name in ("LM0", "LM1", "TM_1", "TM_2")] == [7, 2, 8, 9]


def test_sections_without_effect(tmp_path: Path) -> None:
    plain = import_model(make(tmp_path / "plain"), tmp_path / "first")
    more = "[max-chart-span]\n20\n1000\n[threads]\nall\n[drop-unknown]\nfalse\n"
    more += "[xml-input]\nexclusive\n[translation-option-threshold]\n0.0\n[time-out]\n-1\n"
    notes: list[str] = []
    ini = make(tmp_path / "more", INI + more)
    other = import_model(ini, tmp_path / "second", tell=notes.append)
    assert (plain["weights"], plain["decoder"]) == (other["weights"], other["decoder"])
    assert len(notes) == 1  # about Gone0


def test_long_phrases_are_dropped(tmp_path: Path) -> None:
    ini = make(tmp_path / "theirs", INI + "[max-phrase-length]\n2\n")
    (tmp_path / "theirs" / "sub" / "table.gz").unlink()
    (tmp_path / "theirs" / "sub" / "table").write_text("x y z ||| a ||| 1 1\nx ||| a ||| 1 1\n")
    report = import_model(ini, tmp_path / "ours")
    assert (report["rules"]["rules"], report["rules"]["too_long"]) == (1, 1)


def test_a_file_of_sparse_weights(tmp_path: Path) -> None:
    ini = make(tmp_path / "theirs", INI + "[weight-file]\nsparse\n")
    with pytest.raises(InputError, match=r"no file .*sparse"):
        import_model(ini, tmp_path / "ours")
    sparse = tmp_path / "theirs" / "sparse"
    sparse.write_text("TWI_the 0.5\nTWI_a -0.5\n")
    notes: list[str] = []
    report = import_model(ini, tmp_path / "ours", tell=notes.append)
    assert [note for note in notes if "ignoring the weights of 2 sparse features" in note]
    assert "TWI_the" not in report["weights"]
    for text, message in (
        ("TWI_a nan\n", "sparse:1: weight 'nan'"),
        ("TWI_a 1\nTWI_a 2\n", "sparse:2: TWI_a has a weight already"),
        ("LM0 1\n", "sparse:1: LM0 is a dense feature"),
        ("LM0= 1 2\n", "sparse:1: .* expected NAME WEIGHT"),
    ):
        sparse.write_text(text)
        with pytest.raises(InputError, match=message):
            import_model(ini, tmp_path / "ours")


@pytest.mark.parametrize("kind", ["lms", "features"])
@pytest.mark.parametrize("name", ["../lm.bin", "/etc/passwd", "x/../../lm.bin"])
def test_files_of_a_model_are_in_its_directory(tmp_path: Path, kind: str, name: str) -> None:
    import_model(make(tmp_path / "theirs"), tmp_path / "ours")
    settings = tmp_path / "ours" / "model.toml"
    text = settings.read_text()
    if kind == "lms":
        text = text.replace('LM1 = "lm.1.bin"', f'LM1 = "{name}"')
    else:
        text += f'\n[features.word-edges]\nfile = "{name}"\n'
    settings.write_text(text)
    with pytest.raises(InputError, match=r"model\.toml: .* is outside of the model directory"):
        Model.load(tmp_path / "ours").decoder()


def test_a_link_out_of_a_model_is_followed(tmp_path: Path) -> None:
    import_model(make(tmp_path / "theirs"), tmp_path / "ours")
    lm = tmp_path / "ours" / "lm.bin"
    lm.rename(tmp_path / "shared.bin")
    lm.symlink_to(tmp_path / "shared.bin")
    assert Model.load(tmp_path / "ours").lm.order == 1
