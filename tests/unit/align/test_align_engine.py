"""The engine's Model 1 and HMM against a plain reference: likelihoods, bounds, posteriors, weights.

The reference is written plainly: dictionaries, no scaling, no tricks, doubles. One direction; for
the other one swap the sides.
"""

from __future__ import annotations

import io
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

from hopefear import _engine
from hopefear.align import Aligner, Settings

pytestmark = pytest.mark.engine

FLOOR = 1e-10
MM_STEPS = 10

Pair = tuple[list[str], list[str]]
EMPTY = None
Path = Sequence[int | None]  # the state of each target word


def digamma(x: float) -> float:
    result = 0.0
    while x < 20:
        result -= 1 / x
        x += 1
    y = 1 / (x * x)
    return result + math.log(x) - 0.5 / x - y / 12 + y**2 / 120 - y**3 / 252 + y**4 / 240


class Reference:
    """Training state of one direction; `step` is one iteration."""

    def __init__(
        self,
        pairs: list[Pair],
        alpha: float,
        p0: float,
        uniform: float,
        prior: float,
        width: float,
        window: int,
    ):
        self.pairs, self.alpha, self.p0, self.uniform = pairs, alpha, p0, uniform
        self.prior, self.window = prior * sum(len(target) for _, target in pairs), window
        self.types = sorted({f for _, target in pairs for f in target})
        self.support: dict[str | None, list[str]] = defaultdict(list)
        for source, target in pairs:
            for e in source:
                self.support[e] = sorted({*self.support[e], *target})
        self.support[EMPTY] = self.types
        self.t = {e: dict.fromkeys(fs, 1 / len(fs)) for e, fs in self.support.items()}
        self.divergence = math.nan if alpha > 0 else 0.0
        # Jumps -window - 1 .. window + 1, the outermost stand for all longer ones.
        distances = range(-window - 1, window + 2)
        self.base = normalised({d: 1 / (1 + ((d - 1) / width) ** 2) for d in distances})
        self.start_base = normalised({i: 1 / (1 + (i / width) ** 2) for i in range(window + 2)})
        self.jump, self.start = dict(self.base), dict(self.start_base)

    # Probabilities.

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

    # Posteriors: {(j, i or EMPTY): p}, log-likelihood, jumps {(before or None, i): expected}.

    def model1(self, source: list[str], target: list[str]):
        posterior, total = {}, 0.0
        for j, f in enumerate(target):
            joint = {i: (1 - self.p0) / len(source) * self.t[e][f] for i, e in enumerate(source)}
            joint[EMPTY] = self.p0 * self.t[EMPTY][f]
            z = sum(joint.values())
            total += math.log(z)
            for i, p in joint.items():
                posterior[j, i] = p / z
        return posterior, total, {}

    def hmm(self, source: list[str], target: list[str]):
        """Forward-backward over states (last real position or -1, is this word from nothing)."""
        size, length = len(source), len(target)
        states = [(i, empty) for i in range(-1, size) for empty in (False, True)]

        def move(a, b):
            (before, _), (i, empty) = a, b
            if empty:
                return self.p0 if i == before else 0.0
            return 0.0 if i < 0 else self.by_distance(i, before, size) + self.anywhere(size)

        def emit(b, f):
            return self.t[EMPTY][f] if b[1] else self.t[source[b[0]]][f]

        moves = {(a, b): p for a in states for b in states if (p := move(a, b)) > 0}
        forward = [{(-1, True): 1.0}]
        for f in target:
            column = defaultdict(float)
            for (a, b), p in moves.items():
                column[b] += forward[-1].get(a, 0.0) * p * emit(b, f)
            forward.append(column)
        final = {a: self.by_distance(size, a[0], size) + self.anywhere(size) for a in states}
        backward = [final]
        for f in reversed(target):
            column = defaultdict(float)
            for (a, b), p in moves.items():
                column[a] += p * emit(b, f) * backward[0].get(b, 0.0)
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
                        forward[j].get(a, 0.0) * p * emit(b, target[j]) * backward[j + 1][b] / z
                    )
        for a, p in forward[-1].items():
            jumps[a[0], size] += p * self.by_distance(size, a[0], size) / z
        return posterior, math.log(z), jumps

    # Training.

    def step(self, *, hmm: bool) -> tuple[float, float]:
        """One iteration; log-likelihood and bound of the weights it begins with."""
        counts = {e: defaultdict(float) for e in self.support}
        self.ranges = []
        jump_counts, start_counts = defaultdict(float), defaultdict(float)
        total = 0.0
        for source, target in self.pairs:
            posterior, value, jumps = (self.hmm if hmm else self.model1)(source, target)
            total += value
            for (j, i), p in posterior.items():
                counts[EMPTY if i is EMPTY else source[i]][target[j]] += p
            for (before, i), p in jumps.items():
                if before < 0:
                    start_counts[min(i, self.window + 1)] += p
                else:
                    jump_counts[self.clip(i - before)] += p
                self.ranges.append((before, len(source), p))
        bound = total - self.divergence + (self.log_prior() if hmm else 0.0)
        self.maximise(counts)
        if hmm:
            for _ in range(MM_STEPS):
                self.improve_jumps(jump_counts, start_counts)
        return total, bound

    def maximise(self, counts) -> None:
        self.divergence = 0.0
        a = self.alpha
        for e, support in self.support.items():
            c = {f: counts[e][f] for f in support}
            total, size = sum(c.values()), len(support)
            if a == 0:
                self.t[e] = {f: max(c[f] / total, FLOOR) for f in support}
                continue
            norm = digamma(total + a * size)
            self.t[e] = {f: max(math.exp(digamma(c[f] + a) - norm), FLOOR) for f in support}
            # KL(Dir(c + a) || Dir(a)).
            self.divergence += math.lgamma(total + a * size) - math.lgamma(a * size)
            for f in support:
                self.divergence += math.lgamma(a) - math.lgamma(c[f] + a)
                self.divergence += c[f] * (digamma(c[f] + a) - norm)

    def log_prior(self) -> float:
        return self.prior * sum(
            b * math.log(w[d] / sum(w.values()))
            for w, base in ((self.jump, self.base), (self.start, self.start_base))
            for d, b in base.items()
        )

    def improve_jumps(self, jump_counts, start_counts) -> None:
        """A step of minorise-maximise: count over (how often possible, by its share)."""
        jump_need, start_need = defaultdict(float), defaultdict(float)
        for before, size, p in self.ranges:
            if before < 0:
                keys = [min(k, self.window + 1) for k in range(size + 1)]
                weights, need = self.start, start_need
            else:
                keys = [self.clip(k - before) for k in range(size + 1)]
                weights, need = self.jump, jump_need
            total = sum(weights[k] for k in keys)
            for k in keys:
                need[k] += p / total
        self.jump = normalised(
            {
                d: (jump_counts[d] + self.prior * b)
                / (jump_need[d] + self.prior / sum(self.jump.values()))
                for d, b in self.base.items()
            }
        )
        self.start = normalised(
            {
                d: (start_counts[d] + self.prior * b)
                / (start_need[d] + self.prior / sum(self.start.values()))
                for d, b in self.start_base.items()
            }
        )

    # The best path by trying all.

    def score(self, source: list[str], target: list[str], path: Path) -> float:
        """Of a path; a jump counts with the better of its two explanations."""
        p, before, size = 1.0, -1, len(source)
        for f, i in zip(target, path, strict=True):
            if i is EMPTY:
                p *= self.p0 * self.t[EMPTY][f]
                continue
            p *= self.t[source[i]][f]
            p *= max(self.by_distance(i, before, size), self.anywhere(size))
            before = i
        return p * max(self.by_distance(size, before, size), self.anywhere(size))

    def best_score(self, source: list[str], target: list[str]) -> float:
        paths = itertools.product([*range(len(source)), EMPTY], repeat=len(target))
        return max(self.score(source, target, path) for path in paths)


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


