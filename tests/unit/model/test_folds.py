"""Folds: training pairs are decoded as by a model trained without their fold."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from phrase_small import gold

from hopefear.base.errors import InputError
from hopefear.cli import main
from hopefear.decode import PhraseDecoder, Sentence
from hopefear.forest import viterbi
from hopefear.model.directory import Model
from hopefear.model.folds import fold_range, in_folds
from hopefear.model.train import TrainOptions, train
from hopefear.text import world
from hopefear.text.lines import read_lines

FOLDS = 2
PAIRS = 300
TEXTS = ("source", "target", "alignment")


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with folds, and separate models trained without each fold."""
    folder = tmp_path_factory.mktemp("folds")
    world.write(world.generate(train=PAIRS, dev=6, test=1), folder)
    options: dict[str, Any] = {"tokenized": True, "order": 3, "threads": 1}
    train(
        folder / "train.zh",
        folder / "train.en",
        folder / "model",
        TrainOptions(folds=FOLDS, **options),
    )
    texts = {name: list(read_lines(folder / "model" / "work" / f"{name}.txt")) for name in TEXTS}
    for fold in range(FOLDS):
        begin, end = fold_range(fold, FOLDS, PAIRS)
        source, target, links = (
            write(folder / f"{name}.{fold}", [*lines[:begin], *lines[end:]])
            for name, lines in texts.items()
        )
        train(source, target, folder / f"model.{fold}", TrainOptions(align=links, **options))
        for side in ("zh", "en"):
            part = list(read_lines(folder / f"train.{side}"))[begin:end]
            write(folder / f"part.{fold}.{side}", part)
    return folder


def pairs(folder: Path, name: str = "train") -> list[tuple[Sentence, list[str]]]:
    sides = [read_lines(folder / f"{name}.{side}") for side in ("zh", "en")]
    return [(Sentence.of(zh), en.split()) for zh, en in zip(*sides, strict=True)]


def tune(folder: Path, model: str, run: Path, text: str, *more: str) -> int:
    words = ["tune", "--model", folder / model, "--dev", folder / "dev.zh", "--refs"]
    words += [folder / "dev.en.0", "--train", folder / f"{text}.zh", folder / f"{text}.en"]
    words += ["--tokenized", "--iterations", "2", "--patience", "0", "--beam", "10", "-o", run]
    return main([str(word) for word in [*words, "--threads", "2", "--progress", "off", *more]])


def test_folds_do_not_depend_on_the_order_of_pairs(folder: Path) -> None:
    model = Model.load(folder / "model")
    all_pairs = pairs(folder)
    folds = [sentence.fold for sentence in in_folds(model, all_pairs, Path("x"))]
    assert folds == [0] * 150 + [1] * 150
    mixed = [all_pairs[299], all_pairs[0], all_pairs[149], all_pairs[150]]
    assert [sentence.fold for sentence in in_folds(model, mixed, Path("x"))] == [1, 0, 0, 1]


def test_a_pair_that_occurs_twice_has_both_folds(tmp_path: Path) -> None:
    lines = ["a b", "c d", "e f", "a b"]
    for side in ("s", "t"):
        write(tmp_path / side, lines)
    write(tmp_path / "links", ["0-0 1-1"] * 4)
    options = TrainOptions(tokenized=True, order=2, align=tmp_path / "links", folds=2)
    train(tmp_path / "s", tmp_path / "t", tmp_path / "model", options)
    model = Model.load(tmp_path / "model")
    texts = [(Sentence.of(line), line.split()) for line in lines]
    assert [sentence.fold for sentence in in_folds(model, texts, Path("x"))] == [0, 0, 1, 1]
    assert [sentence.fold for sentence in in_folds(model, texts[::-1], Path("x"))] == [0, 1, 0, 1]


