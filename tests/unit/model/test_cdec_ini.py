"""Import of cdec.ini: its settings in the model directory, and errors in it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.model.directory import Model
from hopefear.model.importing import import_model

INI = """# a comment
formalism=scfg
add_pass_through_rules=true
scfg_max_span_limit=12
intersection_strategy=cube_pruning
cubepruning_pop_limit=30
feature_function=WordPenalty
feature_function=KLanguageModel lm.arpa
feature_function=KLanguageModel -n Other lm.arpa
"""
WEIGHTS = "# comment\nLanguageModel 1.0\nLanguageModel_OOV\t-1\nGlue=-0.25\nodd#name 2\n"
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-1\t</s>\n-0.5\ta\n\n\\end\\\n"


def make(folder: Path, ini: str = INI, weights: str = WEIGHTS) -> tuple[Path, Path]:
    folder.mkdir()
    (folder / "lm.arpa").write_text(ARPA)
    (folder / "cdec.ini").write_text(ini)
    (folder / "weights.txt").write_text(weights)
    return folder / "cdec.ini", folder / "weights.txt"


def test_a_grammar_for_each_sentence(tmp_path: Path) -> None:
    ini, weights = make(tmp_path / "theirs")
    notes: list[str] = []
    import_model(ini, tmp_path / "ours", weights=weights, tell=notes.append)
    assert "each sentence needs its own" in notes[0]
    model = Model.load(tmp_path / "ours")
    assert model.system == "hiero"
    assert not model.has_rules
    assert list(model.lms) == ["LanguageModel", "Other"]
    assert dict(model.weights().items()) == {
        "LanguageModel": 1,
        "LanguageModel_OOV": -1,
        "Glue": -0.25,
        "odd#name": 2,
    }
    features = model.decoder_parts().features
    assert features is not None
    assert features["words"].name == "WordPenalty"
    assert features["words"].factor == pytest.approx(-1 / math.log(10))
    assert features["lm"].factor == pytest.approx(1 / math.log(10))
    assert features["unknown.Other"].name == "Other_OOV"
    options = dict(model.settings["decoder"])
    options.pop("features")
    assert options == {
        "pass_through_all": True,
        "span_limit": 12,
        "pop_limit": 30,
        "rule_limit": 0,  # unlimited, as in cdec
        "glue_labels": "default",
    }


def test_weights_named_in_the_ini(tmp_path: Path) -> None:
    ini, _ = make(tmp_path / "theirs", INI + "weights=weights.txt\n")
    import_model(ini, tmp_path / "ours")
    assert Model.load(tmp_path / "ours").weights()["Glue"] == -0.25


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("formalism=scfg", "formalism=fst", "only scfg"),
        ("formalism=scfg\n", "", "no line formalism=scfg"),
        ("WordPenalty", "RuleShape", "unsupported feature function RuleShape"),
        ("lm.arpa", "no.arpa", "no file"),
        ("scfg_max_span_limit=12", "scfg_max_span_limit=x", "whole number"),
        ("scfg_max_span_limit=12", "scfg_max_spam_limit=12", "did you mean"),
        ("cube_pruning", "fancy", "expected cube_pruning"),
        ("=true", "=maybe", "true or false"),
        ("-n Other ", "", "a second LanguageModel"),
        ("-n Other", "-x Other", "option -x of KLanguageModel"),
        ("formalism=scfg", "formalism", "expected key=value"),
        ("formalism=scfg", "formalism=scfg\nformalism=scfg", "is given already, at"),
        ("formalism=scfg", "formalism=scfg\nprelm_beam_prune=1", "which changes translations"),
        ("=WordPenalty", "=WordPenalty\nfeature_function=WordPenalty", "a second WordPenalty"),
        ("-n Other", "-n WordPenalty", "two features of the model are called WordPenalty"),
    ],
)
def test_bad_ini(tmp_path: Path, old: str, new: str, message: str) -> None:
    ini, weights = make(tmp_path / "theirs", INI.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        import_model(ini, tmp_path / "ours", weights=weights, format="cdec")
    assert message in str(caught.value)
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("text", ["a 1\na 2\n", "a nan\n", "a\n", "", "a b c\n", "# 1\n"])
def test_bad_weights(tmp_path: Path, text: str) -> None:
    ini, weights = make(tmp_path / "theirs", weights=text)
    with pytest.raises(InputError, match=r"weights\.txt"):
        import_model(ini, tmp_path / "ours", weights=weights)


def test_no_weights(tmp_path: Path) -> None:
    ini, _ = make(tmp_path / "theirs")
    with pytest.raises(InputError, match="--weights FILE"):
        import_model(ini, tmp_path / "ours")
