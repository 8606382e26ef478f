"""export: what is written, and that importing it again gives the same translations and scores."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.weights import Weights
from hopefear.model.directory import Model
from hopefear.rules.cdec import read_grammar
from hopefear.text.world import generate, write

Run = Callable[..., subprocess.CompletedProcess[str]]

TUNED = {
    "phrase": {"lm": 0.55, "words": 0.45, "phrases": 0.13, "distortion": 0.17, "unknown": -90.0},
    "hiero": {
        "lm": 0.55,
        "words": 0.45,
        "glue": -0.3,
        "pass-through": -40.0,
        "count(f,e)": 0.05,
        "singleton(f)": -0.02,
    },
}
COUNTED = {"arity0": 0.02, "arity1": -0.01, "arity2": 0.03, "rules": 0.04, "source-words": 0.05}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    """A directory with a corpus, a model of each system, and weights for it."""
    folder = tmp_path_factory.mktemp("world")
    write(generate(train=400, dev=5, test=30, seed=3), folder)
    for system, tuned in TUNED.items():
        words = ["train", folder / "train.zh", folder / "train.en", "--system", system]
        result = hopefear(*words, "--model", folder / system, "--tokenized", "--order", "3")
        assert result.returncode == 0, result.stderr
        weights = Model.load(folder / system).weights()
        for number, name in enumerate(dict(weights.items())):
            weights[name] += 0.01 * number  # all differ
        weights.update({**dict.fromkeys(COUNTED, 0.0), **tuned} if system == "hiero" else tuned)
        weights.save(folder / f"{system}.tsv")
    return folder


def translated(hopefear: Run, world: Path, model: Path, weights: Path | None) -> list[list[str]]:
    """The fields of an n-best list of the test set; cdec may copy every word, so ours does, too."""
    output = model.parent / f"{model.name}.nbest"
    words = ["translate", "--model", model, "--tokenized", "-i", world / "test.zh"]
    words += ["-o", model.parent / "out", "--nbest", "3", "--nbest-out", output]
    words += ["--weights", weights] if weights else []
    words += ["--options", "pass_through_all=true"] if model.name == "hiero" else []
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    return [line.split(" ||| ") for line in output.read_text().splitlines()]


def same_scores(a: list[list[str]], b: list[list[str]]) -> None:
    """The lists are equal, but for unknown words in another order, which have equal scores."""
    assert [float(row[-1]) for row in a] == pytest.approx([float(row[-1]) for row in b], abs=1e-3)
    assert [(row[0], sorted(row[1].split())) for row in a] == [
        (row[0], sorted(row[1].split())) for row in b
    ]
    assert sum(x[1] != y[1] for x, y in zip(a, b, strict=True)) <= len(a) / 10


@pytest.mark.parametrize(("system", "format"), [("phrase", "moses"), ("hiero", "cdec")])
def test_round_trip(world: Path, hopefear: Run, tmp_path: Path, system: str, format: str) -> None:
    weights = world / f"{system}.tsv"
    words = ["export", world / system, "--format", format, "--weights", weights]
    result = hopefear(*words, "-o", tmp_path / "there", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["dropped"] == {}
    (ini,) = (tmp_path / "there").glob("*.ini")
    result = hopefear("import", ini, "--model", tmp_path / "back", "--json")
    assert result.returncode == 0, result.stderr
    imported = json.loads(result.stdout)
    assert imported["weights"] == pytest.approx(report["weights"], rel=1e-6)
    ours = translated(hopefear, world, world / system, weights)
    same_scores(ours, translated(hopefear, world, tmp_path / "back", None))
    # An imported model is exported under its own names and units.
    words = ["export", tmp_path / "back", "--format", format, "-o", tmp_path / "again", "--json"]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["weights"] == pytest.approx(report["weights"], rel=1e-6)
    for path in sorted((tmp_path / "there").iterdir()):
        if path.name.startswith(("grammar", "cdec.ini", "moses.ini")):
            again = (tmp_path / "again" / path.name).read_bytes()
            assert again == path.read_bytes(), path.name


def test_cdec_units(world: Path, hopefear: Run, tmp_path: Path) -> None:
    """log10, -1/ln 10 per word and rule; the number of rules is part of the arities' weights."""
    weights = Weights.load(world / "hiero.tsv")
    weights.update(COUNTED)
    weights.save(tmp_path / "w.tsv")
    words = ["export", world / "hiero", "--format", "cdec", "--weights", tmp_path / "w.tsv"]
    assert hopefear(*words, "-o", tmp_path / "there").returncode == 0
    written = dict(Weights.load(tmp_path / "there" / "weights").items())
    assert written["LanguageModel"] == pytest.approx(0.55 * math.log(10))
    assert written["WordPenalty"] == pytest.approx(-0.45 * math.log(10))
    assert written["SourceWordPenalty"] == pytest.approx(-0.05 * math.log(10))
    assert written["Arity_0"] == pytest.approx(-(0.02 + 0.04) * math.log(10))
    assert written["p(f|e)"] == weights["p(f|e)"]
    ini = tmp_path / "there/cdec.ini"
    assert hopefear("import", ini, "--model", tmp_path / "m").returncode == 0
    ours = translated(hopefear, world, world / "hiero", tmp_path / "w.tsv")
    same_scores(ours, translated(hopefear, world, tmp_path / "m", None))


