"""The Python API: every function on small data, its errors, and equal bytes with the commands."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hopefear
from hopefear import Forest, Model, Run, Weights
from hopefear.base.errors import InputError, OptionError
from hopefear.base.progress import Display
from hopefear.text import world

Command = Callable[..., "subprocess.CompletedProcess[str]"]
TUNING: dict[str, Any] = {
    "tuner": "mert",
    "tuner_options": {"restarts": 1},
    "iterations": 2,
    "kbest": 20,
    "tokenized": True,
    "display": "off",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world and a model of it."""
    folder = tmp_path_factory.mktemp("api")
    world.write(world.generate(seed=1, train=400, dev=20, test=10), folder)
    hopefear.train(
        folder / "train.zh",
        folder / "train.en",
        model=folder / "model",
        tokenized=True,
        order=2,
        max_length=4,
        display="off",
    )
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hopefear_tune(folder, folder / "run")


def references(folder: Path, part: str = "dev") -> list[Path]:
    return [folder / f"{part}.en.{number}" for number in range(4)]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def words(folder: Path, output: Path, *more: object) -> list[object]:
    """The command that makes the fixture `run`."""
    return [
        *("tune", "--model", folder / "model", "--dev", folder / "dev.zh", "--refs"),
        *(*references(folder), "--tuner", "mert", "--set", "restarts=1", "--iterations", 2),
        *("--kbest", 20, "--tokenized", "-o", output, *more),
    ]


# -- what is exported --


def test_importing_loads_no_submodules() -> None:
    code = "import sys, hopefear; print(*hopefear.__all__); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exported, loaded = (line.split() for line in out.stdout.splitlines())
    assert {"train", "tune", "translate", "score", "rerank"} < set(exported)
    assert not {"numpy", "hopefear.api", "hopefear._engine"} & set(loaded)
    assert set(exported) < set(dir(hopefear))
    assert all(getattr(hopefear, name) is not None for name in exported)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tuen'"):
        _ = hopefear.tuen
    with pytest.raises(ImportError):
        exec("from hopefear import tuen")


def test_the_classes_are_those_of_the_package() -> None:
    from hopefear.base.weights import Weights as OurWeights
    from hopefear.forest import Forest as OurForest

    assert (Weights, Forest) == (OurWeights, OurForest)


# -- train --


def test_train(folder: Path, tmp_path: Path, hopefear: Command) -> None:
    """The model equals that of the command."""
    done = hopefear(
        *("train", folder / "train.zh", folder / "train.en", "--model", tmp_path / "model"),
        *("--tokenized", "--order", 2, "--max-length", 4),
    )
    assert done.returncode == 0, done.stderr
    for name in ("rules.bin", "lm.bin", "weights.tsv", "word-lists.tsv"):
        assert (tmp_path / "model" / name).read_bytes() == (folder / "model" / name).read_bytes()
    model = Model.load(folder / "model")
    assert repr(model).startswith(f"Model('{folder / 'model'}': phrase, ")


# -- tune --


def test_tune(folder: Path, run: Run, tmp_path: Path, hopefear: Command) -> None:
    """Weights, configuration and report equal those of the command."""
    done = hopefear(*words(folder, tmp_path / "run", "--json"))
    assert done.returncode == 0, done.stderr
    for path in (folder / "run").rglob("*.tsv"):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()
    config = (tmp_path / "run" / "config.toml").read_text()
    assert config == (folder / "run" / "config.toml").read_text()
    theirs, ours = json.loads(done.stdout), run.report()
    assert list(theirs) == list(ours)
    timed = {"run", "seconds", "decode_seconds", "optimise_seconds"}
    assert {key: theirs[key] for key in theirs if key not in timed} == {
        key: ours[key] for key in ours if key not in timed
    }
    # The run is already finished; its report is read from the directory.
    again = hopefear(*words(folder, folder / "run", "--json", "--resume"))
    assert json.loads(again.stdout) == ours


def test_attributes_of_a_run(run: Run, folder: Path) -> None:
    read = Run(folder / "run")
    assert (read.tuner, read.finished, len(read.members)) == ("mert", True, 1)
    assert read.best_iteration == run.best_iteration == run.report()["best_iteration"]
    assert read.dev_bleu == run.dev_bleu == read.records[read.best_iteration]["bleu"]
    assert dict(read.weights.items()) == dict(Weights.load(folder / "run/weights.tsv").items())
    assert repr(run).startswith(f"Run('{folder / 'run'}': mert for BLEU, dev ")
    assert "\n" not in repr(run)
    table = run._repr_html_()
    assert table.count("<tr>") == 1 + len(run.records)
    assert "<th>length</th>" in table
    with pytest.raises(InputError, match=r"has no config\.toml"):
        Run(folder)


