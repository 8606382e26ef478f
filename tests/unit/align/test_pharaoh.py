"""Reading and writing alignments, Pharaoh and GIZA++ format."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.align import format_points, parse_points, read_alignments, write_alignments
from hopefear.align.pharaoh import sentence_lengths
from hopefear.base.errors import InputError

GIZA = """# Sentence pair (1) source length 2 target length 3 alignment score : 0.01
a b c
NULL ({ 2 }) x ({ 1 }) y ({ 3 })
# Sentence pair (2) source length 1 target length 2 alignment score : 0.5
a b
NULL ({ }) x ({ 1 2 })
"""


def test_parse_and_format() -> None:
    assert parse_points(" 1-2\t0-0 1-2\r") == [(0, 0), (1, 2)]
    assert format_points([(0, 0), (1, 2)]) == "0-0 1-2"
    assert parse_points("") == []
    with pytest.raises(InputError, match=r"x:3: '1:2' is no alignment point"):
        parse_points("0-0 1:2", "x:3")


def test_round_trip(tmp_path: Path) -> None:
    alignments = [[(0, 0), (3, 1)], [], [(10, 200)]]
    assert write_alignments(tmp_path / "a.gz", alignments) == 3
    assert list(read_alignments(tmp_path / "a.gz")) == alignments


def test_giza(tmp_path: Path) -> None:
    file = tmp_path / "x.A3.final"
    file.write_text(GIZA)
    assert list(read_alignments(file)) == [[(0, 0), (1, 2)], [(0, 0), (0, 1)]]
    backwards = list(read_alignments(file, direction="reverse"))
    assert backwards == [[(0, 0), (2, 1)], [(0, 0), (1, 0)]]
    for damaged in (GIZA[:-30], GIZA.replace("({ 3 })", ""), GIZA.replace("source length", "x")):
        file.write_text(damaged)
        with pytest.raises(InputError, match=r"A3\.final:[14]: not a sentence pair of GIZA"):
            list(read_alignments(file))
    file.write_text(GIZA.replace("({ 3 })", "({ 4 })"))
    with pytest.raises(InputError, match=r"A3\.final:3: 1-3 points to target word 3"):
        list(read_alignments(file))


def test_lengths(tmp_path: Path) -> None:
    a, b, alignment = (tmp_path / name for name in ("a", "b", "al"))
    a.write_bytes(b"x  y \n\n\xff z\r\n")
    b.write_bytes(b"X\nY\nZ\n")
    assert list(sentence_lengths(a, b)) == [(2, 1), (0, 1), (2, 1)]
    alignment.write_text("1-0\n\n0-0\n")
    assert len(list(read_alignments(alignment, lengths=sentence_lengths(a, b)))) == 3
    alignment.write_text("1-0\n\n0-1\n")
    with pytest.raises(InputError, match=f"{alignment}:3: 0-1 points to target word 1, .* 1 words"):
        list(read_alignments(alignment, lengths=sentence_lengths(a, b)))
    for content, message in (("1-0\n", "ends before line 2"), ("\n" * 4, "has a line 4")):
        alignment.write_text(content)
        with pytest.raises(InputError, match=message):
            list(read_alignments(alignment, lengths=sentence_lengths(a, b)))
    b.write_bytes(b"X\n")
    with pytest.raises(InputError, match=f"{b} has 1 lines, {a} has more"):
        list(sentence_lengths(a, b))
