"""How long a pass over a bitext takes on a cluster, from what its parts cost.

A pass is: the weights go to all machines, every learner works on its share, each returns what it
changed, and one process adds the changes up, one learner after the other, in their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WORKERS_PER_MACHINE = 16


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes, as measured; the network's speed is given."""

    pair: float  # seconds of a learner for a sentence pair
    chunk: float  # seconds of the driver for a chunk, work and transport aside
    byte: float  # seconds of the driver for a byte that it receives
    merged: float  # seconds of the driver for a changed feature that it adds up
    mixed: float  # seconds of the driver at the end, for a feature of the sums
    change_bytes: float  # that a changed feature takes on the way
    weight_bytes: float  # of a feature in the weights that are sent
    changed: tuple[float, float]  # a, b: a learner changes a * pairs^b features
    network: float = 1.25e9  # bytes a second of each machine: 10 Gb/s

    def features(self, pairs: float) -> float:
        """Features that a pass over so many pairs changes."""
        a, b = self.changed
        return float(a * pairs**b)


@dataclass(frozen=True)
class Pass:
    """Seconds of a pass by its parts; they follow one another."""

    work: float
    weights: float  # sending them to all machines
    changes: float  # receiving them
    merge: float
    chunks: float

    @property
    def seconds(self) -> float:
        return self.work + self.weights + self.changes + self.merge + self.chunks

    @property
    def bottleneck(self) -> str:
        """The part that takes longest."""
        return max(vars(self), key=lambda part: float(vars(self)[part]))


def project(costs: Costs, pairs: float, workers: int) -> Pass:
    """Return the parts of a pass with a learner on each worker.

    The weights pass from machine to machine, so the time grows with the logarithm of their number.
    """
    machines = math.ceil(workers / WORKERS_PER_MACHINE)
    changed = costs.features(pairs / workers)
    every = min(workers * changed, costs.features(pairs))  # features with a weight
    received = workers * changed * costs.change_bytes
    return Pass(
        work=pairs / workers * costs.pair,
        weights=every * costs.weight_bytes / costs.network * math.ceil(math.log2(machines + 1)),
        changes=received * (costs.byte + 1 / costs.network),
        merge=workers * changed * costs.merged + every * costs.mixed,
        chunks=workers * costs.chunk,
    )


def power(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    """Return a and b of y = a x^b through two points."""
    b = math.log(y[1] / y[0]) / math.log(x[1] / x[0])
    return y[0] / x[0] ** b, b
