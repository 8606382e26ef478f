"""What `hopefear rerank tune` optimises and reports: scores in the lists, mixes, error rates."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jiwer
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

LISTS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lists where feature `good` follows the error rate, `bad` the score `vain`."""
    folder = tmp_path_factory.mktemp("lists")
    chance = random.Random(1)
    words = ["the", "a", "red", "old", "house", "dog", "sees", "and", "goes", "to"]
    with (folder / "dev.jsonl").open("w") as lists, (folder / "refs").open("w") as refs:
        for number in range(LISTS):
            reference = chance.choices(words, k=10)
            print(*reference, file=refs)
            for _ in range(8):
                errors = chance.randint(0, 5)
                text = list(reference)
                for place in chance.sample(range(10), errors):
                    text[place] = "x"
                entry: dict[str, Any] = {"id": number, "text": " ".join(text)}
                entry["features"] = {
                    "good": -errors + chance.gauss(0, 0.5),
                    "bad": errors + chance.gauss(0, 0.5),
                    "noise": chance.gauss(0, 1),
                }
                entry["scores"] = {"vain": errors / 10, "loss": 0.1 * errors}
                print(json.dumps(entry), file=lists)
    return folder


def tuned(hopefear: Run, folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    given = ["rerank", "tune", "--nbest", "dev.jsonl", "--tuner", "mert", "-o", "w.tsv"]
    result = hopefear(*given, *words, "--json", "--progress", "off", cwd=folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in report["metrics"]}


def test_word_error_rate(hopefear: Run, folder: Path) -> None:
    report, _ = tuned(hopefear, folder, "--refs", "refs", "--metric", "wer")
    assert report["tuned"] < report["first_best"] - 10
    assert report["oracle"] <= report["tuned"]
    assert 0.5 < report["oracle_share"] <= 1
    assert report["gain_low"] <= report["gain"] <= report["gain_high"] < 0
    rows = by_name(report)
    assert set(rows) == {"wer", "cer", "vain", "loss"}
    references = (folder / "refs").read_text().splitlines()
    entries = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    first = {entry["id"]: entry["text"] for entry in reversed(entries)}
    texts = [first[number] for number in range(LISTS)]
    assert rows["wer"]["first_best"] == pytest.approx(100 * jiwer.wer(references, texts))
    assert rows["cer"]["first_best"] == pytest.approx(100 * jiwer.cer(references, texts))


def test_a_score_of_the_lists_and_the_metric_that_it_ruins(hopefear: Run, folder: Path) -> None:
    report, stderr = tuned(hopefear, folder, "--refs", "refs", "--metric", "vain")
    rows = by_name(report)
    assert rows["vain"]["role"] == "optimised"
    assert rows["vain"]["difference"] > 0.1
    assert rows["bleu"]["difference"] < -5
    assert rows["bleu"]["p_value"] < 0.01
    assert "bleu becomes worse" in stderr
    assert any("bleu becomes worse" in text for text in report["warnings"])
    alone, _ = tuned(hopefear, folder, "--metric", "vain")
    assert alone["tuned"] == report["tuned"]
    assert set(by_name(alone)) == {"vain", "loss"}


def test_lower_scores_are_better(hopefear: Run, folder: Path) -> None:
    report, _ = tuned(hopefear, folder, "--metric", "loss", "--lower", "loss", "vain")
    assert report["tuned"] < report["first_best"]
    assert report["oracle"] <= report["tuned"]
    assert by_name(report)["vain"]["difference"] == pytest.approx(report["gain"], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("los", "--lower los: no score of that name in dev.jsonl; did you mean 'loss'?"),
        ("given", "--lower given: no score of that name in dev.jsonl; choose from loss, vain"),
        ("bleu", "--lower bleu: only for scores in the lists; remove it"),
    ],
)
def test_lower_names_a_score_of_the_lists(
    hopefear: Run, folder: Path, name: str, message: str
) -> None:
    given = ["rerank", "tune", "--nbest", "dev.jsonl", "--tuner", "mert", "-o", "no.tsv"]
    words = [*given, "--metric", "vain", "--lower", name, "--progress", "off"]
    result = hopefear(*words, cwd=folder)
    assert (result.returncode, result.stderr) == (2, f"hopefear: {message}\n")
    assert not (folder / "no.tsv").exists()


def test_warnings_name_a_remedy_that_can_be_typed(hopefear: Run, folder: Path) -> None:
    _, stderr = tuned(hopefear, folder, "--refs", "refs")
    remedy = "as in --metric bleu=1 vain=1 (or give --lower vain, if lower values are better)"
    assert "vain becomes worse by" in stderr
    assert remedy in stderr
    _, stderr = tuned(hopefear, folder, "--refs", "refs", "--metric", "bleu=0.01", "vain=1")
    assert "while bleu=0.01 vain=1 becomes better: raise its weight" in stderr
    assert "as in --metric bleu=0.01 vain=1 chrf=1\n" in stderr


