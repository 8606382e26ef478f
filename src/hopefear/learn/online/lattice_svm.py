"""Large-margin learning in lattices: stochastic subgradient descent, plain or averaged.
[wisniewski2013, xu2011]

Goes in: forests of all sentences (the newest of each counts), references, weights. Comes out: the
weights after some more updates. What is minimised is eq. 5,

    lambda/2 |w|^2 + mean over sentences of max_h [loss(h) - w.(f(h_1) - f(h))]

with the loss and the searches of `margin.py`. An update draws a sentence and takes a step along
-(lambda w + f(h*) - f(h_1)) (Algorithm 1, `descent.py`); with `average` the weights are the mean of
those after all updates. The first rate, unless given, is the power of 2 with which one pass over a
few lattices reaches the lowest objective [bottou2012].

The loop (`lattice_loop.py`) decodes on demand for the first updates, then once, never again, and
takes the iteration whose weights score best in the lattices.

Differs: errata: lambda, Xi and the rate's constants are not given; options, with a = lambda as in
[xu2011]. Algorithm 1 begins with w = 0, here with the given weights, with which the first lattices
are decoded.
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

_TRIED = 50  # lattices on which the first rate is tried
_FIRST_TRY = -8  # its logarithm to the base of 2


@register("tuner", "lattice-svm")
@dataclass(kw_only=True)
class LatticeSvm(BatchTuner):
    """Large margins in lattices, which are decoded little more than once."""

    name: ClassVar[str] = "lattice-svm"
    loop: ClassVar[str] = "lattice"
    spaces: ClassVar[tuple[Space, ...]] = ("forest",)

    order: int = option(4, min=1, max=4, help="longest n-gram of the loss")
    xi: list[float] = option(
        [], help="its constants Xi_0 (words of no reference), Xi_1, …; if not given, fitted ones"
    )
    l2: float = option(1e-3, min=0, help="lambda of the objective: l2 / 2 times the square of w")
    average: bool = option(True, help="the weights are the mean of those after all updates")
    rate: float | None = option(
        None, min=0, help="the first rate, eta_0; if not given, tried on the first lattices"
    )
    rate_decay: float | None = option(
        None, min=0, help="a in eta_0 (1 + a eta_0 t)^-c; if not given, lambda"
    )
    rate_power: float | None = option(
        None, min=0, help="c likewise; if not given, 0.75 with averages and 1 without"
    )
    first: int = option(
        300, min=1, help="updates of the first iteration, whose sentences are decoded on demand"
    )
    every: int = option(
        200, min=1, help="updates of each other iteration, after which the weights are judged"
    )
    density: float = option(
        20.0,
        min=0,
        help="pruned lattices have so many edges for each word of the best translation; 0: all",
    )
    beam: int = option(
        0, min=0, help="derivations looked at per node when a lattice is split by n-grams; 0: all"
    )
    memory: Size = option(Size(1 << 30), help="of split lattices that are kept, such as 512M")

    def __post_init__(self) -> None:
        self._xi = LinearLoss([], self.order, self.xi).xi  # refuses a wrong number of them
        self._eta = self.rate
        self._descent: Descent | None = None
        self._anchor = Weights()  # what the newest lattices were first seen with
        self._decodings = 0
        self._cache = LatticeCache(self.memory)

    # -- what the loop asks --

    def draws(
        self, random: np.random.Generator, sentences: int, iteration: int
    ) -> NDArray[np.int64]:
        """The sentences of an iteration's updates: the first thing that its generator gives."""
        count = self.first if iteration == 0 else self.every
        return random.integers(0, max(sentences, 1), count if sentences else 0)

    def signature(self) -> str:
        """Everything that loss and steps depend on."""
        shown = self._rate(self._eta or 0.0)
        parts = {
            "order": self.order,
            "xi": ",".join(f"{x:g}" for x in self._xi),
            "lambda": f"{self.l2:g}",
            "eta0": "tried" if self._eta is None else f"{self._eta:g}",
            "a": f"{shown.decay:g}",
            "c": f"{shown.power:g}",
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
        """So many more updates, from where the last call ended."""
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
        found = []
        for number, sentence in enumerate(drawn):
            one = self._update(self._descent, lattice(sentence), self._rate(self._eta), task.fixed)
            if one is not None:
                found.append(one)
            if self._descent.diverged:
                raise InputError(
                    f"{self.name}: after {self._descent.updates:,} updates the weights are too "
                    "large for any number; the iterations before are kept; give a smaller rate or "
                    "l2 (--set rate=… l2=…)"
                )
            if task.progress is not None:
                task.progress(number + 1)
        hinge = _mean([one.hinge for one in found])
        notes = {
            "signature": self.signature(),
            "updates": self._descent.updates,
            "violated": sum(one.hinge > 0 for one in found),
            "hinge": hinge,
            "loss": _mean([one.loss for one in found]),
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
        """Gives the newest lattice of a sentence, split; None if there is none."""
        forests = pool.forests
        assert forests is not None
        loss = LinearLoss(pool.references, self.order, self.xi)
        decodings = len(forests[0]) if len(forests) else 0
        if decodings != self._decodings:
            # Which of several oracles is taken must not depend on when a lattice is split.
            self._decodings, self._anchor = decodings, weights.copy()
            self._cache.clear()

        def lattice(sentence: int) -> MarginLattice | None:
            found = self._cache.get(sentence)
            if found is None:
                newest = forests[sentence][-1] if forests[sentence] else Forest()
                found = loss.lattice(
                    newest, sentence, self._anchor, density=self.density, beam=self.beam
                )
                if found is not None:
                    self._cache.put(sentence, found)
            return found

        return lattice

    def _update(
        self, descent: Descent, lattice: MarginLattice | None, rate: Rate, fixed: frozenset[int]
    ) -> Violation | None:
        if lattice is None:
            return None
        found = lattice.violation(descent.weights(lattice.ids), fixed)
        new = descent.step(found.difference, rate.at(descent.updates + 1), self.l2)
        if descent.base.names is not None and lattice.forest.names is not None:
            for id in new.tolist():
                descent.base.names.intern(lattice.forest.names.name(id) or f"id:{id:016x}")
        return found

    def _choose_rate(
        self,
        lattice: Callable[[int], MarginLattice | None],
        drawn: Sequence[int],
        weights: Weights,
        fixed: frozenset[int],
    ) -> float:
        """The power of 2 whose first pass ends lowest, going up or down while it gets better."""
        found = [lattice(sentence) for sentence in list(dict.fromkeys(drawn))[:_TRIED]]
        sample = [one for one in found if one is not None]
        costs: dict[int, float] = {}

        def cost(power: int) -> float:
            if power not in costs:
                descent, rate = Descent(weights), self._rate(2.0**power)
                for one in sample:
                    if not descent.diverged:
                        self._update(descent, one, rate, fixed)
                costs[power] = math.inf
                if not descent.diverged:
                    reached = descent.result(average=self.average)
                    costs[power] = objective(sample, reached, self.l2)
            return costs[power]

        at = _FIRST_TRY
        if sample:
            step = 1 if cost(at + 1) < cost(at) else -1
            while abs(at) < 40 and cost(at + step) < cost(at):
                at += step
        return 2.0**at


def objective(lattices: Sequence[MarginLattice], weights: Weights, l2: float) -> float:
    """Eq. 5: lambda/2 |w|^2 + the mean hinge."""
    hinges = [lattice.violation(weights).hinge for lattice in lattices]
    return 0.5 * l2 * weights.norm() ** 2 + _mean(hinges)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
