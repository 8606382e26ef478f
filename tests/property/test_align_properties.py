"""What holds for any alignment and any text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear import _engine
from hopefear.align import (
    METHODS,
    Aligner,
    Settings,
    format_points,
    parse_points,
    read_alignments,
    symmetrise,
    write_alignments,
)

pytestmark = pytest.mark.engine

points = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14)


@given(st.lists(st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 2**20 - 1))))
def test_pharaoh_round_trip(alignment: list[tuple[int, int]]) -> None:
    assert parse_points(format_points(alignment)) == sorted(set(alignment))


@given(st.lists(points.map(lambda p: sorted(set(p)))))
@settings(max_examples=25)
def test_file_round_trip(tmp_path_factory: pytest.TempPathFactory, alignments) -> None:
    path: Path = tmp_path_factory.mktemp("align") / "a"
    write_alignments(path, alignments)
    assert list(read_alignments(path)) == alignments


@given(points, points)
def test_the_methods_are_nested(forward, reverse) -> None:
    """Intersection <= grow-diag <= final-and <= final <= union, and each point has its reason."""
    by = {method: set(symmetrise(forward, reverse, method)) for method in METHODS}
    assert by["intersection"] == set(forward) & set(reverse)
    assert by["union"] == set(forward) | set(reverse)
    assert by["intersection"] <= by["grow-diag"] <= by["grow-diag-final-and"]
    assert by["grow-diag"] <= by["grow-diag-final"] <= by["union"]
    # Growing ended: no neighbour of a point with a free word is left.
    grown = by["grow-diag"]
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}
    for i, j in by["union"] - grown:
        near = any((i + a, j + b) in grown for a in (-1, 0, 1) for b in (-1, 0, 1))
        assert not near or (i in sources and j in targets)
    # After final-and no candidate with two free words is left, after final none with one.
    last = by["grow-diag-final-and"]
    sources, targets = {i for i, _ in last}, {j for _, j in last}
    assert all(i in sources or j in targets for i, j in by["union"])
    last = by["grow-diag-final"]
    assert {i for i, _ in last} == {i for i, _ in by["union"]}
    assert {j for _, j in last} == {j for _, j in by["union"]}


words = st.text(alphabet="abc", min_size=1, max_size=2)
sentences = st.lists(words, min_size=1, max_size=12)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=20), st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_any_text(pairs, mode: int) -> None:
    """Posteriors sum to one, links lie inside, the transposed text gives the transposed result."""
    name = ("model1", "hmm", "fertility")[mode]
    options = Settings(aligner=name, **({} if mode == 0 else {"window": 4}))
    texts = ["".join(" ".join(p[side]) + "\n" for p in pairs).encode() for side in (0, 1)]

    def train(first: bytes, second: bytes) -> tuple[Aligner, _engine.AlignBitext, bytes]:
        text = _engine.AlignBitext.read(
            io.BytesIO(first), "f", io.BytesIO(second), "e", 1000, True, True
        )
        aligner = Aligner.train(text, options)
        out = io.BytesIO()
        aligner._engine.align(text, out, "union", "both", 0.0, 2, None)
        return aligner, text, out.getvalue()

    aligner, text, written = train(*texts)
    for n, ((source, target), line) in enumerate(zip(pairs, written.splitlines(), strict=True)):
        _, _, p, q = aligner._engine.posteriors(text, n)
        assert p.min() >= 0
        assert q.min() >= 0
        assert abs(p.sum(axis=0) - 1).max() < 1e-5
        assert abs(q.sum(axis=1) - 1).max() < 1e-5
        for i, j in parse_points(line.decode()):
            assert i < len(source)
            assert j < len(target)
    other, _, turned = train(*reversed(texts))
    for a, b in zip(aligner.iterations, other.iterations, strict=True):
        assert a.log_likelihood["forward"] == pytest.approx(b.log_likelihood["reverse"], rel=1e-6)
    assert len(turned.splitlines()) == len(pairs)
