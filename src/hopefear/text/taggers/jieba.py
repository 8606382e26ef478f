"""Chinese parts of speech by jieba, the extra `hopefear[zh]`.

jieba cuts and tags in one go. The running text of the sentence is given to it, and a word has the
tag of the piece that jieba found in its place. Where jieba cuts otherwise a word has its tag in
jieba's dictionary; one that is not there has that of the piece it ends in, as the last part of a
Chinese word is its head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hopefear.base.registry import register
from hopefear.text.jieba_package import jieba_version, load_jieba
from hopefear.text.scripts import join_unspaced
from hopefear.text.taggers.base import Tagger


@register("tagger", "jieba")
class Jieba(Tagger):
    """Chinese parts of speech by jieba."""

    def __init__(self, language: str, lexicon: Mapping[str, str]) -> None:
        super().__init__(language, lexicon)
        self._cutter = load_jieba("jieba.posseg", "tagger").dt

    def tag(self, words: Sequence[str]) -> list[str]:
        text = join_unspaced(words)
        begins: list[int] = []  # of jieba's pieces
        ends: list[int] = []
        found: list[str] = []
        for piece, tag in self._cutter.cut(text):
            begins.append(ends[-1] if ends else 0)
            ends.append(begins[-1] + len(piece))
            found.append(tag)
        tags = []
        at = piece = 0
        for word in words:
            begin = text.index(word, at)  # there, or behind a blank
            at = begin + len(word)
            while ends[piece] < at:
                piece += 1
            tag = found[piece]
            if (begins[piece], ends[piece]) != (begin, at):
                tag = self._cutter.word_tag_tab.get(word, tag)
            tags.append(tag)
        return tags

    def versions(self) -> dict[str, str]:
        return jieba_version()
