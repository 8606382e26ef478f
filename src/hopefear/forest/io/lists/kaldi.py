"""N-best lists of Kaldi: the text archives of nbest-to-linear, with words instead of numbers.

    utterance-1 the cat sat                       words, after utils/int2sym.pl -f 2- words.txt
    utterance-1 12.31                             an archive of costs for each name in `costs`

The key is the utterance, a hyphen and the rank. Features: a cost for each archive, negated, so that
higher is better, under the name of its file or as `NAME=FILE`; `rank` if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.config import option
from hopefear.base.errors import InputError
from hopefear.base.files import display_name
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, number, numbered_lines


@register("list-format", "kaldi")
@dataclass(kw_only=True)
class Kaldi(ListFormat):
    """Text archives of Kaldi's nbest-to-linear."""

    costs: list[str] = option(
        [], metavar="[NAME=]FILE", help="archives of costs, such as ac_cost and lm_cost"
    )

    def read(self, path: Path) -> Iterator[Entry]:
        tables = dict(self._costs(text) for text in self.costs)
        for place, line in numbered_lines(path):
            key, _, text = line.partition(" ")
            utterance, hyphen, rank = key.rpartition("-")
            if not hyphen or not utterance or not rank.isdigit():
                raise InputError(f"{place}: key {key!r:.40}, expected UTTERANCE-RANK")
            features: dict[str, float] = {}
            for name, (file, values) in tables.items():
                if key not in values:
                    raise InputError(f"{display_name(file)}: no cost of {key}, which is at {place}")
                features[name] = -values[key]
            yield {
                "id": utterance,
                "text": " ".join(text.split()),
                "features": features or {"rank": int(rank)},
            }

    def _costs(self, text: str) -> tuple[str, tuple[Path, dict[str, float]]]:
        name, equals, file = text.partition("=")
        path = Path(file if equals else text)
        values = {}
        for place, line in numbered_lines(path):
            key, _, value = line.partition(" ")
            values[key] = number(value.strip(), place, "the cost")
        return name if equals else path.name, (path, values)