def test_decoding_is_that_of_a_model_trained_without_the_fold(folder: Path) -> None:
    model = Model.load(folder / "model")
    weights = model.weights()
    templates: dict[str, dict[str, Any]] = {"rule-id": {}, "rule-bigrams": {}}
    decoder = model.decoder(folds=True, templates=templates)
    by_hand = [Model.load(folder / f"model.{n}").decoder(templates=templates) for n in range(FOLDS)]
    assert isinstance(decoder, PhraseDecoder)
    forced = 0
    for sentence, target in zip(
        in_folds(model, pairs(folder), Path("x"))[::7], pairs(folder)[::7], strict=True
    ):
        assert sentence.fold is not None
        hand = by_hand[sentence.fold]
        assert isinstance(hand, PhraseDecoder)
        plain = Sentence(sentence.words)
        mine, other = decoder.forest(sentence, weights), hand.forest(plain, weights)
        best, expected = viterbi(mine, weights), viterbi(other, weights)
        assert best is not None
        assert expected is not None
        assert best.words == expected.words
        np.testing.assert_array_equal(best.features.ids, expected.features.ids)
        np.testing.assert_array_equal(best.features.values, expected.features.values)
        assert best.score == expected.score
        assert (mine.nodes, mine.edges) == (other.nodes, other.edges)
        uses = ((decoder, sentence), (hand, plain))
        golds = [gold(model_decoder, text, target[1], prefixes=2) for model_decoder, text in uses]
        pair, other_pair = golds[0].gold, golds[1].gold
        assert pair is not None
        assert other_pair is not None
        assert pair.target == other_pair.target
        assert golds[0].forest.edges == golds[1].forest.edges
        assert pair.sentence.fold == sentence.fold, "a prefix has the fold of its sentence"
        forced += golds[0].forest.edges > 0
    assert forced > 5


@pytest.mark.parametrize(
    "tuner",
    [
        ("maxforce", "--prefixes", "3", "--templates", "rule-id"),
        ("mira", "--templates", "rule-id", "--max-examples", "40", "--set", "minibatch=4"),
    ],
    ids=lambda words: words[0],
)
def test_learning_on_a_fold_is_learning_without_it(
    folder: Path, tmp_path: Path, tuner: tuple[str, ...]
) -> None:
    runs = [tmp_path / kind for kind in ("folds", "hand")]
    assert tune(folder, "model", runs[0], "part.1", "--tuner", *tuner, "--folds") == 0
    assert tune(folder, "model.1", runs[1], "part.1", "--tuner", *tuner) == 0
    for number in ("01", "02"):
        learned = [(run / "iterations" / f"{number}.tsv").read_bytes() for run in runs]
        assert learned[0] == learned[1]
        assert learned[0] != (runs[0] / "iterations" / "00.tsv").read_bytes()


