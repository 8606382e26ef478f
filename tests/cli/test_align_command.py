"""`hopefear align`: its output, its report and its messages about bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

SOURCE = "das haus\ndas buch\nein haus\nein buch\nein haus ist da\n" * 4
TARGET = "the house\nthe book\na house\na book\na house is there\n" * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.de").write_text(SOURCE)
    (tmp_path / "a.en").write_text(TARGET)
    (tmp_path / "short.en").write_text("the house\n")
    (tmp_path / "gap.en").write_text(TARGET.replace("the book", "", 1))
    (tmp_path / "long.de").write_text("x " * 1500 + "\n")
    (tmp_path / "f").write_text("0-0 1-1\n1-1\n")
    (tmp_path / "r").write_text("0-0\n1-1 1-0\n")
    (tmp_path / "bad").write_text("0-0\n0:0\n")
    return tmp_path


@pytest.mark.parametrize("threads", ["1", "2"])
def test_alignment_of_a_bitext(hopefear, folder: Path, threads: str) -> None:
    words = ("align", "a.de", "a.en", "-o", "out", "--threads", threads, "--json")
    done = hopefear(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "out").read_text().startswith("0-0 1-1\n0-0 1-1\n")
    report = json.loads(done.stdout)
    assert report["pairs"] == report["lines"] == 20
    assert [i["model"] for i in report["iterations"]] == ["model1"] * 4 + ["hmm"] * 2
    assert report["unaligned_source"] == 0
    assert "Model 1 1: 100%, 20 pairs" in done.stderr
    assert "log-likelihood per word: forward -" in done.stderr
    assert "log score per word: forward " in done.stderr


def test_report_as_text(hopefear, folder: Path) -> None:
    done = hopefear("align", "a.de", "a.en", "-o", "out.gz", "--progress", "off", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "unaligned source  0 (0.0%)" in done.stdout
    assert gzip.decompress((folder / "out.gz").read_bytes()).startswith(b"0-0 1-1\n")
    done = hopefear("align", "-", "a.en", "-o", "-", cwd=folder, input=SOURCE)
    assert done.stdout.splitlines()[:2] == ["0-0 1-1", "0-0 1-1"]
    assert len(done.stdout.splitlines()) == 20
    assert "unaligned source  0 (0.0%)" in done.stderr


def test_a_saved_model_aligns_new_text(hopefear, folder: Path) -> None:
    done = hopefear("align", "a.de", "a.en", "-o", "1", "--save-model", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "n.de").write_text("das buch ist da\nein zebra\n")
    (folder / "n.en").write_text("the book is there\na zebra\n")
    words = ("align", "n.de", "n.en", "-o", "2", "--model", "model", "--json")
    done = hopefear(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "2").read_text() == "0-0 1-1 2-2 3-3\n0-0 1-1\n"
    report = json.loads(done.stdout)
    assert report["unknown_source"] == report["unknown_target"] == 1
    assert report["iterations"] == []


def test_one_direction_and_posteriors(hopefear, folder: Path) -> None:
    base = ("align", "a.de", "a.en", "--progress", "off", "-o")
    for name, extra in {
        "forward": ("--direction", "forward"),
        "reverse": ("--direction", "reverse"),
        "union": ("--symmetrize", "union"),
        "sure": ("--posterior", "0.9", "--symmetrize", "intersect"),
    }.items():
        done = hopefear(*base, name, *extra, cwd=folder)
        assert done.returncode == 0, done.stderr
    words = ("align", "--forward", "forward", "--reverse", "reverse", "--symmetrize", "union")
    assert hopefear(*words, "-o", "union2", cwd=folder).returncode == 0
    assert (folder / "union").read_text() == (folder / "union2").read_text()
    assert len((folder / "sure").read_text().splitlines()) == 20


def test_symmetrisation_of_files(hopefear, folder: Path) -> None:
    words = ("align", "--symmetrize", "intersect", "--forward", "f", "--reverse", "r", "-o", "s")
    done = hopefear(*words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "s").read_text() == "0-0\n1-1\n"
    assert json.loads(done.stdout)["lines"] == 2


def test_score_against_gold(hopefear, folder: Path) -> None:
    (folder / "gold").write_text("0-0 1p1\n1-1 0p0 0-0\n")
    (folder / "links").write_text("0-0 1-1 1-0\n0-0\n")
    words = ("align", "--score", "links", "--gold", "gold")
    done = hopefear(*words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    # A & S: 0-0 | 0-0; A & P: 0-0 1-1 | 0-0.
    report = json.loads(done.stdout)
    counts = {"links": 4, "sure": 3, "possible": 4}
    assert {key: report.pop(key) for key in counts} == counts
    expected = {"precision": 3 / 4, "recall": 2 / 3, "f1": 12 / 17, "aer": 1 - 5 / 7}
    assert report == pytest.approx({key: 100 * value for key, value in expected.items()})
    done = hopefear(*words, cwd=folder)
    assert "aer        28.57%" in done.stdout
    (folder / "two").write_text("a b\na b\n")
    done = hopefear("align", "two", "two", *words[1:], "--json", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--score f", "--score is given, --gold is missing"),
        ("--gold f", "--gold is given, --score is missing"),
        ("--score f --gold bad", "bad:2: '0:0' is no gold link; give links as 'i-j' (sure)"),
        ("--score bad --gold f", "bad:2: '0:0' is no alignment point"),
        ("--score f --gold one", "f has 2 lines, one has 1; give the links of the gold"),
        ("--score none --gold none", "none: the file is empty; give gold alignments"),
        ("--score f --gold f -o out", "so --output has no effect; remove it"),
        ("--score f --gold f --alpha 1", "so --alpha has no effect; remove it"),
        ("short short --score one --gold one2", "one2:1: 2-0 points to source word 2"),
        ("a.de a.en", "--output is missing: give a file for the alignment with -o"),
    ],
)
def test_invalid_scores(hopefear, folder: Path, words: str, message: str) -> None:
    for name, content in {"one": "0-0\n", "one2": "2p0\n", "none": "", "short": "a b\n"}.items():
        (folder / name).write_text(content)
    done = hopefear("align", *words.split(), cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr.strip().splitlines()[-1]


def test_skipped_lines_are_named(hopefear, folder: Path) -> None:
    done = hopefear("align", "a.de", "gap.en", "-o", "out", cwd=folder)
    assert done.returncode == 0
    assert "warning: a.de, gap.en: skipped line 2 (empty target)" in done.stderr
    assert (folder / "out").read_text().split("\n")[1] == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a.de short.en", "a.de has 20 lines, short.en has 1; give two files"),
        ("a.de", "TGT is missing"),
        ("", "SRC and TGT are missing"),
        ("a.de nowhere", "nowhere: No such file"),
        ("a.de gap.en --empty error", "gap.en:2: the line is empty, its partner a.de:2 is not"),
        ("long.de short.en", "long.de:1: a sentence of 1500 words, at most 1000"),
        ("a.de a.en --p0 0", "--p0: 0.0 is out of range"),
        ("a.de a.en --posterior 2", "--posterior: 2.0 is out of range"),
        ("a.de a.en --alpha nan", "--alpha: nan is not valid"),
        ("a.de a.en --hmm-iterations 0", "--hmm-iterations: 0 is out of range"),
        ("a.de a.en --aligner model1 --hmm-iterations 5", "--hmm-iterations has no effect"),
        ("a.de a.en --aligner hmm --fertility-prior 1", "--fertility-prior has no effect"),
        ("a.de a.en --aligner ibm4", "--aligner: 'ibm4' is not valid; give one of"),
        ("a.de a.en --symmetrize grow", "--symmetrize: 'grow' is not valid; give one of"),
        ("a.de a.en --symmetrize union --direction forward", "needs both directions"),
        ("a.de a.en --model f", "f: not an alignment model, align.toml is missing"),
        ("a.de a.en --model . --alpha 0.5", "so --alpha has no effect; remove it"),
        ("a.de a.en --save-model .", "is not an alignment model, so it is not replaced"),
        ("--forward f", "--forward is given, --reverse is missing"),
        ("--forward f --reverse bad", "bad:2: '0:0' is no alignment point"),
        ("--forward f --reverse r --threads 2", "so --threads has no effect"),
        ("a.de a.en --forward f --reverse r", "f: ends before line 3, but the text continues"),
        ("- -", "only one can be read from stdin"),
        ("a.de - --forward f --reverse r", "reads alignments and texts twice; give files"),
        ("a.de a.en --forward - --reverse r", "reads alignments and texts twice; give files"),
    ],
)
def test_invalid_options(hopefear, folder: Path, words: str, message: str) -> None:
    before = sorted(folder.iterdir())
    done = hopefear("align", *words.split(), "-o", "new", cwd=folder, input="")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert message in last
    assert last.startswith("hopefear: ")
    assert sorted(folder.iterdir()) == before


def test_output_must_be_writable_before_the_work(hopefear, folder: Path) -> None:
    done = hopefear("align", "a.de", "a.en", "-o", "no/where/out", cwd=folder)
    assert done.returncode == 2
    assert "Model 1" not in done.stderr


def test_text_without_training_pairs(hopefear, folder: Path) -> None:
    (folder / "blank.de").write_text("\n\n")
    (folder / "none").write_text("")
    for words, message in (
        (("blank.de", "blank.de"), "blank.de, blank.de: all 2 lines are skipped; learning needs"),
        (("none", "none"), "none, none: the files are empty; learning needs"),
    ):
        done = hopefear("align", *words, "-o", "new", cwd=folder)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(f"hopefear: {message}")
        assert not (folder / "new").exists()
