"""The engine's training and inference against a plain reference: likelihoods, posteriors, weights.

The reference is written plainly: dictionaries, no scaling, no tricks, doubles. Its text is small,
so that it is one block: the links of all sentences come from the counts before the iteration.
"""

from __future__ import annotations

import io
import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from hopefear import _engine
from hopefear.align import Aligner, Settings

pytestmark = pytest.mark.engine

MM_STEPS = 10
UNIT = 1 / 32768  # of a link's probability
FERTILITIES = 8
POISSON = (0.3679, 0.3679, 0.1839, 0.0613, 0.0153, 0.0031, 0.0005, 0.0001)

Pair = tuple[list[str], list[str]]
EMPTY = None


class Inference:
    """Model 1 and the HMM in one direction: sides of a pair, emissions in a table."""

    def __init__(self, settings: Settings, words: int):
        self.p0, self.uniform, self.window = settings.p0, settings.uniform, settings.window
        self.prior = settings.jump_prior * words
        distances = range(-self.window - 1, self.window + 2)
        # Jumps -window - 1 .. window + 1, the outermost stand for all longer ones.
        width = settings.jump_width
        self.base = normalised({d: 1 / (1 + ((d - 1) / width) ** 2) for d in distances})
        starts = range(self.window + 2)
        self.start_base = normalised({i: 1 / (1 + (i / width) ** 2) for i in starts})
        self.jump, self.start = dict(self.base), dict(self.start_base)

    def clip(self, d: int) -> int:
        return max(-self.window - 1, min(self.window + 1, d))

    def by_distance(self, i: int, before: int, size: int) -> float:
        """Of a jump from `before` (-1: the beginning) to i (size: the end) by its distance."""
        if before < 0:
            weights = [self.start[min(k, self.window + 1)] for k in range(size + 1)]
        else:
            weights = [self.jump[self.clip(k - before)] for k in range(size + 1)]
        return (1 - self.p0) * (1 - self.uniform) * weights[i] / sum(weights)

    def anywhere(self, size: int) -> float:
        return (1 - self.p0) * self.uniform / (size + 1)

    # Posteriors: {(j, i or EMPTY): p}, log-likelihood, jumps {(before or None, i): expected}, of
    # emissions t[i][j] and t[EMPTY][j].

    def model1(self, t, size: int, length: int):
        posterior, total = {}, 0.0
        for j in range(length):
            joint = {i: (1 - self.p0) / size * t[i][j] for i in range(size)}
            joint[EMPTY] = self.p0 * t[EMPTY][j]
            z = sum(joint.values())
            total += math.log(z)
            for i, p in joint.items():
                posterior[j, i] = p / z
        return posterior, total, {}

    def hmm(self, t, size: int, length: int):
        """Forward-backward over states (last real position or -1, is this word from nothing)."""
        states = [(i, empty) for i in range(-1, size) for empty in (False, True)]

        def move(a, b):
            (before, _), (i, empty) = a, b
            if empty:
                return self.p0 if i == before else 0.0
            return 0.0 if i < 0 else self.by_distance(i, before, size) + self.anywhere(size)

        def emit(b, j):
            return t[EMPTY][j] if b[1] else t[b[0]][j]

        moves = {(a, b): p for a in states for b in states if (p := move(a, b)) > 0}
        forward = [{(-1, True): 1.0}]
        for j in range(length):
            column = defaultdict(float)
            for (a, b), p in moves.items():
                column[b] += forward[-1].get(a, 0.0) * p * emit(b, j)
            forward.append(column)
        final = {a: self.by_distance(size, a[0], size) + self.anywhere(size) for a in states}
        backward = [final]
        for j in reversed(range(length)):
            column = defaultdict(float)
            for (a, b), p in moves.items():
                column[a] += p * emit(b, j) * backward[0].get(b, 0.0)
            backward.insert(0, column)
        z = sum(p * final[a] for a, p in forward[-1].items())
        posterior, jumps = defaultdict(float), defaultdict(float)
        for j in range(length):
            for b, p in forward[j + 1].items():
                posterior[j, EMPTY if b[1] else b[0]] += p * backward[j + 1][b] / z
            for a, b in moves:
                if not b[1]:
                    p = self.by_distance(b[0], a[0], size)
                    jumps[a[0], b[0]] += (
                        forward[j].get(a, 0.0) * p * emit(b, j) * backward[j + 1][b] / z
                    )
        for a, p in forward[-1].items():
            jumps[a[0], size] += p * self.by_distance(size, a[0], size) / z
        return posterior, math.log(z), jumps

    def learn(self, jumps: list[tuple[int, int, int, float]]) -> None:
        """Steps of minorise-maximise: count over (how often possible, by its share)."""
        jump_counts, start_counts = defaultdict(float), defaultdict(float)
        for before, i, _, p in jumps:
            if before < 0:
                start_counts[min(i, self.window + 1)] += p
            else:
                jump_counts[self.clip(i - before)] += p
        for _ in range(MM_STEPS):
            jump_need, start_need = defaultdict(float), defaultdict(float)
            for before, _, size, p in jumps:
                if before < 0:
                    keys = [min(k, self.window + 1) for k in range(size + 1)]
                    weights, need = self.start, start_need
                else:
                    keys = [self.clip(k - before) for k in range(size + 1)]
                    weights, need = self.jump, jump_need
                total = sum(weights[k] for k in keys)
                for k in keys:
                    need[k] += p / total
            self.jump = self.improved(self.jump, self.base, jump_counts, jump_need)
            self.start = self.improved(self.start, self.start_base, start_counts, start_need)

    def improved(self, weights, base, counts, need):
        part = self.prior / sum(weights.values())
        return normalised(
            {d: (counts[d] + self.prior * b) / (need[d] + part) for d, b in base.items()}
        )


