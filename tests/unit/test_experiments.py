"""The runs of a study are the same on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from remote_toy import ToyCluster

from hopefear.base.errors import InputError
from hopefear.text import world

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def call(self: Any, function: Callable[..., Any], path: Path, *arguments: Any, **more: Any) -> Any:
    """Call a function in this process."""
    more.pop("log", None)
    return function(path, *arguments, **more)


@pytest.fixture
def make_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    from harness import CORPORA, Corpus, Runner, Setting, Study
    from harness.calls import Calls

    monkeypatch.setattr(Calls, "call", call)
    world.write(world.generate(train=150, dev=20, test=10), tmp_path)
    parts = {part: (f"{part}.zh", f"{part}.en.0") for part in ("dev", "test")}
    corpus = Corpus("toy", "Toy", {**parts, "train": ("train.zh", "train.en")})
    monkeypatch.setitem(CORPORA, "toy", corpus)
    first = Setting("first", "pro")
    second = Setting("second", "batch-mira", start=first, train=("--order", "2"))
    study = Study("toy", "Toy", [second], corpora=("toy",), iterations=1, seeds=2)
    return lambda name: Runner(study=study, data=tmp_path, out=tmp_path / name, jobs=1)


def files_of(folder: Path) -> dict[str, bytes]:
    kept = ("weights.tsv", "model.toml", ".txt")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name.endswith(kept)
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_study_on_a_cluster(tmp_path: Path, make_runner: Callable[[str], Any]) -> None:
    here, there = make_runner("here"), make_runner("there")
    assert here.run_all()
    cluster = ToyCluster()
    assert there.run_all_on(cluster)
    assert files_of(here.out) == files_of(there.out)
    assert cluster.items == 2 + 2 * 2  # two models, runs of both settings with both seeds
    assert there.run_all_on(cluster)
    assert cluster.items == 6  # all is done
    assert not list(there.out.glob(".cluster-*"))


def test_the_time_of_a_study_on_a_cluster_is_limited(make_runner: Callable[[str], Any]) -> None:
    from harness import OutOfTimeError
    from harness.calls import Calls

    def late(*arguments: Any, **more: Any) -> Any:
        raise OutOfTimeError

    runner = make_runner("late")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Calls, "call", late)
        assert not runner.run_all_on(ToyCluster())


def test_machines_must_share_the_folders(
    make_runner: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import cluster

    runner = make_runner("apart")
    monkeypatch.setattr(cluster, "_mark", lambda out: nullcontext(out / "of another machine"))
    with pytest.raises(InputError, match="folders that all machines share"):
        runner.run_all_on(ToyCluster())
