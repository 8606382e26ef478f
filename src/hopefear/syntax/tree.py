"""Phrase-structure trees as flat arrays, and files with a tree per line.

Takes trees in Penn brackets, `(TOP (S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)))`, and returns
`Tree`s. A line `()`, `(())` or nothing is None: no tree. An outer bracket without a label is TOP.
Every word needs a label of its own. Brackets in words are written -LRB- and -RRB-; words are
otherwise as in the file, and `plain_word` undoes the escapes of several tools.

    for tree in read_trees("dev.en.trees"):
        if tree is not None: print(tree.labels[0], tree.words)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hopefear.base.files import PathLike, display_name, open_input

Binarisation = Literal["none", "left", "right", "head"]
NO_TREE = "()"


@dataclass(frozen=True)
class Tree:
    """A tree; nodes are in pre-order, so node 0 is the root.

    `begins` and `ends` are the ranges of words that nodes cover. A node without children is the
    preterminal of one word.
    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]  # -1 for the root
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def children(self, node: int) -> list[int]:
        """Return the children of a node, from left to right."""
        return [child for child in range(node + 1, len(self)) if self.parents[child] == node]

    @property
    def preterminals(self) -> list[int]:
        """The nodes without children, one for each word, from left to right."""
        inner = set(self.parents)
        return [node for node in range(len(self)) if node not in inner]

    @property
    def tags(self) -> list[str]:
        """The labels of the preterminals."""
        return [self.labels[node] for node in self.preterminals]

    def __str__(self) -> str:
        inside: list[list[str]] = [[] for _ in self.labels]  # texts of children, the last first
        text = NO_TREE
        for node in reversed(range(len(self))):
            below = " ".join(reversed(inside[node])) or _escaped(self.words[self.begins[node]])
            text = f"({_escaped(self.labels[node])} {below})"
            if node > 0:
                inside[self.parents[node]].append(text)
        return text


def read_tree(line: str | bytes, place: str = "tree") -> Tree | None:
    """Return the tree of a line, None for `()`; `place` is the line's position, for messages."""
    from hopefear import _engine

    labels, parents, begins, ends, words = _engine.tree_arrays(line.rstrip(), place)
    return Tree(labels, parents, begins, ends, words) if labels else None


def read_trees(path: PathLike) -> Iterator[Tree | None]:
    """Yield the trees of a file, one for each line."""
    with open_input(path) as file:
        for number, line in enumerate(file, 1):
            yield read_tree(line.rstrip(b"\n"), f"{display_name(path)}:{number}")


def plain_word(word: str) -> str:
    r"""Return the word that an escape stands for: `(` for -LRB-, `&` for &amp;, `/` for \/."""
    from hopefear import _engine

    return _engine.plain_word(word)


def normalised(tree: Tree) -> Tree | None:
    """Remove function tags, indices, traces, empty nodes and nodes above one of the same label.

    The result is None if nothing is left.
    """
    return _changed(tree, normalise=True)


def binarised(tree: Tree, direction: Binarisation) -> Tree:
    """Split nodes with more than two children; the new nodes below X have the label @X.

    With `left` new nodes cover the first children, with `right` the last ones; with `head` they
    grow around the head child, first to the right.
    """
    result = _changed(tree, binarise=direction)
    assert result is not None
    return result


def unbinarised(tree: Tree) -> Tree:
    """Remove the nodes whose labels begin with `@`."""
    result = _changed(tree, unbinarise=True)
    assert result is not None
    return result


def _changed(
    tree: Tree,
    *,
    normalise: bool = False,
    binarise: Binarisation = "none",
    unbinarise: bool = False,
) -> Tree | None:
    from hopefear import _engine

    return read_tree(_engine.change_tree(str(tree), "tree", normalise, binarise, unbinarise))


def _escaped(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
