"""What a line is, and parallel files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hopefear.base.errors import InputError, OptionError
from hopefear.text.lines import read_lines, read_parallel, write_parallel


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b" \t \n", [" \t "]),
        # These end a line for str.splitlines, and would shift one side against the other.
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\x00b\n", ["a\x00b"]),
    ],
)
@pytest.mark.parametrize("name", ["t.txt", "t.gz"])
def test_lines_end_at_newlines_only(
    tmp_path: Path, name: str, data: bytes, lines: list[str]
) -> None:
    assert list(read_lines(written(tmp_path / name, data))) == lines


def test_bytes_that_are_no_utf8_name_their_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t", b"fine\nca\xe9\n")
    with pytest.raises(InputError, match=r"t:2: byte 0xe9 at column 3 is not UTF-8; convert"):
        list(read_lines(path))


def test_a_line_of_megabytes(tmp_path: Path) -> None:
    path = written(tmp_path / "t", b"word " * 500_000 + b"\nnext\n")
    assert [len(line) for line in read_lines(path)] == [2_500_000, 4]


@pytest.mark.parametrize("short", [0, 1, 2])
def test_different_lengths_name_all_files_and_counts(tmp_path: Path, short: int) -> None:
    names = ["a.fr", "a.en", "a.doc"]
    paths = [
        written(tmp_path / name, b"x\n" * (1 if i == short else 3)) for i, name in enumerate(names)
    ]
    with pytest.raises(InputError) as caught:
        list(read_parallel(paths))
    for i, path in enumerate(paths):
        counted = "has 1 line," if i == short and i < 2 else "has 1 line;" if i == short else "3 l"
        assert counted in str(caught.value)
        assert str(path) in str(caught.value)


def test_parallel_is_a_stream(tmp_path: Path) -> None:
    good = written(tmp_path / "a", b"1\n2\n")
    bad = written(tmp_path / "b", b"1\n\xff\n")
    rows = read_parallel([good, bad])
    assert next(rows) == ("1", "1")
    with pytest.raises(InputError, match="b:2"):
        next(rows)


def test_stdin_twice_is_refused() -> None:
    with pytest.raises(OptionError, match="only one of them"):
        next(read_parallel(["-", "-"]))


def test_failed_write_parallel_leaves_no_file(tmp_path: Path) -> None:
    def rows():  # type: ignore[no-untyped-def]
        yield "a", "b"
        raise InputError("no")

    with pytest.raises(OptionError, match="same name"):
        write_parallel([tmp_path / "x", tmp_path / "y" / ".." / "x"], rows())
    paths = [tmp_path / "x", tmp_path / "y.gz"]
    with pytest.raises(InputError):
        write_parallel(paths, rows())
    assert list(tmp_path.iterdir()) == []
    assert write_parallel(paths, [("ä", "ö"), ("", "")]) == 2
    assert [list(read_lines(path)) for path in paths] == [["ä", ""], ["ö", ""]]
