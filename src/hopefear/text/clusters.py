"""Brown clustering of words.  [brown1992, liang2005]

Takes tokenised text, one sentence per line, and returns a *path* of 0s and 1s for each word. Words
with the same path form a cluster; prefixes of paths are coarser clusters. The file format is that
of Liang's program: a line `path<TAB>word<TAB>count` for each word, ordered by path. The algorithm
is described in cpp/text/brown.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType

from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, display_name, open_input, write_text
from hopefear.text.lines import read_lines

MOST_CLUSTERS = 5_000  # the tables of clusters x clusters then take 600 MB


@dataclass(frozen=True)
class Clusters:
    """Words and the paths of their clusters."""

    paths: Mapping[str, str]
    counts: Mapping[str, int]

    def __len__(self) -> int:
        """Number of clusters."""
        return len(set(self.paths.values()))

    def members(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the clusters, sorted by path, each with its words by descending frequency."""
        words: dict[str, list[str]] = {}
        for word, path in self.paths.items():
            words.setdefault(path, []).append(word)
        for path in sorted(words):
            yield path, sorted(words[path], key=lambda word: (-self.counts[word], word))

    def save(self, path: PathLike) -> None:
        """Write the clusters to a file, which `load` reads."""
        with write_text(path) as file:
            for bits, words in self.members():
                file.writelines(f"{bits}\t{word}\t{self.counts[word]}\n" for word in words)

    @classmethod
    def load(cls, path: PathLike) -> Clusters:
        """Take a file of `save` or of Liang's program and return its clusters."""
        paths: dict[str, str] = {}
        counts: dict[str, int] = {}
        name = display_name(path)
        for number, line in enumerate(read_lines(path), 1):
            fields = line.split("\t")
            if len(fields) != 3 or not fields[0] or fields[0].strip("01"):
                raise InputError(
                    f"{name}:{number}: expected 'path<TAB>word<TAB>count' with a path of 0 and 1, "
                    f"found {line[:80]!r}; make the file with 'hopefear cluster'"
                )
            bits, word, count = fields
            if not (count.isascii() and count.isdigit() and len(count) < 19):
                raise InputError(
                    f"{name}:{number}: expected a count, found {count[:40]!r}; make the file with "
                    "'hopefear cluster'"
                )
            if word in paths:
                raise InputError(
                    f"{name}:{number}: {word!r} has a path already; keep one line for each word"
                )
            paths[word], counts[word] = bits, int(count)
        if not paths:
            raise InputError(f"{name}: no words; make the file with 'hopefear cluster'")
        return cls(MappingProxyType(paths), MappingProxyType(counts))


@dataclass(frozen=True)
class ClusterReport:
    """Statistics of a clustering."""

    sentences: int
    tokens: int
    words: int  # number of words with a cluster
    clusters: int
    information: float  # mutual information of adjacent clusters, in nats per word pair


def cluster(
    texts: Sequence[PathLike],
    *,
    clusters: int = 200,
    min_count: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[Clusters, ClusterReport]:
    """Cluster the words of texts; return the clusters and a report.

    Words that occur less than `min_count` times get no cluster. `progress` is called with the
    number of clustered words.
    """
    from hopefear import _engine

    if not 1 <= clusters <= MOST_CLUSTERS:
        raise OptionError(f"clusters {clusters} is out of range; give 1 to {MOST_CLUSTERS:,}")
    if min_count < 1:
        raise OptionError(f"min_count {min_count} is out of range; give at least 1")
    with ExitStack() as stack:
        output = _engine.brown_clusters(
            [stack.enter_context(open_input(text)) for text in texts],
            [display_name(text) for text in texts],
            clusters=clusters,
            min_count=min_count,
            progress=progress,
        )
    words = [(word.decode(), path, count) for word, path, count in output["words"]]
    clustering = Clusters(
        MappingProxyType({word: path for word, path, _ in words}),
        MappingProxyType({word: count for word, _, count in words}),
    )
    report = ClusterReport(
        output["sentences"], output["tokens"], len(words), output["clusters"], output["information"]
    )
    return clustering, report
