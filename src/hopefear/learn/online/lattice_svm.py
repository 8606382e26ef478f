"""Large-margin learning in lattices: stochastic subgradient descent, plain or averaged.
[wisniewski2013, xu2011]

Takes the newest forest of each sentence, references and weights, and returns the weights after some
more updates. It minimises eq. 5,

    lambda/2 |w|^2 + mean over sentences of max_h [loss(h) - w.(f(h_1) - f(h))]

with the loss and the searches of `margin.py`. An update draws a sentence and takes a step along
-(lambda w + f(h*) - f(h_1)) (Algorithm 1, `descent.py`); with `average` the result is the mean of
the weights after all updates. The first learning rate, unless given, is the power of 2 with which
one pass over a few lattices reaches the lowest objective [bottou2012].

The loop (`loop/lattice.py`) decodes on demand for the first updates, then all sentences once, and
chooses the iteration whose weights score best in the lattices.

Differs: errata: the paper does not give lambda, Xi and the constants of the rate; here they are
options, with a = lambda as in [xu2011]. Algorithm 1 starts from w = 0; here learning starts from
the given weights, which also decode the first lattices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest
from hopefear.base.config import Size, option
from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.online.descent import Descent, Rate
from hopefear.learn.online.margin import LatticeCache, LinearLoss, MarginLattice, Violation
from hopefear.learn.pool.sanity import check_finite
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Space, Task

_TRIED = 50  # lattices for the choice of the first rate
_FIRST_TRY = -8  # base-2 logarithm of the first rate to try


@register("tuner", "lattice-svm")
@dataclass(kw_only=True)
class LatticeSvm(BatchTuner):
    """Large-margin learning in lattices, with little more than one decoding."""

    name: ClassVar[str] = "lattice-svm"
    loop: ClassVar[str] = "lattice"
    spaces: ClassVar[tuple[Space, ...]] = ("forest",)

    order: int = option(4, min=1, max=4, help="longest n-gram of the loss")
    xi: list[float] = option(
        [],
        help="constants of the loss: Xi_0 (words in no reference), Xi_1, …; if not given, fitted "
        "ones",
    )
    l2: float = option(1e-3, min=0, help="regularisation: l2 / 2 times |w| squared")
    average: bool = option(True, help="use the last weights instead of their mean over all updates")
    rate: float | None = option(
        None, min=0, help="first learning rate eta_0; if not given, chosen on the first lattices"
    )
    rate_decay: float | None = option(
        None, min=0, help="a in the learning rate eta_0 (1 + a eta_0 t)^-c; if not given, l2"
    )
    rate_power: float | None = option(
        None,
        min=0,
        help="c in the learning rate; if not given, 0.75 for averaged weights, else 1",
    )
    first: int = option(
        300, min=1, help="updates of the first iteration, which decodes sentences on demand"
    )
    every: int = option(200, min=1, help="updates of each later iteration")
    density: float = option(
        20.0, min=0, help="edges kept in a lattice per word of its best translation (0: all)"
    )
    beam: int = option(
        0, min=0, help="derivations considered per node when n-grams split a lattice (0: all)"
    )
    memory: Size = option(Size(1 << 30), help="memory for split lattices, such as 512M")

    def __post_init__(self) -> None:
        self._xi = LinearLoss([], self.order, self.xi).xi  # checks their number
        self._eta = self.rate
        self._descent: Descent | None = None
        self._anchor = Weights()  # the weights when the newest lattices were first used
        self._decodings = 0
        self._cache = LatticeCache(self.memory)

    # -- the contract with the loop --

    def draws(
        self, random: np.random.Generator, sentences: int, iteration: int
    ) -> NDArray[np.int64]:
        """Return the sentences of an iteration's updates, the first draw of its generator."""
        count = self.first if iteration == 0 else self.every
        return random.integers(0, max(sentences, 1), count if sentences else 0)

    def signature(self) -> str:
        """Return everything that loss and steps depend on, as a string."""
        rate = self._rate(self._eta or 0.0)
        parts = {
            "order": self.order,
            "xi": ",".join(f"{x:g}" for x in self._xi),
            "lambda": f"{self.l2:g}",
            "eta0": "tried" if self._eta is None else f"{self._eta:g}",
            "a": f"{rate.decay:g}",
            "c": f"{rate.power:g}",
            "average": "yes" if self.average else "no",
            "first": self.first,
            "every": self.every,
            "density": f"{self.density:g}",
            "beam": self.beam,
        }
        return "|".join([self.name, *(f"{key}:{value}" for key, value in parts.items())])

    def state(self) -> Mapping[str, Any]:
        if self._descent is None:
            return {}
        anchor = self._anchor.vector()
        return {
            "descent": self._descent.state(),
            "eta": self._eta,
            "decodings": self._decodings,
            "anchor": {"ids": anchor.ids.copy(), "values": anchor.values.copy()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if not state:
            return
        self._descent = Descent(Weights(), state["descent"])
        self._eta, self._decodings = state["eta"], state["decodings"]
        ids, values = (np.ascontiguousarray(state["anchor"][key]) for key in ("ids", "values"))
        self._anchor = Weights(SparseVector(ids, values))
        self._cache.clear()

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        """Make the updates of one iteration, continuing from the last call."""
        if pool.forests is None:
            raise ValueError(f"{self.name} learns from forests, but the pool has none")
        check_finite(weights, 0.0, "the start")
        lattice = self._lattices(pool, weights)
        drawn = self.draws(task.random, len(pool.forests), task.iteration).tolist()
        if self._eta is None:
            self._eta = self._choose_rate(lattice, drawn, weights, task.fixed)
        if self._descent is None:
            self._descent = Descent(weights)
        self._descent.base = weights
        violations = []
        for number, sentence in enumerate(drawn):
            violation = self._update(
                self._descent, lattice(sentence), self._rate(self._eta), task.fixed
            )
            if violation is not None:
                violations.append(violation)
            if self._descent.diverged:
                raise InputError(
                    f"{self.name}: after {self._descent.updates:,} updates the weights exceed "
                    "single precision; earlier iterations are kept; give a smaller rate or l2 "
                    "(--set rate=… l2=…)"
                )
            if task.progress is not None:
                task.progress(number + 1)
        hinge = _mean([violation.hinge for violation in violations])
        notes = {
            "signature": self.signature(),
            "updates": self._descent.updates,
            "violated": sum(violation.hinge > 0 for violation in violations),
            "hinge": hinge,
            "loss": _mean([violation.loss for violation in violations]),
            "rate": self._rate(self._eta).at(self._descent.updates),
        }
        return Optimized(self._descent.result(average=self.average), -hinge, notes)

    # -- inside --

    def _rate(self, first: float) -> Rate:
        power = 0.75 if self.average else 1.0
        return Rate(
            first,
            self.l2 if self.rate_decay is None else self.rate_decay,
            power if self.rate_power is None else self.rate_power,
        )

    def _lattices(self, pool: Pool, weights: Weights) -> Callable[[int], MarginLattice | None]:
        """Return a function from a sentence to its newest lattice, split, or None."""
        forests = pool.forests
        assert forests is not None
        loss = LinearLoss(pool.references, self.order, self.xi)
        decodings = len(forests[0]) if len(forests) else 0
        if decodings != self._decodings:
            # The choice among tied oracles must not depend on when a lattice is split.
            self._decodings, self._anchor = decodings, weights.copy()
            self._cache.clear()

        def lattice(sentence: int) -> MarginLattice | None:
            split = self._cache.get(sentence)
            if split is None:
                newest = forests[sentence][-1] if forests[sentence] else Forest()
                split = loss.lattice(
                    newest, sentence, self._anchor, density=self.density, beam=self.beam
                )
                if split is not None:
                    self._cache.put(sentence, split)
            return split

        return lattice

    def _update(
        self, descent: Descent, lattice: MarginLattice | None, rate: Rate, fixed: frozenset[int]
    ) -> Violation | None:
        if lattice is None:
            return None
        violation = lattice.violation(descent.weights(lattice.ids), fixed)
        new = descent.step(violation.difference, rate.at(descent.updates + 1), self.l2)
        if descent.base.names is not None and lattice.forest.names is not None:
            for id in new.tolist():
                descent.base.names.intern(lattice.forest.names.name(id) or f"id:{id:016x}")
        return violation

    def _choose_rate(
        self,
        lattice: Callable[[int], MarginLattice | None],
        drawn: Sequence[int],
        weights: Weights,
        fixed: frozenset[int],
    ) -> float:
        """Return the power of 2 whose first pass reaches the lowest objective, by hill climbing."""
        lattices = [lattice(sentence) for sentence in list(dict.fromkeys(drawn))[:_TRIED]]
        sample = [split for split in lattices if split is not None]
        costs: dict[int, float] = {}

        def cost(power: int) -> float:
            if power not in costs:
                descent, rate = Descent(weights), self._rate(2.0**power)
                for split in sample:
                    if not descent.diverged:
                        self._update(descent, split, rate, fixed)
                costs[power] = math.inf
                if not descent.diverged:
                    reached = descent.result(average=self.average)
                    costs[power] = objective(sample, reached, self.l2)
            return costs[power]

        power = _FIRST_TRY
        if sample:
            step = 1 if cost(power + 1) < cost(power) else -1
            while abs(power) < 40 and cost(power + step) < cost(power):
                power += step
        return 2.0**power


def objective(lattices: Sequence[MarginLattice], weights: Weights, l2: float) -> float:
    """Return the objective of eq. 5: lambda/2 |w|^2 + the mean hinge."""
    hinges = [lattice.violation(weights).hinge for lattice in lattices]
    return 0.5 * l2 * weights.norm() ** 2 + _mean(hinges)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