def test_joshua(world: Path, hopefear: Run, tmp_path: Path) -> None:
    words = ["export", world / "hiero", "--format", "joshua", "--weights", world / "hiero.tsv"]
    result = hopefear(*words, "-o", tmp_path / "there")
    assert result.returncode == 0, result.stderr
    assert f"cd {tmp_path / 'there'} && joshua-decoder" in result.stdout
    config = (tmp_path / "there/joshua.config").read_text()
    for line in ("LanguageModel -lm_type kenlm -lm_order 3 -lm_file lm.arpa.gz", "OOVPenalty 0.4"):
        assert line in config
    assert f"lm_0 {0.55 * math.log(10):.5f}"[:10] in config
    grammar = tmp_path / "there/grammar.gz"
    with gzip.open(grammar, "rt") as lines:
        sides = [line.split(" ||| ")[2] for line in lines if "[X,2]" in line]
    assert sides
    assert all("[X,1]" in side and "[X,2]" in side for side in sides)
    assert len(read_grammar(grammar)) == len(Model.load(world / "hiero").rules)
    glue = read_grammar(tmp_path / "there/glue-grammar")
    assert sorted(rule.scores for rule in glue) == [(-1.0,), (0.0,), (1.0,)]


def test_moses_chart(world: Path, hopefear: Run, tmp_path: Path) -> None:
    words = ["export", world / "hiero", "--format", "moses", "--weights", world / "hiero.tsv"]
    result = hopefear(*words, "-o", tmp_path / "there")
    assert result.returncode == 0, result.stderr
    assert "moses_chart -f moses.ini" in result.stdout
    ini = (tmp_path / "there/moses.ini").read_text()
    assert "num-features=8 path=rule-table.gz" in ini
    assert "UnknownWordPenalty0= 0.4\n" in ini
    assert "TranslationModel1= -0.3\n" in ini
    rules = {(r.source, r.target): r.scores for r in Model.load(world / "hiero").rules}
    with gzip.open(tmp_path / "there/rule-table.gz", "rt") as lines:
        rows = [line.split(" ||| ") for line in lines]
    assert len(rows) == len(rules)
    for source, target, scores, *_ in rows:
        if "[X][X]" not in source:
            own = rules[tuple(source.split()[:-1]), tuple(target.split()[:-1])]
            assert [math.log(float(s)) for s in scores.split()] == pytest.approx(own, abs=1e-4)


