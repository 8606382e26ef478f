"""Chinese part-of-speech tagging with jieba (the extra `hopefear[zh]`).

jieba segments and tags running text at once. A word gets the tag of jieba's segment at the same
place. If jieba's segmentation differs there, the word gets its tag in jieba's dictionary, or else
the tag of the segment in which it ends, as the last part of a Chinese word is its head.
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
        begins: list[int] = []  # of jieba's segments
        ends: list[int] = []
        segment_tags: list[str] = []
        for segment, tag in self._cutter.cut(text):
            begins.append(ends[-1] if ends else 0)
            ends.append(begins[-1] + len(segment))
            segment_tags.append(tag)
        tags = []
        end = i = 0
        for word in words:
            begin = text.index(word, end)  # at `end`, or after a blank
            end = begin + len(word)
            while ends[i] < end:
                i += 1
            tag = segment_tags[i]
            if (begins[i], ends[i]) != (begin, end):
                tag = self._cutter.word_tag_tab.get(word, tag)
            tags.append(tag)
        return tags

    def versions(self) -> dict[str, str]:
        return jieba_version()