def test_tuning_on_sentences_in_memory(folder: Path, run: Run, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_memory = hopefear.tune(
            Model.load(folder / "model"),
            dev=lines(folder / "dev.zh"),
            refs=[lines(path) for path in references(folder)],
            weights=Weights.load(folder / "model" / "weights.tsv"),
            output=tmp_path / "run",
            **TUNING,
        )
    assert "constant within every sentence" in str(caught[0].message)
    assert caught[0].filename == __file__, "the caller's file"
    assert (tmp_path / "run/weights.tsv").read_bytes() == (folder / "run/weights.tsv").read_bytes()
    assert in_memory.config["contents"] == run.config["contents"]
    assert in_memory.config["files"] == {"model": str(folder / "model")}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_several_runs_and_other_options(folder: Path, tmp_path: Path, hopefear: Command) -> None:
    messages: list[str] = []
    run = hopefear_tune(
        folder,
        tmp_path / "run",
        tuner="mira",
        tuner_options={"C": 0.001},
        metric="ter",
        metric_options={},
        decoder_options={"table_limit": 10},
        beam=30,
        templates=["rule-id"],
        heldout=folder / "test.zh",
        heldout_refs=references(folder, "test"),
        iterations=1,
        runs=2,
        fix=["lm"],
        tell=messages.append,
    )
    assert "run 2 of 2" in messages
    assert run.config["tuner"]["C"] == 0.001
    assert run.config["system"]["decoder"] == {"beam": 30, "table_limit": 10}
    assert repr(run).startswith(f"Run('{tmp_path / 'run'}': 2 runs of mira for TER, dev ")
    assert [member.path.name for member in run.members] == ["run-1", "run-2"]
    assert {record["run"] for record in run.records} == {1, 2}
    report = run.report()
    assert report["best_run"] == run.members.index(run.best_member) + 1
    assert report["heldout_score"] == run.best["heldout_score"]
    chosen = run.best_member.path / "weights.tsv"
    assert (tmp_path / "run" / "weights.tsv").read_bytes() == chosen.read_bytes()
    shown = hopefear("inspect", tmp_path / "run")
    assert shown.returncode == 0, shown.stderr


def hopefear_tune(folder: Path, output: Path, **options: Any) -> Run:
    """Call `tune` on the fixture's development set with other options."""
    return hopefear.tune(
        folder / "model",
        dev=folder / "dev.zh",
        refs=references(folder),
        output=output,
        **(TUNING | options),
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_learning_from_a_bitext(folder: Path, tmp_path: Path) -> None:
    run = hopefear_tune(
        folder,
        tmp_path / "run",
        tuner="maxforce",
        tuner_options={"eta": 0.001},
        kbest=None,
        train=[folder / "train.zh", folder / "train.en"],
        max_examples=20,
        iterations=1,
    )
    assert run.config["training"] == {"max_examples": 20}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lattices(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.plf").write_text("((('a',0.6,1),('b',0.4,1),),(('c',1.0,1),),)\n")
    run = hopefear.tune(
        lattices=[tmp_path / "dev.plf"],
        refs=[["b c"]],
        tuner="lattice-svm",
        output=tmp_path / "run",
        iterations=1,
        display="off",
    )
    assert run.weights["lattice"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"itertions": 3}, "tune: unknown key 'itertions'; did you mean 'iterations'?"),
        ({"iterations": -1}, "tune: iterations: -1 is out of range"),
        ({"iterations": "many"}, "tune: iterations: 'many' is not valid"),
        ({"tuner": "mret"}, "unknown tuner 'mret'; did you mean 'mert'?"),
        ({"metric": "blue"}, "unknown metric 'blue'; did you mean 'bleu'?"),
        ({"tuner_options": {"restart": 1}}, "tuner mert: unknown key 'restart'; did you mean"),
        ({"metric_options": {"ordr": 1}}, "metric bleu: unknown key 'ordr'; did you mean 'order'?"),
        ({"decoder_options": {"bem": 1}}, "--options: unknown key 'bem'"),
        ({"heldout": ["a"]}, "--heldout and --heldout-refs: only together"),
        ({"train": [["a"], ["b"]]}, "--train: mert learns from the development set"),
        ({"dev": None}, "--dev is missing"),
        ({"dev": ["a", "b\nc"]}, "<dev>:2: contains a line break"),
        ({"dev": ["a", 1]}, "<dev>:2: 1 is not a string"),
        ({"dev": ["a", "b"]}, "<dev> has 2 lines"),
    ],
)
def test_tuning_with_bad_options(
    folder: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    given = {"dev": folder / "dev.zh", **TUNING, **options}
    with pytest.raises((OptionError, InputError)) as caught:
        hopefear.tune(folder / "model", refs=references(folder), output=tmp_path / "run", **given)
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


# -- translate --


def test_translate(folder: Path, run: Run, tmp_path: Path, hopefear: Command) -> None:
    from hopefear import translate

    done = hopefear(
        *("translate", "--model", folder / "model", "--weights", folder / "run/weights.tsv"),
        *("--tokenized", "-i", folder / "test.zh", "-o", tmp_path / "out"),
        *("--nbest", 5, "--nbest-out", tmp_path / "nbest", "--distinct", "--beam", 40),
    )
    assert done.returncode == 0, done.stderr
    options: dict[str, Any] = {"tokenized": True, "beam": 40, "display": "off"}
    translations = translate(
        folder / "model",
        folder / "test.zh",
        weights=run.weights,
        nbest=5,
        distinct=True,
        **options,
    )
    translations.save(tmp_path / "out.2", nbest=tmp_path / "nbest.2")
    for name in ("out", "nbest"):
        assert (tmp_path / name).read_bytes() == (tmp_path / f"{name}.2").read_bytes()
    model = Model.load(folder / "model")
    texts = lines(folder / "test.zh")
    again = translate(model, texts, weights=folder / "run/weights.tsv", threads=2, **options)
    assert again.texts == translations.texts == list(map(str, again))
    assert len(again) == 10
    assert again[0].score == translations[0].score
    assert f"  {texts[0]} -> {again.texts[0]}" in repr(again).splitlines()
    assert again._repr_html_().count("<tr>") == 11
    assert translate(model, [], **options) == []


def test_translating_warns(folder: Path) -> None:
    with pytest.warns(UserWarning, match="no weight for"):
        hopefear.translate(
            folder / "model", ["a"], weights=Weights({"lm": 1.0}), tokenized=True, display="off"
        )
    with pytest.raises(OptionError, match="--mbr and --max-translation exclude each other"):
        hopefear.translate(folder / "model", ["a"], mbr=True, max_translation=True)
    with pytest.raises(OptionError, match="unknown key 'nbset'; did you mean 'nbest'"):
        hopefear.translate(folder / "model", ["a"], nbset=3)
    with pytest.raises(OptionError, match=r"text: no such file 'la maison'; give sentences"):
        hopefear.translate(folder / "model", "la maison")


# -- score --


def test_score(folder: Path, tmp_path: Path, hopefear: Command) -> None:
    from hopefear import score

    refs = references(folder)[1:]
    ours, other = folder / "dev.en.0", tmp_path / "other"
    other.write_text("".join(f"{line} again\n" for line in lines(ours)))
    done = hopefear("score", ours, "--refs", *refs, "--versus", other, "--json", "--sentences")
    assert done.returncode == 0, done.stderr
    options: dict[str, Any] = {"sentences": True, "display": "off"}
    scores = score(ours, refs=refs, versus=[other], **options)
    assert scores.to_mapping() == json.loads(done.stdout)
    mapping = scores.to_mapping()
    for name in ("bleu", "chrf", "ter", "length_ratio", "signature"):
        assert getattr(scores, name) == mapping[name]
    assert scores.versus[0].p_value == mapping["versus"][0]["p_value"]
    assert f"p: against {ours}, bootstrap" in repr(scores)
    assert "<td>BLEU</td>" in scores._repr_html_()

    in_memory = score(
        lines(ours), refs=[lines(path) for path in refs], versus={"again": lines(other)}, **options
    )
    assert (in_memory.name, in_memory.versus[0].name) == ("hypotheses", "again")
    assert in_memory.summaries == scores.summaries
    assert repr(in_memory.versus[0]).startswith("again: BLEU ")
    assert repr(score(ours, refs=refs[0], display="off")).splitlines()[0].startswith("system ")


def test_scoring_several_runs(folder: Path, hopefear: Command) -> None:
    from hopefear import score

    a, b, c, d = references(folder)
    texts = [lines(path) for path in (a, b)]
    options: dict[str, Any] = {"refs": [c], "runs": 2, "samples": 50, "display": "off"}
    scores = score(texts, versus=[d, a], **options)
    named = score(texts, versus={"other": [d, lines(a)]}, **options)
    assert named.versus[0].name == "other {1,2}"
    assert named.versus[0].p_values == scores.versus[0].p_values
    done = hopefear("score", a, b, "--refs", c, "--versus", d, a, "--runs", 2, "--samples", 50)
    assert scores.versus[0].test in done.stdout
    assert "s_run" in repr(scores)
    assert f"{scores.bleu:.2f}" in done.stdout


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (["a", "b"], {"refs": [["a"]]}, "<hypotheses> has 2 lines, <refs> has 1 line"),
        (["a"], {"refs": [["a"]], "coin": "run"}, "--test, --form and --coin compare systems"),
        (["a"], {"refs": [["a"]], "tokenise": "13a"}, "did you mean 'tokenize'?"),
        (["a"], {"refs": [["a"]], "tokenize": "14a"}, "give one of none, 13a, zh, char"),
        ([], {"refs": [[]]}, "no lines"),
        (["a"], {"refs": "nowhere"}, "nowhere"),
        (["a"], {"refs": ["a house"]}, "refs: no such file 'a house'; give sentences as a list"),
        (["a"], {"refs": [["a"]], "display": "of"}, "display: 'of' is not valid; did you mean 'of"),
    ],
)
def test_scoring_with_bad_options(given: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, InputError, FileNotFoundError)) as caught:
        hopefear.score(given, **options)
    assert message in str(caught.value)


