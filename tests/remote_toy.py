"""An executor that works in this process as one of a cluster does: with other resources."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hopefear.base.executor import Executor, Resources, StateLost


class RemoteResources(Resources):
    """The resources of a worker."""

    remote = True

    def counting(self, advance: Callable[[int], None] | None) -> Resources:
        """Return these resources; nothing else uses them at the same time."""
        self.advance = advance or (lambda count: None)
        return self


class ToyCluster(Executor):
    """One worker, which loses its state before every `lose`-th item that can be refilled."""

    remote = True
    threads = 1
    workers = 2

    def __init__(self, lose: int = 0) -> None:
        self.lose = lose
        self.resources = Resources()
        self.worker = RemoteResources()
        self.items = 0
        self.lost = 0

    def map(
        self,
        job: Any,
        items: Iterable[Any],
        *,
        place: Callable[[Any], int] | None = None,
        refill: Callable[[Any], Any] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[Any]:
        """Work on pickled items with a pickled job."""
        for item in items:
            self.items += 1
            if self.lose and refill is not None and self.items % self.lose == 0:
                self.worker = RemoteResources()
            sent = pickle.loads(pickle.dumps(job))
            function = sent.open(self.worker.counting(advance))
            try:
                result = function(pickle.loads(pickle.dumps(item)))
            except StateLost:
                assert refill is not None
                self.lost += 1
                result = function(refill(item))
            yield pickle.loads(pickle.dumps(result))
