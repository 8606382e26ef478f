"""The output of fairseq-generate and fairseq-interactive with --nbest.

    S-0     source
    H-0     -0.53   hyp othesis            score in bits, normalised by length; before detokenising
    D-0     -0.53   hypothesis             after removing pieces and detokenising
    P-0     -0.31 -0.75                    a score in bits for each token

Features: `model` (normalised by length) and `logprob` (the sum of the tokens' scores), both base e,
and `tokens`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, number, numbered_lines

_KINDS = ("H-", "D-", "P-")


@register("list-format", "fairseq")
@dataclass(kw_only=True)
class Fairseq(ListFormat):
    """Output of fairseq-generate or fairseq-interactive."""

    def read(self, path: Path) -> Iterator[Entry]:
        entry: Entry | None = None
        for place, line in numbered_lines(path):
            if not line.startswith(_KINDS):
                continue
            label, *fields = line.split("\t")
            id = label[2:]
            if not id.isdigit():
                continue  # a message of the log
            if label[0] == "P":
                if entry is None or not fields:
                    raise InputError(f"{place}: {label} without a hypothesis before it")
                scores = [number(v, place, "a score of a token") for v in fields[0].split()]
                entry["features"]["logprob"] = sum(scores) * math.log(2)
                entry["features"]["tokens"] = len(scores)
                continue
            if len(fields) < 2:
                raise InputError(f"{place}: {label} has {len(fields)} fields, expected 2")
            text = "\t".join(fields[1:])
            if label[0] == "D" and entry is not None and entry["id"] == int(id):
                entry["text"] = text
                continue
            if entry is not None:
                yield entry
            score = number(fields[0], place, "the score") * math.log(2)
            entry = {"id": int(id), "text": text, "features": {"model": score}}
        if entry is not None:
            yield entry