# -- rerank --

FEW_LISTS = pytest.mark.filterwarnings("ignore:.*(lists are few|may be chance)")
REFERENCES = ["the cat sat on the mat", "a dog ran in the park", "birds sing in the morning"]
ENTRIES = [
    {"id": number, "text": text, "features": {"lm": -place, "good": place * place}}
    for number, reference in enumerate(REFERENCES)
    for place, text in enumerate([reference[4:], reference[2:], reference])
]


@FEW_LISTS
def test_rerank(tmp_path: Path, hopefear: Command) -> None:
    from hopefear import rerank

    nbest, refs = tmp_path / "dev.jsonl", tmp_path / "refs"
    nbest.write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES))
    refs.write_text("".join(f"{line}\n" for line in REFERENCES))
    done = hopefear(
        *("rerank", "tune", "--nbest", nbest, "--refs", refs, "--tuner", "mert", "--folds", 3),
        *("--set", "restarts=2", "-o", tmp_path / "w.tsv", "--json"),
    )
    assert done.returncode == 0, done.stderr
    options: dict[str, Any] = {"folds": 3, "tuner_options": {"restarts": 2}, "display": "off"}
    reranker = rerank(nbest=nbest, refs=[refs], tuner="mert", **options)
    assert reranker.report == json.loads(done.stdout)
    reranker.save(tmp_path / "w2.tsv")
    assert (tmp_path / "w2.tsv").read_bytes() == (tmp_path / "w.tsv").read_bytes()
    assert (reranker.first_best, reranker.tuned, reranker.oracle, reranker.p_value) == tuple(
        reranker.report[key] for key in ("first_best", "tuned", "oracle", "p_value")
    )
    assert "tuned, 3 folds" in repr(reranker)
    assert "<td>oracle</td>" in reranker._repr_html_()

    again = rerank(nbest=ENTRIES, refs=[REFERENCES], tuner="mert", **options)
    assert again.report == reranker.report
    assert again.apply(ENTRIES) == reranker.apply(nbest) == REFERENCES
    read = type(reranker).load(tmp_path / "w.tsv")
    assert read.apply(ENTRIES, ids=True)[0] == f"0\t{REFERENCES[0]}"
    assert repr(read).startswith("Reranker(Weights(")
    done = hopefear(
        *("rerank", "apply", "--nbest", nbest, "--weights", tmp_path / "w.tsv"),
        *("-o", tmp_path / "out"),
    )
    assert lines(tmp_path / "out") == REFERENCES


