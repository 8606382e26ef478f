"""`hopefear lm compile | query | perplexity`: files, streams, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lm_arpa import SMALL, write_arpa

from hopefear.lm import LanguageModel

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    return write_arpa(tmp_path / "lm.arpa", SMALL)


def test_compile_and_query(arpa: Path, tmp_path: Path, hopefear: Run) -> None:
    result = hopefear("lm", "compile", arpa, "-o", tmp_path / "lm.bin")
    assert result.returncode == 0, result.stderr
    assert "1-grams" in result.stdout
    assert "MB" in result.stdout
    report = json.loads(
        hopefear("lm", "compile", arpa, "-o", tmp_path / "lm2.bin", "--json").stdout
    )
    assert report["ngrams"] == [6, 5, 3]
    assert report["order"] == 3
    assert report["bytes"] == (tmp_path / "lm2.bin").stat().st_size
    assert (tmp_path / "lm2.bin").read_bytes() == (tmp_path / "lm.bin").read_bytes()
    text = "a b c\n\nd a\n"
    answers = [
        hopefear("lm", "query", model, input=text).stdout for model in (arpa, tmp_path / "lm.bin")
    ]
    assert answers[0] == answers[1]
    lm = LanguageModel.load(arpa)
    lines = [line.split() for line in answers[0].splitlines()]
    expected = [lm.score(line) for line in text.splitlines()]
    assert [float(line[1]) for line in lines] == pytest.approx(expected)
    assert [line[3] for line in lines] == ["0", "0", "1"]
    each = hopefear("lm", "query", arpa, "--words", "--no-bos", "--no-eos", input="a b\n").stdout
    assert each == "a=3 1 -0.6\tb=4 2 -0.2\tTotal: -0.8 OOV: 0\n"


def test_query_answers_before_the_input_ends(arpa: Path) -> None:
    command = [sys.executable, "-m", "hopefear", "lm", "query", str(arpa)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"a b\n", b"c\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"Total: -")
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_closed_pipe_ends_quietly(arpa: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n" * 300_000)
    command = f"'{sys.executable}' -m hopefear lm query lm.arpa text --progress off | head -n 1"
    result = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert result.stdout.startswith("Total")
    assert result.stderr == ""


def test_perplexity(arpa: Path, tmp_path: Path, hopefear: Run) -> None:
    text = tmp_path / "text"
    text.write_text("a b c\nd\n" * 1000)
    report = json.loads(hopefear("lm", "perplexity", arpa, text, "--json").stdout)
    assert (report["sentences"], report["tokens"], report["oov"]) == (2000, 6000, 1000)
    lm = LanguageModel.load(arpa)
    total = 1000 * (lm.score("a b c") + lm.score("d"))
    assert report["log10_prob"] == pytest.approx(total)
    assert report["perplexity"] == pytest.approx(10 ** (-total / 6000))
    known = total - 1000 * lm.full_scores("d")[0].log10
    assert report["perplexity_without_oov"] == pytest.approx(10 ** (-known / 5000))
    again = hopefear("lm", "perplexity", arpa, "--threads", "2", "--json", input=text.read_text())
    assert json.loads(again.stdout) == report
    shown = hopefear("lm", "perplexity", arpa, text)
    assert "6,000" in shown.stdout
    nothing = hopefear("lm", "perplexity", arpa, "--no-eos", "--json", input="d\n").stdout
    assert json.loads(nothing)["perplexity_without_oov"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compile lm.arpa", "--output is missing"),
        ("compile absent -o out.bin", "absent: No such file or directory"),
        ("compile bad.arpa -o out.bin", "bad.arpa:12: expected a log10 probability"),
        ("compile lm.arpa -o nowhere/out.bin", "nowhere"),
        ("compile lm.arpa -o .", "Is a directory"),
        ("compile bad.arpa -o -", "-: a compiled model must be a real file"),  # before it is read
        ("query", "LM is missing"),
        ("query bad.arpa", "bad.arpa:12: "),
        ("query text", "text: has no \\data\\ line"),
        ("query lm.arpa absent", "absent: No such file or directory"),
        ("query cut.bin", "cut.bin: truncated"),
        ("query -", "stdin can be only one of them"),
        ("perplexity - -", "stdin can be only one of them"),
        ("perplexity lm.arpa cut.bin", "cut.bin: a binary file of Hopefear, expected text"),
        ("perplexity lm.arpa empty", "empty: no sentences to score"),
        ("perplexity lm.arpa blank --no-eos", "blank: no words to score"),
        ("perplexity lm.arpa text --threads 0", "--threads"),
        ("perplexity lm.arpa packed.gz", "packed.gz: not a gzip file"),
    ],
)
def test_bad_input(arpa: Path, tmp_path: Path, hopefear: Run, words: str, message: str) -> None:
    write_arpa(tmp_path / "bad.arpa", SMALL.replace("-1.2\tc", "x\tc"))
    LanguageModel.load(arpa).compile(tmp_path / "cut.bin")
    (tmp_path / "cut.bin").write_bytes((tmp_path / "cut.bin").read_bytes()[:2000])
    (tmp_path / "text").write_text("a b c\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text("\n\n")
    (tmp_path / "packed.gz").write_text("a b\n")
    before = sorted(tmp_path.iterdir())
    result = hopefear("lm", *words.split(), "--progress", "off", cwd=tmp_path)
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_missing_unk_is_a_warning(tmp_path: Path, hopefear: Run) -> None:
    text = SMALL.replace("-2\t<unk>\t0\n", "").replace("ngram 1=6", "ngram 1=5")
    result = hopefear("lm", "compile", write_arpa(tmp_path / "a", text), "-o", tmp_path / "b")
    assert "has no <unk>; unknown words get log10 p = -100" in result.stderr
