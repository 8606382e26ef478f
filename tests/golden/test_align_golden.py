"""Alignments of real text look like fast_align's: much the same links, few words without one."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

from hopefear.align import align_files, read_alignments


def test_multi30k(shared: Path, tmp_path: Path) -> None:
    folder = shared / "golden" / "aligned" / "fr-en"
    for side in ("fr", "en"):
        with gzip.open(folder / f"train.{side}.gz", "rb") as file:
            (tmp_path / side).write_bytes(b"".join(islice(file, 10_000)))
    summary = align_files(tmp_path / "fr", tmp_path / "en", tmp_path / "out")
    ours = list(read_alignments(tmp_path / "out"))
    theirs = list(islice(read_alignments(folder / "train.gdfa.gz"), 10_000))
    common = sum(len(set(a) & set(b)) for a, b in zip(ours, theirs, strict=True))
    f1 = 2 * common / (sum(map(len, ours)) + sum(map(len, theirs)))
    # Theirs was trained on three times the text and has more links; measured 0.874 when this was
    # written.
    assert f1 > 0.86
    report = summary.report
    assert report.unaligned_source / report.source_words < 0.15
    assert report.unaligned_target / report.target_words < 0.08