@FEW_LISTS
def test_given_scores_and_warnings() -> None:
    scored = [{**entry, "score": float(number % 3)} for number, entry in enumerate(ENTRIES)]
    reranker = hopefear.rerank(nbest=scored, tuner="batch-mira", metric="given", display="off")
    assert reranker.tuned == reranker.oracle == 2.0
    with pytest.warns(UserWarning, match="no feature of the lists has a weight in the weights"):
        reranker.apply([{"id": 0, "text": "a", "features": {"other": 1.0}}])
    with pytest.warns(UserWarning, match="2 sentences without candidates"):
        assert reranker.apply(ENTRIES[-1:]) == ["", "", REFERENCES[2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tuner": "mira"}, "--tuner mira: learns while decoding"),
        ({"tuner": "lattice-svm"}, "--tuner lattice-svm: learns from forests"),
        ({"fold": 3}, "unknown key 'fold'; did you mean 'folds'?"),
        ({"refs": []}, "--refs is missing"),
        ({"refs": [["one"]]}, "<nbest>: id 1, but the references have 1 lines"),
        ({"nbest": []}, "<nbest>: no list in it"),
        ({"nbest": [{"id": 0}]}, '<nbest>:1: "text" is null, expected a string'),
        ({"metric": "given", "refs": []}, "entry 1 of id '0' has no score"),
    ],
)
def test_reranking_with_bad_options(options: dict[str, Any], message: str) -> None:
    given = {"nbest": ENTRIES, "refs": [REFERENCES], "tuner": "mert", **options}
    with pytest.raises((OptionError, InputError)) as caught:
        hopefear.rerank(**given, display="off")
    assert message in str(caught.value)


