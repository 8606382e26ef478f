"""`hopefear lm estimate` in a process of its own."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TEXT = "the cat sat\nthe dog sat down\nthe cat ran\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_a_table_and_a_file(hopefear: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm.arpa"
    done = hopefear("lm", "estimate", text, "-o", out, "--order", "2", "--discount-fallback")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0].split()[:2] == ["order", "n-grams"]
    assert "3 sentences, 10 tokens, 6 types" in done.stdout
    assert "fallback" in done.stdout
    assert out.read_text().startswith("\\data\\\nngram 1=9\nngram 2=10\n\n\\1-grams:\n")


def test_json(hopefear: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm.arpa.gz"
    done = hopefear(
        *("lm", "estimate", text, text, "-o", out, "--prune", "0", "1"),
        *("--discount-fallback", "0.4", "1.2", "--json", "--threads", "2"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tokens"] == 20
    assert [order["order"] for order in report["orders"]] == [1, 2, 3]
    assert report["orders"][2]["discounts"] == [0.4, 1.2, 1.2]
    model = gzip.decompress(out.read_bytes()).decode()
    assert f"ngram 3={report['orders'][2]['ngrams']}\n" in model


def test_pipes(hopefear: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm.arpa"
    hopefear("lm", "estimate", text, "-o", out, "--discount-fallback")
    done = hopefear("lm", "estimate", "-", "-o", "-", "--discount-fallback", input=TEXT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--order", "0"], "--order: 0 is out of range; give a whole number from 1 to 6"),
        (["--order", "7"], "--order: 7 is out of range; give a whole number from 1 to 6"),
        (["--prune", "2", "1"], "prune 2 1: a threshold is below that of a lower order"),
        (["--prune", "x"], "--prune: 'x' is not valid"),
        (["--memory", "1M"], "give at least 40M"),
        (["--tmp", "nowhere"], "nowhere: no such directory for scratch files"),
        ([], "text.txt: no Kneser-Ney discounts for order 1"),
        (["--discount-fallback", "2"], "discount fallback 2.000000 for count 1"),
        (["--discount-fallback", "more.txt"], "give the command's arguments before --discount"),
    ],
)
def test_bad_options(
    hopefear: Run, text: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = hopefear("lm", "estimate", "text.txt", "-o", "lm.arpa", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.txt: no words in it"),
        (b"a\nb <s> c\n", "bad.txt:2: the text contains '<s>'"),
    ],
)
def test_bad_texts(hopefear: Run, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    done = hopefear("lm", "estimate", "bad.txt", "-o", "lm.arpa", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "lm.arpa").exists()


def test_no_text_and_no_output(hopefear: Run, tmp_path: Path) -> None:
    assert "TEXT is missing" in hopefear("lm", "estimate", "-o", tmp_path / "x").stderr
    assert "--output is missing" in hopefear("lm", "estimate", "text").stderr
    twice = hopefear("lm", "estimate", "-", "-", "-o", "x", cwd=tmp_path)
    assert "stdin can be only one of them" in twice.stderr
    both = hopefear("lm", "estimate", "-", "-o", "-", "--json", input=TEXT)
    assert (both.returncode, both.stdout) == (2, "")
    assert "--json: the model is written to stdout" in both.stderr
    missing = hopefear("lm", "estimate", "none.txt", "-o", "x", cwd=tmp_path)
    assert missing.returncode == 2
    assert "none.txt: No such file or directory" in missing.stderr


def test_scratch_space_runs_out(tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk."""
    text = tmp_path / "text.txt"
    text.write_text("".join(f"w{i * i % 977} w{i % 1013} w{i * 7 % 499}\n" for i in range(250_000)))
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
        "from hopefear.cli import main; sys.exit(main())"
    )
    words = ["lm", "estimate", str(text), "-o", str(tmp_path / "lm.arpa"), "--memory", "40M"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words, "--tmp", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "(scratch file): File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_stays_within_its_memory(tmp_path: Path) -> None:
    r = random.Random(5)
    text = tmp_path / "text.txt"
    words = [f"w{int(20_000 ** r.random())}" for _ in range(400_000)]
    text.write_text("".join(" ".join(words[i : i + 20]) + "\n" for i in range(0, 400_000, 20)))
    # The peak memory of the process itself; getrusage includes that of the parent before the fork.
    script = (
        "import sys; from hopefear.cli import main; code = main();"
        "print(*(x for x in open('/proc/self/status') if 'VmHWM' in x), file=sys.stderr);"
        "sys.exit(code)"
    )
    command = ["lm", "estimate", str(text), "-o", "lm.arpa", "--order", "5", "--memory", "44M"]
    options = ["--discount-fallback", "--json", "--progress", "off"]
    done = subprocess.run(
        [sys.executable, "-c", script, *command, *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spilled_bytes"] > 10 << 20
    label, kilobytes, unit = done.stderr.split()
    assert (label, unit) == ("VmHWM:", "kB")
    assert int(kilobytes) < 44 << 10


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_a_stopped_process_leaves_no_model(
    start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    out = tmp_path / "lm.arpa"
    out.write_text("old")
    process = start(
        [sys.executable, "-m", "hopefear", "lm", "estimate", "-", "-o", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    # More than a pipe buffers: when the write returns, the engine is reading.
    process.stdin.write(b"a b c\n" * 100_000)
    process.stdin.flush()
    process.send_signal(sent)
    process.wait(timeout=60)
    assert process.returncode == code
    assert out.read_text() == "old"
    if sent != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir()] == ["lm.arpa"]
