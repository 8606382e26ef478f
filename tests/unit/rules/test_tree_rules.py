"""Tables of string-to-tree rules and of hierarchical rules with labels."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import pytest

from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.rules.extract import ExtractOptions, extract
from hopefear.rules.ghkm import GhkmExtractOptions
from hopefear.rules.samt import SamtExtractOptions, span_label
from hopefear.rules.table import RuleTable
from hopefear.syntax.tree import read_tree
from hopefear.text.world import generate

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of the world, with an alignment by position, which is as good as any."""
    folder = tmp_path_factory.mktemp("texts")
    world = generate(train=400, dev=0, test=0, seed=4, trees=True)
    lines: dict[str, list[str]] = defaultdict(list)
    for number, sentence in enumerate(world.train):
        source, target = sentence.source.split(), sentence.references[0].split()
        points = {(i * len(source) // len(target), i) for i in range(len(target)) if i % 7 != 3}
        lines["zh"].append(sentence.source)
        lines["en"].append(sentence.references[0])
        lines["align"].append(" ".join(f"{f}-{e}" for f, e in sorted(points)))
        lines["trees"].append(sentence.trees[0] if number % 50 else "()")
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    return folder


def table_of(texts: Path, path: Path, options: ExtractOptions) -> RuleTable:
    extract(texts / "zh", texts / "en", texts / "align", path, options)
    return RuleTable.open(path)


KINDS = [GhkmExtractOptions, SamtExtractOptions]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_and_threads_do_not_change_the_table(
    kind: type[ExtractOptions], texts: Path, tmp_path: Path
) -> None:
    found = set()
    for threads, memory in ((1, 1 << 30), (3, 1 << 30), (2, 1 << 20)):
        options = kind(trees=texts / "trees", threads=threads, memory=Size(memory))  # type: ignore[call-arg]
        path = tmp_path / f"{threads}.bin"
        report = extract(texts / "zh", texts / "en", texts / "align", path, options)
        assert report["trees"] == 392
        found.add(path.read_bytes())
    assert len(found) == 1


def test_fragments_and_probabilities(texts: Path, tmp_path: Path) -> None:
    options = GhkmExtractOptions(trees=texts / "trees", limit=0)
    table = table_of(texts, tmp_path / "rules.bin", options)
    assert table.columns[-1] == "p(r|root)"
    assert table.info["system"] == "tree"
    assert "trees" not in table.info
    roots: dict[str, float] = defaultdict(float)
    by_root: dict[str, float] = defaultdict(float)
    by_source: dict[tuple[str, ...], float] = defaultdict(float)
    by_target: dict[tuple[str, ...], float] = defaultdict(float)
    rules = list(table)
    assert len(rules) > 1000
    for rule in rules:
        assert rule.fragment is not None
        assert rule.label is not None
        # The piece of tree has the root's label and the target side as its leaves.
        holes = [word for word in rule.target if word.startswith("[")]
        line = rule.fragment
        for hole in holes:
            line = line.replace(hole, f"({hole[1:-1].rpartition(',')[0]} hole)")
        tree = read_tree(line)
        assert tree is not None
        assert tree.labels[0] == rule.label
        leaves = ["hole" if word.startswith("[") else word for word in rule.target]
        assert list(tree.words) == [
            leaf.replace("(", "-LRB-").replace(")", "-RRB-") for leaf in leaves
        ]
        roots[rule.label] += rule.counts.joint
        by_root[rule.label] += math.exp(rule.scores[-1])
        by_source[rule.source] += math.exp(rule.scores[2])
        side = (*(word.rpartition(",")[0] or word for word in rule.target), rule.label)
        by_target[side] += math.exp(rule.scores[0])
    assert all(total == pytest.approx(1, rel=1e-4) for total in by_source.values())
    assert all(total == pytest.approx(1, rel=1e-4) for total in by_target.values())
    assert all(total <= 1 + 1e-6 for total in by_root.values())  # some is left for unseen rules
    assert sum(roots.values()) == sum(rule.counts.joint for rule in rules)


def test_labels_of_spans() -> None:
    tree = "(S (NP (DT the) (JJ old) (NN dog)) (VP (VBD saw) (NP (PRP it))) (. .))"
    expected = {
        (0, 3): "NP",
        (4, 5): "NP",  # the topmost of NP and PRP
        (0, 6): "S",
        (0, 5): "NP+VP",
        (0, 2): "DT+JJ",
        (1, 3): "JJ+NN",
        (3, 6): "VP+.",
        (2, 5): "NN+VP",
        (0, 4): "NP+VBD",
        (1, 5): "X",
        (2, 4): "NN+VBD",
    }
    assert {span: span_label(tree, *span) for span in expected} == expected
    flat = "(NP (DT a) (JJ b) (JJ c) (NN d))"
    assert span_label(flat, 0, 3) == "NP/NN"
    assert span_label(flat, 1, 4) == "NP\\DT"
    assert span_label(flat, 0, 4) == "NP"


def test_hierarchical_rules_keep_their_counts(texts: Path, tmp_path: Path) -> None:
    table = table_of(
        texts, tmp_path / "samt.bin", SamtExtractOptions(trees=texts / "trees", limit=0)
    )
    from hopefear.rules.hiero import HieroExtractOptions

    plain = table_of(texts, tmp_path / "hiero.bin", HieroExtractOptions(limit=0))

    def bare(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            f"[{word.rpartition(',')[2]}" if word.startswith("[") else word for word in words
        )

    sums: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = defaultdict(float)
    for rule in table:
        assert rule.fragment is None
        sums[bare(rule.source), bare(rule.target)] += rule.counts.joint
    expected = {(bare(rule.source), bare(rule.target)): rule.counts.joint for rule in plain}
    assert sums.keys() == expected.keys()
    for key, count in expected.items():
        assert sums[key] == pytest.approx(count, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_trees(kind: type[ExtractOptions], texts: Path, tmp_path: Path) -> None:
    lines = (texts / "trees").read_text().splitlines()
    cases = {
        "short": (lines[:-1], "has 399 lines, the text 400"),
        "long": ([*lines, "()"], "has 401 lines, the text 400"),
        "other": ([lines[0], *lines[2:], lines[1]], r"other:2: .* (words|of the tree is)"),
        "broken": (["(S (NP", *lines[1:]], "broken:1: the tree ends early|broken:1: label"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in content))
        with pytest.raises(InputError, match=message):
            table_of(texts, tmp_path / "rules.bin", kind(trees=tmp_path / name))  # type: ignore[call-arg]
        assert not (tmp_path / "rules.bin").exists()
    with pytest.raises(OptionError, match="--trees is missing"):
        table_of(texts, tmp_path / "rules.bin", kind())


def test_escapes_are_the_same_word(tmp_path: Path) -> None:
    files = {"f": "a b c", "e": "( R&D '", "align": "0-0 1-1 2-2", "trees": ""}
    files["trees"] = "(NP (-LRB- -LRB-) (NN R&amp;D) (POS &apos;))"
    for name, line in files.items():
        (tmp_path / name).write_text(line + "\n")
    options = GhkmExtractOptions(trees=tmp_path / "trees")
    extract(tmp_path / "f", tmp_path / "e", tmp_path / "align", tmp_path / "rules.bin", options)
    table = RuleTable.open(tmp_path / "rules.bin")
    (rule,) = table.lookup(["a"])
    assert (rule.target, rule.label, rule.fragment) == (("(",), "-LRB-", "(-LRB- -LRB-)")


def test_binarised_trees_have_more_frontier_nodes(texts: Path, tmp_path: Path) -> None:
    plain = table_of(texts, tmp_path / "a.bin", GhkmExtractOptions(trees=texts / "trees"))
    binary = table_of(
        texts, tmp_path / "b.bin", GhkmExtractOptions(trees=texts / "trees", binarise="head")
    )
    assert not any(rule.label.startswith("@") for rule in plain if rule.label)
    assert any(rule.label.startswith("@") for rule in binary if rule.label)
