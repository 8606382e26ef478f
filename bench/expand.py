"""Cube pruning: a language model over charts, with candidates scored at once or when they are due.

Random charts of 20 words (spans of up to 15, unary and binary rules of a synchronous grammar, glue)
and the golden trigram model of ../shared (or HOPEFEAR_SHARED). Budget: 15 ms CPU for 5,000-10,000
edges at 200 pops per node, look-ups included. `scored` is how often the scorer was asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hopefear._engine import forest_from_arrays
from support.figures import Columns, Figure, main
from support.machine import best, shared

from hopefear import forest as hf
from hopefear.base.weights import FeatureNames, Weights
from hopefear.lm import LanguageModel

LENGTH, WIDEST, FEATURES = 20, 15, 10


def chart(model: LanguageModel, edges: int) -> hf.Forest:
    """Each source word has a dozen translations; a rule has up to two nonterminals."""
    random = np.random.default_rng(1)
    vocabulary, names = hf.Vocabulary(), FeatureNames()
    for i in range(10, 2010):
        vocabulary.intern(model.engine.word(i))
    options = [random.choice(2000, 12) for _ in range(LENGTH)]
    widths = range(1, WIDEST + 1)
    cells = [(i, i + w) for w in widths for i in range(LENGTH - w + 1)]
    number = {cell: n for n, cell in enumerate(cells)}
    glue = {end: len(cells) + end - 1 for end in range(1, LENGTH + 1)}
    goal = len(cells) + LENGTH
    made: list[tuple[int, list[int], list[int]]] = []  # head, tails, target
    for i, j in cells:
        for _ in range(edges // len(cells)):
            arity = 0 if j - i == 1 else int(random.choice(3, p=[0.06, 0.35, 0.59]))
            tails = []
            if arity == 1:
                begin = int(random.integers(i, j - 1))
                end = int(random.integers(begin + 1, j + (begin > i)))
                tails = [number[begin, end]]
            elif arity == 2:
                middle = int(random.integers(i + 1, j))
                tails = [number[i, middle], number[middle, j]]
            target = [-1 - k for k in random.permutation(len(tails)).tolist()]
            for _ in range(int(random.integers(0 if arity == 2 else 1, 3))):
                word = int(random.choice(options[int(random.integers(i, j))]))
                target.insert(int(random.integers(0, len(target) + 1)), word)
            made.append((number[i, j], tails, target))
    for end in range(1, LENGTH + 1):
        if end <= WIDEST:
            made.append((glue[end], [number[0, end]], [-1]))
        for begin in range(max(1, end - WIDEST), end):
            made.append((glue[end], [glue[begin], number[begin, end]], [-1, -2]))
    made.append((goal, [glue[LENGTH]], [-1]))

    def flat(part: int, kind: type) -> tuple[np.ndarray, np.ndarray]:
        begin = np.concatenate([[0], np.cumsum([len(edge[part]) for edge in made])])
        return begin.astype(np.uint32), np.array([x for e in made for x in e[part]], kind)

    ids = np.array([names.intern(f"f{i}") for i in range(FEATURES)], np.uint64)
    return forest_from_arrays(
        vocabulary,
        names,
        goal + 1,
        goal,
        np.array([edge[0] for edge in made], np.uint32),
        *flat(1, np.uint32),
        *flat(2, np.int32),
        np.arange(len(made), dtype=np.uint32),
        ids,
        np.arange(0, FEATURES * len(made) + 1, FEATURES, dtype=np.uint32),
        np.tile(np.arange(FEATURES, dtype=np.uint32), len(made)),
        -random.random(FEATURES * len(made)).astype(np.float32),
    )


def measure(edges: int, beam: int, eager: bool, repeat: int) -> tuple[hf.Forest, Any, float]:
    """The chart, what came of it, and the CPU seconds of one of several runs."""
    model = LanguageModel.load(shared("golden/lm3.arpa.gz"))
    weights = Weights({f"f{i}": 0.3 for i in range(FEATURES)} | {"lm": 0.5})
    forest, scorer = chart(model, edges), hf.LanguageModelScorer(model)

    def work() -> Any:
        return hf.expand(forest, scorer, weights, beam=beam, eager=eager)

    return forest, work(), best(repeat, work)


def run(quick: bool) -> list[Figure]:
    forest, _, seconds = measure(10_000, 200, False, 3 if quick else 10)
    return [Figure(f"trigram model over {forest.edges:,} edges", 1e3 * seconds, "ms", most=15)]


def full(*, beam: int = 200, repeat: int = 5) -> None:
    table = Columns(8, "edges", "ms", "scored", "ns each", "new nodes", "edges", "best")
    for edges in (5_000, 10_000, 40_000):
        for eager in (True, False):
            forest, made, seconds = measure(edges, beam, eager, repeat)
            goal = made.forest.goal
            table.row(
                "eager" if eager else "lazy", forest.edges, 1e3 * seconds, made.scored,
                1e9 * seconds / made.scored, made.forest.nodes, made.forest.edges,
                made.best[goal] if goal is not None else "-",
            )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, run, full)
