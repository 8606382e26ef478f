"""The five symmetrisations of 500 real alignments, line by line as fast_align's tool makes them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hopefear.align import symmetrise_files


@pytest.mark.parametrize(
    "method", ["intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
)
def test_equals_atools(shared: Path, tmp_path: Path, method) -> None:
    folder = shared / "golden" / "symmetrise"
    output = tmp_path / "out"
    files = folder / "forward.align.gz", folder / "reverse.align.gz"
    assert symmetrise_files(*files, output, method) == 500
    expected = gzip.decompress((folder / f"{method}.align.gz").read_bytes())
    assert output.read_bytes().splitlines() == expected.splitlines()
