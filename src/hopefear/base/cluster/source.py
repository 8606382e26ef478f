"""The items of a call of `map`, read ahead by a thread unless they are in memory."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hopefear._engine import StopSign, set_leak_warnings

_LONGEST_STOP = 5.0  # seconds to wait for the end of the thread that reads the items


class Source:
    """Gives the items that are there already, so that nobody waits for the next one."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.ended = False
        self.error: BaseException | None = None  #: of the iterator, after its last item
        self.ahead = 16  #: items that may be read ahead
        self._memory: Iterator[Any] | None = None
        self._read_items: deque[Any] = deque()
        self._change = threading.Condition()
        self._finished = self._stopped = False
        self._sign = StopSign()
        self._thread: threading.Thread | None = None
        if isinstance(items, Sequence):
            self._memory = iter(items)
        else:
            # A daemon thread: the process can exit while an iterator of the user waits.
            self._thread = threading.Thread(
                target=self._read, args=(items,), name="reader", daemon=True
            )
            self._thread.start()

    def _read(self, items: Iterable[Any]) -> None:
        self._sign.heed()
        error = None
        try:
            for item in items:
                with self._change:
                    self._read_items.append(item)
                    while len(self._read_items) >= self.ahead and not self._stopped:
                        self._change.wait(0.5)
                    if self._stopped:
                        return
        except BaseException as raised:  # raised again by the caller of `map`
            error = raised
        finally:
            with self._change:
                self.error, self._finished = error, True

    def take(self, most: int) -> list[Any]:
        """Return up to `most` items that are there; `ended` is set after the last one."""
        if self._memory is not None:
            items = list(itertools.islice(self._memory, most))
            self.ended = len(items) < most
            return items
        with self._change:
            count = min(most, len(self._read_items))
            items = [self._read_items.popleft() for _ in range(count)]
            self.ended = self._finished and not self._read_items
            self._change.notify()
        return items

    def close(self) -> None:
        """Stop reading; the iterator raises KeyboardInterrupt where it waits in the engine."""
        with self._change:
            self._stopped = True
            self._change.notify()
        self._sign.set()
        if self._thread is not None:
            self._thread.join(_LONGEST_STOP)
            if self._thread.is_alive():
                set_leak_warnings(False)  # its objects may live until the process ends
