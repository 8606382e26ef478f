"""Training on a small built-in world: contents of the model, resuming, folds, bad input."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import locked
from hopefear.model.directory import Model
from hopefear.model.folds import fold_range
from hopefear.model.train import TrainOptions, train
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.text import world
from hopefear.text.lines import read_lines


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("world")
    world.write(world.generate(train=400, dev=5, test=5), directory)
    return directory


def options(**more: Any) -> TrainOptions:
    return TrainOptions(**{"tokenized": True, "order": 3, "threads": 2, **more})


def run(bitext: Path, model: Path, **more: Any) -> dict[str, Any]:
    return train(bitext / "train.zh", bitext / "train.en", model, options(**more))


@pytest.fixture(scope="module")
def trained(bitext: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("trained") / "model"
    run(bitext, directory)
    return directory


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A moved copy of the trained model."""
    return Path(shutil.copytree(trained, tmp_path / "moved"))


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*.*"))
        if path.suffix in (".bin", ".txt", ".tsv")
    }


def test_model_has_everything_for_translation(model: Path) -> None:
    loaded = Model.load(model)
    assert loaded.system == "phrase"
    assert loaded.lm.order == 3
    targets = {" ".join(rule.target) for rule in loaded.rules.lookup(["huitan"])}
    assert targets & {"talks", "the talks", "discussions"}
    assert loaded.text("source").prepare("Bushi yu Shalong") == ["Bushi", "yu", "Shalong"]
    assert loaded.folds == []


def test_the_alignment_is_parallel_to_the_text(model: Path) -> None:
    work = model / "work"
    lines = [len(list(read_lines(work / f"{n}.txt"))) for n in ("source", "target", "alignment")]
    assert lines == [400, 400, 400]


def test_a_second_run_reuses_all_steps(bitext: Path, model: Path) -> None:
    before = contents(model)
    report = run(bitext, model)
    assert all(step["reused"] for step in report["steps"].values())
    assert contents(model) == before


@pytest.mark.parametrize(
    "missing", ["lm.bin", "rules.bin", "work/alignment.txt", "work/source.txt"]
)
def test_missing_files_are_made_again_identically(bitext: Path, model: Path, missing: str) -> None:
    before = contents(model)
    (model / missing).unlink()
    report = run(bitext, model)
    assert not all(step["reused"] for step in report["steps"].values())
    assert contents(model) == before


def test_only_steps_that_depend_on_an_option_run_again(bitext: Path, model: Path) -> None:
    done = {
        name for name, step in run(bitext, model, order=2)["steps"].items() if not step["reused"]
    }
    assert done == {"language model"}
    assert Model.load(model).lm.order == 2
    done = {
        name
        for name, step in run(bitext, model, order=2, limit=1)["steps"].items()
        if not step["reused"]
    }
    assert done == {"rules"}
    assert len(Model.load(model).rules.lookup(["huitan"])) == 1


