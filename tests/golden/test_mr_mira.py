"""The exchange of kbest_mira and cdec, as it was recorded: read, written, and replayed."""

from __future__ import annotations

import base64
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.weights import Weights
from hopefear.decode.contract import Sentence
from hopefear.decode.remote.stream import StreamDecoder, StreamOptions
from hopefear.decode.remote.stream_wire import (
    Entry,
    StreamRequest,
    encode,
    read_count,
    read_entry,
    read_request,
    request_line,
)
from hopefear.forest import kbest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "golden" / "mr-mira"


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[str]:
    return (folder / "learner-to-decoder.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def answers(folder: Path) -> list[list[str]]:
    lines = (folder / "decoder-to-learner.txt").read_text(encoding="utf-8").splitlines()
    lists = []
    while lines:
        size = read_count(lines[0])
        lists.append(lines[1 : size + 1])
        lines = lines[size + 1 :]
    return lists


def start_weights(folder: Path) -> Weights:
    """Those that cdec was started with."""
    lines = (folder.parent / "cdec" / "weights.txt").read_text().splitlines()
    return Weights({name: float(value) for name, value in map(str.split, lines)})


def written(request: StreamRequest, delta: str) -> str:
    words, id, grammar, _ = request
    assert id is not None
    return request_line(words.split(), id=id, grammar=grammar, delta=delta)


def test_questions(questions: list[str]) -> None:
    first, second, third = (read_request(line, "x") for line in questions)
    assert first.delta is None
    assert first.grammar == "grammars/grammar.0.gz"
    assert written(first, "") == questions[0]
    # The second is cut; all but its last value is there.
    assert second.delta is not None
    assert list(second.delta.values)[:2] == ["LanguageModel", "EgivenFCoherent"]
    assert len(second.delta.values) == 6
    assert second.delta.cut is not None
    assert second.delta.cut.name == "IsSingletonFE"
    assert any(value == pytest.approx(-0.01) for value in second.delta.cut.candidates)
    # The third is right, and we write the same bytes.
    assert third.delta is not None
    assert third.delta.cut is None
    assert third.delta.values["IsSingletonFE"] == pytest.approx(-0.01)
    assert written(third, encode(third.delta.values.items())) == questions[2]


def test_answers(answers: list[list[str]], questions: list[str]) -> None:
    assert [len(entries) for entries in answers] == [5, 5, 5]
    same = cut = 0
    for question, entries in zip(questions, answers, strict=True):
        asked = read_request(question, "x")
        for line in entries:
            entry = read_entry(line)
            assert entry.id == asked.id
            assert entry.source_words == len(asked.words.split())
            theirs = line.split(" ||| ")[3]
            ours = encode(entry.features.values.items())
            if entry.features.cut is not None:
                cut += 1
            elif not theirs.endswith("="):
                same += 1
                assert ours == theirs
            else:
                raw = base64.b64decode(theirs)
                assert base64.b64decode(ours) == raw + b"\0" * (-len(raw) % 3)
    assert (same, cut) == (7, 1)


def test_score_restores_truncated_precision(
    folder: Path, questions: list[str], answers: list[list[str]]
) -> None:
    """Our learner asks what theirs asked, of a decoder that answers what cdec answered."""
    recorded = shlex.quote(str(folder / "decoder-to-learner.txt"))
    six = "for i in 1 2 3 4 5 6; do IFS= read -r x <&3; printf '%s\\n' \"$x\"; done"
    command = f"while read -r line; do {six}; done 3< {recorded}"
    weights = start_weights(folder)
    warnings: list[str] = []
    options = StreamOptions(command=command, start_timeout=30)
    with StreamDecoder(options, weights, warn=warnings.append) as decoder:
        for question, entries in zip(questions, answers, strict=True):
            asked = read_request(question, "x")
            if asked.delta is not None:
                for name, value in asked.delta.values.items():
                    weights[name] += value
            forest = decoder.forest(Sentence(tuple(asked.words.split()), asked.id or ""), weights)
            by_text = {found.text: found for found in kbest(forest, weights, 9)}
            for line in entries:
                entry: Entry = read_entry(line)
                found = by_text[" ".join(entry.words)]
                assert found.score == pytest.approx(entry.score, abs=1e-4)
                lm = found.features.get(decoder.names.intern("LanguageModel"))
                assert -25 < lm < -10
    assert len(warnings) == 1
    assert "truncates the last byte" in warnings[0]


def test_our_decoder_in_the_place_of_cdec(
    folder: Path, answers: list[list[str]], hopefear: Run, tmp_path: Path
) -> None:
    cdec, model = folder.parent / "cdec", tmp_path / "model"
    words = ["import", cdec / "cdec.ini", "--weights", cdec / "weights.txt", "--model", model]
    assert hopefear(*words).returncode == 0
    # The last value of the second question is lost, for us as for cdec.
    asked = (folder / "learner-to-decoder.txt").read_text(encoding="utf-8")
    words = ["translate", "--model", model, "--serve-learner", "--nbest", "5", "--distinct"]
    done = hopefear(*words, input=asked, cwd=cdec)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning") == 1
    assert "<stdin>:2: the last byte of the delta is missing" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[::6] == ["5", "5", "5"]
    same = 0
    for number, theirs in enumerate(answers):
        ours = [read_entry(line) for line in lines[6 * number + 1 : 6 * number + 6]]
        scores = [entry.score for entry in ours]
        assert scores == sorted(scores, reverse=True)
        for line in theirs:
            entry = read_entry(line)
            for mine in ours:
                if mine.words == entry.words and entry.features.cut is None:
                    assert mine[:2] == entry[:2]
                    assert mine.score == pytest.approx(entry.score, abs=1e-3)
                    assert mine.features.values == pytest.approx(entry.features.values, abs=1e-3)
                    same += 1
    assert same >= 12
