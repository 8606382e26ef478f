"""`hopefear extract` as a process: files, report, bad input, and what a failure leaves behind."""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.rules.table import RuleTable

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.fr").write_text("la maison bleue\nla maison\n")
    (tmp_path / "a.en").write_text("the blue house\nthe house\n")
    (tmp_path / "a.align").write_text("0-0 1-2 2-1\n0-0 1-1\n")
    return tmp_path


WORDS = ("extract", "a.fr", "a.en", "a.align", "--system", "phrase", "-o", "out")


def test_table_and_text(hopefear: Run, folder: Path) -> None:
    done = hopefear(*WORDS, "--export", "moses", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["sentences"] == 2
    assert report["occurrences"] == 8
    assert report["pairs"] == report["rules"] == 6
    names = {"rules.bin", "phrase-table.gz", "reordering-table.gz", "lex.f2e.gz", "lex.e2f.gz"}
    assert {path.name for path in (folder / "out").iterdir()} == names
    assert {Path(name).name for name in report["files"].values()} == names
    assert len(RuleTable.open(folder / "out" / "rules.bin")) == 6
    shown = hopefear(*WORDS, "--limit", "1", "--min-count", "2", cwd=folder)
    assert "8 occurrences of 6 phrase pairs in 2 sentence pairs" in shown.stdout
    assert "removed 4 with too few occurrences" in shown.stdout
    assert "read: 2 sentences" in shown.stderr


def test_hierarchical_rules(hopefear: Run, folder: Path) -> None:
    words = [word if word != "phrase" else "hiero" for word in WORDS]
    done = hopefear(*words, "--export", "cdec", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["system"] == "hiero"
    assert {path.name for path in (folder / "out").iterdir()} == {"rules.bin", "grammar.gz"}
    lines = gzip.decompress((folder / "out" / "grammar.gz").read_bytes()).decode().splitlines()
    assert len(lines) == report["rules"]
    assert any(line.startswith("[X] ||| maison [X,1] ||| [1] house ||| p(f|e)=") for line in lines)
    shown = hopefear("inspect", "out/rules.bin", "--phrase", "la [X,1]", cwd=folder).stdout
    assert "the [X,1]" in shown
    moses = hopefear(*words, "--export", "moses", cwd=folder)
    assert "rules in 2 sentence pairs" in moses.stdout
    lines = gzip.decompress((folder / "out" / "rule-table.gz").read_bytes()).decode().splitlines()
    begin = "maison [X][X] [X] ||| [X][X] house [X] ||| "
    assert [line for line in lines if line.startswith(begin) and "||| 0-1 1-0 |||" in line]
    both = hopefear(*words, "--export", "cdec", "--boundaries", "tight", "--adjacent", cwd=folder)
    assert both.returncode == 0, both.stderr


def test_no_reordering(hopefear: Run, folder: Path) -> None:
    done = hopefear(*WORDS, "--export", "moses", "--reordering", "none", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not (folder / "out" / "reordering-table.gz").exists()


def test_one_side_from_stdin(hopefear: Run, folder: Path) -> None:
    words = ["-" if word == "a.fr" else word for word in WORDS]
    done = hopefear(*words, input=(folder / "a.fr").read_text(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(RuleTable.open(folder / "out" / "rules.bin")) == 6


BAD = [
    (["--system", "glued"], "unknown system 'glued'; choose from hiero, phrase"),
    (["--max-span", "5"], "--max-span is an option of hiero rules; leave it out or give"),
    (["--system", "hiero", "--significance", "3"], "--significance is an option of phrase rules"),
    (["--system", "hiero", "--max-nonterminals", "3"], "--max-nonterminals: 3 is out of range"),
    (["--max-length", "0"], "--max-length: 0 is out of range"),
    (["--significance", "alpha"], "--significance: 'alpha' is not valid; give off, alpha+epsilon"),
    (["--tmp", "none"], "tmp: none is not a directory"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_options(hopefear: Run, folder: Path, words: list[str], message: str) -> None:
    done = hopefear(*WORDS, *words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.align", "0-0\n1-9\n", "a.align:2: point 1-9 is outside the sentence pair of 2 and 2"),
        ("a.align", "0-0\nx\n", "a.align:2: 'x' is no alignment point"),
        ("a.align", "0-0\n", "a.fr has 2 lines, a.en has 2 lines, a.align has 1 line;"),
        ("a.en", "the\n" * 3, "a.fr has 2 lines, a.en has 3 lines, a.align has 2 lines;"),
    ],
)
def test_bad_input(hopefear: Run, folder: Path, name: str, text: str, message: str) -> None:
    (folder / "a.align").write_text("\n\n")
    (folder / name).write_text(text)
    done = hopefear(*WORDS, "--export", "moses", cwd=folder)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (folder / "out").exists()


def test_a_failure_keeps_the_old_table(hopefear: Run, folder: Path) -> None:
    hopefear(*WORDS, cwd=folder)
    old = (folder / "out" / "rules.bin").read_bytes()
    (folder / "a.align").write_text("0-0 1-2 2-1\n0-0 1-7\n")
    assert hopefear(*WORDS, cwd=folder).returncode == 2
    assert [path.name for path in (folder / "out").iterdir()] == ["rules.bin"]
    assert (folder / "out" / "rules.bin").read_bytes() == old


def test_a_full_disk(folder: Path) -> None:
    """A limit on file sizes simulates a full disk."""
    for name in ("a.fr", "a.en", "a.align"):
        path = folder / name
        path.write_text(path.read_text() * 2000)
    for limit, extra in ((100_000, []), (3_000, []), (3_000, ["--memory", "0"])):
        done = subprocess.run(
            [sys.executable, "-m", "hopefear", *WORDS, "--export", "moses", *extra],
            cwd=folder,
            capture_output=True,
            text=True,
            preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)),
        )
        assert done.returncode == 2, done.stderr
        assert "File too large" in done.stderr
        assert not (folder / "out").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_leaves_no_files(folder: Path, number: int, code: int) -> None:
    (folder / "out").mkdir()
    words = ["-" if word == "a.fr" else word for word in WORDS]
    with subprocess.Popen(
        [sys.executable, "-m", "hopefear", *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdin is not None
        # More than a pipe buffers, in one line without an end: when the write returns, the engine
        # is reading, and it continues to wait for input.
        process.stdin.write("la maison " * 50_000)
        process.stdin.flush()
        while process.poll() is None:  # repeat a signal that came between two reads
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=3)
    assert process.returncode == code
    assert list((folder / "out").iterdir()) == []


def test_a_killed_process_leaves_no_table(folder: Path) -> None:
    (folder / "out").mkdir()
    words = ["-" if word == "a.fr" else word for word in WORDS]
    with subprocess.Popen(
        [sys.executable, "-m", "hopefear", *words], cwd=folder, stdin=subprocess.PIPE
    ) as process:
        while process.poll() is None and not list((folder / "out").iterdir()):
            time.sleep(0.01)
        process.kill()
    assert not (folder / "out" / "rules.bin").exists()
