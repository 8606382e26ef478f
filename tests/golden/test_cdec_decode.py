"""Our chart against cdec's on its own grammars, weights and language model."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from hopefear.base.weights import Weights
from hopefear.decode.chart import CDEC_FEATURES, ChartOptions, HieroDecoder
from hopefear.decode.contract import Sentence
from hopefear.forest import Derivation, count, kbest, viterbi
from hopefear.lm import LanguageModel

SEGMENT = re.compile(r'<seg grammar="(.*?)" id="(\d+)"> (.*?) </seg>')


class Case(NamedTuple):
    sentence: Sentence
    nodes: int
    edges: int
    paths: float
    before: float  # best score before the language model
    after: float


class Cdec(NamedTuple):
    decoder: HieroDecoder
    weights: Weights
    cases: list[Case]


@pytest.fixture(scope="module")
def cdec(shared: Path) -> Cdec:
    folder = shared / "golden" / "cdec"
    lm = LanguageModel.load(shared / "golden" / "lm3.arpa.gz")
    options = ChartOptions(pass_through_all=True, rule_limit=0, span_limit=15, pop_limit=200)
    decoder = HieroDecoder(None, {"LanguageModel": lm}, options=options, features=CDEC_FEATURES)
    weights = Weights()
    for line in (folder / "weights.txt").read_text().splitlines():
        name, value = line.split()
        weights[name] = float(value)
    rows = [line.split("\t") for line in (folder / "forests.tsv").read_text().splitlines()[1:]]
    cases = []
    segments = SEGMENT.findall((folder / "input.sgm").read_text())
    for (grammar, id, text), row in zip(segments, rows, strict=True):
        nodes, edges = map(int, row[1].split("/"))
        sentence = Sentence(tuple(text.split()), id, folder / grammar)
        cases.append(Case(sentence, nodes, edges, float(row[2]), float(row[3]), float(row[6])))
    return Cdec(decoder, weights, cases)


def test_the_forest_before_the_language_model_is_cdecs(cdec: Cdec) -> None:
    assert len(cdec.cases) == 30
    for case in cdec.cases:
        forest = cdec.decoder.parse(case.sentence, cdec.weights)
        best = viterbi(forest, cdec.weights)
        assert best is not None
        assert (forest.nodes, forest.edges) == (case.nodes, case.edges), case.sentence.id
        assert count(forest) == pytest.approx(case.paths, rel=1e-5)
        assert best.score == pytest.approx(case.before, abs=1e-4)


def test_our_best_is_at_least_as_good(cdec: Cdec) -> None:
    at_least = 0
    for case in cdec.cases:
        best = viterbi(cdec.decoder.forest(case.sentence, cdec.weights), cdec.weights)
        assert best is not None
        at_least += best.score >= case.after - 1e-3
    assert at_least >= 28


def test_the_same_translations_have_the_same_scores(cdec: Cdec, shared: Path) -> None:
    """Among our derivations of each of cdec's strings is the one that cdec found."""
    by_sentence: dict[str, list[tuple[str, dict[str, float], float]]] = {}
    path = shared / "golden" / "cdec" / "kbest100.distinct.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            id, text, features, score = line.rstrip("\n").split(" ||| ")
            values = dict(pair.split("=") for pair in features.split())
            numbers = {name: float(value) for name, value in values.items()}
            by_sentence.setdefault(id, []).append((text, numbers, float(score)))
    found, deep = 0, 0
    for case in cdec.cases:
        for text, features, score in by_sentence[case.sentence.id][:100:25]:
            forest = cdec.decoder.forest(case.sentence, cdec.weights, text)
            ours = kbest(forest, cdec.weights, k=2000)
            assert ours[0].text == text
            assert ours[0].score >= score - 1e-3
            same = [d for d in ours if abs(d.score - score) < 1e-3 and _equal(d, features, cdec)]
            found += bool(same)
            deep += not same and ours[-1].score > score + 1e-3  # of millions
    assert found + deep == 120
    assert found >= 100


def _equal(derivation: Derivation, features: dict[str, float], cdec: Cdec) -> bool:
    vector, names = derivation.features, cdec.decoder.names
    return all(abs(vector.get(names.intern(k)) - v) < 1e-3 for k, v in features.items())
