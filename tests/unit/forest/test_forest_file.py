"""Forest files: random access, several sources, and everything that may be wrong with one."""

from __future__ import annotations

import gc
import itertools
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from forest_small import tiny_forest, tiny_weights

from hopefear import forest as hf
from hopefear.base.errors import InputError
from hopefear.forest.io import to_json

pytestmark = pytest.mark.engine


def test_random_access(tmp_path: Path) -> None:
    path = tmp_path / "pool"
    forests = [tiny_forest(str(i)) for i in range(5)]  # five vocabularies
    assert hf.save_pool(path, forests) == 5
    pool = hf.ForestFile(path)
    assert [f.id for f in pool] == list("01234")
    assert pool[-1].id == "4"
    assert [f.id for f in pool[1:3]] == ["1", "2"]
    assert [f.id for f in pool.by_id("3")] == ["3"]
    assert pool.by_id("x") == []
    with pytest.raises(IndexError):
        pool[5]
    assert to_json(pool[2]) == to_json(forests[2])
    assert pool.bytes == path.stat().st_size
    assert len(pool.vocabulary) == 7  # words and symbols that occur, each once
    assert pool.names.name(pool[0].feature_ids.tolist()[0]) == "tm"


def test_file_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"pool\xff")
    hf.save_pool(path, [tiny_forest("a")])
    assert hf.ForestFile(path)[0].id == "a"


def test_forests_outlive_their_pool(tmp_path: Path) -> None:
    path = tmp_path / "pool"
    hf.save_pool(path, [tiny_forest()])
    tails = hf.ForestFile(path)[0].tails
    path.unlink()
    gc.collect()
    assert tails.tolist() == tiny_forest().tails.tolist()


def test_one_file_from_two_others(tmp_path: Path) -> None:
    hf.save_pool(tmp_path / "a", [tiny_forest("a")])
    hf.save_pool(tmp_path / "b", [tiny_forest("b"), hf.Forest()])
    both = [*hf.ForestFile(tmp_path / "a"), *hf.ForestFile(tmp_path / "b")]
    hf.save_pool(tmp_path / "ab", both)
    assert [to_json(f) for f in hf.ForestFile(tmp_path / "ab")] == [to_json(f) for f in both]


def test_threads_read_one_pool(tmp_path: Path) -> None:
    path = tmp_path / "pool"
    hf.save_pool(path, [tiny_forest(str(i)) for i in range(50)])
    pool, weights = hf.ForestFile(path), tiny_weights()
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(lambda i: hf.kbest(pool[i], weights, 1)[0].text, list(range(50)) * 4)
    assert set(found) == {"cats sleep"}


def test_names_may_come_while_a_pool_is_written(tmp_path: Path) -> None:
    """As when sentences are written while threads decode the next ones."""
    path, size = tmp_path / "pool", 5000
    for _ in range(20):
        builder = hf.ForestBuilder()
        node = builder.node()
        builder.edge(node, (), ["x"], features={f"old{i}": 1.0 for i in range(size)})
        forest = builder.finish(node)
        assert forest.names is not None
        intern, done = forest.names.intern, threading.Event()

        def grow(intern: Callable[[str], int] = intern, done: threading.Event = done) -> None:
            for i in itertools.count():
                if done.is_set():
                    return
                intern(f"new{i}")

        thread = threading.Thread(target=grow)
        thread.start()
        hf.save_pool(path, [forest])
        done.set()
        thread.join()
        assert len(hf.ForestFile(path).names) == size


def test_failure_leaves_no_file(tmp_path: Path) -> None:
    def forests():  # type: ignore[no-untyped-def]
        yield tiny_forest()
        raise RuntimeError("decoder died")

    with pytest.raises(RuntimeError, match="decoder died"):
        hf.save_pool(tmp_path / "pool", forests())
    assert list(tmp_path.iterdir()) == []


def test_foreign_and_truncated_files(tmp_path: Path) -> None:
    path = tmp_path / "pool"
    path.write_bytes(b"not a pool")
    with pytest.raises(InputError, match="expected a Hopefear forest file"):
        hf.ForestFile(path)
    hf.save_pool(path, [tiny_forest()])
    data = path.read_bytes()
    path.write_bytes(data[:-64])
    with pytest.raises(InputError, match="truncated"):
        hf.ForestFile(path)
    with pytest.raises(FileNotFoundError):
        hf.ForestFile(tmp_path / "absent")


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    """A flipped bit is an error or (in padding) changes nothing; it never gives another forest."""
    path = tmp_path / "pool"
    hf.save_pool(path, [tiny_forest()])
    data, wanted = path.read_bytes(), to_json(tiny_forest())
    generator = random.Random(1)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            found = to_json(hf.ForestFile(path)[0])
        except InputError as error:
            found = str(error)
        assert found == wanted or str(path) in found
