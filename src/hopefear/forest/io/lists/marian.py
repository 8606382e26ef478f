"""The n-best lists of marian-decoder --n-best.

    0 ||| a house ||| F0= -2.1 F1= -3.0 ||| -1.2

The last two fields are the scores of the ensemble's members and the normalised score; fields of
--alignment and --word-scores before them are left out. Features: F0, F1 … and `model`, the
normalised score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, TokenFormat, number, numbered_lines

_SCORE = re.compile(r"(\S+?)=\s*(\S+)")


@register("list-format", "marian")
@dataclass(kw_only=True)
class Marian(TokenFormat):
    """N-best lists of marian-decoder."""

    def read(self, path: Path) -> Iterator[Entry]:
        for place, line in numbered_lines(path):
            fields = [field.strip() for field in line.split("|||")]
            if len(fields) < 4 or not fields[0].isdigit():
                raise InputError(f"{place}: expected 'id ||| text ||| F0= score ||| score'")
            pairs = _SCORE.findall(fields[-2])
            features = {name: number(value, place, name) for name, value in pairs}
            features["model"] = number(fields[-1], place, "the score")
            yield {
                "id": int(fields[0]),
                "text": self.text(fields[1], place),
                "features": features,
            }
