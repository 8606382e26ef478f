"""A toy problem for the loop: a decoder of a small language, and a tuner that climbs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple

from hopefear.base.config import option
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoder, Sentence, Tokens
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

    def decode(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
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

    def gold(self, sentence: Any, target: str, *, prefixes: int | None = None, **_: Any) -> ToyPair:
        """The pair if it can be derived; else, with `prefixes`, its first right words."""
        forest = self.decode(sentence, Weights(), target)
        if forest.nodes or prefixes is None:
            return ToyPair(sentence, target, forest)
        words = sum(1 for _ in takewhile(lambda word: word.startswith("R"), target.split()))
        part = self.prefix(sentence, words if words >= prefixes else 0)
        beginning = " ".join(target.split()[:words])
        return ToyPair(part, beginning, self.decode(part, Weights(), beginning), False)

    def prefix(self, sentence: str, words: int) -> str:
        return " ".join(sentence.split()[:words])


class ToyPair(NamedTuple):
    """As `decode.gold.GoldPair`."""

    sentence: str
    target: str
    forest: Forest
    complete: bool = True
    gave_up: bool = False


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
