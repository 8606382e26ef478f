"""What minimum risk asks of a k-best pool or of forests: an expected gain and an entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hopefear.tune.candidates import FloatArray


class Values(NamedTuple):
    """An expected gain and the mean entropy in nats, each with its gradient by the vector."""

    gain: float
    gain_gradient: FloatArray
    entropy: float
    entropy_gradient: FloatArray


# Of a vector of weights and of gamma, with p proportional to exp(gamma w.f).
Expected = Callable[[FloatArray, float], Values]
