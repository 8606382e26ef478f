"""Training on a Ray cluster: the bytes of training with threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import hopefear
from hopefear.align import align_files
from hopefear.text import world

OPTIONS: dict[str, Any] = {"tokenized": True, "order": 2, "display": "off", "threads": 2}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("texts")
    world.write(world.generate(train=900, dev=5, test=5), directory)
    align_files(directory / "train.zh", directory / "train.en", directory / "links")
    return directory


def files_of(directory: Path) -> dict[str, bytes]:
    """All files but the lock and the times."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("lock", "times.json")
    }


def trained(texts: Path, model: Path, **more: Any) -> dict[str, bytes]:
    options = {**OPTIONS, "align": texts / "links", **more}
    hopefear.train(texts / "train.zh", texts / "train.en", model=model, **options)
    return files_of(model)


@pytest.mark.parametrize(("system", "folds"), [("phrase", 3), ("phrase", 0), ("hiero", 0)], ids=str)
def test_the_same_model_as_with_threads(
    machines: Any, texts: Path, tmp_path: Path, system: str, folds: int
) -> None:
    options = {"system": system, "folds": folds, "limit": 0}
    expected = trained(texts, tmp_path / "threads", **options)
    for workers in (1, 3):
        model = tmp_path / f"cluster{workers}"
        assert (
            trained(texts, model, cluster=machines.address, workers=workers, **options) == expected
        )
    assert len(expected) > 10


def test_a_worker_dies(machines: Any, texts: Path, tmp_path: Path) -> None:
    """Each fold takes long enough that one worker is killed while it makes tables."""
    options = {"folds": 4, "limit": 0}
    expected = trained(texts, tmp_path / "threads", **options)
    killed: list[int] = []

    def kill() -> None:
        while not killed and not stop.wait(0.01):
            for folder in Path("/proc").glob("[0-9]*"):
                if _makes_tables(folder, tmp_path):
                    killed.append(int(folder.name))
                    os.kill(killed[0], signal.SIGKILL)
                    return

    stop = threading.Event()
    thread = threading.Thread(target=kill)
    thread.start()
    try:
        model = tmp_path / "cluster"
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        started = time.monotonic()
        got = trained(texts, model, cluster=machines.address, workers=2, tmp=scratch, **options)
        assert time.monotonic() - started < 120
    finally:
        stop.set()
        thread.join()
    assert killed
    assert got == expected


def _makes_tables(process: Path, place: Path) -> bool:
    """Whether a process of /proc holds a temporary folder of a worker, so that it has a task."""
    try:
        links = [str(link.readlink()) for link in (process / "fd").iterdir()]
    except OSError:
        return False
    return any(link.startswith(f"{place}/scratch/hopefear-train-") for link in links)
