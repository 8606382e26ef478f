"""Executors: the contract of jobs, and threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cluster_jobs import Digits, Fails, Learner, Passes, Process, Reads, Square

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.errors import InputError, OptionError
from hopefear.base.executor import Job, Resources, StateLost, Threads
from hopefear.base.threads import all_cores


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order(threads: int) -> None:
    counted: list[int] = []
    with Threads(threads) as executor:
        assert executor.workers == executor.threads == threads
        squares = executor.map(Square(0.001), range(50), advance=counted.append)
        assert list(squares) == [n * n for n in range(50)]
        assert sum(counted) == 50
        assert list(executor.map(Square(), iter([]))) == []
        assert set(executor.map(Process(), range(5))) == {os.getpid()}
        assert not executor.remote


def test_the_number_of_threads_changes_no_result() -> None:
    results = [list(Threads(threads).map(Digits(), range(200))) for threads in (1, 2, 5)]
    assert results[0] == results[1] == results[2]
    assert Threads(0).threads == all_cores()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_is_raised_when_it_is_the_items_turn(threads: int) -> None:
    results = Threads(threads).map(Fails({2: "input"}), range(9))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(InputError, match=r"in\.txt:2"):
        next(results)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_lost_state_is_sent_again(threads: int) -> None:
    executor = Threads(threads)
    place = Learner.__hash__  # places mean nothing to threads
    first = list(executor.map(Passes(), [Learner(n, 0, 0) for n in range(4)], place=place))
    del executor.resources.only("learners", "test", dict)[2]
    totals = {number: total for number, total, *_ in first}
    second = list(
        executor.map(
            Passes(),
            [Learner(n, 1) for n in range(4)],
            refill=lambda learner: replace(learner, total=totals[learner.number]),
        )
    )
    assert [total for _, total, *_ in second] == [31 * totals[n] + n for n in range(4)]
    assert [number for number, _, sent, _ in second if sent] == [2]
    with pytest.raises(StateLost):
        list(executor.map(Passes(), [Learner(9, 5)]))


def test_resources_are_made_once_and_shared() -> None:
    resources, made, counted = Resources(), Counter[str](), [0]

    def make() -> str:
        made["model"] += 1
        return "model"

    def advance(count: int) -> None:
        counted[0] += count

    other = resources.counting(advance)
    assert resources.get("a", make) == other.get("a", make) == "model"
    assert made["model"] == 1
    other.advance(3)
    resources.advance(4)  # counted by nobody
    assert counted == [3]
    assert resources.path(Path("x")) == Path("x")


def test_only_the_latest_of_a_kind_is_kept() -> None:
    resources = Resources()
    first = resources.only("decoder", "a", dict)
    assert resources.counting(None).only("decoder", "a", dict) is first
    assert resources.only("gold", "b", dict) is not first
    assert resources.only("decoder", "a", dict) is first
    resources.only("decoder", "b", dict)
    assert resources.only("decoder", "a", dict) is not first


def test_other_counters_keep_the_kind_of_resources() -> None:
    """Those of a cluster know where files are."""

    class Elsewhere(Resources):
        remote = True

        def path(self, path: Path) -> Path:
            return Path("/copies") / path.name

    resources = Elsewhere().counting(None)
    assert resources.remote
    assert resources.path(Path("/model")) == Path("/copies/model")


def test_files_are_read_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hope")
    results = Threads(2).map(Reads(tmp_path, ("a",)), ["a", "a"])
    assert list(results) == [("hope", str(tmp_path))] * 2


def test_a_job_may_run_all_items_in_its_own_way() -> None:
    @dataclass
    class Sums(Job[int, int]):
        def open(self, resources: Resources) -> Callable[[int], int]:
            return lambda n: n

        def run(self, resources: Resources, items: Iterator[int], threads: int) -> Iterator[int]:  # type: ignore[override]
            total = 0
            for item in items:
                total += item
                yield total

    assert list(Threads(2).map(Sums(), range(5))) == [0, 1, 3, 6, 10]


def test_without_cluster_nothing_of_ray_is_loaded() -> None:
    code = (
        "import sys, hopefear, hopefear.cli.main\n"
        "from hopefear.base import registry\n"
        "from hopefear.base.cluster.options import ClusterOptions\n"
        "registry.names('command')\n"
        "ClusterOptions().executor(2).close()\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'ray'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_options_that_need_a_cluster() -> None:
    with pytest.raises(OptionError, match=r"--workers: only with --cluster"):
        ClusterOptions(workers=3).executor(1)
    with pytest.raises(OptionError, match=r"--shared-folder: only with --cluster"):
        ClusterOptions(shared_folder=Path("x")).executor(1)
