"""The aligner as people use it: files, new text, saved models, and what it refuses."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from hopefear.align import Aligner, Settings, align_files, read_alignments, read_pairs
from hopefear.base.errors import HopefearError, InputError, OptionError

SENTENCES = """das haus ist klein|the house is small
das buch ist klein|the book is small
ein haus|a house
ein buch|a book
das haus|the house
das buch|the book
ist das haus klein|is the house small
ein kleines buch|a small book
klein ist das buch|small is the book
da ist ein haus|there is a house
"""
PAIRS = [line.split("|") for line in (SENTENCES * 3).splitlines()]
SOURCE = "".join(source + "\n" for source, _ in PAIRS)
TARGET = "".join(target + "\n" for _, target in PAIRS)


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.de", tmp_path / "a.en"
    paths[0].write_text(SOURCE)
    paths[1].write_text(TARGET)
    return paths


@pytest.fixture
def aligner(text: tuple[Path, Path]) -> Aligner:
    return Aligner.train(read_pairs(*text))


@pytest.mark.engine
def test_aligns_a_toy_text(text: tuple[Path, Path], tmp_path: Path) -> None:
    output = tmp_path / "out.align"
    summary = align_files(*text, output)
    alignments = list(read_alignments(output))
    assert alignments[0] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert alignments[2] == [(0, 0), (1, 1)]
    assert alignments[6] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert summary.report.links == sum(map(len, alignments))
    assert summary.report.source_words == len(SOURCE.split())
    assert summary.lines == summary.report.pairs == 30
    assert len(summary.iterations) == 6


@pytest.mark.engine
@pytest.mark.parametrize("name", ["model1", "hmm", "fertility"])
def test_a_saved_model_aligns_alike(text: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    trained = Aligner.train(read_pairs(*text), Settings(aligner=name, alpha=0.02))
    trained.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model")
    assert loaded.settings == trained.settings
    pairs = read_pairs(*text)  # not the training's own pairs, whose links are known
    for kwargs in ({}, {"posterior": 0.3}, {"direction": "reverse"}, {"symmetrise": "union"}):
        trained.write(pairs, tmp_path / "1", **kwargs)
        loaded.write(pairs, tmp_path / "2", **kwargs)
        assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    loaded.save(tmp_path / "model")  # over the old one
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["model"]
    p, q = (a.posteriors(["das", "haus"], ["the", "house"]) for a in (trained, loaded))
    np.testing.assert_array_equal(p.forward, q.forward)
    np.testing.assert_array_equal(p.reverse, q.reverse)


@pytest.mark.engine
def test_unknown_words_go_together(aligner: Aligner) -> None:
    found = aligner.align(["das", "zebra", "ist", "klein"], ["the", "zebra", "is", "small"])
    assert found == [(0, 0), (1, 1), (2, 2), (3, 3)]
    # A name at the other end: the same string beats the neighbourhood.
    found = aligner.align(["ein", "haus", "von", "1968"], ["1968", "'s", "house"])
    assert (3, 0) in found
    found = aligner.align(["das", "gnu", "ist", "klein"], ["the", "wildebeest", "is", "small"])
    assert (1, 1) in found
    assert (2, 2) in found


@pytest.mark.engine
def test_posteriors_are_probabilities(aligner: Aligner) -> None:
    source, target = ["das", "neue", "haus", "ist", "klein"], ["the", "house", "is", "small"]
    p = aligner.posteriors(source, target)
    assert p.forward.shape == (6, 4)
    assert p.reverse.shape == (5, 5)
    np.testing.assert_allclose(p.forward.sum(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(p.reverse.sum(axis=1), 1, atol=1e-5)
    assert p.forward[2, 1] > 0.8
    links = aligner.align(source, target, direction="forward", posterior=0.7)
    assert links == sorted(zip(*np.nonzero(p.forward[:-1] >= np.float32(0.7)), strict=True))
    assert (2, 1) in links
    assert aligner.align(source, []) == []


@pytest.mark.engine
def test_rare_words_do_not_collect_garbage() -> None:
    """A word seen once must not explain all around it."""
    import io

    from hopefear import _engine

    source = ["a b c d"] * 20 + ["a b zzz c d"]
    target = ["A B C D"] * 20 + ["A B X Y Z C D"]
    names = (io.BytesIO("\n".join(lines).encode()) for lines in (source, target))
    first, second = names
    pairs = _engine.AlignBitext.read(first, "s", second, "t", 1000, True, True)
    for name in ("model1", "fertility"):
        aligner = Aligner.train(pairs, Settings(aligner=name))
        p = aligner.posteriors(source[-1].split(), target[-1].split())
        assert float(p.forward[2, [0, 1, 5, 6]].sum()) < 0.01


@pytest.mark.engine
@pytest.mark.parametrize(
    ("word", "translation"),
    [("gouvernement", "government"), ("22日", "22nd"), ("Zürich", "Zürich"), ("çæ", "çæ")],
)
def test_similar_words_go_together(aligner: Aligner, word: str, translation: str) -> None:
    source, target = [word, "neu", "das", "haus"], ["the", "house", "new", translation]
    p = aligner.posteriors(source, target)
    assert p.forward[0, 3] > 0.5
    assert p.reverse[0, 3] > 0.5


@pytest.mark.engine
def test_similarity_can_be_disabled(text: tuple[Path, Path]) -> None:
    source, target = ["government", "neu", "das", "haus"], ["the", "house", "new", "government"]
    p = [
        Aligner.train(read_pairs(*text), Settings(similar=similar)).posteriors(source, target)
        for similar in (0.0, 1.0)
    ]
    assert p[0].forward[0, 3] < p[1].forward[0, 3] - 0.1


@pytest.mark.engine
def test_empty_lines_are_skipped_or_refused(tmp_path: Path) -> None:
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "out"
    a.write_text("x y\n\nx\n \t\nx y\n")
    b.write_text("X Y\nX\n\n\nX Y\n")
    summary = align_files(a, b, out)
    assert summary.skipped == {"empty source": 1, "empty target": 1, "both empty": 1}
    lines = out.read_text().split("\n")
    assert len(lines) == 6
    assert lines[1:4] == ["", "", ""]
    assert lines[0] == lines[4] != ""
    with pytest.raises(InputError, match=rf"{a}:2: the line is empty, its partner {b}:2 is not"):
        read_pairs(a, b, empty="error")
    a.write_text("x\nx\n")
    b.write_text("X\n\n")
    with pytest.raises(InputError, match=rf"{b}:2: the line is empty"):
        read_pairs(a, b, empty="error")


@pytest.mark.engine
def test_different_line_counts_are_named(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("x\n" * 7)
    b.write_text("X\n" * 9)
    with pytest.raises(InputError, match=f"{a} has 7 lines, {b} has 9;"):
        read_pairs(a, b)
    with pytest.raises(InputError, match=f"{b} has 9 lines, {a} has 7;"):
        read_pairs(b, a)


@pytest.mark.engine
def test_long_sentences_are_refused_or_skipped(tmp_path: Path) -> None:
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "out"
    a.write_text("x\n" + "x " * 1001 + "\nx\n")
    b.write_text("X\nX\nX\n")
    with pytest.raises(InputError, match=f"{a}:2: a sentence of 1001 words, at most 1000"):
        align_files(a, b, out)
    assert not out.exists()
    assert align_files(a, b, out, long="skip").skipped == {"long source": 1}
    assert out.read_text() == "0-0\n\n0-0\n"
    assert align_files(a, b, out, max_length=1001).skipped == {}


@pytest.mark.engine
def test_nothing_to_learn_from(tmp_path: Path) -> None:
    a = tmp_path / "a"
    for content in ("", "\n\n"):
        a.write_text(content)
        with pytest.raises(InputError, match=r"/a: .*; learning needs at least one pair"):
            align_files(a, a, tmp_path / "out")
        with pytest.raises(InputError, match="no sentence pair"):
            Aligner.train(read_pairs(a, a))


@pytest.mark.engine
def test_odd_bytes_are_words_like_others(tmp_path: Path) -> None:
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "out"
    a.write_bytes(b"\xff\xfe q\x00r\r\n\xff\xfe\n" * 5)
    b.write_bytes("ÿ w\u00a0w\nÿ\n".encode() * 5)
    align_files(a, b, out)
    assert out.read_text().splitlines()[:2] == ["0-0 1-1", "0-0"]
    aligner = Aligner.train(read_pairs(a, b))
    aligner.save(tmp_path / "model")
    word = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert Aligner.load(tmp_path / "model").translations(word)["ÿ"][0] > 0.5


@pytest.mark.engine
def test_folders_whose_names_are_no_utf8(aligner: Aligner, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"model\xff")
    aligner.save(folder)
    house = aligner.translations("haus")["house"]
    assert Aligner.load(folder).translations("haus")["house"] == house


@pytest.mark.engine
def test_damaged_models_are_refused(aligner: Aligner, tmp_path: Path) -> None:
    model = tmp_path / "model"
    aligner.save(model)
    whole = (model / "align.bin").read_bytes()
    for bad in (b"", whole[:100], whole[:-1], whole[:2000] + b"\x7f" + whole[2001:], b"x" * 5000):
        (model / "align.bin").write_bytes(bad)
        with pytest.raises(InputError, match=r"align\.bin"):
            Aligner.load(model)
    (model / "align.bin").write_bytes(whole)
    described = (model / "align.toml").read_text()
    for old, new in (
        ("format = 2", "format = 1"),
        ("source_types = ", "source_types = 1"),
        ("alpha = 0.001", "alpha = -1.0"),
        ("[training]", "[train"),
    ):
        (model / "align.toml").write_text(described.replace(old, new))
        with pytest.raises(HopefearError, match=r"align\.toml"):
            Aligner.load(model)
    (model / "align.toml").unlink()
    with pytest.raises(InputError, match=r"align\.toml is missing"):
        Aligner.load(model)
    with pytest.raises(FileNotFoundError):
        Aligner.load(tmp_path / "nowhere")


@pytest.mark.engine
def test_a_foreign_directory_is_not_replaced(aligner: Aligner, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("x")
    with pytest.raises(OptionError, match=r"contains 'thesis\.tex'"):
        aligner.save(folder)
    assert (folder / "thesis.tex").exists()


def test_settings_are_checked() -> None:
    with pytest.raises(OptionError, match="nothing else to train"):
        Settings(aligner="model1", model1_iterations=0)
    with pytest.raises(OptionError, match="--window has no effect"):
        Settings(aligner="model1", window=3)
    with pytest.raises(OptionError, match="--fertility-prior has no effect"):
        Settings(aligner="hmm", fertility_prior=3)


@pytest.mark.engine
def test_words_with_blanks_are_refused(aligner: Aligner) -> None:
    with pytest.raises(InputError, match="is not one word"):
        aligner.align(["das haus"], ["the"])
    with pytest.raises(OptionError, match="posterior"):
        aligner.align(["das"], ["the"], posterior=1.5)


def test_an_interrupt_stops_the_training(tmp_path: Path) -> None:
    a = tmp_path / "a"
    a.write_text("a b c d e f g h\n" * 20000)
    pairs = read_pairs(a, a)
    # A process in the background ignores the signal; here it must not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Aligner.train(pairs, Settings(hmm_iterations=1000))
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