def test_lost_features(world: Path, hopefear: Run, tmp_path: Path) -> None:
    """What the other system has no feature for is an error, or is named when it is left out."""
    weights = Weights.load(world / "hiero.tsv")
    weights["arity2"] = 0.25
    weights.save(tmp_path / "w.tsv")
    words = ["export", world / "hiero", "--format", "joshua", "--weights", tmp_path / "w.tsv"]
    result = hopefear(*words, "-o", tmp_path / "there")
    assert result.returncode == 2
    assert "joshua has no equivalent of 1 features with weights: arity2 (0.25); give --drop" in (
        result.stderr
    )
    assert not (tmp_path / "there").exists()
    result = hopefear(*words, "-o", tmp_path / "there", "--drop", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["dropped"] == {"arity2": 0.25}
    assert "arity2 (0.25); they are left out" in result.stderr


def test_sparse_features(world: Path, hopefear: Run, tmp_path: Path) -> None:
    """Features of templates are lost; without a template their weights have no effect anyway."""
    weights = Weights.load(world / "phrase.tsv")
    weights["target-bigrams:a_b"] = 0.5
    weights.save(tmp_path / "w.tsv")
    words = ["export", world / "phrase", "--format", "moses", "--weights", tmp_path / "w.tsv"]
    assert hopefear(*words, "-o", tmp_path / "plain").returncode == 0
    model = tmp_path / "model"
    model.mkdir()
    for path in (world / "phrase").iterdir():
        if path.is_file():
            (model / path.name).write_bytes(path.read_bytes())
    with (model / "model.toml").open("a") as file:
        file.write("\n[features.target-bigrams]\nsize = 0\n")
    words[1] = model
    result = hopefear(*words, "-o", tmp_path / "there")
    assert result.returncode == 2
    assert "target-bigrams:a_b (0.5)" in result.stderr


def test_missing_weights_are_named(world: Path, hopefear: Run, tmp_path: Path) -> None:
    Weights({"lm": 0.5}).save(tmp_path / "w.tsv")
    words = ["export", world / "hiero", "--format", "joshua", "--weights", tmp_path / "w.tsv"]
    result = hopefear(*words, "-o", tmp_path / "there")
    assert result.returncode == 0, result.stderr
    assert "no weight for p(e|f); using 0" in result.stderr
    assert "WordPenalty 0\n" in (tmp_path / "there/joshua.config").read_text()


def test_errors(world: Path, hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words, message in (
        ((world / "phrase", "--format", "cdec", "-o", tmp_path / "x"), "give moses"),
        ((world / "hiero", "--format", "cdec", "-o", tmp_path), "is not empty"),
        ((tmp_path / "x", "--format", "cdec", "-o", tmp_path / "y"), "is no model directory"),
    ):
        result = hopefear("export", *words)
        assert result.returncode == 2
        assert message in result.stderr


def test_words_with_bars_and_brackets(hopefear: Run, tmp_path: Path) -> None:
    """Tables and language models have the same escapes, so that the words are still known."""
    (tmp_path / "a.zh").write_text("u | v [x]\nu w\n| w [x]\nv w u\n" * 5)
    (tmp_path / "a.en").write_text("a | b [y]\na c\n| c [y]\nb c a\n" * 5)
    (tmp_path / "input").write_text("u | v [x]\n")
    (tmp_path / "escaped").write_text("u &#124; v &#91;x&#93;\n")
    for system, format, brackets in (("phrase", "moses", False), ("hiero", "cdec", True)):
        model, there, back = (tmp_path / f"{system}.{name}" for name in ("model", "there", "back"))
        words = ["train", tmp_path / "a.zh", tmp_path / "a.en", "--system", system]
        result = hopefear(*words, "--model", model, "--tokenized", "--order", "2")
        assert result.returncode == 0, result.stderr
        result = hopefear("export", model, "--format", format, "-o", there)
        assert result.returncode == 0, result.stderr
        assert "have the escapes" in result.stderr
        (ini,) = there.glob("*.ini")
        assert hopefear("import", ini, "--model", back).returncode == 0
        outputs = []
        for directory, text in ((model, "input"), (back, "escaped")):
            source = (tmp_path / text).read_text()
            if not brackets:
                source = source.replace("&#91;", "[").replace("&#93;", "]")
            words = ["translate", "--model", directory, "--tokenized", "--nbest", "1", "-o"]
            words += ["/dev/null", "--nbest-out", "-"]
            result = hopefear(*words, input=source)
            assert result.returncode == 0, result.stderr
            outputs.append(result.stdout.split(" ||| "))
        assert float(outputs[0][-1]) == pytest.approx(float(outputs[1][-1]), abs=1e-4)
        assert "&#124;" in outputs[1][1]