# -- what is shown --


def test_only_progress_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    hopefear.score(["a b"], refs=[["a b"]])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("score: 100%")
    hopefear.score(["a b"], refs=[["a b"]], display="off")
    hopefear.score(["a b"], refs=[["a b"]], display=Display())
    assert capsys.readouterr() == ("", "")


def test_weights_show_the_largest() -> None:
    weights = Weights({f"feature {number}": float(number) for number in range(10)})
    assert repr(weights).startswith("Weights(10 features: feature 9 9, feature 8 8, ")
    assert repr(weights).endswith("…)")
    assert "<td>feature 9</td><td>9</td>" in weights._repr_html_()
    assert repr(Weights({"a<b": 1.0})) == "Weights(1 features: a<b 1)"
    assert "a&lt;b" in Weights({"a<b": 1.0})._repr_html_()


PLUGINS = """
import json, sys
import hopefear
tuner, metric, entries, references = sys.argv[1:]
given = {"nbest": json.loads(entries), "refs": [json.loads(references)], "display": "off"}
reranker = hopefear.rerank(
    tuner="batch-perceptron", metric="word-f", metric_options={"beta": 2.0}, plugin=[tuner, metric],
    **given,
)
assert reranker.report["metric"] == "word-f"
assert hopefear.rerank(tuner="batch-perceptron", plugin=tuner, **given).tuned == 100
"""


def test_plugins() -> None:
    """Run in a separate process, since a registered plugin remains registered."""
    examples = Path(__file__).parents[2] / "examples"
    words = [examples / "my_tuner.py", examples / "my_metric.py"]
    words += [json.dumps(ENTRIES), json.dumps(REFERENCES)]
    done = subprocess.run([sys.executable, "-c", PLUGINS, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SYSTEM = """
import sys
import hopefear
source, target, model, plugin = sys.argv[1:]
made = hopefear.train(
    source, target, model=model, plugin=plugin, system="monotone", longest=2, order=2,
    tokenized=True, display="off",
)
assert made.system == "monotone"
translations = hopefear.translate(model, source, plugin=plugin, tokenized=True, display="off")
assert len(translations) == 20 and all(translations.texts)
"""


def test_a_system_of_a_plugin(folder: Path, tmp_path: Path) -> None:
    """The system's own options are valid keywords."""
    texts = [tmp_path / "train.zh", tmp_path / "train.en"]
    for path in texts:
        first = lines(folder / path.name)[:20]
        path.write_text("".join(f"{line}\n" for line in first))
    plugin = Path(__file__).parents[2] / "examples" / "my_system.py"
    words = [sys.executable, "-c", SYSTEM, *texts, tmp_path / "model", plugin]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
