"""`hopefear text …` as a process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., "CompletedProcess[str]"]


def test_tokenize_and_back(hopefear: Run, tmp_path: Path) -> None:
    raw = "L'homme dit : « Où ? »\n\nIl est à Paris.\n"
    done = hopefear("text", "tokenize", "--language", "fr", "--casing", "lower", input=raw)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "l' homme dit : « où ? »\n\nil est à paris .\n"
    (tmp_path / "raw.fr").write_text(raw * 3 + "Elle voit Paris.\n")
    learned = hopefear(
        *("text", "casing", tmp_path / "raw.fr", "-o", tmp_path / "c.tsv"),
        *("--language", "fr", "--json"),
    )
    assert json.loads(learned.stdout)["sentences_start_upper"] is True
    back = hopefear(
        *("text", "detokenize", "--language", "fr", "--casing", "lower"),
        *("--casing-file", tmp_path / "c.tsv", "--like", tmp_path / "raw.fr"),
        input=done.stdout,
    )
    assert back.stdout == raw.replace("Où", "où")


def test_truecase_file(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "raw.en").write_text("The dog saw the man in Paris.\n")
    hopefear("text", "casing", tmp_path / "raw.en", "-o", tmp_path / "c.tsv")
    done = hopefear(
        *("text", "tokenize", "--casing", "truecase", "--casing-file", tmp_path / "c.tsv"),
        *(tmp_path / "raw.en", "-o", tmp_path / "out.gz"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    back = hopefear(
        *("text", "detokenize", tmp_path / "out.gz", "--casing", "truecase"),
        *("--casing-file", tmp_path / "c.tsv"),
    )
    assert back.stdout == "The dog saw the man in Paris.\n"


def test_the_text_steps_of_a_model(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Le chien voit l'homme.\nLe chien dort.\nIl voit Paris.\n" * 4)
    (tmp_path / "a.en").write_text("The dog sees the man.\nThe dog sleeps.\nHe sees Paris.\n" * 4)
    words = ("train", "a.fr", "a.en", "--model", "m", "--subwords", "20", "--order", "2")
    assert hopefear(*words, cwd=tmp_path).returncode == 0
    raw = "Le chien voit l'hiver.\n"
    done = hopefear("text", "tokenize", "--model", "m", input=raw, cwd=tmp_path)
    assert "@@ " in done.stdout, done.stderr
    assert done.stdout.replace("@@ ", "") == "Le chien voit l' hiver .\n"
    words = ("text", "tokenize", "--model", "m", "--side", "target")
    pieces = hopefear(*words, input="The dog sees winter.\n", cwd=tmp_path).stdout
    assert "@@ " in pieces
    back = hopefear("text", "detokenize", "--model", "m", input=pieces, cwd=tmp_path)
    assert back.stdout == "The dog sees winter.\n"
    shown = hopefear("inspect", "m", "--phrase", "Chien", cwd=tmp_path).stdout
    assert "no rule for 'Chien'; give its words as 'hopefear text tokenize" in shown
    done = hopefear("export", "m", "--format", "moses", "-o", "moses", cwd=tmp_path)
    assert "hopefear text tokenize --model m" in done.stderr


def test_an_unlisted_language_is_noted(hopefear: Run) -> None:
    done = hopefear("text", "tokenize", "--language", "sw", input="Habari, bwana.\n")
    assert done.stdout == "Habari , bwana .\n"
    assert "no list of abbreviations for language 'sw'" in done.stderr


def test_clean(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("un\n\nun deux\n")
    (tmp_path / "a.en").write_text("one\ntwo\none two\n")
    words = ("text", "clean", "a.fr", "a.en", "-o", "b.fr", "b.en", "--log", "log.tsv")
    done = hopefear(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kept 2 of 3 pairs\n")
    assert "empty" in done.stdout
    report = json.loads(hopefear(*words, "--json", cwd=tmp_path).stdout)
    assert report["dropped"] == {"empty": 1}
    assert (tmp_path / "b.fr").read_text() == "un\nun deux\n"
    assert (tmp_path / "log.tsv").read_text() == "2\tempty\t0 and 1 words\n"


def test_split(hopefear: Run, tmp_path: Path) -> None:
    for suffix in ("fr", "en"):
        (tmp_path / f"a.{suffix}").write_text("".join(f"{suffix} {i}\n" for i in range(20)))
    (tmp_path / "a.ids").write_text("".join(f"d{i // 4}.{i}\n" for i in range(20)))
    done = hopefear(
        *("text", "split", "a.fr", "a.en", "-o", "out", "--dev", "3", "--test", "4", "--json"),
        *("--documents", "a.ids", "--id-separator", "."),
        cwd=tmp_path,
    )
    assert json.loads(done.stdout) == {"train": 12, "dev": 4, "test": 4, "dropped": 0}
    assert len((tmp_path / "out" / "dev.en").read_text().splitlines()) == 4


BAD = [
    (["text", "tokenize", "bad.fr"], "bad.fr:2: byte 0xe9"),
    (["text", "tokenize", "none.fr"], "none.fr: No such file"),
    (["text", "tokenize", "a.fr", "--tokenizer", "mozes"], "unknown tokenizer 'mozes'; did you"),
    (["text", "tokenize", "a.fr", "--casing", "truecase"], "needs forms learned from text"),
    (
        ["text", "tokenize", "a.fr", "--casing", "truecase", "--casing-file", "a.fr"],
        "a.fr:1: expected '# hopefear casing",
    ),
    (["text", "tokenize", "a.fr", "--casing-file", "a.fr"], "used only with --casing truecase"),
    (["text", "detokenize", "a.fr", "--casing", "lower"], "--casing-file belong together"),
    (["text", "detokenize", "a.fr", "--casing-file", "a.fr"], "--casing-file belong together"),
    (["text", "detokenize", "--like", "-"], "stdin can be only one of them"),
    (["text", "tokenize", "a.fr", "--side", "target"], "--side: used only with --model"),
    (["text", "tokenize", "a.fr", "--model", "m", "--language", "fr"], "--language: the text"),
    (["text", "tokenize", "a.fr", "--model", "m", "--tokenizer", "char"], "--tokenizer: the text"),
    (["text", "tokenize", "a.fr", "--model", "m"], "m: is no model directory"),
    (["text", "detokenize", "a.fr", "--model", "m", "--like", "a.fr"], "--like: the text steps"),
    (["text", "tokenize", "a.fr", "--no-normalize", "--narrow"], "need normalisation"),
    (["text", "clean", "a.fr", "b.en", "-o", "x", "y"], "a.fr has 2 lines, b.en has 1 line;"),
    (["text", "clean", "a.fr", "b.en", "-o", "x"], "2 input files and 1 output file"),
    (["text", "clean", "a.fr", "a.fr", "-o", "x", "-"], "stdout has the report"),
    (["text", "split", "a.fr", "-o", "d"], "leave no line of 2 to train on"),
    (["text", "split", "-o", "d"], "FILES is missing"),
    (["text", "split", "a.fr", "-o", "d", "--id-separator", "."], "used only with --documents"),
    (["text", "shuffle"], "unknown command 'text shuffle'"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input(hopefear: Run, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "a.fr").write_text("un\ndeux\n")
    (tmp_path / "b.en").write_text("one\n")
    (tmp_path / "bad.fr").write_bytes(b"fine\ncaf\xe9\n")
    before = sorted(tmp_path.iterdir())
    extra = ["-o", "out"] if words[1].endswith("tokenize") else []
    done = hopefear(*words, *extra, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before
