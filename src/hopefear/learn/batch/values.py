"""What minimum risk asks of a k-best pool or of forests: an expected gain and an entropy."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hopefear.learn.pool.candidates import FloatArray


class Values(NamedTuple):
    """An expected gain and the mean entropy in nats, each with its gradient by the vector."""

    gain: float
    gain_gradient: FloatArray
    entropy: float
    entropy_gradient: FloatArray


class Expected(Protocol):
    """Of the distribution p ~ exp(gamma w.f) over candidates or derivations."""

    def __call__(self, vector: FloatArray, gamma: float) -> Values: ...

    def spread(self, vector: FloatArray) -> float:
        """The standard deviation of w.f where all are equally probable, over all sentences."""
