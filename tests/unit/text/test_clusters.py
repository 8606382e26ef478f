"""Brown clusters: the engine against mutual information computed anew for every merger."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.base.errors import InputError, OptionError
from hopefear.text.clusters import Clusters, cluster

Pairs = Counter[tuple[int, int]]


def information(pairs: Pairs) -> float:
    """Mutual information of the two sides, times the number of pairs."""
    left: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for (a, b), count in pairs.items():
        left[a] += count
        right[b] += count
    total = pairs.total()
    return sum(n * math.log(n * total / (left[a] * right[b])) for (a, b), n in pairs.items())


def slow(lines: list[str], clusters: int) -> dict[str, str]:
    """Paths by the definition."""
    sentences = [line.split() for line in lines]
    counts = Counter(word for words in sentences for word in words)
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    bigrams = Counter(pair for words in sentences for pair in pairwise(words))
    slot: dict[str, int] = {}

    def pairs(renamed: dict[int, int]) -> Pairs:
        found: Pairs = Counter()
        for (a, b), count in bigrams.items():
            if a in slot and b in slot:
                found[renamed.get(slot[a], slot[a]), renamed.get(slot[b], slot[b])] += count
        return found

    def merge() -> tuple[int, int]:
        now = information(pairs({}))
        used = sorted(set(slot.values()))
        lost = {(a, b): now - information(pairs({b: a})) for a, b in combinations(used, 2)}
        least = min(lost.values())
        return next(pair for pair in combinations(used, 2) if lost[pair] <= least + 1e-7)

    free = 0
    wanted = min(clusters, len(order))
    for number, word in enumerate(order):
        slot[word] = free
        free += 1
        if number >= wanted:
            into, gone = merge()
            slot.update({one: into for one, where in slot.items() if where == gone})
            free = gone
    own = dict(slot)
    paths = dict.fromkeys(set(own.values()), "")
    below = {one: [one] for one in paths}
    for _ in range(wanted - 1):
        into, gone = merge()
        for bit, one in (("0", into), ("1", gone)):
            for leaf in below[one]:
                paths[leaf] = bit + paths[leaf]
        below[into] += below.pop(gone)
        slot.update({one: into for one, where in slot.items() if where == gone})
    return {word: paths[where] or "0" for word, where in own.items()}


def of(folder: Path, lines: list[str], **options: int) -> Clusters:
    text = folder / "text"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return cluster([text], **options)[0]


@pytest.mark.engine
@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8), min_size=1, max_size=8),
    st.integers(1, 5),
)
@settings(max_examples=60)
def test_engine_merges_at_the_smallest_loss(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]], clusters: int
) -> None:
    lines = [" ".join(words) for words in sentences]
    found = of(tmp_path_factory.mktemp("clusters"), lines, clusters=clusters)
    assert dict(found.paths) == slow(lines, clusters)


@pytest.mark.engine
def test_words_with_the_same_neighbours_are_together(tmp_path: Path) -> None:
    lines = [
        f"so the {noun} {verb} a {noun2} ."
        for noun in ("cat", "dog", "cow")
        for verb in ("sees", "likes")
        for noun2 in ("bird", "fish")
    ]
    found = of(tmp_path, lines, clusters=11)  # one each: all is in the tree
    for together in ({"cat", "dog", "cow"}, {"sees", "likes"}, {"bird", "fish"}):
        length = min(len(found.paths[word]) for word in together)
        shared = [found.paths[min(together)][:n] for n in range(length)]
        below = [{word for word, path in found.paths.items() if path.startswith(p)} for p in shared]
        assert together in below
    paths = sorted(found.paths.values())
    assert len(set(paths)) == len(found) == 11
    assert not any(b.startswith(a) for a, b in pairwise(paths))


@pytest.mark.engine
def test_information_is_that_of_the_clusters(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a b a b c\nb a c c\n", encoding="utf-8")
    found, report = cluster([text], clusters=2)
    number = {path: i for i, path in enumerate(sorted(set(found.paths.values())))}
    pairs: Pairs = Counter()
    for line in text.read_text(encoding="utf-8").splitlines():
        words = [number[found.paths[word]] for word in line.split()]
        pairs.update(pairwise(words))
    assert report.information == pytest.approx(information(pairs) / pairs.total())
    assert (report.sentences, report.tokens, report.words, report.clusters) == (2, 9, 3, 2)


def test_rare_words_have_no_cluster(tmp_path: Path) -> None:
    found = of(tmp_path, ["a b a b rare"], clusters=10, min_count=2)
    assert set(found.paths) == {"a", "b"}
    assert dict(found.counts) == {"a": 2, "b": 2}


def test_one_word_one_cluster(tmp_path: Path) -> None:
    assert dict(of(tmp_path, ["a"], clusters=3).paths) == {"a": "0"}


def test_a_file_comes_back(tmp_path: Path) -> None:
    found = of(tmp_path, ["a b c a", "č b a d"], clusters=3)
    found.save(tmp_path / "paths.gz")
    assert Clusters.load(tmp_path / "paths.gz") == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("01\tword\n", "paths:1: expected 'path<TAB>word<TAB>count'"),
        ("01\ta\t1\n02\tb\t1\n", "paths:2: expected 'path"),
        ("01\ta\tmany\n", "paths:1: expected a count, found 'many'"),
        ("01\ta\t1\n10\ta\t1\n", "paths:2: 'a' has a path already"),
        ("", "no words"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "paths"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="paths") as caught:
        Clusters.load(path)
    assert message in str(caught.value)


def test_bad_texts(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"\n\n")
    with pytest.raises(InputError, match="no words"):
        cluster([empty])
    odd = tmp_path / "odd"
    odd.write_bytes(b"a \xff b\n")
    with pytest.raises(InputError, match=r"odd:1: byte 0xff at column 3 is not UTF-8"):
        cluster([odd])
    odd.write_bytes(b"\xef\xbb\xbfa b\n")
    assert set(cluster([odd])[0].paths) == {"a", "b"}
    with pytest.raises(InputError, match="smaller min-count"):
        of(tmp_path, ["a b"], min_count=3)
    with pytest.raises(OptionError, match="1 to 5,000"):
        cluster([empty], clusters=0)