class Reference:
    """Training state of both directions; `step` is one iteration."""

    def __init__(self, pairs: list[Pair], settings: Settings):
        self.pairs, self.settings, self.alpha = pairs, settings, settings.alpha
        self.types = [sorted({w for pair in pairs for w in pair[side]}) for side in (0, 1)]
        words = [sum(len(pair[side]) for pair in pairs) for side in (0, 1)]
        self.inference = [Inference(settings, words[1]), Inference(settings, words[0])]
        self.links: list[list[list[float]]] | None = None
        self.ratios: list[dict[str, list[float]]] = [{}, {}]
        self.pseudo = {
            (s, t): settings.similar
            for source, target in pairs
            for s in source
            for t in target
            if s == t or re.sub(r"\D", "", s) == re.sub(r"\D", "", t) != ""
        }

    def counts(self):
        """Links of pairs, of the words of each side, and words without a link, per side."""
        pairs, words = defaultdict(float), [defaultdict(float), defaultdict(float)]
        free = [defaultdict(float), defaultdict(float)]

        def add(s: str, t: str, q: float) -> None:
            pairs[s, t] += q
            words[0][s] += q
            words[1][t] += q

        for (s, t), q in self.pseudo.items():
            add(s, t, q)
        for (source, target), links in zip(self.pairs, self.links or [], strict=False):
            for i, s in enumerate(source):
                free[0][s] += max(0.0, 1 - sum(links[i]))
                for j, t in enumerate(target):
                    add(s, t, links[i][j])
            for j, t in enumerate(target):
                free[1][t] += max(0.0, 1 - sum(row[j] for row in links))
        return pairs, words, free

    def emissions(self, k: int, d: int, counts, *, fertile: bool):
        """t[state][observation] of a pair of the text in a direction."""
        pairs, words, free = counts
        source, target = self.pairs[k]
        states, observations = (source, target) if d == 0 else (target, source)
        size = self.alpha * len(self.types[1 - d])
        t = {}
        for i, e in enumerate(states):
            t[i] = []
            for j, f in enumerate(observations):
                count = pairs[(e, f) if d == 0 else (f, e)]
                p = (self.alpha + count) / (size + words[d][e])
                if fertile and self.links is not None:
                    own = np.array(self.links[k]) if d == 0 else np.array(self.links[k]).T
                    p *= self.ratio(d, e, own[i].sum() - own[i, j])
                t[i].append(p)
        everything = size + sum(free[1 - d].values())
        t[EMPTY] = [(self.alpha + free[1 - d][f]) / everything for f in observations]
        return t

    def ratio(self, d: int, word: str, others: float) -> float:
        ratios = self.ratios[d].get(word, [1.0] * (FERTILITIES - 1))
        below = int(others)
        if below >= FERTILITIES - 2:
            return ratios[-1]
        return ratios[below] + (others - below) * (ratios[below + 1] - ratios[below])

    def infer(self, k: int, d: int, counts, model: str):
        source, target = self.pairs[k]
        sizes = (len(source), len(target)) if d == 0 else (len(target), len(source))
        t = self.emissions(k, d, counts, fertile=model == "fertility")
        infer = self.inference[d].model1 if model == "model1" else self.inference[d].hmm
        return infer(t, *sizes)

    def step(self, *, hmm: bool) -> list[float]:
        """One iteration; the log-likelihoods of both directions."""
        model = self.settings.aligner if hmm else "model1"
        counts = self.counts()
        totals, links, jumps = [0.0, 0.0], [], ([], [])
        for k, (source, target) in enumerate(self.pairs):
            posteriors = []
            for d in (0, 1):
                posterior, total, moved = self.infer(k, d, counts, model)
                totals[d] += total
                size = len((source, target)[d])
                jumps[d].extend((before, i, size, p) for (before, i), p in moved.items())
                posteriors.append(posterior)
            power = 1 if hmm else 0.5
            links.append(
                [
                    [
                        round((posteriors[0][j, i] * posteriors[1][i, j]) ** power / UNIT) * UNIT
                        for j in range(len(target))
                    ]
                    for i in range(len(source))
                ]
            )
        self.links = links
        for d in (0, 1):
            if hmm:
                self.inference[d].learn(jumps[d])
            self.learn_fertilities(d)
        return totals

    def learn_fertilities(self, d: int) -> None:
        counts = {word: np.zeros(FERTILITIES) for word in self.types[d]}
        for pair, links in zip(self.pairs, self.links or [], strict=True):
            table = np.array(links) if d == 0 else np.array(links).T
            for word, row in zip(pair[d], table, strict=True):
                counts[word] += convolved(row)
        everything = 10 * np.array(POISSON) + sum(counts.values())
        mean = everything / (10 + sum(c.sum() for c in counts.values()))
        for word, count in counts.items():
            p = count + self.settings.fertility_prior * mean
            self.ratios[d][word] = [*(p[1:-1] / p[:-2]), 1e-10]