def test_an_interrupted_run_resumes(
    bitext: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interrupt in each step, the model equals that of an uninterrupted run."""
    from hopefear.model import train as module

    directory = tmp_path / "model"
    for method in ("_text", "_alignment", "_language_model", "_rules"):
        with monkeypatch.context() as patch:

            def stop(self: object) -> dict[str, Any]:
                raise KeyboardInterrupt

            patch.setattr(module.Training, method, stop)
            with pytest.raises(KeyboardInterrupt):
                run(bitext, directory)
        with pytest.raises(InputError, match=r"is unfinished, it has no model\.toml"):
            Model.load(directory)
    leftovers = (".rules.bin.a1b2.tmp", "work/.source.txt.c3.tmp", "work/tmp-d4/x")  # after a kill
    for name in leftovers:
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).touch()
    with locked(directory / "work" / "lock", "mine"):
        with pytest.raises(InputError, match="another process is training in it"):
            run(bitext, directory)
        assert all((directory / name).exists() for name in leftovers)  # maybe in use
    run(bitext, directory)
    assert contents(directory) == contents(trained)
    assert not [*directory.rglob("*.tmp"), *directory.rglob("tmp-*")]


def test_threads_and_memory_change_nothing(bitext: Path, trained: Path, tmp_path: Path) -> None:
    from hopefear.base.config import Size

    run(bitext, tmp_path / "one", threads=1, memory=Size(64 << 20))
    assert contents(tmp_path / "one") == contents(trained)


def test_the_aligner_can_be_chosen(bitext: Path, model: Path) -> None:
    before = (model / "work" / "alignment.txt").read_bytes()
    report = run(bitext, model, aligner="model1")
    assert report["steps"]["text"]["reused"]
    assert not report["steps"]["alignment"]["reused"]
    assert (model / "work" / "alignment.txt").read_bytes() != before
    with pytest.raises(OptionError, match="--aligner hmm: has no effect on the alignment given"):
        options(align=bitext / "train.align", aligner="hmm")


def test_a_given_alignment_is_used(bitext: Path, trained: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.align"
    size = len(list(read_lines(bitext / "train.zh")))
    given.write_text("0-0\n" * size)
    report = run(bitext, tmp_path / "model", align=given)
    assert report["steps"]["alignment"]["given"] == str(given)
    rules = Model.load(tmp_path / "model").rules.lookup(["huitan"])
    assert rules != Model.load(trained).rules.lookup(["huitan"])


def test_language_model_text(bitext: Path, tmp_path: Path) -> None:
    text = tmp_path / "lm.txt"
    text.write_text("a b c d\na b d c\n" * 5)
    run(bitext, tmp_path / "model", lm_text=text, folds=2)
    model = Model.load(tmp_path / "model")
    assert "a" in model.lm
    assert "talks" not in model.lm
    assert not (model.folds[0] / "lm.bin").exists()  # lm.txt is not part of the training text


def test_raw_text(tmp_path: Path) -> None:
    (tmp_path / "t.fr").write_text("La maison est petite.\nOui, la fleur est petite.\n" * 20)
    (tmp_path / "t.en").write_text("The house is small.\nYes, the flower is small.\n" * 20)
    train(tmp_path / "t.fr", tmp_path / "t.en", tmp_path / "model", TrainOptions(order=2))
    model = Model.load(tmp_path / "model")
    assert model.text("source").prepare("La maison.") == ["la", "maison", "."]
    assert model.text("target").restore(["the", "house", "."]) == "The house."
    assert any(rule.target == ("house",) for rule in model.rules.lookup(["maison"]))


def test_folds_are_trained_without_their_sentences(bitext: Path, tmp_path: Path) -> None:
    run(bitext, tmp_path / "model", folds=3)
    model = Model.load(tmp_path / "model")
    assert len(model.folds) == 3
    steps = json.loads((model.directory / "work/steps.json").read_text())
    lines = list(read_lines(model.directory / "work/target.txt"))
    all_words = {word for line in lines for word in line.split()}
    covered = []
    for number, place in enumerate(model.folds):
        from hopefear.lm import LanguageModel
        from hopefear.rules.table import RuleTable

        begin, end = steps[f"fold {number}"]["report"]["left_out"]
        covered += range(begin, end)
        kept = {w for i, line in enumerate(lines) if not begin <= i < end for w in line.split()}
        lm = LanguageModel.load(place / "lm.bin")
        assert {word for word in all_words if word in lm} == kept
        table = RuleTable.open(place / "rules.bin")
        assert {w for rule in table for w in rule.target} <= kept
        assert all(not begin <= rule.sentence < end for rule in table if rule.sentence is not None)
    assert covered == list(range(len(lines)))
    report = run(bitext, tmp_path / "model", folds=2)
    assert report["steps"]["fold 0"]["reused"] is False  # another fold 0
    assert sorted(p.name for p in (tmp_path / "model/folds").iterdir()) == ["0", "1"]
    with pytest.raises(OptionError, match="--folds 1: the only fold"):
        options(folds=1)


def test_fold_ranges() -> None:
    assert [fold_range(n, 3, 10) for n in range(3)] == [(0, 3), (3, 6), (6, 10)]
    assert fold_range(0, 2, 1) == (0, 0)


def test_the_scores_are_probabilities(model: Path) -> None:
    rules = Model.load(model).rules
    column = rules.columns.index("p(e|f)")
    total = sum(math.exp(rule.scores[column]) for rule in rules.lookup(["huitan"]))
    assert 0 < total <= 1 + 1e-5


def test_bad_input(bitext: Path, tmp_path: Path) -> None:
    source, target = bitext / "train.zh", bitext / "train.en"
    short = tmp_path / "short.en"
    short.write_text("one line\n")
    model = tmp_path / "model"
    with pytest.raises(InputError, match=r"train\.zh.*400.*short\.en.*1|400.*1"):
        train(source, short, model, options())
    with pytest.raises(FileNotFoundError):
        train(tmp_path / "absent.zh", target, tmp_path / "other", options())
    assert not (tmp_path / "other").exists()
    nameless = tmp_path / "short.txt"
    nameless.write_text("x\n")
    with pytest.raises(OptionError, match="no language in the file name"):
        train(nameless, short, model, TrainOptions())
    with pytest.raises(OptionError, match="give a file"):
        train("-", target, model, options())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    with pytest.raises(OptionError, match="is not empty and not a model"):
        train(source, target, tmp_path / "full", options())
    bad = tmp_path / "bad.align"
    bad.write_text("0-0\n" * 399 + "0-99\n")
    with pytest.raises(InputError, match=r":400:"):
        train(source, target, model, options(align=bad))
    with pytest.raises(OptionError, match="--folds 20: the text has only 1"):
        train(nameless, short, model, options(folds=20))
    with pytest.raises(InputError, match="cleaning dropped all 400"):
        train(source, target, model, options(max_words=1))
    with pytest.raises(InputError, match="is unfinished"):
        Model.load(model)


def test_foreign_and_damaged_models(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no model directory"):
        Model.load(tmp_path)
    (model / "lm.bin").unlink()
    with pytest.raises(InputError, match=r"lm\.bin: no such file; copy the whole"):
        Model.load(model)
    (model / "model.toml").write_text("format = 99\n")
    with pytest.raises(InputError, match="format 99, expected 1"):
        Model.load(model)


def test_another_text_for_the_language_model(bitext: Path, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.en"
    tokens = []
    for text in ("a house .\n", "a garden and a house .\n"):
        other.write_text(text)
        report = run(bitext, model, lm_text=other)
        again = [name for name, step in report["steps"].items() if not step["reused"]]
        assert again == ["language model"]
        tokens.append(report["steps"]["language model"]["tokens"])
    assert tokens == [3, 6]


def test_word_classes(bitext: Path, model: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "tags"
    lexicon.write_text("huitan\tN\n", encoding="utf-8")
    report = run(bitext, model, clusters=20, source_tags=lexicon)
    again = [name for name, step in report["steps"].items() if not step["reused"]]
    assert again == ["word classes"]
    before = Model.load(model).contents()["word-classes.tsv"]
    classes = Model.load(model).lists.classes
    assert len(set(classes.source.paths.values())) == 20
    assert classes.source.tags == {"huitan": "N"}
    assert classes.target.paths.keys() == {
        word for line in read_lines(model / "work" / "target.txt") for word in line.split()
    }
    # Existing clusters are used instead.
    paths = tmp_path / "paths"
    paths.write_text("01\thuitan\t3\n", encoding="utf-8")
    run(bitext, model, clusters=20, source_clusters=paths)
    classes = Model.load(model).lists.classes
    assert classes.source.paths == {"huitan": "01"}
    assert Model.load(model).contents()["word-classes.tsv"] != before
    assert classes.source.tags == {}
    assert len(set(classes.target.paths.values())) == 20
    run(bitext, model)
    assert Model.load(model).lists.classes.target.paths == {}
    # A bad file is an error before any step runs, and the model stays.
    paths.write_text("xx\thuitan\t3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"paths:1: expected 'path<TAB>word<TAB>count'"):
        run(bitext, model, source_clusters=paths)
    Model.load(model)


def test_two_trainings_differ_only_in_their_times(bitext: Path, tmp_path: Path) -> None:
    more = {"folds": 2, "clusters": 5}
    for name in ("first", "second"):
        run(bitext, tmp_path / name, **more)

    def files(name: str) -> dict[str, bytes]:
        place = tmp_path / name
        found = (path for path in place.rglob("*") if path.is_file())
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in found}

    first, second = files("first"), files("second")
    assert all(b"seconds" not in data for name, data in first.items() if "times" not in name)
    times = [json.loads(each.pop("work/times.json")) for each in (first, second)]
    assert first == second
    steps = Model.load(tmp_path / "first").training_times
    assert list(steps) == list(times[0]) == list(times[1])
    assert steps["fold 1"]["seconds"] == times[0]["fold 1"]["seconds"]
    report = run(bitext, tmp_path / "first", **more)
    assert report["steps"]["rules"]["seconds"] == times[0]["rules"]["seconds"]  # done before
    assert files("first")["model.toml"] == second["model.toml"]


def test_times_of_older_models_and_damaged_times(model: Path) -> None:
    times = model / "work/times.json"
    for text in ("", "[1]", '{"text": 3, "rules": {"seconds": "long", "cpu_seconds": 1}}'):
        times.write_text(text)
        assert Model.load(model).training_times == {}
    settings = Model.load(model).settings
    settings["training"]["steps"]["text"].update(seconds=1.5, cpu_seconds=2.0)
    assert Model(model, settings).training_times == {"text": {"seconds": 1.5, "cpu_seconds": 2.0}}


def test_subwords(bitext: Path, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    first = run(bitext, directory, subwords=60)
    assert run(bitext, directory, subwords=60)["steps"]["text"]["reused"]
    model = Model.load(directory)
    text = (directory / "work" / "source.txt").read_text()
    assert "@@ " in text
    assert first["steps"]["text"]["kept"] == len(text.splitlines())
    # The words of a model are split and joined also where the text is already tokenised.
    translator = Translator(model, options=TranslateOptions(tokenized=True))
    lines = list(read_lines(bitext / "test.zh"))
    words = translator.read(lines[0]).sentence.words
    assert any(word.endswith("@@") for word in words)
    outputs = [translated.text for translated in translator.translate(lines)]
    assert not any("@@" in line for line in outputs)
    assert any(outputs)
    references = model.reference_steps(tokenized=True)
    assert "@@" in references("unheardof")
    other = run(bitext, directory, subwords=30)
    assert not other["steps"]["text"]["reused"]
    assert not run(bitext, directory)["steps"]["text"]["reused"]
    assert "@@" not in (directory / "work" / "source.txt").read_text()
    assert Model.load(directory).text("source", tokenized=True).subwords is None


def test_inputs_about_whole_words_do_not_go_with_subwords(bitext: Path, tmp_path: Path) -> None:
    (tmp_path / "align").write_text("\n" * 400)
    for more in ({"align": tmp_path / "align"}, {"source_tagger": "lexicon"}):
        with pytest.raises(OptionError, match=r"--subwords: --.* is for whole words"):
            run(bitext, tmp_path / "model", subwords=60, **more)
    assert not (tmp_path / "model").exists()
