"""Forest inference: edges per second, k-best, memory, against the budgets.

Budgets: viterbi at 20 million edges/s with 15 dense features per edge (scoring included),
100-best distinct of a 100,000-edge forest in 50 ms, inside + outside within 4 times viterbi, a
forest of 1,000 edges with 200 sparse features per rule use under 1 MB when rules repeat. Times
are CPU seconds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hopefear._engine import forest_from_arrays
from support.figures import Figure, main
from support.machine import best

from hopefear import forest as hf
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest.io import read_nbest


def offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)


def random_forest(edges: int, *, lattice: bool, rows: int, width: int, features: int):
    """Shaped like a chart of 25 words (all spans, binary and unary edges) or like a lattice."""
    random = np.random.default_rng(1)
    vocabulary, names = hf.Vocabulary(), FeatureNames()
    for i in range(2000):
        vocabulary.intern(f"w{i}")
    length, degree = 25, 10
    spans = [(i, i + w) for w in range(1, length + 1) for i in range(length - w + 1)]
    cells = [(0, w) for w in range(1, length + 1)] if lattice else spans
    states = max(1, edges // (degree * len(cells)))
    number = {cell: i * states for i, cell in enumerate(cells)}
    heads, arities, tails = [], [], []
    for begin, end in cells:
        for state in range(states):
            for _ in range(degree):
                chosen = []
                if end - begin > 1:
                    middle = int(random.integers(begin + 1, end))
                    chosen = [(begin, middle)]
                    if not lattice and random.random() < 0.7:
                        chosen.append((middle, end))
                heads.append(number[begin, end] + state)
                arities.append(len(chosen))
                tails += [number[cell] + int(random.integers(states)) for cell in chosen]
    heads, arities, tails = (np.array(x, np.uint32) for x in (heads, arities, tails))
    nodes = len(cells) * states
    target = random.integers(0, 2000, (len(heads), 4)).astype(np.int32)
    present = np.ones_like(target, bool)
    for slot in range(2):  # behind the first word, where there is such a tail
        target[:, 1 + slot] = -1 - slot
        present[:, 1 + slot] = arities > slot
    rows = rows or len(heads)  # 0: nothing is shared
    row_features = np.concatenate(
        [random.choice(features, width, replace=False) for _ in range(rows)]
    )
    forest = forest_from_arrays(
        vocabulary,
        names,
        nodes,
        nodes - 1,
        heads,
        offsets(arities),
        tails,
        offsets(present.sum(1)),
        np.ascontiguousarray(target[present]),
        (
            np.arange(len(heads)) if rows == len(heads) else random.integers(0, rows, len(heads))
        ).astype(np.uint32),
        np.array([names.intern(f"f{i}") for i in range(features)], np.uint64),
        offsets(np.full(rows, width)),
        row_features.astype(np.uint32),
        random.normal(size=rows * width).astype(np.float32),
    )
    weights = Weights({f"f{i}": float(random.normal() / 4) for i in range(features)}, names=names)
    return forest, weights


def measure(edges: int = 100_000, repeat: int = 15) -> list[Figure]:
    forest, weights = random_forest(edges, lattice=False, rows=0, width=15, features=15)
    edges, dense = forest.edges, "15 dense features, nothing shared"
    viterbi = best(repeat, lambda: hf.viterbi(forest, weights))
    scores = hf.edge_scores(forest, weights)
    alone = best(repeat, lambda: hf.viterbi(forest, scores=scores))

    def both() -> None:
        # What a caller of both would write: score once, then up and down.
        values = hf.edge_scores(forest, weights)
        hf.outside(forest, scores=values)

    def ms(work: object, times: int = repeat) -> float:
        return 1e3 * best(times, work)  # type: ignore[arg-type]

    direction = Weights({"f0": 1.0}, names=weights.names)
    # A lattice, as phrase search makes it, with few different strings: much to merge.
    lattice, of_lattice = random_forest(edges, lattice=True, rows=5000, width=15, features=15)
    small, _ = random_forest(4000, lattice=False, rows=100, width=200, features=5000)
    hundred = f"100-best of {edges:,} edges"
    figures = [
        Figure(f"viterbi, {dense}", edges / viterbi / 1e6, "M edges/s", least=20),
        Figure("viterbi without scoring", edges / alone / 1e6, "M edges/s"),
        Figure("inside + outside, scoring included", best(repeat, both) / viterbi, "x viterbi", 4),
        Figure("marginals", ms(lambda: hf.marginals(forest, scores=scores)), "ms"),
        Figure("expected features", ms(lambda: hf.expected_features(forest, scores=scores)), "ms"),
        Figure(hundred, ms(lambda: hf.kbest(forest, weights, 100)), "ms"),
        Figure(
            f"{hundred}, distinct",
            ms(lambda: hf.kbest(forest, weights, 100, distinct=True)), "ms", most=50,
        ),
        Figure(
            "10,000-best, distinct",
            ms(lambda: hf.kbest(forest, weights, 10_000, distinct=True), 3), "ms",
        ),
        Figure("envelope", ms(lambda: hf.envelope(forest, weights, direction), 5), "ms"),
        Figure("1,000 samples", ms(lambda: hf.sample(forest, weights, 1000, seed=1), 3), "ms"),
        Figure(
            "100-best, distinct, of a lattice",
            ms(lambda: hf.kbest(lattice, of_lattice, 100, distinct=True)), "ms", most=50,
        ),
        Figure(
            f"{small.edges:,} edges, 200 sparse features, 100 rows", small.bytes / 1e6, "MB", most=1
        ),
        Figure("dense forest, memory", forest.bytes / forest.edges, "bytes/edge"),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path, size = Path(folder) / "pool", 5 * forest.bytes / 1e6
        saved = best(3, lambda: hf.save_pool(path, [forest] * 5))
        loaded = best(3, lambda: list(hf.ForestFile(path)))
        names = " ".join(f"F{i}= {i}.5" for i in range(14))
        words = " ".join(f"w{i}" for i in range(20))
        text = "".join(f"{i // 100} ||| {words} ||| {names} ||| -1\n" for i in range(50_000))
        listed = Path(folder) / "nbest"
        listed.write_text(text)
        read = best(3, lambda: sum(item.forest.edges for item in read_nbest(listed)))
    return [
        *figures,
        Figure("pool: save", size / saved, "MB/s"),
        Figure("pool: open and check", size / loaded, "MB/s"),
        Figure("n-best list, 14 features, 20 words", 50 / read, "1,000 lines/s"),
    ]


def run(quick: bool) -> list[Figure]:
    return [f for f in measure(repeat=3) if f.most or f.least] if quick else measure()


if __name__ == "__main__":
    main(__doc__, run, measure)
