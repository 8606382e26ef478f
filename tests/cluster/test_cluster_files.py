"""Files of jobs on machines that do not share a file system, and machines that are refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_jobs import Reads

from hopefear.base.cluster import worker
from hopefear.base.cluster.executor import ClusterExecutor
from hopefear.base.cluster.files import Copies, Digests, describe_files
from hopefear.base.errors import HopefearError, InputError
from hopefear.base.executor import Folder


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that only this process sees: its path leads to another one in each process."""
    model = tmp_path / "model"
    (model / "parts").mkdir(parents=True)
    (model / "weights").write_text("hope 1")
    (model / "parts" / "rules").write_text("fear " * 10_000)
    (model / "parts" / "empty").touch()
    monkeypatch.chdir(tmp_path)
    return Path("/proc/self/cwd/model")


NAMES = ("weights", "parts/rules", "parts/empty")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "copies"


@pytest.fixture(scope="module")
def copying(machines: Any, shared: Path) -> Iterator[ClusterExecutor]:
    with ClusterExecutor(machines.address, workers=2, shared_folder=shared) as executor:
        yield executor


def test_files_that_all_machines_see_are_read_in_place(
    copying: ClusterExecutor, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("A")
    results = list(copying.map(Reads(tmp_path, ("a",)), ["a"] * 9))
    assert results == [("A", str(tmp_path))] * 9
    assert copying.crew.bytes_copied == 0


def test_relative_paths_are_those_of_the_command(
    copying: ClusterExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("A")
    there = os.path.relpath(tmp_path)
    assert next(iter(copying.map(Reads(Path(there), ("a",)), ["a"])))[0] == "A"


def test_other_files_are_copied_once(
    copying: ClusterExecutor, elsewhere: Path, shared: Path
) -> None:
    job = Reads(elsewhere, NAMES)
    expected = [(elsewhere / name).read_text() for name in NAMES]
    for _ in range(2):
        results = list(copying.map(job, NAMES))
        assert [text for text, _ in results] == expected
        (place,) = {place for _, place in results}
        assert place.startswith(str(shared))
        assert copying.crew.bytes_copied == sum(map(len, expected))
        assert len(list(shared.iterdir())) == 1
    # Other content is another copy; one that is damaged is made again.
    (elsewhere / "weights").write_text("fear 2")
    texts = [text for text, _ in copying.map(job, ["weights"])]
    assert texts == ["fear 2"]
    assert len(list(shared.iterdir())) == 2


def test_without_a_shared_folder_the_file_is_named(machines: Any, elsewhere: Path) -> None:
    with (
        ClusterExecutor(machines.address, workers=1) as executor,
        pytest.raises(InputError, match=r"machine .*weights: no such file; put it .*--shared-f"),
    ):
        list(executor.map(Reads(elsewhere, NAMES), NAMES))


def test_another_build_is_refused(machines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "build_digest", lambda: "another")
    with pytest.raises(HopefearError, match=r"machine .*another build of hopefear.* on all mach"):
        ClusterExecutor(machines.address, workers=1)


def test_a_plugin_is_loaded_under_its_name(machines: Any, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("raise ValueError('of mine')\n")
    with (
        ClusterExecutor(machines.address, workers=1, plugins=[plugin]) as executor,
        pytest.raises(InputError) as caught,
    ):
        list(executor.map(Reads(tmp_path, ()), ["a"]))
    assert str(caught.value).startswith(f"{plugin}: plugin fails with ValueError: of mine")


def test_files_with_equal_times_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("A")
    os.utime(path, ns=(1, 1_600_000_000_000_000_007))
    files = describe_files(path)
    assert Copies(None).missing([files]) == []
    path.write_text("B")  # the same size, another time
    assert len(Copies(None).missing([files])) == 1
    os.utime(path, ns=(1, 1_600_000_000_000_000_000))  # as of an archive, which may be another's
    assert len(Copies(None).missing([describe_files(path)])) == 1
    assert Copies(None).missing([Digests().complete(describe_files(path))]) == []


def test_an_interrupted_copy_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("AAA")
    files = Digests().complete(describe_files(tmp_path / "here"))
    moved = type(files)(str(tmp_path / "there"), *list(vars(files).values())[1:])
    copies = Copies(tmp_path / "copies")
    assert copies.missing([moved])[0][1].endswith("there: no such file")
    copies.write(moved, 0, 0, b"AA")
    copies.write(moved, 0, 0, b"AA")
    copies.write(moved, 0, 2, b"A")
    assert copies.finish(moved) == ""
    assert copies.missing([moved]) == []
    copy = copies.path(Path(moved.root))
    assert copy.read_text() == "AAA"
    copy.write_text("BBB")
    os.utime(copy, ns=(5, 5))
    assert Copies(tmp_path / "copies").missing([moved]) != []
    copies.write(moved, 0, 0, b"AAB")
    assert "differs" in copies.finish(moved)
    assert [path.name for path in (tmp_path / "copies").iterdir()] == [moved.key]


def test_a_file_below_a_folder_is_found_in_its_copy(tmp_path: Path) -> None:
    copies = Copies(None)
    copies.places["/models/a"] = str(tmp_path)
    assert copies.path(Path("/models/a/rules.bin")) == tmp_path / "rules.bin"
    assert copies.path(Path("/models/ab")) == Path("/models/ab")
    assert Folder(tmp_path, ()).root == tmp_path