def test_minibatches_of_several_folds_and_resuming(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--tuner", "maxforce", "--prefixes", "3", "--templates", "rule-id", "--folds")
    assert tune(folder, "model", tmp_path / "whole", "train", *words) == 0
    decode = PhraseDecoder.answer
    folds_seen: set[int | None] = set()
    for left in (8, 40, 10_000):

        def stopping(self: Any, request: Any) -> Any:
            nonlocal left
            if request.gold is not None:
                return decode(self, request)
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            folds_seen.add(request.sentence.fold)
            return decode(self, request)

        monkeypatch.setattr(PhraseDecoder, "answer", stopping)
        code = tune(folder, "model", tmp_path / "broken", "train", *words, "--resume")
        assert code == (0 if left >= 0 else 130)
    assert folds_seen == {None, 0, 1}, "the development set has no fold"
    for path in (tmp_path / "whole").rglob("*.tsv"):
        name = path.relative_to(tmp_path / "whole")
        assert (tmp_path / "broken" / name).read_bytes() == path.read_bytes(), name


def test_resuming_without_folds_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--tuner", "mira", "--max-examples", "5")
    assert tune(folder, "model", tmp_path / "run", "train", *words, "--folds") == 0
    capsys.readouterr()
    assert tune(folder, "model", tmp_path / "run", "train", *words, "--resume") == 2
    assert "folds" in capsys.readouterr().err


def test_hierarchical_models_have_folds_too(folder: Path, tmp_path: Path) -> None:
    for side in ("zh", "en"):
        write(tmp_path / f"train.{side}", list(read_lines(folder / f"train.{side}"))[:40])
    options: dict[str, Any] = {"tokenized": True, "order": 2, "system": "hiero"}
    texts = (tmp_path / "train.zh", tmp_path / "train.en")
    train(*texts, tmp_path / "model", TrainOptions(folds=2, **options))
    kept = [list(read_lines(tmp_path / "model" / "work" / f"{name}.txt"))[20:] for name in TEXTS]
    source, target, links = (
        write(tmp_path / name, lines) for name, lines in zip(TEXTS, kept, strict=True)
    )
    train(source, target, tmp_path / "hand", TrainOptions(align=links, **options))
    model, hand = Model.load(tmp_path / "model"), Model.load(tmp_path / "hand").decoder()
    decoder, weights = model.decoder(folds=True), model.weights()
    for sentence in in_folds(model, pairs(tmp_path), Path("x"))[:20:4]:
        mine = decoder.forest(sentence, weights)
        other = hand.forest(sentence.words, weights)
        best, expected = viterbi(mine, weights), viterbi(other, weights)
        assert best is not None
        assert expected is not None
        assert (best.text, best.score) == (expected.text, expected.score)


def test_folds_share_a_language_model_of_another_text(folder: Path, tmp_path: Path) -> None:
    options = TrainOptions(tokenized=True, order=2, folds=2, lm_text=folder / "dev.en.0")
    texts = folder / "train.zh", folder / "train.en"
    notes: list[str] = []
    train(*texts, tmp_path / "model", options, tell=notes.append)
    assert any("folds share the language model of --lm-text" in note for note in notes)
    model = Model.load(tmp_path / "model")
    assert [part.lms for part in model.fold_parts] == [model.lms] * 2


def test_dropped_pairs_have_no_fold_and_other_texts_are_refused(tmp_path: Path) -> None:
    lines = ["A b!", "c d " * 50, "e f", "g h"]
    for side in ("de", "en"):
        write(tmp_path / f"text.{side}", lines)
    texts = tmp_path / "text.de", tmp_path / "text.en"
    train(*texts, tmp_path / "model", TrainOptions(order=2, folds=2))
    model = Model.load(tmp_path / "model")
    sides = [model.text(side) for side in ("source", "target")]
    prepared = [(Sentence(tuple(sides[0].prepare(x))), sides[1].prepare(x)) for x in lines]
    assert [sentence.fold for sentence in in_folds(model, prepared, Path("x"))] == [0, None, 1, 1]
    foreign = [prepared[0], (Sentence.of("x"), ["y"]), (Sentence.of("g h"), ["z"])]
    with pytest.raises(InputError, match=r"^text:2: 2 of 3 sentence pairs, this one the first"):
        in_folds(model, foreign, Path("text"))
    with pytest.raises(InputError, match=r"^text:1: 1 of 1 sentence pairs"):
        in_folds(model, foreign[1:2], Path("text"))


def test_missing_files_are_named(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "model" / "work" / "target.txt").unlink()
    model = Model.load(tmp_path / "model")
    with pytest.raises(InputError, match=r"target.txt: no such file, so the folds of"):
        in_folds(model, pairs(folder), Path("x"))
    (tmp_path / "model" / "folds" / "1" / "lm.bin").unlink()
    with pytest.raises(InputError, match=r"1/lm.bin: no such file; copy the whole"):
        model.decoder(folds=True)
    with pytest.raises(InputError, match=r"model.0: has no folds; run the same 'hopefear train'"):
        Model.load(folder / "model.0").decoder(folds=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tuner", "maxforce", "--leave-out"), "--leave-out: has no effect with --folds"),
        (("--tuner", "mert"), "--train: mert learns from the development set"),
        (
            ("--tuner", "mira", "--decoder", "cat {weights}"),
            "--folds: only with a built-in decoder",
        ),
    ],
)
def test_refusals(
    words: tuple[str, ...],
    message: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tune(folder, "model", tmp_path / "run", "train", "--folds", *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_forced(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def forced(model: str, text: str, *more: str) -> str:
        texts = (folder / f"{text}.zh", folder / f"{text}.en", "--tokenized")
        words = ("forced", "--model", folder / model, *texts, "-o", tmp_path / "out", *more)
        assert main([str(word) for word in words]) == 0
        return (tmp_path / "out").read_text()

    halves = [forced(f"model.{fold}", f"part.{fold}").splitlines() for fold in range(FOLDS)]
    whole = forced("model", "train", "--folds", "--limits", "2").splitlines()
    strip = lambda line: line.split("\t")[1:]  # noqa: E731 (the number of the line)
    assert [strip(line) for line in whole] == [strip(line) for half in halves for line in half]
    assert whole != forced("model", "train").splitlines()
    capsys.readouterr()
    refused = ("forced", "--model", folder / "model", folder / "train.zh", folder / "train.en")
    assert main([str(word) for word in (*refused, "--folds", "--leave-out")]) == 2
    assert "--folds: excludes --leave-out and several targets" in capsys.readouterr().err
