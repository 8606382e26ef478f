"""The reference forest with every value, and n-best lists as Moses and cdec print them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear import forest as hf
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest.io import from_json, read_nbest


@pytest.fixture(scope="module")
def tiny(shared: Path) -> dict[str, Any]:
    path = shared / "notes" / "tiny-forest" / "forest.json"
    if not path.exists():
        pytest.skip(f"no {path}")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="module")
def forest(tiny: dict[str, Any]) -> hf.Forest:
    return from_json({key: tiny[key] for key in ("nodes", "edges", "goal")})


@pytest.fixture(scope="module")
def weights(tiny: dict[str, Any]) -> Weights:
    return Weights(tiny["weights"])


def close(value: Any) -> Any:
    return pytest.approx(value, abs=1e-6)  # features are floats of 32 bits


def named(forest: hf.Forest, vector: SparseVector) -> dict[str, float]:
    assert forest.names is not None
    pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    return {str(forest.names.name(id)): value for id, value in pairs}


def test_kbest(tiny: dict[str, Any], forest: hf.Forest, weights: Weights) -> None:
    found = hf.kbest(forest, weights, 100)
    assert [d.score for d in found] == close([d["score"] for d in tiny["kbest"]])
    wanted = {(round(d["score"], 4), d["words"], tuple(d["edges"])) for d in tiny["kbest"]}
    assert {(round(d.score, 4), d.text, tuple(d.edges.tolist())) for d in found} == wanted
    assert len(found) == hf.count(forest) == tiny["derivations"] == 13
    distinct = hf.kbest(forest, weights, 100, distinct=True)
    assert len(distinct) == tiny["distinct_strings"]
    assert distinct[-1].score == close(-1.65)
    best = hf.viterbi(forest, weights)
    assert best is not None
    assert (best.text, best.edges.tolist()) == ("man is sleeping", [7, 4, 1, 3])


def test_sums(tiny: dict[str, Any], forest: hf.Forest, weights: Weights) -> None:
    assert hf.log_partition(forest, weights) == close(tiny["log_partition"])
    assert hf.inside(forest, weights) == close(tiny["inside"])
    assert hf.outside(forest, weights) == close(tiny["outside"])
    marginals = hf.marginals(forest, weights)
    assert marginals.edges == close(tiny["edge_expectations"])
    assert marginals.nodes == close(tiny["node_expectations"])
    assert hf.entropy(forest, weights) == close(tiny["entropy"])
    expected = hf.expected_features(forest, weights)
    assert named(forest, expected) == close(tiny["expected_features"])


def test_strings(tiny: dict[str, Any], forest: hf.Forest, weights: Weights) -> None:
    best = hf.max_translation(forest, weights, exact=True)
    assert best is not None
    assert best.text == "the man sleeps"
    assert best.probability == close(tiny["string_probabilities"]["the man sleeps"])
    sampled = hf.max_translation(forest, weights, samples=20_000, seed=1)
    assert sampled is not None
    assert sampled.text == best.text


def test_expected_gain(tiny: dict[str, Any], forest: hf.Forest, weights: Weights) -> None:
    reference = set(tiny["gain"]["reference"].split())
    gains = [sum(s in reference for s in e["target"] if isinstance(s, str)) for e in tiny["edges"]]
    found = hf.expectation(forest, weights, gains=gains)
    assert found.value == close(tiny["gain_unclipped"]["expected"])
    assert named(forest, found.gradient) == close(tiny["gain_unclipped"]["gradient"])


def test_envelope(tiny: dict[str, Any], forest: hf.Forest, weights: Weights) -> None:
    found = hf.envelope(forest, weights, Weights(tiny["direction"]))
    wanted = tiny["envelope"]
    assert [s.derivation.text for s in found] == [s["words"] for s in wanted]
    assert [s.slope for s in found] == close([s["slope"] for s in wanted])
    assert [s.intercept for s in found] == close([s["intercept"] for s in wanted])
    assert found[0].start == -np.inf
    assert [s.start for s in found[1:]] == close([s["from"] for s in wanted[1:]])


def test_prune(forest: hf.Forest, weights: Weights) -> None:
    through = hf.max_marginals(forest, weights)
    assert through[[5, 6, 8]] == close([-1.45, -1.25, -1.15])
    assert hf.prune(forest, weights, margin=0.5).edges == 6
    assert np.flatnonzero(through >= -0.85 - 1e-6).tolist() == [0, 1, 2, 3, 4, 7]


def moses_weights(ini: Path) -> Weights:
    values: dict[str, float] = {}
    section = ini.read_text(encoding="utf-8").partition("[weight]")[2]
    for name, numbers in re.findall(r"^(\w+)= *(.+)$", section, re.MULTILINE):
        parts = [float(number) for number in numbers.split()]
        labels = [name] if len(parts) == 1 else [f"{name}_{i + 1}" for i in range(len(parts))]
        values |= dict(zip(labels, parts, strict=True))
    return Weights(values)


@pytest.mark.parametrize("name", ["cube300", "stack30"])
def test_moses_lists(shared: Path, name: str) -> None:
    """The score is features . weights - 100 per unknown word, which Moses does not print."""
    folder = shared / "golden" / "moses" / "decode"
    weights = moses_weights(folder / "moses.ini")
    lists = list(read_nbest(folder / f"nbest10.{name}.txt.gz"))
    assert [item.id for item in lists] == [str(i) for i in range(200)]
    assert sum(item.forest.edges for item in lists) == 2000
    for item in lists:
        assert len(item.forest.feature_ids) == 14
        ours = hf.edge_scores(item.forest, weights)
        unknown = np.round((ours - item.scores) / 100)
        assert ours - 100 * unknown == pytest.approx(item.scores, abs=2e-3)
        # Moses's list is best first by its own score.
        assert hf.kbest(item.forest, scores=item.scores)[0].edges.tolist() == [0]


def test_cdec_lists(shared: Path) -> None:
    folder = shared / "golden" / "cdec"
    weights = _cdec_weights(folder)
    lists = list(read_nbest(folder / "kbest100.distinct.txt.gz", "cdec"))
    assert len(lists) == 30
    for item in lists:
        ours = hf.edge_scores(item.forest, weights)
        assert ours == pytest.approx(item.scores, abs=2e-3)
        distinct = hf.kbest(item.forest, weights, 200, distinct=True)
        assert len(distinct) == item.forest.edges


def _cdec_weights(folder: Path) -> Weights:
    lines = (folder / "weights.txt").read_text(encoding="utf-8").splitlines()
    pairs = [re.split(r"[ \t=]+", line.strip()) for line in lines if line.strip()]
    return Weights({pair[0]: float(pair[1]) for pair in pairs if not pair[0].startswith("#")})


def test_lists_as_a_pool(shared: Path, tmp_path: Path) -> None:
    """Import, save, load: the same scores, and the names with them."""
    folder = shared / "golden" / "moses" / "decode"
    lists = list(read_nbest(folder / "nbest10.cube300.txt.gz"))
    hf.save_pool(tmp_path / "pool", (item.forest for item in lists))
    pool = hf.ForestFile(tmp_path / "pool")
    weights = moses_weights(folder / "moses.ini")
    for item, loaded in zip(lists, pool, strict=True):
        assert loaded.id == item.id
        before = [(d.score, d.text) for d in hf.kbest(item.forest, weights)]
        assert [(d.score, d.text) for d in hf.kbest(loaded, weights)] == before
    assert {pool.names.name(id) for id in pool[0].feature_ids.tolist()} >= {"LM0", "Distortion0"}
