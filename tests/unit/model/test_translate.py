"""Translation and model directories, with the toy decoder of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
from decoder_toy import toy_model

from hopefear.base.config import load_toml
from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.forest import viterbi
from hopefear.forest.io import read_nbest
from hopefear.model.directory import Model
from hopefear.model.translate import TranslateOptions, Translator


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return toy_model(tmp_path_factory.mktemp("toy") / "model")


def tokenized(model: Model, **options: object) -> Translator:
    return Translator(model, options=TranslateOptions(tokenized=True, **options))  # type: ignore[arg-type]


def texts(translator: Translator, *lines: str, threads: int = 1) -> list[str]:
    return [translated.text for translated in translator.translate(lines, threads=threads)]


def test_words(model: Model) -> None:
    translated = list(tokenized(model).translate(["die maus ist klein", "", "kleine maus"]))
    assert [line.text for line in translated] == ["the mouse is small", "", "kleine mouse"]
    assert [line.source_words for line in translated] == [4, 0, 2]
    assert translated[1].score == 0
    assert translated[2].score is not None
    assert translated[2].score < -99  # with its unknown word


def test_raw_text(model: Model) -> None:
    translator = Translator(model)
    assert texts(translator, "Die Maus ist klein.") == ["Die Maus is small."]
    assert texts(translator, "das Haus ist klein.") == ["The Haus is small."]


def test_threads_change_nothing(model: Model) -> None:
    lines = ["slow das haus", "die maus", "", "klein slow", "haus"] * 3
    options = {"nbest": 3, "trace": True}
    expected = list(tokenized(model, **options).translate(lines))
    assert list(tokenized(model, **options).translate(lines, threads=4)) == expected


def test_nbest(model: Model, tmp_path: Path) -> None:
    translator = tokenized(model, nbest=5, trace=True, trace_alignment=True)
    (translated,) = translator.translate(["das haus oh"])
    assert len(translated.nbest) == 2
    fields = translated.nbest[0].split(" ||| ")
    assert fields[0] == "0"
    assert fields[1] == translated.text == "the house oh"
    assert fields[4:] == ["0=0 1=1 2=2", "0-0 1-1 2-2"]
    path = tmp_path / "nbest"
    path.write_text("\n".join(translated.nbest))
    (read,) = read_nbest(path)
    names = read.forest.names
    assert names is not None
    assert {names.name(int(id)) for id in read.forest.feature_ids} == set(translator.decoder.dense)


def test_every_line_is_in_the_list(model: Model, tmp_path: Path) -> None:
    """Tuning on n-best lists needs an entry for each reference, also for empty lines."""
    translator = tokenized(model, nbest=2, trace=True)
    path = tmp_path / "nbest"
    lines = [
        line
        for translated in translator.translate(["haus", "", "maus"])
        for line in translated.nbest
    ]
    path.write_text("\n".join(lines))
    read = list(read_nbest(path))
    assert [entry.forest.id for entry in read] == ["0", "1", "2"]
    best = viterbi(read[1].forest, translator.weights)
    assert best is not None
    assert (best.words, best.score) == ([], 0)


def test_markup(model: Model) -> None:
    translator = tokenized(model, markup="exclusive")
    line = 'das <n translation="home">haus ist</n> klein &lt;'
    assert texts(translator, line) == ["the home small <"]
    with pytest.raises(InputError, match=r"line:2.*&lt;"):
        texts(translator, "a", "a < b")


def test_an_error_is_raised_at_its_line(model: Model) -> None:
    translator = tokenized(model, markup="exclusive")
    translated = translator.translate(["slow haus", "maus", "<"], threads=3)
    assert [next(translated).text, next(translated).text] == ["slow house", "mouse"]
    with pytest.raises(InputError, match="line:3"):
        next(translated)


def test_options_of_the_decoder(model: Model) -> None:
    assert model.decoder().options.beam == 7  # type: ignore[attr-defined]
    assert model.decoder(beam=3).options.beam == 3  # type: ignore[attr-defined]
    with pytest.raises(OptionError, match="distortion-limit: a toy model has no such option"):
        model.decoder(distortion_limit=3)
    with pytest.raises(OptionError, match="beam"):
        model.decoder(beam=0)


def test_weights(model: Model, tmp_path: Path) -> None:
    notes: list[str] = []
    weights = Weights({"words": 1.0, "nobody": 2.0, "x:y": 1.0})
    Translator(model, weights=weights, warn=notes.append)
    assert "no weight for p(f|e)" in notes[0]
    assert "nobody, x:y" in notes[1]
    for number in range(100_000):
        weights[f"x:{number}"] = 0.5
    Translator(model, weights=weights, warn=notes.append)
    assert "nobody, x:y" in notes[3]
    assert "more of the 100,000 largest; ignored; templates not in use: x" in notes[3]
    with pytest.raises(InputError, match="all weights are 0"):
        Translator(model, weights=Weights({"words": 0.0}))
    (tmp_path / "nan.tsv").write_text("words\tnan\n")
    with pytest.raises(InputError, match=r"nan.tsv:1.*finite"):
        Translator(model, weights=tmp_path / "nan.tsv")


def test_a_model_without_weights(tmp_path: Path) -> None:
    model = toy_model(tmp_path / "model")
    (tmp_path / "model" / "weights.tsv").unlink()
    notes: list[str] = []
    weights = model.weights(warn=notes.append)
    assert "default weights" in notes[0]
    assert weights["p(f|e)"] > 0


def test_nbest_options_need_nbest(model: Model) -> None:
    with pytest.raises(OptionError, match="--nbest N"):
        tokenized(model, distinct=True)


def test_a_result_does_not_wait_for_the_next_line(model: Model) -> None:
    """As on a pipe whose writer waits for each answer before the next line."""
    program = [sys.executable, str(Path(__file__).parents[2] / "decoder_toy.py"), "translate"]
    for threads in ("1", "3"):
        words = ["--model", str(model.directory), "--tokenized", "--threads", threads]
        with subprocess.Popen(
            [*program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for question, answer in (("haus", "house"), ("", ""), ("maus", "mouse")):
                process.stdin.write(question + "\n")
                process.stdin.flush()
                assert process.stdout.readline() == answer + "\n"
            process.stdin.close()
            assert process.wait(60) == 0


def test_a_line_that_cannot_be_decoded_stays_empty(model: Model) -> None:
    translated = list(tokenized(model).translate(["haus", "refused haus", "maus"], place="x"))
    assert [line.text for line in translated] == ["house", "", "mouse"]
    assert translated[1].score is None
    assert translated[1].warning == "x:2: no such words; leave them out"


def test_words_end_at_spaces_and_tabs_only(model: Model) -> None:
    assert texts(tokenized(model), "haus\u00a0haus\u3000 \t maus") == ["haus\u00a0haus\u3000 mouse"]


def test_bad_model_toml(tmp_path: Path) -> None:
    directory = toy_model(tmp_path / "model").directory
    path = directory / "model.toml"
    text, settings = path.read_text(), load_toml(path)
    for table, message in (
        ("[decoder]\nbeem = 3", "decoder.beem: a toy model has no such option; did you mean"),
        ("[decoder]\nbeam = 0", "decoder: beam: 0 is out of range"),
        ("[decoder.features]\nwords = 3", "expected {name = …, factor = …}"),
        ("[decoder.features.words]\nname = 'x'\nfactor = nan", "expected a number"),
        ("[lms]\nlm = 'other.bin'", "no such file"),
    ):
        path.write_text(f"{text}\n{table}\n")
        with pytest.raises(HopefearError) as caught:
            Model.load(directory).decoder()
        assert message in str(caught.value)
    for changed, message in (
        ({"text": 3}, r"text is 3, expected a table"),
        ({"text": {"source": {}}}, r"there is no table \[text\.target\]"),
        ({"training": {"folds": "x"}}, r"training\.folds is 'x'"),
    ):
        path.write_text(tomli_w.dumps({**settings, **changed}))
        with pytest.raises(InputError, match=message):
            Model.load(directory)
    path.write_text(f"decoder = 3\n{text}")
    with pytest.raises(InputError, match="expected a table"):
        Model.load(directory)
    path.write_text(text.replace('system = "toy"', 'system = "tory"'))
    with pytest.raises(InputError, match=r"model\.toml: unknown system 'tory'; did you"):
        Model.load(directory).decoder()


def test_unknown_words(model: Model) -> None:
    line = "die mause ist kleine X 7 ."
    assert texts(tokenized(model), line) == ["the mause is kleine X 7 ."]
    assert texts(tokenized(model, unknown="similar"), line) == ["the mouse is small X 7 ."]
    assert texts(tokenized(model, unknown="drop"), line) == ["the is X 7 ."]


def test_dropping_needs_the_positions_of_words(model: Model) -> None:
    for options in ({"markup": "exclusive"}, {"nbest": 1, "trace": True}):
        with pytest.raises(OptionError, match="--unknown drop: changes the positions"):
            tokenized(model, unknown="drop", **options)
