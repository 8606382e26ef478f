"""The executor of a cluster against threads: order, errors, deaths, places, progress."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_jobs import (
    Digits,
    Fails,
    Kills,
    Large,
    Learner,
    Passes,
    Process,
    Square,
)

from hopefear.base.cluster.call import ATTEMPTS, LARGE, Early, Stretch
from hopefear.base.cluster.executor import ClusterExecutor
from hopefear.base.errors import HopefearError, InputError
from hopefear.base.executor import Threads

Count = tuple[list[int], Callable[[int], None]]


def wait_for_workers(executor: ClusterExecutor) -> None:
    """Wait until the workers of earlier tests that died are replaced."""
    while len(executor.crew.live()) < executor.workers:
        time.sleep(0.05)


def test_results_come_in_order_and_are_those_of_threads(
    executor: ClusterExecutor, count: Count
) -> None:
    calls, advance = count
    table = np.random.default_rng(3).random(200_000)
    expected = list(Threads(2).map(Digits(table), range(3000)))
    assert list(executor.map(Digits(table), range(3000), advance=advance)) == expected
    assert sum(calls) == 3000
    assert list(executor.map(Digits(table), iter(range(3000)))) == expected
    assert list(executor.map(Square(), [])) == []
    assert executor.workers == 3
    assert executor.remote
    assert executor.cpu_seconds > 0


def test_large_results_wait_for_their_turn_in_a_file(
    executor: ClusterExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    keep = Early.keep
    monkeypatch.setattr(Early, "keep", lambda *args: kept.append(keep(*args)) or kept[-1])
    results = executor.map(Large(LARGE), range(8), place=lambda n: n)
    assert all(result == bytes([n]) * LARGE for n, result in enumerate(results))
    assert sum(isinstance(entry, Stretch) for entry in kept) >= 2


def test_results_that_wait_take_no_memory() -> None:
    early = Early()
    kept = [early.keep(bytes([n]) * (LARGE + n)) for n in range(5)]
    assert early.keep(b"small") == b"small"
    for n in (3, 0, 4, 2, 1):
        assert early.load(kept[n]) == bytes([n]) * (LARGE + n)
    again = early.keep(b"x" * LARGE)
    assert again == Stretch(0, LARGE), "the space is used again"
    assert early.load(again) == b"x" * LARGE
    early.close()


def test_every_machine_works(executor: ClusterExecutor) -> None:
    wait_for_workers(executor)
    counts = Counter(executor.map(Process(0.05), range(60)))
    assert len(counts) == 3
    assert os.getpid() not in counts
    assert len({member.host.node for member in executor.crew.members}) == 3


def test_an_error_is_raised_when_it_is_the_items_turn(executor: ClusterExecutor) -> None:
    results = executor.map(Fails({7: "input", 3: "divide"}), range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError) as caught:
        next(results)
    assert "in fail" in str(caught.value.__cause__)  # the traceback of the worker
    with pytest.raises(InputError, match=r"in\.txt:7: bad line; mend it"):
        list(executor.map(Fails({7: "input"}), range(10)))
    assert list(executor.map(Fails({}), range(10))) == list(range(10))


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("strange", RuntimeError, "StrangeError: 1 and 2"),
        ("exit", SystemExit, "3"),
        ("result", TypeError, "pickle"),
    ],
)
def test_errors_that_are_hard_to_send(
    executor: ClusterExecutor, kind: str, error: type[BaseException], text: str
) -> None:
    with pytest.raises(error, match=text):
        list(executor.map(Fails({2: kind}), range(5)))


def test_warnings_of_workers_are_given_once(executor: ClusterExecutor) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(executor.map(Fails(dict.fromkeys(range(50), "warn")), range(50)))) == 50
    assert [str(warning.message) for warning in caught] == ["a number that is odd"]


def test_an_error_of_the_iterator_comes_after_the_results_before_it(
    executor: ClusterExecutor,
) -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise InputError("line 6: no number")

    results = executor.map(Square(0.05), items())
    assert [next(results) for _ in range(5)] == [0, 1, 4, 9, 16]
    with pytest.raises(InputError, match="line 6"):
        next(results)


def test_a_result_does_not_wait_for_the_next_item(executor: ClusterExecutor) -> None:
    """As on a pipe whose other end reads each answer before it sends the next item."""
    answered = threading.Semaphore(0)

    def items() -> Iterator[int]:
        for n in range(4):
            yield n
            assert answered.acquire(timeout=60)

    for n, result in enumerate(executor.map(Square(), items())):
        assert result == n * n
        answered.release()


def test_little_is_read_ahead_of_long_work(executor: ClusterExecutor) -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for n in range(10_000):
            read.append(n)
            yield n

    results = executor.map(Square(0.2), items())
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert len(read) < 200


def test_a_killed_worker_changes_nothing(
    executor: ClusterExecutor, count: Count, tmp_path: Path
) -> None:
    calls, advance = count
    job = Kills(frozenset([5, 150, 151]), tmp_path)
    assert list(executor.map(job, range(300), advance=advance)) == [-n for n in range(300)]
    assert len(list(tmp_path.iterdir())) == 3
    assert sum(calls) == 300


def test_neighbours_that_die_once_each_are_not_a_deadly_item(
    executor: ClusterExecutor, tmp_path: Path
) -> None:
    job = Kills(frozenset(range(150, 156)), tmp_path)
    assert list(executor.map(job, range(300))) == [-n for n in range(300)]


def test_a_machine_that_dies_changes_nothing(
    executor: ClusterExecutor, machines: Any, count: Count
) -> None:
    calls, advance = count
    wait_for_workers(executor)
    victim = machines.not_first()
    machines.add()  # its core is free: a new worker starts there
    job = Digits(seconds=0.01)
    nodes = {member.host.node for member in executor.crew.members}
    killer = threading.Timer(0.5, machines.kill, [victim])
    killer.start()
    results = list(executor.map(job, range(400), advance=advance))
    killer.join()
    assert results == list(Threads(2).map(Digits(), range(400)))
    assert sum(calls) == 400
    wait_for_workers(executor)
    assert {member.host.node for member in executor.crew.members} != nodes


def test_an_item_that_kills_its_workers_is_named(executor: ClusterExecutor) -> None:
    results = executor.map(Kills(frozenset([40])), range(60))
    with pytest.raises(HopefearError, match=f"{ATTEMPTS} workers died at item 41 .*--workers"):
        list(results)
    assert list(executor.map(Square(), range(5))) == [0, 1, 4, 9, 16]


def learn(executor: Any, passes: int, between: Callable[[int], None]) -> list[Any]:
    """Make passes of six learners; the results of each pass."""
    totals = dict.fromkeys(range(6), 0)
    made = []
    for step in range(passes):
        items = [Learner(n, step, 0 if step == 0 else None) for n in range(6)]
        results = list(
            executor.map(
                Passes(),
                items,
                place=lambda learner: learner.number,
                refill=lambda learner: replace(learner, total=totals[learner.number]),
            )
        )
        totals.update({number: total for number, total, *_ in results})
        made.append(results)
        between(step)
    return made


def test_learners_stay_where_their_state_is(executor: ClusterExecutor) -> None:
    expected = [[r[:2] for r in results] for results in learn(Threads(2), 4, lambda step: None)]

    def kill(step: int) -> None:
        if step == 1:
            os.kill(made[0], signal.SIGKILL)

    wait_for_workers(executor)
    made = [next(iter(executor.map(Process(), [0])))]
    passes = learn(executor, 4, kill)
    assert [[r[:2] for r in results] for results in passes] == expected
    assert sorted(Counter(pid for *_, pid in passes[0]).values()) == [2, 2, 2]
    assert [r[3] for r in passes[1]] == [r[3] for r in passes[0]]
    assert [r[0] for r in passes[1] if r[2]] == []
    # Only those of the killed worker are sent again, with what was known of them.
    lost = [r[0] for r in passes[1] if r[3] == made[0]]
    assert len(lost) == 2
    assert set(lost) <= {r[0] for r in passes[2] if r[2]}


def test_what_nobody_reads_is_stopped(executor: ClusterExecutor) -> None:
    wait_for_workers(executor)
    processes = set(executor.map(Process(0.02), range(60)))
    results = executor.map(Process(20), range(6))
    with pytest.raises(KeyboardInterrupt):
        for _ in _interrupted(results, 0.5):
            pass
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(executor.map(Square(), range(5))) == [0, 1, 4, 9, 16]


def _interrupted(results: Iterator[int], seconds: float) -> Iterator[int]:
    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        main = threading.main_thread().ident
        assert main is not None
        threading.Timer(seconds, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        yield from results
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_second_call_at_a_time_is_refused(executor: ClusterExecutor) -> None:
    first = executor.map(Square(), range(10))
    assert next(first) == 0
    with pytest.raises(RuntimeError, match="one call"):
        next(executor.map(Square(), range(10)))
    first.close()  # type: ignore[attr-defined]
