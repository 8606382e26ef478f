"""The number of available cores, and parallel work with results in order."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from hopefear._engine import StopSign, poll_interrupt, set_leak_warnings

A = TypeVar("A")
B = TypeVar("B")

_AHEAD = 4  # items per thread that are read ahead
# The longest wait, in seconds. A signal that the system delivers to another thread does not end a
# wait of the main thread, so that a longer wait would delay Ctrl-C.
_LONGEST_WAIT = 0.5
_LONGEST_STOP = 5.0  # seconds to wait for the end of the thread that reads the items


def all_cores() -> int:
    """The number of cores that the process may use; respects the CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(function: Callable[[A], B], items: Iterable[A], threads: int = 1) -> Iterator[B]:
    """Yield `function(item)` for every item, in the order of the items, as soon as possible.

    With several threads, a separate thread reads the items, a few ahead. A result is yielded even
    while the next item is not available yet, as on a pipe whose other end reads each answer before
    it sends the next item. An exception of `items` or `function` is raised after the results that
    precede it. When the caller stops, running calls of the engine are interrupted, so that a long
    sentence does not delay the exit after Ctrl-C, and so is the iterator of the items: it raises
    KeyboardInterrupt where it waits (`poll_interrupt`), and ends the processes that it started.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    # Futures in order, or the exception raised by `items`; None after the last item.
    ready: queue.Queue[Future[B] | BaseException | None] = queue.Queue()
    room = threading.Semaphore(_AHEAD * threads)
    stopped = threading.Event()
    pool = ThreadPoolExecutor(threads)
    sign = StopSign()

    def stoppable(item: A) -> B:
        sign.heed()
        return function(item)

    work = [stoppable]  # emptied at the end: the reader thread may outlive this function

    def read() -> None:
        sign.heed()
        try:
            for item in items:
                room.acquire()
                if stopped.is_set():
                    return
                ready.put(pool.submit(work[0], item))
            ready.put(None)
        except BaseException as error:  # raised again by the consumer below
            ready.put(error)

    # A daemon thread: the process can exit while an iterator of the user waits.
    reader = threading.Thread(target=read, name="reader", daemon=True)
    reader.start()
    try:
        while (future := _next(ready)) is not None:
            if isinstance(future, BaseException):
                raise future
            while not wait([future], _LONGEST_WAIT).done:
                poll_interrupt()
            result = future.result()
            room.release()
            yield result
    finally:
        stopped.set()
        sign.set()
        work.clear()
        room.release()
        reader.join(_LONGEST_STOP)
        pool.shutdown(wait=True, cancel_futures=True)
        ready.queue.clear()
        if reader.is_alive():
            set_leak_warnings(False)  # its objects may live until the process ends


def _next(items: queue.Queue[A]) -> A:
    while True:
        try:
            return items.get(timeout=_LONGEST_WAIT)
        except queue.Empty:
            poll_interrupt()  # this thread may be the reader of another call
