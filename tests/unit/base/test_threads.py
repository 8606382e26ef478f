"""The number of available cores, and parallel work with results in order."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from hopefear._engine import poll_interrupt

from hopefear.base.threads import all_cores, in_order


def test_a_bound_process_uses_only_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert all_cores() == 3


def test_without_cpu_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert all_cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert all_cores() == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    def slowly(n: int) -> int:
        time.sleep(0.002 * (n % 3))
        return n * n

    assert list(in_order(slowly, range(50), threads)) == [n * n for n in range(50)]
    assert list(in_order(slowly, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_exceptions_come_in_order(threads: int) -> None:
    results = in_order(lambda n: 10 // (3 - n), range(9), threads)
    assert [next(results) for _ in range(3)] == [3, 5, 10]
    with pytest.raises(ZeroDivisionError):
        next(results)

    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    results = in_order(str, items(), threads)
    assert next(results) == "1"
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_little_is_read_ahead() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1000):
            read.append(n)
            yield n

    results = in_order(str, items(), 2)
    assert next(results) == "0"
    time.sleep(0.05)
    results.close()  # type: ignore[attr-defined]
    assert len(read) < 20
    before = len(read)
    time.sleep(0.05)
    assert len(read) <= before + 1


def test_a_result_does_not_wait_for_the_next_item() -> None:
    more = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        more.wait(60)
        yield 2

    results = in_order(str, items(), 2)
    assert next(results) == "1"  # would block if it waited for item 2
    more.set()
    assert list(results) == ["2"]


def test_a_signal_that_another_thread_gets_is_noticed_while_waiting() -> None:
    """The system may deliver it to any thread, but only the main thread runs the handler."""
    noticed, seen = threading.Event(), []

    def handler(*_: object) -> None:
        noticed.set()
        raise KeyboardInterrupt

    def work(_: int) -> None:
        seen.append(noticed.wait(10))

    def interrupt_itself() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    try:
        threading.Timer(0.2, interrupt_itself).start()
        with pytest.raises(KeyboardInterrupt):
            list(in_order(work, [1], threads=2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [True]


@pytest.mark.parametrize("nested", [False, True])
def test_the_iterator_of_the_items_is_stopped_with_the_caller(nested: bool) -> None:
    """It may have started a process, which it ends in its `finally`."""
    ended = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield 1
            while True:
                time.sleep(0.01)
                poll_interrupt()
        finally:
            ended.set()

    results = in_order(str, in_order(int, items(), 2) if nested else items(), 2)
    assert next(results) == "1"
    results.close()  # type: ignore[attr-defined]
    assert ended.is_set()
