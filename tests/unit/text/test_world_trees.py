"""The gold trees of the built-in world."""

from __future__ import annotations

from collections import Counter

import pytest

from hopefear.syntax.tree import Tree, read_tree
from hopefear.text.world import World, generate
from hopefear.text.world_grammar.trees import without_words


@pytest.fixture(scope="module")
def world() -> World:
    return generate(train=3000, dev=300, test=0, seed=2, trees=True)


def trees_of(world: World) -> list[tuple[Tree, str]]:
    found = []
    for sentence in (*world.train, *world.dev):
        for text, line in zip(sentence.references, sentence.trees, strict=True):
            tree = read_tree(line)
            assert tree is not None
            found.append((tree, text))
    return found


def test_the_leaves_are_the_text(world: World) -> None:
    for tree, text in trees_of(world):
        assert " ".join(tree.words) == text


def test_texts_are_those_of_a_world_without_trees(world: World) -> None:
    plain = generate(train=3000, dev=300, test=0, seed=2)
    for a, b in zip((*plain.train, *plain.dev), (*world.train, *world.dev), strict=True):
        assert (a.source, a.references, a.trees) == (b.source, b.references, ())


def test_labels_are_those_of_the_treebank(world: World) -> None:
    phrases: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for tree, _ in trees_of(world):
        leaves = set(tree.preterminals)
        for node, label in enumerate(tree.labels):
            (tags if node in leaves else phrases)[label] += 1
    known = [
        "TOP",
        "S",
        "SQ",
        "SBAR",
        "SBARQ",
        "NP",
        "VP",
        "PP",
        "ADVP",
        "ADJP",
        "PRT",
        "QP",
        "INTJ",
        "WHNP",
        "WHADVP",
    ]
    assert set(phrases) <= set(known)
    known_tags = ", . : CC CD DT EX IN JJ JJR MD NN NNP NNS POS PRP PRP$ RB RBR RP TO UH VB VBD VBG"
    assert set(tags) <= {*known_tags.split(), "VBN", "VBP", "VBZ", "WDT", "WP", "WRB"}


def test_sentences_have_subject_and_predicate(world: World) -> None:
    clauses = good = 0
    for sentence in world.dev:
        for line in sentence.trees:
            tree = read_tree(line)
            assert tree is not None
            for node, label in enumerate(tree.labels):
                if label in ("S", "SQ"):
                    below = [tree.labels[child] for child in tree.children(node)]
                    clauses += 1
                    good += bool({"VP", "S", "MD", "VBD", "VBZ", "VBP"} & set(below))
    assert good == clauses


def test_words_are_left_out_of_a_tree() -> None:
    tree = "(TOP (S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)))"
    assert without_words(tree, 0, 1) == "(TOP (S (NP (NN dog)) (VP (VBD slept)) (. .)))"
    assert without_words(tree, 0, 2) == "(TOP (S (VP (VBD slept)) (. .)))"
    assert without_words(tree, 1, 2) == "(TOP (S (NP (DT the)) (. .)))"
