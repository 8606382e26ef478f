"""`hopefear rerank convert|features|select` and `rerank apply --mbr`: from lists to a choice."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def report(run: Run, folder: Path, *words: str) -> dict[str, Any]:
    result = run("rerank", *words, "--json", "--progress", "off", cwd=folder)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Marian's lists of 40 sentences; the last of five candidates is the best."""
    chance = random.Random(1)
    words = ["the", "a", "red", "old", "house", "dog", "sees"]
    lines, refs = [], []
    for number in range(40):
        reference = chance.choices(words, k=9)
        refs.append(" ".join(reference))
        for missing in (4, 3, 2, 1, 0):
            text = " ".join(reference[: 9 - missing])
            lines.append(f"{number} ||| {text} ||| F0= {chance.gauss(0, 1):.3f} ||| {-missing}")
    (tmp_path / "nbest").write_text("\n".join(lines) + "\n")
    (tmp_path / "refs").write_text("\n".join(refs) + "\n")
    return tmp_path


def test_from_another_system_to_a_choice(hopefear: Run, folder: Path) -> None:
    converted = report(
        hopefear, folder, *("convert", "nbest", "--system", "marian", "-o", "dev.jsonl")
    )
    assert converted == {"lists": 40, "candidates": 200}
    added = ("features", "--nbest", "dev.jsonl", "--add", "length", "rank", "agreement:metric=bleu")
    found = report(hopefear, folder, *added, "-o", "more.jsonl", "--threads", "1")
    assert found["features"] == [
        *("F0", "model", "words", "characters", "rank", "rank-log", "agreement.bleu")
    ]
    again = report(hopefear, folder, *added, "-o", "again.jsonl", "--threads", "3")
    assert again == found
    assert (folder / "again.jsonl").read_bytes() == (folder / "more.jsonl").read_bytes()
    tuned = report(
        hopefear,
        folder,
        *("tune", "--nbest", "more.jsonl", "--refs", "refs", "--tuner", "mert", "-o", "w.tsv"),
    )
    assert tuned["tuned"] > 95
    curve = report(
        hopefear,
        folder,
        *("select", "--nbest", "more.jsonl", "--refs", "refs", "--tuner", "mert"),
        *("--sizes", "1", "3", "--folds", "2", "--set", "restarts=2", "kicks=0"),
    )
    assert [row["candidates"] for row in curve["sizes"]] == [1, 3, 5]
    oracles = [row["oracle"] for row in curve["sizes"]]
    assert oracles == sorted(oracles)
    assert oracles[-1] == pytest.approx(100)
    assert curve["sizes"][0]["tuned"] == pytest.approx(curve["sizes"][0]["oracle"])
    assert curve["enough"] == 5
    result = hopefear(
        *("rerank", "select", "--nbest", "more.jsonl", "--refs", "refs", "--tuner", "mert"),
        *("--sizes", "2", "--set", "restarts=1"),
        cwd=folder,
    )
    assert "candidates are enough" in result.stdout


