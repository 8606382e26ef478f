"""The n-best lists of SRILM and of recognisers with its formats: one file for each utterance.

    NBestList1.0                                         NBestList2.0
    (-1234) the cat sat                                  (-1234) the ( st: 0 et: 1 g: -2 a: -9 ) …

    -95.2 -3.1 3 the cat sat              acoustic and language model score, base 10; words

The id is the name of the file without its suffixes. Features, base e: `model`, or `acoustic`, `lm`
and `words`; scores of the first two formats are bytelogs, 1024 / 10000.5 of a natural log. In the
second format, phones inside the time of a word are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, number, numbered_lines

BYTELOG = 1024 / 10000.5
_WORD_FIELDS = 11  # w ( st: S et: E g: G a: A )


@register("list-format", "srilm")
@dataclass(kw_only=True)
class Srilm(ListFormat):
    """N-best lists of SRILM, one file for each utterance."""

    def read(self, path: Path) -> Iterator[Entry]:
        id = re.sub(r"(\.(gz|score|nbest|txt))+$", "", path.name)
        kind = 0
        for place, line in numbered_lines(path):
            fields = line.split()
            if fields[0] in ("NBestList1.0", "NBestList2.0"):
                kind = int(fields[0][9])
                continue
            if kind == 0:
                text, features = _plain(fields, place)
            else:
                text, features = _decipher(fields, place, times=kind == 2)
            yield {"id": id, "text": text, "features": features}


def _plain(fields: list[str], place: str) -> tuple[str, dict[str, float]]:
    if len(fields) < 3:
        raise InputError(f"{place}: {len(fields)} fields, expected 'acoustic lm words w1 w2 …'")
    acoustic, lm, count = (number(field, place, "a score") for field in fields[:3])
    scores = {"acoustic": acoustic * math.log(10), "lm": lm * math.log(10), "words": count}
    return " ".join(fields[3:]), scores


def _decipher(fields: list[str], place: str, *, times: bool) -> tuple[str, dict[str, float]]:
    match = re.fullmatch(r"\((.+)\)", fields[0])
    if match is None:
        raise InputError(f"{place}: {fields[0]!r:.40}, expected a score in parentheses")
    features = {"model": number(match[1], place, "the score") * BYTELOG}
    if not times:
        return " ".join(fields[1:]), features
    words, sums, end = [], {"lm": 0.0, "acoustic": 0.0}, -math.inf
    if (len(fields) - 1) % _WORD_FIELDS:
        raise InputError(f"{place}: a word without 'st: et: g: a:' in parentheses")
    for at in range(1, len(fields), _WORD_FIELDS):
        word = fields[at]
        start = number(fields[at + 3], place, "st:")
        stop = number(fields[at + 5], place, "et:")
        if start <= end or re.search(r"-[0-9]$", word):
            continue  # a phone or state of the word before
        words.append(word)
        end = stop
        sums["lm"] += number(fields[at + 7], place, "g:") * BYTELOG
        sums["acoustic"] += number(fields[at + 9], place, "a:") * BYTELOG
    return " ".join(words), {**features, **sums}
