"""A toy problem for the loop: a decoder of a small language, and a tuner that climbs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import (
    Decoded,
    Decoder,
    GoldOptions,
    GoldPair,
    Request,
    Sentence,
    Tokens,
)
from hopefear.forest import Forest, ForestBuilder, Vocabulary, intersect
from hopefear.learn.loop.batch import TuningSet
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task

WORDS = 9
# Far from what is right, and nearer.
START = {"likely": 1.0, "right": -0.2, "words": 0.1, "odd": 0.3, "always": -1.0}
NEAR = {"likely": 0.5, "right": 0.4, "words": 0.1, "odd": 0.1, "always": -1.0}


class ToyDecoder(Decoder):
    """Every source word n has the translations Rn (right), Ln (likely) and two words, Xn Yn.

    The right one has the feature `right`, which the start weights do not like.
    """

    def __init__(self, *, sparse: bool = False) -> None:
        self.names = FeatureNames()
        self.vocabulary = Vocabulary()
        self.sparse = sparse
        self.decoded = 0

    @property
    def dense(self) -> list[str]:
        return ["likely", "right", "words", "odd", "always", "never"]

    can = frozenset({"target", "gold"})

    def answer(self, request: Request) -> Decoded:
        if request.gold is not None:
            return self._gold(request, request.gold)
        return Decoded(self._search(request.sentence, request.target))

    def _search(self, sentence: Sentence | Tokens, target: Tokens | None) -> Forest:
        self.decoded += 1
        builder = ForestBuilder(vocabulary=self.vocabulary, names=self.names)
        node = builder.node(covered=0)
        builder.edge(node, (), [], features={"always": 1.0})
        for place, word in enumerate(Sentence.of(sentence).words):
            after = builder.node(covered=place + 1)
            odd = float(int(word) % 2)
            options = (
                ([f"R{word}"], {"right": 1.0, "likely": -1.0, "words": 1, "odd": odd}),
                ([f"L{word}"], {"likely": 0.5 * (int(word) + 1) / WORDS, "words": 1}),
                ([f"X{word}", f"Y{word}"], {"likely": -0.5, "words": 2, "odd": -odd}),
            )
            for words, features in options:
                more = {f"word:{words[0]}": 1.0} if self.sparse else {}
                builder.edge(after, [node], [0, *words], features={**features, **more})
            node = after
        forest = builder.finish(node)
        return forest if target is None else intersect(forest, target).forest

    def _gold(self, request: Request, options: GoldOptions) -> Decoded:
        """The pair if it can be derived; else, with `prefixes`, its first right words."""
        sentence, target = Sentence.of(request.sentence), str(request.target)
        forest = self._search(sentence, target)
        if forest.nodes or options.prefixes is None:
            return Decoded(forest, gold=GoldPair(sentence, target))
        words = sum(1 for _ in takewhile(lambda word: word.startswith("R"), target.split()))
        part = sentence.prefix(words if words >= options.prefixes else 0)
        beginning = " ".join(target.split()[:words])
        gold = GoldPair(part, beginning, complete=False)
        return Decoded(self._search(part, beginning), gold=gold)


def toy_set(sentences: int = 12, seed: int = 0) -> TuningSet:
    sources = [
        " ".join(str((seed + 3 * s + 5 * i * i) % WORDS) for i in range(3 + s % 4))
        for s in range(sentences)
    ]
    references = [[" ".join(f"R{word}" for word in source.split())] for source in sources]
    return TuningSet(sources, references)


@dataclass(kw_only=True)
class Climber(BatchTuner):
    """Tries random changes of one weight and keeps what is better on the pool."""

    name: ClassVar[str] = "climber"

    trials: int = option(40, min=1, help="changes that are tried")
    remembered: int = 0  # a state to be kept over iterations

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        found = pool.candidates
        assert found is not None
        vector = found.vector(weights)
        free = ~found.fixed(task.fixed)

        def value(trial: object) -> float:
            return float(pool.metric.score(found.total(found.best(found.scores(trial)))))

        best = value(vector)
        for number in range(self.trials + self.remembered % 3):
            trial = vector + free * task.random.normal(size=len(vector))
            reached = value(trial)
            if reached > best:
                vector, best = trial, reached
            if task.progress is not None:
                task.progress(number)
        self.remembered += 1
        return Optimized(found.weights(vector, weights), best, {"remembered": self.remembered})

    def state(self) -> dict[str, object]:
        return {"remembered": self.remembered}

    def restore(self, state: dict[str, int]) -> None:
        self.remembered = state["remembered"]


def start_weights() -> Weights:
    return Weights(START)
