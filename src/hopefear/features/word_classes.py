"""Word classes: Brown clusters and parts of speech, for templates that back off to them.  [yu2013]

Takes for each language a file of cluster paths (`hopefear cluster`) and a lexicon of tags; reads
and writes a file of the model directory, `word-classes.tsv`, with a line
`side<TAB>word<TAB>path<TAB>tag` for each word (path or tag may be empty). `hopefear train
--clusters 200` creates it.

A lexicon has a line `word<TAB>tag` for each word: its most frequent tag. If the model has a tagger
(`hopefear train --source-tagger`), source words are tagged in their sentence instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.text.clusters import Clusters
from hopefear.text.lines import read_lines

CLASSES_FILE = "word-classes.tsv"
SIDES = ("source", "target")


@dataclass(frozen=True)
class SideClasses:
    """The cluster paths and tags of one language, by word."""

    paths: Mapping[str, str] = field(default_factory=dict, hash=False)
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (word, path, tag) for every word, sorted."""
        words = sorted(self.paths.keys() | self.tags.keys())
        return [(word, self.paths.get(word, ""), self.tags.get(word, "")) for word in words]

    @classmethod
    def read(cls, paths: PathLike | None, tags: PathLike | None) -> SideClasses:
        """Read a file of cluster paths and a lexicon."""
        return cls(
            Clusters.load(paths).paths if paths is not None else {},
            read_lexicon(tags) if tags is not None else {},
        )


@dataclass(frozen=True)
class WordClasses:
    """The word classes of both languages. `place` is the origin, for messages."""

    source: SideClasses = field(default_factory=SideClasses)
    target: SideClasses = field(default_factory=SideClasses)
    tagger: bool = False  # whether source words are tagged in their sentence
    place: str = "this model"

    def save(self, path: PathLike) -> None:
        """Write `word-classes.tsv`."""
        with write_text(path) as file:
            for side in SIDES:
                for row in getattr(self, side).rows():
                    file.write("\t".join([side, *row]) + "\n")

    @classmethod
    def load(cls, path: PathLike) -> WordClasses:
        """Read `word-classes.tsv`."""
        classes: dict[str, tuple[dict[str, str], dict[str, str]]] = {s: ({}, {}) for s in SIDES}
        for number, line in enumerate(read_lines(path), 1):
            fields = line.split("\t")
            if len(fields) != 4 or fields[0] not in SIDES or fields[2].strip("01"):
                raise InputError(
                    f"{display_name(path)}:{number}: found {line[:80]!r}, expected a side, a word, "
                    "a path of 0 and 1, and a tag between tabs; run 'hopefear train' again"
                )
            side, word, bits, tag = fields
            for kind, value in zip(classes[side], (bits, tag), strict=True):
                if value:
                    kind[word] = value
        sides = {side: SideClasses(*kinds) for side, kinds in classes.items()}
        return cls(sides["source"], sides["target"], place=display_name(path))


def read_lexicon(path: PathLike) -> dict[str, str]:
    """Read a lexicon, a line `word<TAB>tag` for each word; return the tags by word."""
    tags: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        word, _, tag = line.partition("\t")
        if not word or not tag or len(tag.split()) != 1 or "\t" in tag or word in tags:
            problem = "the word again" if word in tags else f"{line[:80]!r}"
            raise InputError(
                f"{display_name(path)}:{number}: found {problem}, expected 'word<TAB>tag', each "
                "word once; correct the line"
            )
        tags[word] = tag
    if not tags:
        raise InputError(f"{display_name(path)}: no words; give a lexicon 'word<TAB>tag'")
    return tags
