"""The contract of tuners.

A batch tuner is handed everything decoded so far and returns new weights. An online tuner is
handed a minibatch of examples and changes the weights. Both are dataclasses whose fields are their
options; both keep what they must remember between calls in `state()`, which is part of the
checkpoint of a run. `loop.py` owns decoding, pools, shuffling, averaging, stopping and progress.

    @register("tuner", "mert")
    @dataclass(kw_only=True)
    class Mert(BatchTuner):
        restarts: int = option(20, min=0, help="random starting points")

        def optimize(self, pool, weights, task): ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from hopefear._engine import Forest
from hopefear.metrics.metric import Metric
from hopefear.tune.candidates import Candidates
from hopefear.weights import Weights

Space = Literal["kbest", "forest"]


@dataclass(frozen=True)
class Pool:
    """What was decoded so far. Which of the two parts is filled is the tuner's `space`."""

    metric: Metric
    candidates: Candidates | None = None  # all iterations, merged, without repetitions
    # Per sentence its forests, oldest first; `references` as in metrics.References.
    forests: Sequence[Sequence[Forest]] | None = None
    references: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Task:
    """What the loop hands to a tuner besides data."""

    random: np.random.Generator  # the tuner's only source of chance
    threads: int = 1
    iteration: int = 0  # of the outer loop, from 0
    fixed: frozenset[int] = frozenset()  # ids of features whose weights must stay
    progress: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Optimized:
    """New weights, the objective they reach (higher is better), and what else belongs in a log."""

    weights: Weights
    objective: float
    notes: Mapping[str, Any] = field(default_factory=dict)


class Tuner(ABC):
    """Base of all tuners."""

    name: ClassVar[str]

    def state(self) -> Mapping[str, Any]:
        """What must be remembered between calls; JSON-able, arrays as numpy arrays."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state again."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state, but was given {sorted(state)}")


class BatchTuner(Tuner):
    """Optimises on a pool; the loop decodes again and repeats."""

    spaces: ClassVar[tuple[Space, ...]] = ("kbest",)  # the first is the default
    kbest: ClassVar[int] = 100  # candidates a sentence and decoding, unless the loop is told others

    @property
    def pool_space(self) -> Space:
        """Which part of the pool this tuner wants; those with a choice have an option `space`."""
        return getattr(self, "space", self.spaces[0])

    @abstractmethod
    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized: ...