def convolved(probabilities: Sequence[float]) -> np.ndarray:
    """The distribution of the number of links that are there, by independent trials."""
    p = np.zeros(FERTILITIES)
    p[0] = 1
    for q in probabilities:
        if q < 1e-3:
            continue
        shifted = np.roll(p, 1)
        shifted[0] = 0
        shifted[-1] += p[-1]
        p = p * (1 - q) + shifted * q
    return p


def normalised(weights: dict[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def make_pairs(seed: int, count: int = 12, words: int = 6, longest: int = 6) -> list[Pair]:
    """Sentences with repeated words, one-word sentences, and a dictionary with noise behind."""
    random_ = random.Random(seed)
    pairs = []
    for _ in range(count):
        source = [f"s{random_.randrange(words)}" for _ in range(random_.randint(1, longest))]
        target = [f"t{w[1:]}" for w in source if random_.random() < 0.8]
        target += [f"t{random_.randrange(words)}" for _ in range(random_.randint(0, 2))]
        pairs.append((source, target or ["t0"]))
    return pairs


def to_engine(pairs: list[Pair]) -> _engine.AlignBitext:
    sides = [io.BytesIO("".join(" ".join(p[s]) + "\n" for p in pairs).encode()) for s in (0, 1)]
    return _engine.AlignBitext.read(sides[0], "s", sides[1], "t", 1000, True, True)


CASES = [  # aligner, iterations of Model 1 and of the HMM, window, similar
    ("model1", 1, 1, 100, 0.0),
    ("model1", 4, 1, 100, 1.0),
    ("hmm", 0, 2, 100, 0.0),
    ("hmm", 2, 3, 100, 0.5),
    ("hmm", 1, 3, 2, 0.0),  # a window shorter than the sentences: tails
    ("fertility", 2, 2, 100, 0.0),
    ("fertility", 2, 3, 100, 1.0),
    ("fertility", 0, 3, 1, 1.0),
]


@pytest.mark.parametrize(("aligner", "model1", "hmm", "window", "similar"), CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_reference(
    aligner: str, model1: int, hmm: int, window: int, similar: float, seed: int
) -> None:
    pairs = make_pairs(seed)
    options = {} if aligner == "model1" else {"hmm_iterations": hmm, "window": window}
    settings = Settings(
        aligner=aligner, model1_iterations=model1, alpha=0.01, p0=0.15, similar=similar, **options
    )
    bitext = to_engine(pairs)
    trained = Aligner.train(bitext, settings, threads=2)
    reference = Reference(pairs, settings)
    assert len(trained.iterations) == settings.passes
    for iteration in trained.iterations:
        expected = reference.step(hmm=iteration.model == "hmm")
        assert list(iteration.log_likelihood.values()) == pytest.approx(expected, rel=1e-4)
    counts = reference.counts()
    for n, (source, target) in enumerate(pairs):
        totals = trained._engine.posteriors(bitext, n)
        for d, engine in enumerate((totals[2], totals[3].T)):
            posterior, total, _ = reference.infer(n, d, counts, aligner)
            assert totals[d] == pytest.approx(total, rel=1e-3)
            sizes = (len(source), len(target)) if d == 0 else (len(target), len(source))
            table = np.zeros((sizes[0] + 1, sizes[1]))
            for (j, i), value in posterior.items():
                table[-1 if i is EMPTY else i, j] += value
            np.testing.assert_allclose(engine, table, atol=2e-3)


@pytest.mark.parametrize("aligner", ["model1", "fertility"])
def test_the_weights_equal_the_reference(aligner: str) -> None:
    pairs = make_pairs(5)
    settings = Settings(aligner=aligner, alpha=0.05, p0=0.2)
    trained = Aligner.train(to_engine(pairs), settings)
    reference = Reference(pairs, settings)
    for iteration in trained.iterations:
        reference.step(hmm=iteration.model == "hmm")
    links, words, free = reference.counts()
    sizes = [len(types) for types in reference.types]
    for source in reference.types[0]:
        row = trained.translations(source)
        assert sorted(row) == sorted(t for (s, t), c in links.items() if s == source and c > 0)
        for target, (f, r) in row.items():
            count = links[source, target] + 0.05
            assert f == pytest.approx(count / (words[0][source] + 0.05 * sizes[1]), rel=1e-3)
            assert r == pytest.approx(count / (words[1][target] + 0.05 * sizes[0]), rel=1e-3)
    for target in reference.types[1]:
        empty = trained._engine.empty(target.encode(), False)
        expected = (free[1][target] + 0.05) / (sum(free[1].values()) + 0.05 * sizes[1])
        assert empty == pytest.approx(expected, rel=1e-3)
    if aligner == "model1":
        return
    inference = reference.inference[1]
    jumps = trained._engine.jumps(True)
    np.testing.assert_allclose(jumps, [w for _, w in sorted(inference.jump.items())], rtol=1e-2)
    starts = trained._engine.starts(True)
    np.testing.assert_allclose(starts, [w for _, w in sorted(inference.start.items())], rtol=1e-2)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_links_are_the_most_probable_ones(direction: Literal["forward", "reverse"]) -> None:
    pairs = make_pairs(3, count=30)
    aligner = Aligner.train(to_engine(pairs), Settings(p0=0.3))
    some_empty = False
    for source, target in pairs:
        found = set(aligner.align(source, target, direction=direction))
        p = aligner.posteriors(source, target)
        table = p.forward if direction == "forward" else p.reverse.T
        best = table.argmax(axis=0)
        points = {(int(i), j) for j, i in enumerate(best) if i < len(table) - 1}
        assert found == (points if direction == "forward" else {(j, i) for i, j in points})
        some_empty |= len(points) < table.shape[1]
    assert some_empty


def test_long_sentences_do_not_underflow() -> None:
    random_ = random.Random(3)
    long = [f"s{random_.randrange(300)}" for _ in range(1000)]
    pairs = [(long, [f"t{w[1:]}" for w in long]), (["s1", "s2"], ["t1", "t2"]), (long[:1], long)]
    settings = Settings(model1_iterations=2, hmm_iterations=2, window=20)
    bitext = to_engine(pairs)
    aligner = Aligner.train(bitext, settings)
    assert all(np.isfinite(list(i.log_likelihood.values())).all() for i in aligner.iterations)
    for n in range(len(pairs)):
        _, _, p, q = aligner._engine.posteriors(bitext, n)
        np.testing.assert_allclose(p.sum(axis=0), 1, atol=1e-4)
        np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-4)
        assert min(p.min(), q.min()) >= 0


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(threads: int) -> None:
    pairs = make_pairs(11, count=3000, words=200, longest=25)
    bitext = to_engine(pairs)
    results = []
    for count in (1, threads):
        aligner = Aligner.train(bitext, Settings(), threads=count)
        out = io.BytesIO()
        aligner._engine.align(bitext, out, "grow-diag", "both", 0.0, count, None)
        results.append((aligner.iterations, out.getvalue()))
    assert results[0] == results[1]