def test_weights_that_make_lists_worse_are_noticed(hopefear: Run, folder: Path) -> None:
    lists = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    lists.sort(key=lambda entry: (entry["id"], entry["features"]["bad"]))  # the best one first
    (folder / "sorted.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lists))
    (folder / "start.tsv").write_text("bad\t1\n")
    given = ["rerank", "tune", "--nbest", "sorted.jsonl", "--refs", "refs", "--tuner", "mert"]
    words = [*given, "--weights", "start.tsv", "-o", "w.tsv", "--fixed", *lists[0]["features"]]
    result = hopefear(*words, "--progress", "off", cwd=folder)
    assert "bleu becomes worse (p = 0.001); choose another tuner" in result.stderr


def test_a_mix_has_the_scores_of_its_parts(hopefear: Run, folder: Path) -> None:
    words = ("--refs", "refs", "--metric", "bleu=2", "vain=0.1")
    report, _ = tuned(hopefear, folder, *words)
    rows = by_name(report)
    main = report["metrics"][0]
    assert main["metric"] == "bleu=2 vain=0.1"
    for key in ("first_best", "tuned"):
        expected = 2 * rows["bleu"][key] / 100 + 0.1 * rows["vain"][key]
        assert main[key] == pytest.approx(expected, abs=1e-6)
    assert rows["bleu"]["difference"] > 5  # it weighs more


def test_folds_are_the_default_and_overfitting_is_named(hopefear: Run, folder: Path) -> None:
    report, stderr = tuned(hopefear, folder, "--refs", "refs")
    assert report["folds"] == 5
    assert f"{LISTS} lists are few for " in stderr
    one, stderr = tuned(hopefear, folder, "--refs", "refs", "--folds", "1")
    assert "overstates it" in stderr
    assert one["tuned"] == one["tuned_on_all"] == report["tuned_on_all"]


def test_features_left_out(hopefear: Run, folder: Path) -> None:
    report, _ = tuned(hopefear, folder, "--refs", "refs", "--ablation", "--fixed", "bad")
    rows = {row["feature"]: row for row in report["ablation"]}
    assert set(rows) == {"good", "noise"}
    assert rows["good"]["difference"] < -5
    assert rows["good"]["p_value"] < 0.01
    assert abs(rows["noise"]["difference"]) < 3
    assert report["ablation"][0]["feature"] == "good"  # the one that matters most
    result = hopefear(
        *("rerank", "tune", "--nbest", "dev.jsonl", "--tuner", "mert", "-o", "w.tsv"),
        *("--refs", "refs", "--ablation"),
        cwd=folder,
    )
    assert "without" in result.stdout
    assert "> bleu" in result.stdout


def test_tokenised_lists(hopefear: Run, tmp_path: Path) -> None:
    entries = [
        {"id": i, "text": f"A house{mark}", "features": {"f": i % 2}}
        for i in range(4)
        for mark in (".", ",")
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    (tmp_path / "refs").write_text("A house !\n" * 4)
    words = ("--refs", "refs", "--metric", "wer")
    plain, _ = tuned(hopefear, tmp_path, *words)
    assert plain["first_best"] == pytest.approx(200 / 3)
    split, _ = tuned(hopefear, tmp_path, *words, "--tokenize", "13a")
    assert split["first_best"] == pytest.approx(100 / 3)


def test_an_entry_without_the_score(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text(
        '{"id": 0, "text": "a", "scores": {"x": 1}}\n{"id": 0, "text": "b"}\n'
    )
    given = ["rerank", "tune", "--nbest", "dev.jsonl", "--tuner", "mert", "-o", "w.tsv"]
    result = hopefear(*given, "--metric", "x", "--progress", "off", cwd=tmp_path)
    assert result.returncode == 2
    assert "entry 2 of id '0' has no score 'x'" in result.stderr


def test_the_report_as_a_page(hopefear: Run, folder: Path) -> None:
    tuned(hopefear, folder, "--refs", "refs", "--metric", "wer", "--report", "r.json")
    (folder / "other.json").write_text("{}")
    result = hopefear("report", "r.json", "-o", "r.html", "--json", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["systems"][0]["metric"] == "wer"
    assert "Reranking report" in (folder / "r.html").read_text()
    for words, message in (
        (("r.json", "--runs", "2"), "for directories of 'hopefear tune' only"),
        (("r.json", "--names", "a", "b"), "--names: 2 names for 1 reports"),
        (("other.json",), "not a report of 'hopefear rerank tune --report'"),
    ):
        bad = hopefear("report", *words, "-o", "x.html", cwd=folder)
        assert bad.returncode == 2
        assert message in bad.stderr
        assert not (folder / "x.html").exists()
