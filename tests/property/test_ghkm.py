"""String-to-tree rules equal those found by trying all pieces of small random trees."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.rules.ghkm import GhkmExtractOptions, TreeRule, rules_of
from hopefear.syntax.tree import Tree, read_tree

pytestmark = pytest.mark.engine
LABELS = ("A", "B", "C")


def random_tree(rng: random.Random, nodes: int) -> str:
    """A tree of about so many nodes; words are w0, w1, ..."""
    words = itertools.count()

    def grow(budget: int) -> tuple[str, int]:
        label = rng.choice(LABELS)
        if budget <= 1 or rng.random() < 0.2:
            return f"({label} w{next(words)})", 1
        used, parts = 1, []
        for _ in range(rng.choice((1, 2, 2, 3))):
            if used < budget:
                part, cost = grow(budget - used)
                parts.append(part)
                used += cost
        return f"({label} {' '.join(parts)})", used

    return grow(nodes)[0]


def case(seed: int) -> tuple[list[str], Tree, list[tuple[int, int]]]:
    rng = random.Random(seed)
    tree = read_tree(random_tree(rng, rng.randint(1, 8)))
    assert tree is not None
    source = [f"f{i}" for i in range(rng.randint(1, 5))]
    cells = [(f, e) for f in range(len(source)) for e in range(len(tree.words))]
    points = rng.sample(cells, min(len(cells), rng.randint(1, 5)))
    return source, tree, sorted(points)


def below(tree: Tree, node: int) -> list[int]:
    """A node and all nodes below it."""
    found = [node]
    for n in range(node + 1, len(tree)):
        if tree.parents[n] in found:
            found.append(n)
    return found


class Brute:
    """Rules by the definition: every connected piece of the tree whose root and open nodes are
    frontier nodes, and that is a union of minimal pieces.
    """

    def __init__(self, source: list[str], tree: Tree, points: list[tuple[int, int]]):
        self.source, self.tree, self.points = source, tree, points
        self.under = {n: set(below(tree, n)) for n in range(len(tree))}
        self.aligned = {f for f, _ in points}

    def attach(self) -> dict[int, int]:
        """Moses's way: an unaligned word is a child of the lowest node around its neighbours."""
        places = {}
        for f in range(len(self.source)):
            if f in self.aligned:
                continue
            left = max((g for g in self.aligned if g < f), default=None)
            right = min((g for g in self.aligned if g > f), default=None)
            if left is None or right is None:
                places[f] = 0
                continue
            words = [e for g, e in self.points if g in (left, right)]
            around = [
                n
                for n in range(len(self.tree))
                if self.tree.begins[n] <= min(words) and max(words) < self.tree.ends[n]
            ]
            places[f] = max(around)  # the last in pre-order of a chain is the lowest
        return places

    def spans(self, places: dict[int, int]) -> dict[int, set[int]]:
        return {
            n: {f for f, e in self.points if self.tree.begins[n] <= e < self.tree.ends[n]}
            | {f for f, place in places.items() if place in self.under[n]}
            for n in range(len(self.tree))
        }

    def frontier(self, places: dict[int, int]) -> dict[int, tuple[int, int]]:
        spans = self.spans(places)
        found = {}
        for n, span in spans.items():
            if not span:
                continue
            outside = {
                f for f, e in self.points if not self.tree.begins[n] <= e < self.tree.ends[n]
            } | {f for f, place in places.items() if place not in self.under[n]}
            if any(min(span) <= f <= max(span) for f in outside):
                continue
            if n > 0 and span == spans[self.tree.parents[n]]:
                continue
            found[n] = (min(span), max(span) + 1)
        return found

    def rules(self, options: dict[str, int]) -> Counter[tuple[Any, ...]]:
        places = self.attach()
        frontier = self.frontier(places)
        leaves = set(self.tree.preterminals)
        found: Counter[tuple[Any, ...]] = Counter()
        for root in frontier:
            inner = [n for n in frontier if n != root and n in self.under[root]]
            for size in range(len(inner) + 1):
                for opened in itertools.combinations(inner, size):
                    if any(b in self.under[a] for a, b in itertools.permutations(opened, 2)):
                        continue  # one is inside another
                    hidden = set().union(*(self.under[n] for n in opened)) if opened else set()
                    piece = [n for n in sorted(self.under[root]) if n not in hidden]
                    # Frontier nodes that are neither open nor inside: expanded ones.
                    minimal = not any(n in frontier for n in piece if n != root)
                    phrases = [n for n in piece if n not in leaves or n in places.values()]
                    depth = max((self.level(n, root) + 1 for n in phrases), default=0)
                    nodes = len(piece) + len(opened)
                    fits = (
                        nodes <= options["max_nodes"]
                        and len(phrases) <= options["max_size"]
                        and depth <= options["max_depth"]
                    )
                    if not minimal and not fits:
                        continue
                    rule = self.rule(root, opened, frontier)
                    if rule is not None and self.scope(rule[0]) <= options["max_scope"]:
                        found[rule] += 1
        return found

    def level(self, n: int, root: int) -> int:
        level = 0
        while n != root:
            n = self.tree.parents[n]
            level += 1
        return level

    @staticmethod
    def scope(side: tuple[str, ...]) -> int:
        holes = [word.startswith("[") for word in side]
        return holes[0] + holes[-1] + sum(a and b for a, b in itertools.pairwise(holes))

    def rule(
        self, root: int, opened: tuple[int, ...], spans: dict[int, tuple[int, int]]
    ) -> tuple[Any, ...] | None:
        begin, end = spans[root]
        order = sorted(opened, key=lambda n: spans[n])
        source: list[str] = []
        at = begin
        for k, n in enumerate(order):
            source += self.source[at : spans[n][0]]
            source.append(f"[{self.tree.labels[n]},{k + 1}]")
            at = spans[n][1]
        source += self.source[at:end]

        def side(n: int) -> Iterator[str]:
            if n in opened:
                yield f"[{self.tree.labels[n]},{order.index(n) + 1}]"
            elif not self.tree.children(n):
                yield self.tree.words[self.tree.begins[n]]
            else:
                for child in self.tree.children(n):
                    yield from side(child)

        return tuple(source), tuple(side(root)), self.tree.labels[root]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([(15, 3, 3, 3), (4, 2, 2, 1), (99, 99, 99, 99)]))
