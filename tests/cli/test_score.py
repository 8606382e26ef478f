"""`hopefear score`: its report, its table and its messages about bad input."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jiwer
import pytest
import sacrebleu

from hopefear.metrics.score import RAW_TEXT

Run = Callable[..., subprocess.CompletedProcess[str]]

REFERENCE = [
    "The cat sat on the mat, quietly.",
    "It was a very cold night in winter.",
    "Nobody knows where the old man went.",
    "She reads a book about the sea.",
] * 5
GOOD = [line.replace("very ", "").replace("old man", "man") for line in REFERENCE]
BAD = [line.replace("the ", "a ").replace("was", "is").replace("book", "paper") for line in GOOD]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path / "ref", REFERENCE)
    write(tmp_path / "good", GOOD)
    write(tmp_path / "bad", BAD)
    return tmp_path


def report(run: Run, folder: Path, *words: str) -> dict:
    result = run("score", *words, "--json", "--progress", "off", cwd=folder)
    assert result.returncode == 0
    assert result.stderr in ("", f"warning: {RAW_TEXT}\n")  # most of these texts are raw
    return json.loads(result.stdout)


def test_raw_text_without_tokenisation_is_warned_about(hopefear: Run, files: Path) -> None:
    assert RAW_TEXT in hopefear("score", "good", "--refs", "ref", cwd=files).stderr
    for name in ("good", "ref"):
        path = files / name
        write(files / f"{name}.tok", path.read_text().replace(".", " .").splitlines())
    tokenized = hopefear("score", "good.tok", "--refs", "ref.tok", cwd=files)
    assert RAW_TEXT not in tokenized.stderr
    for tokenize in ("13a", "char"):
        words = ("score", "good", "--refs", "ref", "--tokenize", tokenize)
        assert RAW_TEXT not in hopefear(*words, cwd=files).stderr


def test_the_report(hopefear: Run, files: Path) -> None:
    scores = report(hopefear, files, "good", "--refs", "ref")
    assert scores["bleu"] == pytest.approx(
        sacrebleu.BLEU(tokenize="none").corpus_score(GOOD, [REFERENCE]).score
    )
    assert scores["chrf"] == pytest.approx(sacrebleu.CHRF().corpus_score(GOOD, [REFERENCE]).score)
    assert scores["ter"] == pytest.approx(sacrebleu.TER().corpus_score(GOOD, [REFERENCE]).score)
    lengths = [sum(len(line.split()) for line in text) for text in (GOOD, REFERENCE)]
    assert scores["length_ratio"] == pytest.approx(lengths[0] / lengths[1])
    assert scores["versus"] == []
    for part in ("bleu|", "chrf|", "ter|", "tok:none", "nrefs:1", "lines:20", "version:"):
        assert part in scores["signature"]


@pytest.mark.parametrize(
    ("tokenize", "lowercase"),
    [("none", True), ("13a", False), ("13a", True), ("zh", False), ("char", False)],
)
def test_tokenizations_equal_sacrebleus(
    hopefear: Run, files: Path, tokenize: str, lowercase: bool
) -> None:
    write(files / "hyp", ["猫坐在，ABC def. 1,000.5", "X-ray (the) end."])
    write(files / "a", ["猫 坐在 abc def. 1,000.5!", "X-ray the end."])
    write(files / "b", ["狗坐在，ABC def.", "The x-ray (the end)."])
    words = ["--lowercase"] if lowercase else []
    scores = report(
        hopefear, files, "hyp", "--refs", "a", "b", "--tokenize", tokenize, *words, "--samples", "5"
    )
    texts = [(files / name).read_text(encoding="utf-8").splitlines() for name in ("hyp", "a", "b")]
    theirs = sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    assert scores["bleu"] == pytest.approx(theirs.corpus_score(texts[0], texts[1:]).score)
    assert f"tok:{tokenize}" in scores["signatures"]["bleu"]


def test_versus(hopefear: Run, files: Path) -> None:
    scores = report(hopefear, files, "good", "--refs", "ref", "--versus", "bad", "good")
    worse, same = scores["versus"]
    assert (worse["name"], same["name"]) == ("bad", "good")
    assert worse["bleu"] < scores["bleu"]
    assert worse["differences"]["bleu"] == pytest.approx(worse["bleu"] - scores["bleu"])
    assert worse["p_value"] == worse["p_values"]["bleu"] < 0.01
    assert worse["p_values"].keys() == {"bleu", "chrf", "ter", "length"}
    assert same["p_value"] == 1
    assert same["bleu"] == scores["bleu"]
    assert worse["test"] == "bootstrap|form:two-sided|samples:1000|seed:12345"


@pytest.mark.parametrize(
    ("words", "test"),
    [
        ("--test randomization --samples 99", "randomization|coin:sentence|runs:1|trials:99"),
        ("--form one-sided --samples 50 --seed 3", "bootstrap|form:one-sided|samples:50|seed:3"),
        ("--form sacrebleu", "bootstrap|form:sacrebleu|samples:1000"),
    ],
)
def test_the_test_can_be_chosen(hopefear: Run, files: Path, words: str, test: str) -> None:
    scores = report(hopefear, files, "good", "--refs", "ref", "--versus", "bad", *words.split())
    assert scores["versus"][0]["test"].startswith(test)


def test_runs(hopefear: Run, files: Path) -> None:
    for i in (1, 2, 3):
        write(files / f"good.{i}.en", [*GOOD[:-i], *BAD[-i:]])
        write(files / f"bad.{i}.en", [*BAD[:-i], *GOOD[-i:]])
    words = ["good.1.en", "good.2.en", "good.3.en", "--refs", "ref", "--runs", "3"]
    words += ["--versus", "bad.1.en", "bad.2.en", "bad.3.en"]
    scores = report(hopefear, files, *words)
    assert scores["name"] == "good.{1,2,3}.en"
    assert scores["versus"][0]["name"] == "bad.{1,2,3}.en"
    assert scores["summaries"]["bleu"]["run_deviation"] > 0
    theirs = sacrebleu.BLEU(tokenize="none")
    texts = [(files / f"good.{i}.en").read_text("utf-8").splitlines() for i in (1, 2, 3)]
    singles = [theirs.corpus_score(text, [REFERENCE]).score for text in texts]
    assert scores["bleu"] == pytest.approx(sum(singles) / 3)
    assert scores["versus"][0]["test"].startswith("randomization|coin:sentence|runs:3|trials:10000")
    assert scores["versus"][0]["p_value"] < 0.01
    alone = [*words[: words.index("--versus")]]  # --samples: bootstrap samples
    spread, other = (
        report(hopefear, files, *alone, *more)["summaries"]["bleu"]["resampling_deviation"]
        for more in ((), ("--samples", "7"))
    )
    assert spread != other
    shown = hopefear("score", *words, cwd=files).stdout
    header = shown.splitlines()[0].split()
    assert header == ["system", "mean", "s_sel", "s_run", "p"]
    assert "p: against good.{1,2,3}.en, randomization|" in shown


def test_the_tables(hopefear: Run, files: Path) -> None:
    single = hopefear("score", "good", "--refs", "ref", cwd=files).stdout
    assert single.splitlines()[0].split() == ["system", "BLEU", "chrF", "TER", "length"]
    assert "bleu|order:4" in single
    both = hopefear("score", "good", "--refs", "ref", "--versus", "bad", cwd=files).stdout
    assert all(title in both for title in ("BLEU", "chrF", "TER", "length", "s_sel"))
    assert all(len(line) <= 120 for line in both.splitlines())


def test_sentences(hopefear: Run, files: Path) -> None:
    scores = report(hopefear, files, "good", "--refs", "ref", "--sentences")
    assert len(scores["sentences"]) == 20
    assert scores["sentences"][0] == {"bleu": 100.0, "chrf": 100.0, "ter": 0.0, "length": 1.0}
    assert 0 < scores["sentences"][1]["bleu"] < 100
    assert scores["sentences"][1]["ter"] == pytest.approx(100 / 8)
    shown = hopefear("score", "good", "--refs", "ref", "--sentences", cwd=files).stdout
    assert "1: BLEU 100.00, chrF 100.00, TER 0.00, length 1.000" in shown


def test_stdin_gz_and_seed(hopefear: Run, files: Path) -> None:
    with gzip.open(files / "ref.gz", "wb") as file:
        file.write((files / "ref").read_bytes())
    words = ["--refs", "ref.gz", "--versus", "bad", "--json", "--seed", "7", "--threads", "2"]
    text = "".join(f"{line}\n" for line in GOOD)
    once, again = (hopefear("score", "-", *words, cwd=files, input=text) for _ in range(2))
    assert once.stdout == again.stdout
    assert json.loads(once.stdout)["name"] == "<stdin>"


def test_empty_lines_and_windows_line_ends(hopefear: Run, files: Path) -> None:
    (files / "hyp").write_bytes(b"\xef\xbb\xbfa b c d e\r\n\r\nx")
    (files / "r").write_bytes(b"a b c d e\n\nx\n")
    scores = report(hopefear, files, "hyp", "--refs", "r", "--samples", "20")
    assert scores["bleu"] == pytest.approx(100)
    assert scores["length_ratio"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("good --refs ref short", "ref has 20 lines, short has 3 lines; parallel files correspond"),
        ("short --refs ref", "short has 3 lines, ref has 20 lines"),
        ("good --refs ref --versus bad short", "short has 3 lines, ref has 20 lines"),
        ("good --refs absent", "absent: No such file or directory"),
        ("absent --refs ref", "absent: No such file or directory"),
        ("empty --refs ref", "empty has 0 lines, ref has 20 lines"),
        ("empty --refs empty", "empty, empty: no lines"),
        ("odd --refs ref", "odd:2: byte 0xff at column 1 is not UTF-8"),
        ("good --refs odd", "odd:2: byte 0xff"),
        ("good", "--refs is missing"),
        ("--refs ref", "HYP is missing"),
        ("good bad --refs ref", "2 files for the first system (good bad); give --runs 2 if"),
        ("good --refs ref --runs 2", "1 files for the first system (good); --runs 2 needs 2"),
        ("good bad --refs ref --runs 2 --versus bad", "1 files do not divide into systems"),
        ("- --refs -", "stdin can be only one of them"),
        ("good --refs ref --tokenize 14a", "'14a' is not valid; give one of none, 13a, zh, char"),
        ("good --refs ref --samples 0", "--samples: 0 is out of range"),
        ("good --refs folder", "folder: Is a directory"),
        ("good --refs ref --form one-sided", "compare systems; give other systems with --versus"),
        ("good --refs ref --versus bad --coin run", "--coin run: is for --test randomization"),
        (
            "good --refs ref --versus bad --test randomization --form one-sided",
            "--form one-sided: is for --test bootstrap",
        ),
    ],
)
def test_input_errors(hopefear: Run, files: Path, words: str, message: str) -> None:
    write(files / "short", GOOD[:3])
    write(files / "empty", [])
    (files / "odd").write_bytes(b"fine\n\xff\n")
    (files / "folder").mkdir()
    result = hopefear("score", *words.split(), cwd=files)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_tokenised_references_are_noticed(hopefear: Run, files: Path) -> None:
    spaced = [line.replace(",", " ,").replace(".", " .") for line in REFERENCE]
    write(files / "spaced", spaced)
    write(files / "spaced good", [line.replace(",", " ,").replace(".", " .") for line in GOOD])
    done = hopefear("score", "good", "bad", "--runs", "2", "--refs", "spaced", cwd=files)
    assert done.returncode == 0
    assert done.stderr.count("the references seem to be tokenised") == 1
    done = hopefear("score", "good", "--refs", "ref", "--versus", "spaced good", cwd=files)
    assert "the translations seem to be tokenised" in done.stderr
    for words in (("spaced good",), ("good", "--tokenize", "char")):
        done = hopefear("score", *words, "--refs", "spaced", cwd=files)
        assert done.returncode == 0
        assert "tokenised" not in done.stderr


def test_error_rates_are_those_of_jiwer(hopefear: Run, files: Path) -> None:
    words = ("good", "--refs", "ref", "--metric", "wer", "cer", "--versus", "bad")
    scores = report(hopefear, files, *words)
    assert "bleu" not in scores
    for name, theirs in (("wer", jiwer.wer), ("cer", jiwer.cer)):
        assert scores[name] == pytest.approx(100 * theirs(REFERENCE, GOOD))
        assert scores["versus"][0][name] == pytest.approx(100 * theirs(REFERENCE, BAD))
    assert scores["versus"][0]["p_value"] == scores["versus"][0]["p_values"]["wer"]
    result = hopefear("score", *words[:-2], "--sentences", cwd=files)
    assert "WER" in result.stdout
    assert "1: WER 0.00, CER 0.00" in result.stdout


def test_metrics_to_report_are_checked(hopefear: Run, files: Path) -> None:
    for words, message in (
        (("wer", "wer"), "name each metric once"),
        (("were",), "unknown metric 'were'"),
    ):
        result = hopefear("score", "good", "--refs", "ref", "--metric", *words, cwd=files)
        assert result.returncode == 2
        assert message in result.stderr
