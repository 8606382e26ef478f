"""Scores that other programs gave on the same files."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from hopefear.metrics import create
from hopefear.metrics.diversity import mean_diversity
from hopefear.metrics.linear_ngram import FITTED, fit
from hopefear.metrics.oracle import oracle

Run = Callable[..., subprocess.CompletedProcess[str]]
BLEU = create("bleu")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def pool(shared: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sentence numbers, features and statistics of Moses's k-best lists."""
    with gzip.open(shared / "golden" / "tuning" / "pool.tsv.gz") as file:
        header = file.readline().decode().split()
        table = np.array([line.split() for line in file], dtype=np.float64)
    assert header[15:] == list(BLEU.columns)
    return table[:, 0].astype(int), table[:, 1:15], table[:, 15:].astype(np.int32)


def test_moses_output(shared: Path) -> None:
    folder = shared / "golden" / "moses" / "decode"
    rows = BLEU.statistics(
        lines(folder / "output.cube300.en"), [[r] for r in lines(folder / "reference.en")]
    )
    total = rows.sum(axis=0)
    assert total[0:8:2].tolist() == [2028, 1381, 949, 648]
    assert total[1:8:2].tolist() == [2574, 2374, 2174, 1974]
    assert total[8] == 2548
    assert float(BLEU.shown(total)) == pytest.approx(50.62, abs=0.005)


def test_kbest_lists_of_moses(shared: Path) -> None:
    """Lists in the file's own order; the first best of each is the decoder's output."""
    folder = shared / "golden" / "moses" / "decode"
    with gzip.open(folder / "nbest10.cube300.txt.gz", "rt", encoding="utf-8") as file:
        entries = [line.split(" ||| ") for line in file]
    numbers = np.array([int(entry[0]) for entry in entries])
    texts = [entry[1] for entry in entries]
    references = [[r] for r in lines(folder / "reference.en")]
    rows = BLEU.prepare(references).statistics(texts, numbers, threads=2)
    first = rows[np.unique(numbers, return_index=True)[1]]
    assert float(BLEU.shown(first.sum(axis=0))) == pytest.approx(50.62, abs=0.005)
    found = oracle(rows, numbers)
    assert 0.5062 < found.greedy <= found.score < 0.75
    lists = [[t for t, n in zip(texts, numbers, strict=True) if n == i] for i in range(40)]
    assert 0.02 < mean_diversity(lists) < 0.6


@pytest.mark.parametrize(
    ("folder", "tokenize", "expected"),
    [
        ("data/bible-zh-en", "13a", 59.4),
        ("data/bible-zh-en", "none", 53.33),
        ("golden/aligned/zh-en", "none", 61.08),
    ],
)
def test_bible(shared: Path, hopefear: Run, folder: str, tokenize: str, expected: float) -> None:
    files = [shared / folder / f"dev.en.{i}" for i in range(4)]
    result = hopefear(
        "score", files[0], "--refs", *files[1:], "--tokenize", tokenize, "--json", "--samples", 10
    )
    report = json.loads(result.stdout)
    assert report["bleu"] == pytest.approx(expected, abs=0.05 if tokenize == "13a" else 0.005)
    assert f"tok:{tokenize}|nrefs:3|lines:840" in report["signature"]


def test_four_references_equal_sacrebleu(shared: Path) -> None:
    folder = shared / "golden" / "aligned" / "zh-en"
    references = [lines(folder / f"dev.en.{i}") for i in range(4)]
    hypotheses = references[0]
    per_sentence = list(zip(*references[1:], strict=True))
    corpus = sacrebleu.BLEU(tokenize="none", force=True).corpus_score(hypotheses, references[1:])
    rows = BLEU.statistics(hypotheses, per_sentence)
    assert float(BLEU.shown(rows.sum(axis=0))) == pytest.approx(corpus.score, abs=1e-9)
    assert BLEU.statistics(hypotheses, per_sentence, threads=2).tobytes() == rows.tobytes()
    chrf = create("chrf")
    theirs = sacrebleu.CHRF().corpus_score(hypotheses[:100], [r[:100] for r in references[1:]])
    rows = chrf.statistics(hypotheses[:100], per_sentence[:100])
    assert float(chrf.shown(rows.sum(axis=0))) == pytest.approx(theirs.score, abs=1e-9)
    ter = create("ter")
    theirs_ter = sacrebleu.TER().corpus_score(hypotheses[:25], [r[:25] for r in references[1:]])
    rows = ter.statistics(hypotheses[:25], per_sentence[:25])
    assert float(ter.shown(rows.sum(axis=0))) == pytest.approx(theirs_ter.score, abs=1e-9)


def test_the_pool_under_its_start_weights(pool: tuple) -> None:
    numbers, features, rows = pool
    weights = np.array([0.3] * 7 + [0.5, -1.0] + [0.2] * 5)
    scores = features @ weights
    best = [np.flatnonzero(numbers == i)[np.argmax(scores[numbers == i])] for i in range(400)]
    total = rows[best].sum(axis=0)
    assert BLEU.score(total) == pytest.approx(0.475786, abs=5e-7)
    assert BLEU.length_ratio(total) == pytest.approx(1.0475, abs=5e-5)


def test_the_oracle_of_the_pool(pool: tuple) -> None:
    numbers, _, rows = pool
    found = oracle(rows, numbers)
    assert 100 * found.greedy == pytest.approx(71.63, abs=0.005)
    assert 100 * found.score == pytest.approx(71.90, abs=0.005)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_default_constants_are_those_fitted_to_the_pool(pool: tuple, order: int) -> None:
    numbers, _, rows = pool
    found = fit(rows, numbers, order=order)
    assert found.xi == pytest.approx(FITTED[order], abs=5e-4)
    if order == 4:
        assert found.correlation > 0.98
