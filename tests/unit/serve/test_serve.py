"""Serving a learner, with the toy decoder of the tests."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from decoder_toy import toy_model

from hopefear.base.errors import InputError
from hopefear.decode.remote.stream_wire import Entry, encode, read_entry, request_line
from hopefear.model.directory import Model
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.serve import learner as serve
from hopefear.serve.learner import LearnerServer, requests


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return toy_model(tmp_path_factory.mktemp("toy") / "model")


def server(model: Model, k: int = 4, **options: object) -> LearnerServer:
    translator = Translator(model, options=TranslateOptions(tokenized=True))
    return LearnerServer(translator, k=k, **options)  # type: ignore[arg-type]


def entries(answer: str) -> list[Entry]:
    """Those of an answer, whose number of lines is right."""
    count, *lines = answer.split("\n")
    assert lines.pop() == ""
    assert len(lines) == int(count)
    return [read_entry(line) for line in lines if line]


def test_lists_with_features(model: Model) -> None:
    serving = server(model)
    found = entries(serving.answer('<seg id="x7"> das haus </seg>', "x:1"))
    assert [entry.id for entry in found] == ["x7"] * len(found)
    assert [entry.words for entry in found] == [["the", "house"], ["that", "house"]]
    assert found[0].source_words == 2
    assert found[0].features.values["words"] == 2.0
    for entry in found:
        by_hand = sum(
            serving.weights[name] * value for name, value in entry.features.values.items()
        )
        assert entry.score == pytest.approx(by_hand)
    assert entries(serving.answer("<seg> das </seg>", "x:2"))[0].id == "1", "the second question"


def test_weights_change_and_nothing_is_rounded_twice(model: Model) -> None:
    serving = server(model, k=1)
    before = serving.weights["words"]
    assert serving.translator.weights["words"] == before
    random = np.random.default_rng(1)
    wanted = float(np.float32(before))
    for _ in range(50):
        after = float(np.float32(random.normal()))
        delta = encode([("words", after - wanted), ("never-seen", 1.0)])
        wanted = after
        (found,) = entries(serving.answer(request_line(["das"], id="0", delta=delta), "x:1"))
        assert serving.weights["words"] == wanted
    assert serving.weights["never-seen"] == 50
    assert serving.translator.weights["words"] == before, "a copy"
    serving.weights["p(e|f)"] = serving.weights["p(f|e)"] = 0.0
    delta = encode([("lex(e|f)", -100.0)])
    (found,) = entries(serving.answer(request_line(["das"], id="0", delta=delta), "x:1"))
    assert found.words == ["that"], "the least likely one"


def test_nothing_to_learn_from(model: Model) -> None:
    said: list[str] = []
    serving = server(model, warn=said.append)
    assert serving.answer("<seg></seg>", "x:1") == "0\n"
    assert serving.answer("<seg> refused </seg>", "x:2") == "0\n"
    assert said == ["x:2: no such words; leave them out; this sentence is skipped"]


def test_a_cut_delta_is_left_out_with_one_warning(model: Model) -> None:
    said: list[str] = []
    serving = server(model, warn=said.append)
    # "words", NUL and 8 bytes are 14, which is 2 mod 3: the last byte is lost.
    text = encode([("words", 1.0)])
    line = f'<seg delta="{text[:-2]}==" id="0"> das </seg>'
    before = serving.weights["words"]
    for _ in range(2):
        entries(serving.answer(line, "x:1"))
    assert serving.weights["words"] == before
    assert len(said) == 1
    assert "the change of 'words' is left out" in said[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("das haus", "x:3: 'das haus', expected <seg"),
        ("<seg> das", "x:3: <seg> is not closed"),
        ('<seg delta="?"> das </seg>', "x:3: delta: '.' is not base64"),
        (
            f'<seg delta="{encode([("a", float("nan"))])}"> a </seg>',
            "x:3: delta: feature 'a' is nan",
        ),
        (
            f'<seg delta="{encode([("a", -1e39)])}"> a </seg>',
            "x:3: delta: makes the weight of 'a' -1e.39, expected at most",
        ),
        ('<seg id="a ||| b"> das </seg>', "x:3: id 'a .{3} b' cannot stand in an answer"),
        ('<seg id="a&#10;b"> das </seg>', "x:3: id 'a.nb' cannot stand in an answer"),
        ('<seg grammar="g.gz"> das </seg>', "x:3: grammar 'g.gz': a toy model takes none"),
        ("\0\1\2" * 1000, "x:3: .*expected <seg"),
    ],
)
def test_learners_of_nonsense(model: Model, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        server(model).answer(line, "x:3")
    assert len(str(caught.value)) < 300


def test_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = list(requests(io.BytesIO("é\nlast".encode()), "x"))
    assert lines == [("é\n", "x:1"), ("last", "x:2")]
    with pytest.raises(InputError, match="x:2: byte 0xff at column 2"):
        list(requests(io.BytesIO(b"a\nb\xff\n"), "x"))
    monkeypatch.setattr(serve, "LONGEST_REQUEST", 100)
    with pytest.raises(InputError, match="x:1: a line of more than 100 bytes"):
        list(requests(io.BytesIO(b"x" * 1000), "x"))