def swapped(pairs: list[Pair]) -> list[Pair]:
    return [(target, source) for source, target in pairs]


def directions(pairs: list[Pair], settings: Settings) -> dict[str, Reference]:
    names = ("alpha", "p0", "uniform", "jump_prior", "jump_width", "window")
    extra = [getattr(settings, name) for name in names]
    return {"forward": Reference(pairs, *extra), "reverse": Reference(swapped(pairs), *extra)}


CASES = [  # alpha, iterations of Model 1 and of the HMM, window
    (0.0, 4, 0, 100),
    (0.01, 4, 0, 100),
    (0.5, 3, 0, 100),
    (0.0, 2, 3, 100),
    (0.01, 2, 4, 100),
    (0.1, 0, 3, 100),
    (0.01, 1, 3, 2),  # a window shorter than the sentences: tails
    (0.0, 1, 3, 1),
]


@pytest.mark.parametrize(("alpha", "model1", "hmm", "window"), CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_reference(alpha: float, model1: int, hmm: int, window: int, seed: int) -> None:
    pairs = make_pairs(seed)
    settings = Settings(
        model1_iterations=model1,
        hmm_iterations=hmm,
        alpha=alpha,
        p0=0.15,
        uniform=0.1 * seed - 0.1,
        jump_prior=0.1,
        jump_width=1.5,
        window=window,
    )
    bitext = to_engine(pairs)
    aligner = Aligner.train(bitext, settings, threads=2)
    for direction, reference in directions(pairs, settings).items():
        for iteration in aligner.iterations:
            likelihood, bound = reference.step(hmm=iteration.model == "hmm")
            assert iteration.log_likelihood[direction] == pytest.approx(likelihood, rel=1e-6)
            found = iteration.bound[direction]
            assert found == pytest.approx(bound, rel=1e-6) if bound == bound else found is None
        for n, (source, target) in enumerate(reference.pairs):
            expected, total, _ = (reference.hmm if hmm else reference.model1)(source, target)
            forward_total, reverse_total, p, q = aligner._engine.posteriors(bitext, n)
            engine = p if direction == "forward" else q.T
            engine_total = forward_total if direction == "forward" else reverse_total
            assert engine_total == pytest.approx(total, rel=1e-6)
            table = np.zeros((len(source) + 1, len(target)))
            for (j, i), value in expected.items():
                table[-1 if i is EMPTY else i, j] += value
            np.testing.assert_allclose(engine, table, atol=2e-6)


@pytest.mark.parametrize("hmm", [0, 3])
def test_the_weights_equal_the_reference(hmm: int) -> None:
    pairs = make_pairs(5)
    settings = Settings(model1_iterations=3, hmm_iterations=hmm, alpha=0.05, p0=0.2)
    aligner = Aligner.train(to_engine(pairs), settings)
    forward, reverse = directions(pairs, settings).values()
    for reference in (forward, reverse):
        for iteration in aligner.iterations:
            reference.step(hmm=iteration.model == "hmm")
    for source in forward.support:
        if source is EMPTY:
            continue
        row = aligner.translations(source)
        assert sorted(row) == forward.support[source]
        for target, (f, r) in row.items():
            assert f == pytest.approx(forward.t[source][target], rel=1e-5, abs=1e-9)
            assert r == pytest.approx(reverse.t[target][source], rel=1e-5, abs=1e-9)
    for target in forward.types:
        empty = aligner._engine.empty(target.encode(), False)
        assert empty == pytest.approx(forward.t[EMPTY][target], rel=1e-5, abs=1e-9)
    jumps = aligner._engine.jumps(True)
    np.testing.assert_allclose(jumps, [w for _, w in sorted(reverse.jump.items())], rtol=1e-4)
    starts = aligner._engine.starts(True)
    np.testing.assert_allclose(starts, [w for _, w in sorted(reverse.start.items())], rtol=1e-4)


@pytest.mark.parametrize("window", [100, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_path_is_the_best_of_all(seed: int, window: int) -> None:
    pairs = make_pairs(seed, count=10, words=4, longest=4)
    pairs = [(s, t[:5]) for s, t in pairs]
    settings = Settings(model1_iterations=1, hmm_iterations=2, p0=0.3, window=window)
    aligner = Aligner.train(to_engine(pairs), settings)
    reference = directions(pairs, settings)["forward"]
    for iteration in aligner.iterations:
        reference.step(hmm=iteration.model == "hmm")
    some_empty = False
    for source, target in pairs:
        found = {j: i for i, j in aligner.align(source, target, direction="forward")}
        path = [found.get(j, EMPTY) for j in range(len(target))]
        best = reference.best_score(source, target)  # several paths may have it
        assert reference.score(source, target, path) == pytest.approx(best, rel=1e-5)
        some_empty |= EMPTY in path
    assert some_empty


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("window", [100, 3])
def test_the_bound_never_falls(alpha: float, window: int) -> None:
    pairs = make_pairs(7, count=200, words=40, longest=15)
    settings = Settings(model1_iterations=12, hmm_iterations=15, alpha=alpha, window=window)
    aligner = Aligner.train(to_engine(pairs), settings)
    for direction in ("forward", "reverse"):
        for model in ("model1", "hmm"):
            bounds = [i.bound[direction] for i in aligner.iterations if i.model == model]
            bounds = [b for b in bounds if b is not None]
            for before, after in itertools.pairwise(bounds):
                assert after >= before - 1e-7 * abs(before)
            assert bounds[-1] > bounds[0]


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
        aligner = Aligner.train(bitext, Settings(model1_iterations=2), threads=count)
        out = io.BytesIO()
        aligner._engine.align(bitext, out, "grow-diag", "both", 0.0, count, None)
        results.append((aligner.iterations, out.getvalue()))
    # The first iteration has no bound (None), everything else is equal to the last bit.
    assert results[0] == results[1]
