"""Symmetrisation of small alignments whose result can be seen, and of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.align import METHODS, symmetrise, symmetrise_files
from hopefear.base.errors import InputError, OptionError

pytestmark = pytest.mark.engine

FORWARD = [(0, 0), (1, 1), (1, 2), (4, 4), (6, 6)]
REVERSE = [(0, 0), (1, 1), (2, 1), (5, 4), (6, 7)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", [(0, 0), (1, 1)]),
        ("intersect", [(0, 0), (1, 1)]),
        ("union", sorted({*FORWARD, *REVERSE})),
        # Next to 1-1 and with a free word.
        ("grow-diag", [(0, 0), (1, 1), (1, 2), (2, 1)]),
        # 4-4 and 6-6 by the forward direction, then 5-4 and 6-7: one free word is enough.
        (
            "grow-diag-final",
            [(0, 0), (1, 1), (1, 2), (2, 1), (4, 4), (5, 4), (6, 6), (6, 7)],
        ),
        ("grow-diag-final-and", [(0, 0), (1, 1), (1, 2), (2, 1), (4, 4), (6, 6)]),
    ],
)
def test_small(method, expected) -> None:
    assert symmetrise(FORWARD, REVERSE, method) == expected
    assert symmetrise(reversed(FORWARD * 2), REVERSE, method) == expected  # order, repetition


def test_growing_counts_at_once() -> None:
    # 1-1 grows to 2-2 in the first round, and from there 3-3 in the same one.
    assert symmetrise([(1, 1), (2, 2), (3, 3)], [(1, 1)], "grow-diag") == [(1, 1), (2, 2), (3, 3)]
    # Backwards it takes several rounds.
    assert symmetrise([(3, 3), (2, 2), (1, 1)], [(3, 3)], "grow-diag") == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("method", METHODS)
def test_empty(method) -> None:
    assert symmetrise([], [], method) == []


def test_unknown_method() -> None:
    with pytest.raises(OptionError, match="did you mean 'grow-diag'"):
        symmetrise([], [], "grow-dia")


def test_files(tmp_path: Path) -> None:
    f, r, out = tmp_path / "f", tmp_path / "r.gz", tmp_path / "out"
    f.write_text("1-1 0-0\n\n0-1\n")
    import gzip

    r.write_bytes(gzip.compress(b"0-0\n0-0\n0-1\n"))
    assert symmetrise_files(f, r, out, "intersection") == 3
    assert out.read_text() == "0-0\n\n0-1\n"
    r.write_bytes(gzip.compress(b"0-0\n"))
    with pytest.raises(InputError, match=f"{f} has 3 lines, {r} has 1;"):
        symmetrise_files(f, r, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "bad", ["0-", "-1", "0-0-0", "a-b", "1", "0-99999999999", "0 - 0", "0-2000000"]
)
def test_no_points(bad: str, tmp_path: Path) -> None:
    f, r = tmp_path / "f", tmp_path / "r"
    f.write_text(f"0-0\n0-0 {bad}\n")
    r.write_text("0-0\n0-0\n")
    with pytest.raises(InputError, match=f"{f}:2: .* is no alignment point"):
        symmetrise_files(f, r, tmp_path / "out")


def test_positions_are_checked_against_the_text(tmp_path: Path) -> None:
    f, r, a, b = (tmp_path / name for name in "frab")
    a.write_text("x y\n")
    b.write_text("X Y Z\n")
    f.write_text("1-2\n")
    r.write_text("2-1\n")
    with pytest.raises(InputError, match=f"{r}:1: 2-1 points to source word 2"):
        symmetrise_files(f, r, tmp_path / "out", text=(a, b))
    r.write_text("0-0\n")
    assert symmetrise_files(f, r, tmp_path / "out", text=(a, b)) == 1
