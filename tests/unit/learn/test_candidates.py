"""Candidates: groups of rows from derivations or arrays, merged without duplicates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import Forest, ForestBuilder, Vocabulary
from hopefear.learn.pool.candidate_builder import CandidateBuilder, entries
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.metrics import create

pytestmark = pytest.mark.engine

BLEU = create("bleu")
REFERENCES = [["a b c d e"], ["f g h"], ["i j k l"]]
Entry = tuple[str, dict[str, float]]


def nbest(items: list[Entry], names: FeatureNames) -> Forest:
    builder = ForestBuilder(vocabulary=Vocabulary(), names=names)
    builder.node()
    for text, features in items:
        builder.edge(0, (), text.split(), row=builder.row(features, share=False))
    return builder.finish(0)


def as_dicts(candidates: Candidates) -> list[dict[str, float]]:
    table = candidates.features
    found = []
    for row in range(table.rows):
        vector = table.row(row)
        found.append(
            {
                str(candidates.names.name(int(id))): float(value)
                for id, value in zip(table.ids, vector, strict=True)
                if value
            }
        )
    return found


@pytest.mark.parametrize("on_disk", [False, True])
def test_grows_without_repetitions(on_disk: bool, tmp_path: Path) -> None:
    names = FeatureNames()
    builder = CandidateBuilder(
        BLEU, REFERENCES, names=names, directory=tmp_path / "pool" if on_disk else None
    )
    first = [("a b c", {"lm": -1.0, "x": 2.0}), ("a b", {"lm": -2.0})]
    assert builder.add_list(1, nbest([("f g h", {"lm": 3.0})], names)) == 1
    assert builder.add_list(0, nbest([*first, first[0]], names)) == 2
    before = builder.candidates()
    # The same string with other features and the same features with another string are new.
    second = [first[1], ("a b c", {"lm": -1.5}), ("a c", {"lm": -2.0})]
    assert builder.add_list(0, nbest(second, names)) == 2
    assert builder.add_list(2, nbest([], names)) == 0
    after = builder.candidates()

    assert before.begin.tolist() == [0, 2, 3]
    assert after.begin.tolist() == [0, 4, 5, 5]
    assert after.sentences.tolist() == [0, 1, 2]
    assert as_dicts(after) == [
        {"lm": -1.0, "x": 2.0},
        {"lm": -2.0},
        {"lm": -1.5},
        {"lm": -2.0},
        {"lm": 3.0},
    ]
    texts = ["a b c", "a b", "a b c", "a c", "f g h"]
    expected = BLEU.prepare(REFERENCES).statistics(texts, [0, 0, 0, 0, 1])
    assert (after.statistics == expected).all()
    assert after.statistics.dtype == np.int16
    assert as_dicts(before) == [{"lm": -1.0, "x": 2.0}, {"lm": -2.0}, {"lm": 3.0}]
    assert isinstance(after.features.dense, np.memmap) == on_disk


@pytest.mark.parametrize("on_disk", [False, True])
def test_rare_features_are_sparse(on_disk: bool, tmp_path: Path) -> None:
    names = FeatureNames()
    builder = CandidateBuilder(
        BLEU,
        REFERENCES,
        names=names,
        dense=[names.intern("kept")],
        dense_limit=0,
        dense_share=0.5,
        directory=tmp_path if on_disk else None,
    )
    lists = [
        [(f"a {i}", {"lm": float(i + 1), f"s{i % 7}": i + 0.5}) for i in range(50)],
        [(f"f {i}", {"lm": -float(i), "kept": 1.0 if i == 3 else 0.0}) for i in range(1, 20)],
    ]
    for sentence in (1, 0):
        builder.add_list(sentence, nbest(lists[sentence], names))
    made = builder.candidates()
    assert made.features.columns == 2
    assert made.features.sparse.shape == (69, 7)
    expected = [{k: v for k, v in f.items() if v} for _, f in [*lists[0], *lists[1]]]
    assert as_dicts(made) == expected
    weights = Weights({"lm": 0.5, "s3": 2.0, "kept": -1.0, "nobody": 1.0}, names=names)
    scores = made.scores(made.vector(weights))
    wanted = [sum(weights[k] * v for k, v in f.items()) for f in expected]
    np.testing.assert_allclose(scores, wanted, rtol=1e-12)
    assert (made.scores(made.vector(weights), threads=3) == scores).all()


def test_each_bin_is_a_group(tmp_path: Path) -> None:
    names = FeatureNames()
    builder = CandidateBuilder(BLEU, names=names)
    list_ = entries(nbest([("a", {"x": 1.0}), ("b", {"x": 2.0})], names))
    counts = np.arange(18).reshape(2, 9)
    assert builder.add_rows(4, list_, counts, bin=2) == 2
    assert builder.add_rows(4, list_[::-1], counts[::-1], bin=1) == 2
    assert builder.add_rows(4, list_, counts, bin=1) == 0
    assert builder.add_rows(3, list_[:1], counts[:1], bin=5) == 1
    made = builder.candidates()
    assert made.sentences.tolist() == [3, 4, 4]
    assert made.bins is not None
    assert made.bins.tolist() == [5, 1, 2]
    assert made.features.dense[:, 0].tolist() == [1, 2, 1, 1, 2]
    assert made.statistics[1].tolist() == list(range(9, 18))


def test_save_and_restore(tmp_path: Path) -> None:
    names = FeatureNames()
    builder = CandidateBuilder(BLEU, REFERENCES, names=names)
    builder.add_list(2, nbest([("i j", {"x": 1.0}), ("k", {"y": 2.0})], names))
    builder.add_list(0, nbest([], names))
    builder.save(tmp_path / "pool.npz")
    again = CandidateBuilder(BLEU, REFERENCES, names=names, directory=tmp_path / "disk")
    again.restore(tmp_path / "pool.npz")
    for each in (builder, again):
        more = nbest([("k", {"y": 2.0}), ("i", {"z": 2.0})], names)
        assert each.add_list(2, more) == 1
    one, two = builder.candidates(), again.candidates()
    assert as_dicts(one) == as_dicts(two)
    assert (one.statistics == two.statistics).all()
    assert one.begin.tolist() == two.begin.tolist() == [0, 0, 3]
    (tmp_path / "other").write_text("nothing")
    with pytest.raises(InputError, match="not a file of candidates"):
        again.restore(tmp_path / "other")


def test_from_arrays_sorts_and_keeps_order() -> None:
    made = from_arrays(
        [2, 0, 2, 0],
        [[1.0], [2.0], [3.0], [4.0]],
        np.arange(36).reshape(4, 9),
        ["x", "s", "t"],
        sparse=csr_array(np.array([[0, 1], [2, 0], [0, 0], [0, 5]], np.float32)),
    )
    assert made.begin.tolist() == [0, 2, 4]
    assert made.sentences.tolist() == [0, 2]
    assert as_dicts(made) == [
        {"x": 2.0, "s": 2.0},
        {"x": 4.0, "t": 5.0},
        {"x": 1.0, "t": 1.0},
        {"x": 3.0},
    ]
    assert made.statistics[:, 0].tolist() == [9, 27, 0, 18]
    half = made.part([1])
    assert as_dicts(half) == as_dicts(made)[2:]
    assert half.sentences.tolist() == [2]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nonfinite_values_are_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"candidate 1: feature 'y' is (nan|inf)"):
        from_arrays([0, 0], [[0, 1], [1, value]], np.ones((2, 9), int), ["x", "y"])
    with pytest.raises(InputError, match="sparse feature"):
        from_arrays([0], np.zeros((1, 0)), np.ones((1, 9), int), ["x"], sparse=csr_array([[value]]))


def test_mismatched_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="one row for each candidate"):
        from_arrays([0], [[1.0], [2.0]], np.ones((1, 9), int), ["x"])
    with pytest.raises(InputError, match="2 feature names for 1 columns"):
        from_arrays([0], [[1.0]], np.ones((1, 9), int), ["x", "y"])
    with pytest.raises(InputError, match="a name occurs twice"):
        from_arrays([0], [[1.0, 2.0]], np.ones((1, 9), int), ["x", "x"])


def test_weights_of_unseen_features_stay() -> None:
    made = from_arrays([0], [[1.0, 2.0]], np.ones((1, 9), int), ["x", "y"])
    old = Weights({"z": 3.0, "x": 1.0})
    new = made.weights(np.array([5.0, 6.0]), old)
    assert dict(new.items()) == {"x": 5.0, "y": 6.0, "z": 3.0}
    assert dict(old.items()) == {"x": 1.0, "z": 3.0}


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0]), max_size=5), max_size=6))
def test_best_is_the_first_of_the_largest(groups: list[list[float]]) -> None:
    begin = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    rows = int(begin[-1])
    made = from_arrays(np.zeros(rows), np.zeros((rows, 1)), np.ones((rows, 9), int), ["x"])
    grouped = Candidates(
        begin, np.arange(len(groups), dtype=np.int32), made.features, made.statistics, made.names
    )
    found = grouped.best(np.array([v for g in groups for v in g], dtype=np.float64))
    expected = [b + g.index(max(g)) if g else -1 for b, g in zip(begin[:-1], groups, strict=True)]
    assert found.tolist() == expected
    assert grouped.total(found).tolist() == [sum(e >= 0 for e in expected)] * 9
