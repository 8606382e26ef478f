"""Trees: brackets in and out, normalising, binarisation, scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.base.errors import InputError
from hopefear.syntax.score import score_files, score_trees
from hopefear.syntax.tree import (
    Tree,
    binarised,
    normalised,
    plain_word,
    read_tree,
    read_trees,
    unbinarised,
)

pytestmark = pytest.mark.engine

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "NN", "TOP", "-LRB-", "PRP$"])
WORDS = st.sampled_from(["a", "the", "-", "-LRB-", "é", "1,000", "''", "$"])
TREES = st.recursive(
    st.builds("({} {})".format, LABELS, WORDS),
    lambda inner: st.builds(
        lambda label, parts: f"({label} {' '.join(parts)})",
        LABELS,
        st.lists(inner, min_size=1, max_size=5),
    ),
    max_leaves=14,
)


def tree_of(line: str) -> Tree:
    tree = read_tree(line)
    assert tree is not None
    return tree


@given(TREES)
def test_round_trip(line: str) -> None:
    tree = tree_of(line)
    assert str(tree) == line
    assert tree_of(str(tree)) == tree
    assert tree.begins[0] == 0
    assert tree.ends[0] == len(tree.words) == len(tree.preterminals)
    for node in range(len(tree)):
        children = tree.children(node)
        if children:
            assert [tree.begins[c] for c in children[1:]] == [tree.ends[c] for c in children[:-1]]
            assert tree.begins[node] == tree.begins[children[0]]
            assert tree.ends[node] == tree.ends[children[-1]]


@settings(max_examples=200)
@given(TREES, st.sampled_from(["left", "right", "head"]))
def test_binarisation_is_undone(line: str, direction: str) -> None:
    tree = tree_of(line)
    binary = binarised(tree, direction)  # type: ignore[arg-type]
    assert all(len(binary.children(node)) <= 2 for node in range(len(binary)))
    assert unbinarised(binary) == tree


def test_directions() -> None:
    tree = tree_of("(NP (DT the) (JJ big) (NN dog) (PP (IN in)))")
    left = "(NP (@NP (@NP (DT the) (JJ big)) (NN dog)) (PP (IN in)))"
    right = "(NP (DT the) (@NP (JJ big) (@NP (NN dog) (PP (IN in)))))"
    head = "(NP (DT the) (@NP (JJ big) (@NP (NN dog) (PP (IN in)))))"
    assert str(binarised(tree, "left")) == left
    assert str(binarised(tree, "right")) == right
    assert str(binarised(tree, "head")) == head
    verb = tree_of("(VP (VBD gave) (NP (NN it)) (PP (TO to)) (ADVP (RB now)))")
    assert str(binarised(verb, "head")) == (
        "(VP (@VP (@VP (VBD gave) (NP (NN it))) (PP (TO to))) (ADVP (RB now)))"
    )


def test_normalising() -> None:
    line = (
        "( (S (NP-SBJ-1 (-NONE- *)) (VP (VBZ is) (NP=2 (NP (NN rain)) (NP (-NONE- *T*-1))) "
        "(-LRB- -LRB-)) (. .)))"
    )
    tree = normalised(tree_of(line))
    assert str(tree) == "(TOP (S (VP (VBZ is) (NP (NN rain)) (-LRB- -LRB-)) (. .)))"
    assert normalised(tree_of("(S (NP (-NONE- *)))")) is None


def test_no_tree() -> None:
    for line in ("", "()", "(())", " ( ( ) ) "):
        assert read_tree(line) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(S (NP (NN dog))", "the tree ends early"),
        ("(S (NN dog)) (S (NN cat))", "text after the end of the tree"),
        ("(S (NN dog)))", "text after the end"),
        ("(NP the dog)", "every word needs a label"),
        ("(NP (DT the) dog)", "every word needs a label"),
        ("(S (NP))", "label 'NP' without a word"),
        ("(S ((NN dog)))", "a bracket without a label"),
        ("dog", r"expected '\('"),
        ("(" * 2000, "the tree ends early|deeper|without a label"),
        ("(S " * 2000 + "(NN a" + ")" * 2001, "deeper than 1000"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.trees"
    path.write_text(f"()\n{line}\n")
    with pytest.raises(InputError, match=message) as error:
        list(read_trees(path))
    assert str(error.value).startswith(f"{path}:2: ")
    assert len(str(error.value)) < 300 + len(str(path))


def test_escapes() -> None:
    words = ["-LRB-", "-RSB-", "1\\/2", "\\*", "&amp;", "R&amp;D", "&apos;s", "``", "-", "&"]
    plain = ["(", "]", "1/2", "*", "&", "R&D", "'s", '"', "-", "&"]
    assert [plain_word(word) for word in words] == plain


# -- scores --

GOLD = "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP it)) (ADVP (RB now))) (. .)))"


def test_a_score_counted_by_hand() -> None:
    # Gold brackets: S 0-5, NP 0-2, VP 2-5, NP 3-4, ADVP 4-5.
    found = "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP it) (NN now))) (. .)))"
    score = score_trees([tree_of(found)], [tree_of(GOLD)])
    assert (score.brackets, score.gold_brackets) == (4, 5)  # NP 3-5 is wrong
    assert (score.precision, score.recall) == (3 / 4, 3 / 5)
    assert score.f1 == pytest.approx(2 / 3)
    assert (score.exact, score.sentences, score.missing) == (0, 1, 0)
    assert score.tags == 5 / 6


def test_missing_trees_roots_and_particles() -> None:
    prt = GOLD.replace("ADVP", "PRT").replace("TOP", "ROOT")
    score = score_trees([tree_of(prt), None, tree_of(GOLD)], [tree_of(GOLD)] * 2 + [None])
    assert (score.sentences, score.missing) == (2, 1)
    assert (score.precision, score.recall, score.exact) == (1, 0.5, 0.5)


def test_punctuation() -> None:
    moved = GOLD.replace("(VP", "(S (VP").replace(" (. .)))", ")) (. .))")
    gold = GOLD.replace("(VP", "(S (VP").replace(" (. .)))", ") (. .)))")
    assert score_trees([tree_of(moved)], [tree_of(gold)]).f1 == 1
    assert score_trees([tree_of(moved)], [tree_of(gold)], punctuation=True).f1 < 1


def test_other_words_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tree 1: word 'cat' is 'dog'"):
        score_trees([tree_of(GOLD.replace("dog", "cat"))], [tree_of(GOLD)])
    with pytest.raises(InputError, match="tree 1: 1 words"):
        score_trees([tree_of("(NN a)")], [tree_of(GOLD)])
    for name, lines in (("a", 1), ("b", 2)):
        (tmp_path / name).write_text(f"{GOLD}\n" * lines)
    with pytest.raises(InputError, match=r"has 1 lines, .* has 2"):
        score_files(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").write_text("()\n")
    with pytest.raises(InputError, match="no gold trees"):
        score_files(tmp_path / "c", tmp_path / "c")
