"""How many threads there are to use, and work that they do in order."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from hopefear._engine import StopSign

A = TypeVar("A")
B = TypeVar("B")

_AHEAD = 4  # items per thread that are read before their turn
# Seconds: no wait is longer. A signal that the system hands to another thread does not end a wait
# of the main thread, and Ctrl-C would be noticed when the result is there.
_LOOK_EVERY = 0.5


def all_cores() -> int:
    """The number of cores this process may use: those it is bound to, not all of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(function: Callable[[A], B], items: Iterable[A], threads: int = 1) -> Iterator[B]:
    """`function(item)` of every item, in their order, as soon as it is there.

    With several threads the items are read by a thread of their own, a few ahead: a result is
    given out also while the next item is still waited for, as on a pipe whose other end reads
    the first answer before it asks again. What reading or `function` raises comes in its turn,
    after the results before it. Engine calls of threads whose results nobody will take any more
    are interrupted: after Ctrl-C a long sentence does not hold up the end.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    # Futures in order; None after the last one; an exception of reading as itself.
    ready: queue.Queue[Future[B] | BaseException | None] = queue.Queue()
    room = threading.Semaphore(_AHEAD * threads)
    stopped = threading.Event()
    pool = ThreadPoolExecutor(threads)
    sign = StopSign()

    def stoppable(item: A) -> B:
        sign.heed()
        return function(item)

    work = [stoppable]  # taken away at the end: the reader may outlive everything else

    def read() -> None:
        try:
            for item in items:
                room.acquire()
                if stopped.is_set():
                    return
                ready.put(pool.submit(work[0], item))
            ready.put(None)
        except BaseException as error:  # raised again where the results are taken
            ready.put(error)

    # A daemon: nobody waits for it where it waits for input that nobody needs any more.
    threading.Thread(target=read, name="reader", daemon=True).start()
    try:
        while (found := _next(ready)) is not None:
            if isinstance(found, BaseException):
                raise found
            while not wait([found], _LOOK_EVERY).done:
                pass
            result = found.result()
            room.release()
            yield result
    finally:
        stopped.set()
        sign.set()
        work.clear()
        room.release()
        pool.shutdown(wait=True, cancel_futures=True)
        ready.queue.clear()


def _next(items: queue.Queue[A]) -> A:
    while True:
        try:
            return items.get(timeout=_LOOK_EVERY)
        except queue.Empty:
            pass
