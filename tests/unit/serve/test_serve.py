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


def make_server(model: Model, k: int = 4, **options: object) -> LearnerServer:
    translator = Translator(model, options=TranslateOptions(tokenized=True))
    return LearnerServer(translator, k=k, **options)  # type: ignore[arg-type]


def entries(answer: str) -> list[Entry]:
    """The entries of an answer, after a check of its number of lines."""
    count, *lines = answer.split("\n")
    assert lines.pop() == ""
    assert len(lines) == int(count)
    return [read_entry(line) for line in lines if line]


def test_lists_with_features(model: Model) -> None:
    server = make_server(model)
    answers = entries(server.answer('<seg id="x7"> das haus </seg>', "x:1"))
    assert [entry.id for entry in answers] == ["x7"] * len(answers)
    assert [entry.words for entry in answers] == [["the", "house"], ["that", "house"]]
    assert answers[0].source_words == 2
    assert answers[0].features.values["words"] == 2.0
    for entry in answers:
        by_hand = sum(server.weights[name] * value for name, value in entry.features.values.items())
        assert entry.score == pytest.approx(by_hand)
    assert entries(server.answer("<seg> das </seg>", "x:2"))[0].id == "1", "the second request"


def test_changed_weights_are_exact(model: Model) -> None:
    server = make_server(model, k=1)
    before = server.weights["words"]
    assert server.translator.weights["words"] == before
    random = np.random.default_rng(1)
    expected = float(np.float32(before))
    for _ in range(50):
        after = float(np.float32(random.normal()))
        delta = encode([("words", after - expected), ("never-seen", 1.0)])
        expected = after
        (answer,) = entries(server.answer(request_line(["das"], id="0", delta=delta), "x:1"))
        assert server.weights["words"] == expected
    assert server.weights["never-seen"] == 50
    assert server.translator.weights["words"] == before, "a copy"
    server.weights["p(e|f)"] = server.weights["p(f|e)"] = 0.0
    delta = encode([("lex(e|f)", -100.0)])
    (answer,) = entries(server.answer(request_line(["das"], id="0", delta=delta), "x:1"))
    assert answer.words == ["that"], "the least likely one"


def test_sentences_without_a_list(model: Model) -> None:
    messages: list[str] = []
    server = make_server(model, warn=messages.append)
    assert server.answer("<seg></seg>", "x:1") == "0\n"
    assert server.answer("<seg> refused </seg>", "x:2") == "0\n"
    assert messages == ["x:2: no such words; leave them out; this sentence is skipped"]


def test_a_truncated_change_is_ignored_with_one_warning(model: Model) -> None:
    messages: list[str] = []
    server = make_server(model, warn=messages.append)
    # "words", NUL and 8 bytes are 14, which is 2 mod 3: the last byte is lost.
    text = encode([("words", 1.0)])
    line = f'<seg delta="{text[:-2]}==" id="0"> das </seg>'
    before = server.weights["words"]
    for _ in range(2):
        entries(server.answer(line, "x:1"))
    assert server.weights["words"] == before
    assert len(messages) == 1
    assert "the change of 'words' is ignored" in messages[0]


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
        ('<seg id="a ||| b"> das </seg>', "x:3: id 'a .{3} b' is not valid"),
        ('<seg id="a&#10;b"> das </seg>', "x:3: id 'a.nb' is not valid"),
        ('<seg grammar="g.gz"> das </seg>', "x:3: grammar 'g.gz': a toy model does not accept"),
        ("\0\1\2" * 1000, "x:3: .*expected <seg"),
    ],
)
def test_invalid_requests(model: Model, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_server(model).answer(line, "x:3")
    assert len(str(caught.value)) < 300


def test_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = list(requests(io.BytesIO("é\nlast".encode()), "x"))
    assert lines == [("é\n", "x:1"), ("last", "x:2")]
    with pytest.raises(InputError, match="x:2: byte 0xff at column 2"):
        list(requests(io.BytesIO(b"a\nb\xff\n"), "x"))
    monkeypatch.setattr(serve, "LONGEST_REQUEST", 100)
    with pytest.raises(InputError, match="x:1: a line of more than 100 bytes"):
        list(requests(io.BytesIO(b"x" * 1000), "x"))