def test_a_new_feature_does_not_replace_another_one(hopefear: Run, folder: Path) -> None:
    entries = [
        {"id": 0, "text": "a b", "features": {"words": 2, "rank": -3.5}},
        {"id": 0, "text": "a", "features": {"words": 1}},
    ]
    (folder / "l.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    words = ("rerank", "features", "--nbest", "l.jsonl", "--add", "length", "rank", "-o", "m.jsonl")
    result = hopefear(*words, "--progress", "off", cwd=folder)
    assert result.returncode == 2
    assert "id 0: the lists have a feature rank already, -3.5 and not 0; give" in result.stderr
    assert hopefear(*words, "--prefix", "our.", cwd=folder).returncode == 0
    first, second = map(json.loads, (folder / "m.jsonl").read_text().splitlines())
    assert first["features"]["rank"] == -3.5
    assert (second["features"]["our.rank"], second["features"]["our.words"]) == (1, 1)
    again = ("--nbest", "m.jsonl", "--add", "length", "-o", "n.jsonl")  # the same values
    assert hopefear("rerank", "features", *again, cwd=folder).returncode == 0


def test_few_lists_do_not_say_how_many_candidates_are_enough(hopefear: Run, folder: Path) -> None:
    lines = (folder / "nbest").read_text().splitlines()
    few = [line for line in lines if int(line.split()[0]) < 3]
    (folder / "few").write_text("\n".join(few) + "\n")
    refs = (folder / "refs").read_text().splitlines()
    (folder / "few.refs").write_text("\n".join(refs[:3]) + "\n")
    words = ("select", "--nbest", "few", "--refs", "few.refs", "--tuner", "mert", "--sizes", "4")
    curve = report(hopefear, folder, *words)
    row = curve["sizes"][0]
    assert row["low"] <= row["difference"] <= row["high"]
    (text,) = curve["warnings"]
    assert text.startswith("3 lists are few, and 4 candidates may be too few")


def test_joined_and_sorted_lists(hopefear: Run, folder: Path) -> None:
    for name, lines in (
        ("a.csv", "id,text,lm\nu2,a,1\nu1,b,2\n"),
        ("b.csv", "id,text,lm\nu1,c,3\n"),
    ):
        (folder / name).write_text(lines)
    (folder / "keys").write_text("u1\nu2\n")
    words = ("convert", "a.csv", "b.csv", "--system", "csv", "-o", "out.jsonl")
    assert report(hopefear, folder, *words, "--join", "--sort", "--keys", "keys")["lists"] == 2
    entries = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert entries == [
        {"id": 0, "text": "b", "features": {"lm": 2.0}},
        {"id": 0, "text": "c", "features": {"2:lm": 3.0}},
        {"id": 1, "text": "a", "features": {"lm": 1.0}},
    ]


def test_a_plugin_adds_a_feature_and_a_format(hopefear: Run, folder: Path) -> None:
    (folder / "mine.py").write_text(
        """
from dataclasses import dataclass
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import ListFormat, numbered_lines
from hopefear.learn.list_features.base import ListFeature

@register("list-feature", "letter")
@dataclass(kw_only=True)
class Letter(ListFeature):
    letter: str = option("a", help="letter to count")

    def columns(self, list_):
        return {f"letter.{self.letter}": [text.count(self.letter) for text in list_.texts]}

@register("list-format", "lines")
@dataclass(kw_only=True)
class Lines(ListFormat):
    def read(self, path):
        for number, (place, line) in enumerate(numbered_lines(path)):
            yield {"id": number, "text": line, "features": {}}
"""
    )
    words = ("convert", "refs", "--system", "lines", "--plugin", "mine.py", "-o", "l.jsonl")
    assert report(hopefear, folder, *words)["lists"] == 40
    words = ("features", "--nbest", "l.jsonl", "--add", "letter:letter=e", "--plugin", "mine.py")
    assert report(hopefear, folder, *words, "-o", "f.jsonl")["features"] == ["letter.e"]


def test_minimum_bayes_risk(hopefear: Run, folder: Path) -> None:
    texts = ["x y z w", "a b c d", "a b c e", "a b c d e"]
    lines = [
        json.dumps({"id": 0, "text": text, "features": {"p": 9.0 * (text == texts[0])}})
        for text in texts
    ]
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "w.tsv").write_text("p\t1\n")
    apply = ("apply", "--nbest", "s.jsonl", "-o", "out")

    def chosen(*words: str) -> str:
        report(hopefear, folder, *apply, *words)
        return (folder / "out").read_text().strip()

    assert chosen("--mbr", "chrf") == "a b c d e"
    assert chosen("--weights", "w.tsv") == texts[0]
    assert chosen("--weights", "w.tsv", "--mbr", "chrf") == texts[0]
    assert chosen("--weights", "w.tsv", "--mbr", "chrf", "--mbr-scale", "0") == "a b c d e"
    given = [[1, 0, 0, 0], [0, 1, 0, 0], [0.9, 0.9, 1, 0.9], [0, 0, 0, 1]]
    lines = [
        json.dumps({"id": 0, "text": text, "utilities": row})
        for text, row in zip(texts, given, strict=True)
    ]
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    assert chosen("--mbr", "given") == texts[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["apply", "--nbest", "nbest", "-o", "x"], "--weights is missing"),
        (["apply", "--nbest", "nbest", "-o", "x", "--mbr", "blue"], "unknown metric 'blue'"),
        (
            ["apply", "--nbest", "nbest", "-o", "x", "--mbr", "given"],
            "entry 1 of id '0' has 0 \"utilities\", expected 5",
        ),
        (
            ["apply", "--nbest", "nbest", "-o", "x", "--weights", "w", "--mbr-scale", "2"],
            "used only with --mbr",
        ),
        (["features", "--nbest", "nbest", "--add", "lm", "-o", "x"], "lm: model is missing"),
        (["convert", "nbest", "--system", "marien", "-o", "x"], "did you mean 'marian'"),
        (["convert", "nbest", "--system", "fairseq", "-o", "-", "--json"], "writes the report"),
        (["convert", "refs", "--system", "marian", "-o", "x"], "refs:1: expected 'id ||| text"),
        (
            ["convert", "refs", "--system", "fairseq", "-o", "x"],
            "refs: no candidate in it; is --system fairseq the format of the file?",
        ),
        (
            ["convert", "nbest", "--system", "marian", "--system-set", "piece=bpe", "-o", "x"],
            "--system-set: unknown key 'piece'; did you mean 'pieces'?",
        ),
        (
            ["features", "--nbest", "nbest", "--add", "agreement:metrics=ter", "-o", "x"],
            "--add agreement: unknown key 'metrics'; did you mean 'metric'?",
        ),
        (
            ["apply", "--nbest", "nbest", "--mbr", "chrf", "--mbr-set", "bet=1", "-o", "x"],
            "--mbr-set: unknown key 'bet'; did you mean 'beta'?",
        ),
        (["convert", "nbest", "--system", "marian", "--join", "-o", "x"], "give more than one"),
        (
            ["select", "--nbest", "nbest", "--refs", "refs", "--tuner", "mert", "--sizes", "0"],
            "--sizes 0: expected numbers",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    hopefear: Run, folder: Path, words: list[str], message: str
) -> None:
    result = hopefear("rerank", *words, "--progress", "off", cwd=folder)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert not (folder / "x").exists()
