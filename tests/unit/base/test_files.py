"""Reading files, and writing them atomically."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
from pathlib import Path

import pytest

from hopefear.base import files
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with files.write_text(path) as file:
        file.write("ein\nzwei\u2028drei\r\n\nvier")
    with files.open_text(path) as lines:
        assert list(lines) == ["ein", "zwei\u2028drei\r", "", "vier"]


def test_gz_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with files.open_output(tmp_path / name) as file:
            file.write(b"x" * 1000)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x" * 1000


@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), files.open_output(path) as file:  # noqa: PT012
        file.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with files.open_output(path) as file:
        file.write(b"x")
        assert not path.exists()
    assert path.read_bytes() == b"x"


def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    with files.open_output(tmp_path / "a") as file:
        file.write(b"x")
    (tmp_path / "b").write_bytes(b"x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with files.open_output(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_devices_are_written_directly() -> None:
    with files.open_output("/dev/null") as file:
        file.write(b"x")
    assert not Path("/dev/null").is_file()


def test_errors_come_before_the_work(tmp_path: Path) -> None:
    absent = tmp_path / "a" / "b"
    with pytest.raises(FileNotFoundError, match="no directory"), files.open_output(absent):
        pytest.fail("the block ran")
    with pytest.raises(IsADirectoryError), files.open_output(tmp_path):
        pytest.fail("the block ran")


def test_only_new_files_need_a_writable_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    files.check_writable("-")
    files.check_writable("/dev/null")
    with pytest.raises(PermissionError):
        files.check_writable(tmp_path / "x")


def test_an_interrupted_replacement_keeps_the_old_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes between the two renames, when neither directory has the name."""
    target = tmp_path / "model"
    target.mkdir()
    (target / "old").write_text("")
    rename = Path.rename

    def interrupted(self: Path, other: Path) -> Path:
        if self.suffix == ".tmp":
            raise KeyboardInterrupt
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), files.atomic_directory(target) as temporary:
        (temporary / "new").write_text("")
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert [p.name for p in target.iterdir()] == ["old"]


def test_directories(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for content in ("one", "two"):
        with files.atomic_directory(target) as temporary:
            (temporary / content).write_text(content)
        assert [p.name for p in target.iterdir()] == [content]
    with pytest.raises(RuntimeError), files.atomic_directory(target) as temporary:  # noqa: PT012
        (temporary / "three").write_text("")
        raise RuntimeError
    assert [p.name for p in target.iterdir()] == ["two"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError), files.atomic_directory(tmp_path / "file"):
        pytest.fail("the block ran")


def test_invalid_utf8_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"good\nb\xffd\n")
    with pytest.raises(InputError) as error, files.open_text(path) as lines:
        list(lines)
    assert str(error.value).startswith(f"{path}:2: byte 0xff at column 2 is not UTF-8")


def test_gz_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(os.urandom(5000))[:-20])
    with pytest.raises(InputError, match="truncated gzip"), files.open_input(path) as file:
        file.read()
    path.write_bytes(b"plain text")
    with pytest.raises(InputError, match="not a gzip"), files.open_input(path) as file:
        file.read()


def test_compressed_and_binary_files_are_refused_as_text(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(b"a b c"))
    with pytest.raises(InputError, match="compressed with gzip; give it a name"):
        files.open_input(tmp_path / "packed").__enter__()
    Weights({"lm": 1.0}).save(tmp_path / "w.bin")
    with pytest.raises(InputError, match="a binary file of Hopefear, expected text"):
        files.open_input(tmp_path / "w.bin").__enter__()
    (tmp_path / "word").write_bytes(b"HOPEFEAR is a word")
    with files.open_input(tmp_path / "word") as file:
        assert file.read() == b"HOPEFEAR is a word"


def test_stdin_is_one_input() -> None:
    files.check_one_stdin("-", "a", "b")
    with pytest.raises(OptionError, match="stdin can be only one"):
        files.check_one_stdin("-", "a", Path("-"))


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(OSError, match="expected a real file"):
        Weights().save(tmp_path / "w.bin")
    assert (tmp_path / "w.bin").is_fifo()


def test_a_full_disk_names_the_file() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with pytest.raises(OSError, match="/dev/full"), files.open_output("/dev/full") as file:
        file.write(b"x")


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)  # 254 bytes; the limit is 255
    with files.open_output(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"
    with (
        pytest.raises(OSError, match=r"name too long: '[^.]*b'$"),
        files.open_output(f"{'b' * 256}"),
    ):
        pytest.fail("the block ran")


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    files.check_directory(tmp_path)
    files.check_directory(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    for name in ("file", "file/a/b"):
        with pytest.raises(NotADirectoryError, match=r"file'$"):
            files.check_directory(tmp_path / name)


def test_gz_compression_levels(tmp_path: Path) -> None:
    text = b"".join(b"%d " % (i * i % 9973) for i in range(20_000))
    for level in (1, 9):
        with files.open_output(tmp_path / f"{level}.gz", level=level) as file:
            file.write(text)
    fast, small = ((tmp_path / name).read_bytes() for name in ("1.gz", "9.gz"))
    assert gzip.decompress(fast) == gzip.decompress(small) == text
    assert len(small) < len(fast)


def test_digests_tell_contents_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a\n")
    two.write_text("b\n")
    assert files.digest_of(one) != files.digest_of(two)
    two.write_text("a\n")
    assert files.digest_of(one) == files.digest_of(two)


def test_digests_of_the_beginning_of_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_text("abc")
    before = files.digest_of(path)
    path.write_text("abcdef")
    assert files.digest_of(path, 3) == before != files.digest_of(path)


def test_digests_see_a_byte_in_the_middle_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(80 << 20)
    before = files.digest_of(path)
    with path.open("r+b") as file:
        file.seek(40 << 20)
        file.write(b"x")
    assert files.digest_of(path) != before


def test_a_pipe_is_read_as_it_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    shell = f"(echo one; sleep 0.6; echo two; printf 3) > {tmp_path}/pipe"
    with subprocess.Popen(["sh", "-c", shell]), files.open_text(tmp_path / "pipe") as lines:
        assert next(lines) == "one"
        assert list(lines) == ["two", "3"]


def test_a_wait_for_a_pipe_ends_with_a_signal_that_came_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler runs between two waits of limited length, not only if it ends a system call."""
    waits = []

    def noticed() -> None:
        waits.append("")
        raise KeyboardInterrupt

    monkeypatch.setattr("hopefear._engine.poll_interrupt", noticed)
    reader, writer = os.pipe()
    with open(reader, "rb") as file:  # noqa: PTH123
        source = files._interruptible(file)
        with pytest.raises(KeyboardInterrupt):
            source.read(1)
    os.close(writer)
    assert waits == [""]


def test_a_full_disk_names_the_file_instead_of_the_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for name in ("", "part"):
        full = OSError(errno.ENOSPC, "full", *([str(tmp_path)] if name else []))
        with pytest.raises(OSError, match="full") as caught, files.atomic_path(target):
            raise full
        assert caught.value.filename == str(tmp_path if name else target)
    with pytest.raises(OSError, match="full") as caught, files.atomic_directory(target) as folder:
        raise OSError(errno.ENOSPC, "full", str(folder / "part"))
    assert caught.value.filename == str(target / "part")