def test_rules_equal_enumeration(seed: int, limits: tuple[int, int, int, int]) -> None:
    source, tree, points = case(seed)
    names = ("max_nodes", "max_size", "max_depth", "max_scope")
    options = dict(zip(names, limits, strict=True))
    expected = Brute(source, tree, points).rules(options)
    found = Counter(
        (rule.source, rule.target, rule.label)
        for rule in rules_of(source, str(tree), points, GhkmExtractOptions(**options))
    )
    assert found == expected


def derivable(source: list[str], tree: Tree, rules: list[TreeRule]) -> set[str]:
    """The trees that the rules derive for the whole source sentence, of parts of `tree` only."""
    length, gold = len(source), str(tree)
    chart: dict[tuple[int, int, str], set[str]] = {}

    def matches(side: tuple[str, ...], at: int, end: int) -> Iterator[list[str]]:
        if not side:
            if at == end:
                yield []
            return
        head, rest = side[0], side[1:]
        if head.startswith("["):
            label = head[1:].rpartition(",")[0]
            for middle in range(at + 1, end + 1):
                for inner in list(chart.get((at, middle, label), ())):
                    for others in matches(rest, middle, end):
                        yield [inner, *others]
        elif at < end and source[at] == head:
            yield from matches(rest, at + 1, end)

    for width in range(1, length + 1):
        for begin in range(length - width + 1):
            for _ in range(8):  # rules over one nonterminal, as many as a tree has nodes
                for rule in rules:
                    for parts in matches(rule.source, begin, begin + width):
                        text = rule.fragment
                        for k, part in enumerate(parts):
                            text = text.replace(f"[{k + 1}]", part)
                        if text in gold:
                            key = (begin, begin + width, rule.label)
                            chart.setdefault(key, set()).add(text)
    return chart.get((0, length, tree.labels[0]), set())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["peer", "all"]), st.booleans())
def test_minimal_rules_derive_the_pair_with_its_tree(seed: int, mode: Any, unary: bool) -> None:
    source, tree, points = case(seed)
    options = GhkmExtractOptions(
        composed=False, max_scope=99, unaligned=mode, unary=unary, attachments="whole"
    )
    rules = rules_of(source, str(tree), points, options)
    assert str(tree) in derivable(source, tree, rules)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_all_attachments_include_those_of_the_peer(seed: int) -> None:
    source, tree, points = case(seed)
    # Without unary rules, nodes of a chain count as equal if their aligned words are.
    limits: dict[str, Any] = {"composed": False, "max_scope": 99, "unary": True}
    peer = rules_of(source, str(tree), points, GhkmExtractOptions(**limits))
    options = GhkmExtractOptions(**limits, unaligned="all", max_attached=99, attachments="whole")
    rules = rules_of(source, str(tree), points, options)
    everything = {(r.source, r.target, r.label) for r in rules}
    assert everything >= {(r.source, r.target, r.label) for r in peer}
    if len({f for f, _ in points}) == len(source):
        assert len(everything) == len({(r.source, r.target, r.label) for r in peer})
    # The ways of a piece of tree share a count of 1.
    shared: Counter[tuple[str, str]] = Counter()
    for rule in rules_of(
        source, str(tree), points, GhkmExtractOptions(composed=False, unaligned="all", max_scope=99)
    ):
        shared[rule.label, rule.fragment] += rule.weight
    assert all(abs(count - round(count)) < 1e-6 for count in shared.values())


def test_the_ways_of_an_unaligned_word() -> None:
    tree = "(S (NP (N w0)) (VP (V w1)))"
    source, points = ["a", "x", "b"], [(0, 0), (2, 1)]
    options = GhkmExtractOptions(composed=False, unaligned="all", attachments="whole")
    found = {(" ".join(r.source), r.label) for r in rules_of(source, tree, points, options)}
    assert found == {
        ("[NP,1] x [VP,2]", "S"),
        ("[NP,1] [VP,2]", "S"),
        ("a", "NP"),
        ("a x", "NP"),
        ("b", "VP"),
        ("x b", "VP"),
    }
    peer = GhkmExtractOptions(composed=False)
    found = {(" ".join(r.source), r.label) for r in rules_of(source, tree, points, peer)}
    assert found == {("[NP,1] x [VP,2]", "S"), ("a", "NP"), ("b", "VP")}
