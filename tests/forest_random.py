"""Random small hypergraphs and every derivation of them, enumerated in plain Python."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from hopefear.base.weights import FeatureNames
from hopefear.forest import Forest, ForestBuilder

FEATURES = ("f", "g", "h")
SCORES = (*(n / 2 for n in range(-4, 3)), *(n / 4 for n in range(-4, 3)), -0.5, -math.inf)
# Each example draws many numbers; a busy machine is no reason to fail.
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
MOST = 400  # derivations of all nodes together


@dataclass(frozen=True)
class Edge:
    head: int
    tails: tuple[int, ...]
    target: tuple[str | int, ...]
    score: float
    row: int | None
    own: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Path:
    """A derivation: edges in pre-order."""

    edges: tuple[int, ...]
    words: tuple[str, ...]
    score: float


@dataclass
class Hypergraph:
    nodes: int
    edges: list[Edge]  # by head
    rows: list[dict[str, float]]
    roots: list[int]
    forest: Forest = field(init=False)
    paths: list[list[Path]] = field(init=False)  # of each node, without forbidden edges

    def __post_init__(self) -> None:
        builder = ForestBuilder(names=FeatureNames())
        for _ in range(self.nodes):
            builder.node()
        rows = [builder.row(row, share=False) for row in self.rows]
        for e in self.edges:
            row = None if e.row is None else rows[e.row]
            builder.edge(e.head, e.tails, e.target, row=row, features=dict(e.own))
        self.forest = builder.finish(self.nodes - 1 if self.nodes else None)
        self.paths = [[] for _ in range(self.nodes)]
        for number, edge in enumerate(self.edges):
            if edge.score == -math.inf:
                continue
            assume(math.prod(len(self.paths[t]) for t in edge.tails) < MOST)
            for parts in product(*(self.paths[t] for t in edge.tails)):
                words: list[str] = []
                for symbol in edge.target:
                    words += [symbol] if isinstance(symbol, str) else parts[symbol].words
                self.paths[edge.head].append(
                    Path(
                        (number, *(e for part in parts for e in part.edges)),
                        tuple(words),
                        edge.score + sum(part.score for part in parts),
                    )
                )
        assume(sum(map(len, self.paths)) < MOST)

    @property
    def scores(self) -> np.ndarray:
        return np.array([edge.score for edge in self.edges], np.float64)

    @property
    def derivations(self) -> list[Path]:
        return [path for root in sorted(set(self.roots)) for path in self.paths[root]]

    def features(self, edge: int) -> dict[str, float]:
        e = self.edges[edge]
        total = dict.fromkeys(FEATURES, 0.0)
        for name, value in (*e.own, *(self.rows[e.row].items() if e.row is not None else ())):
            total[name] += value
        return total


@st.composite
def hypergraphs(draw: st.DrawFn) -> Hypergraph:
    nodes = draw(st.sampled_from((3, 4, 5, 2, 3, 4, 1, 0)))
    value = st.integers(-3, 3).map(float)
    rows = draw(st.lists(st.dictionaries(st.sampled_from(FEATURES), value), max_size=3))
    edges = []
    for head in range(nodes):
        for _ in range(draw(st.sampled_from((2, 3, 1, 2, 3, 1, 2, 3, 2, 3, 1, 2, 3, 2, 0)))):
            arity = draw(st.sampled_from((2, 1, 2, 0, 3, 1))) if head else 0
            tails = [head - 1 - draw(st.integers(0, head - 1)) for _ in range(arity)]
            words: list[str | int] = draw(st.lists(st.sampled_from("ab"), max_size=2))
            target = draw(st.permutations([*range(len(tails)), *words]))
            score = draw(st.sampled_from(SCORES))
            row = draw(st.none() | st.integers(0, len(rows) - 1)) if rows else None
            own = draw(st.dictionaries(st.sampled_from(FEATURES), value, max_size=2))
            edges.append(Edge(head, tuple(tails), tuple(target), score, row, tuple(own.items())))
    roots = draw(st.lists(st.integers(0, nodes - 1), max_size=2)) if nodes else []
    if nodes and draw(st.integers(0, 4)):
        roots.append(nodes - 1)
    return Hypergraph(nodes, edges, rows, roots)
