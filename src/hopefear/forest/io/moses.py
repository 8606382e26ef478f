"""Moses search graphs and hypergraphs.

`-output-search-graph-extended FILE` (`-osgx`) writes a line per hypothesis:

    0 hyp=5 stack=2 back=1 score=-1.2 transition=-0.7 [recombined=3] forward=9 fscore=-3
      covered=1-1 scores="core=(0,-1,…) name=value …" out="source|target"

A recombined hypothesis becomes another edge into the node of the hypothesis that it was recombined
with. The dense scores have no names in the file: give `core_names` in the order of Moses's features
(`moses -show-weights` prints it), or they are called core_1, core_2 … The plain format (`-osg`) has
no scores: its edges have one feature, `transition`, so it can be decoded but not tuned.

`-output-search-graph-hypergraph` writes one file per sentence with named features. It is the
preferred format, and chart systems use it as well:

    # target ||| features ||| source-covered
    2 3                           nodes, edges
    1                             edges of node 0
    <s> ||| ||| 0
    2                             edges of node 1; [0] is the string of node 0
    [0] the man ||| LM0=-2 TranslationModel0_1=-1 ||| 2
    …

The last node is the goal. `<s>` and `</s>` are dropped.

The search graph of chart decoding (`moses_chart -output-search-graph`) is refused: it is a listing
for people, whose fields cannot be told from words. `-output-search-graph-hypergraph` has the same
forest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from hopefear._engine import Forest, Vocabulary, check_feature_name
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_text
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder

_SLOT = re.compile(r"\[(\d+)\]")
_CHART = re.compile(r"\d+ \d+(->\d+)? .*\[\d+\.\.\d+\].* \[total=")
_MARKERS = ("<s>", "</s>")
_MAX_WORDS = 1 << 16  # in a source sentence; bounds the size of the coverage sets


class _Hypothesis(NamedTuple):
    sentence: str
    id: int
    stack: int
    back: int | None  # None: the empty hypothesis
    node: int  # the hypothesis that it was recombined with, or itself
    final: bool
    covered: tuple[int, int] | None
    features: dict[str, float]
    words: list[str]
    place: str


def read_moses_graph(
    path: PathLike,
    *,
    core_names: Sequence[str] | None = None,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Iterator[Forest]:
    """Take an `-osg` or `-osgx` file and yield its forests, one per sentence."""
    builder = ForestBuilder(vocabulary=vocabulary, names=names)
    for sentence, hypotheses in groupby(_hypotheses(path, core_names), key=lambda h: h.sentence):
        yield _graph_forest(builder, sentence, list(hypotheses))


def check_no_chart_graph(line: str, place: str) -> None:
    """Raise an `InputError` for a line of the search graph of chart decoding."""
    if _CHART.match(line):
        raise InputError(
            f"{place}: a search graph of moses_chart, which cannot be read; write it with "
            "-output-search-graph-hypergraph"
        )


def _hypotheses(path: PathLike, core_names: Sequence[str] | None) -> Iterator[_Hypothesis]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if number == 1:
                check_no_chart_graph(line, f"{display_name(path)}:1")
            if line.strip():
                yield _hypothesis(line, core_names, f"{display_name(path)}:{number}")


def _hypothesis(line: str, core_names: Sequence[str] | None, place: str) -> _Hypothesis:
    sentence, _, rest = line.strip().partition(" ")
    rest, has_out, out = rest.partition(" out=")
    rest, has_scores, scores = rest.partition(' scores="')
    values = dict(part.split("=", 1) for part in rest.split() if "=" in part)
    try:
        id, stack = int(values["hyp"]), int(values["stack"])
        if not 0 <= stack <= _MAX_WORDS:
            raise ValueError(f"stack={stack}, expected a number up to {_MAX_WORDS:,}")
        back = int(values["back"]) if "back" in values else None
        features: dict[str, float] = {}
        covered = None
        if back is not None:
            first, _, last = values["covered"].partition("-")
            covered = (int(first), int(last) + 1)
            if not 0 <= covered[0] <= covered[1] <= _MAX_WORDS:
                raise ValueError(f"covered={first}-{last}, expected positions below {_MAX_WORDS:,}")
            if has_scores:
                features = _score_features(scores.rstrip().removesuffix('"'), core_names)
            else:
                features = {"transition": float(values["transition"])}
            for name in features:
                check_feature_name(name)
        return _Hypothesis(
            sentence,
            id,
            stack,
            back,
            int(values.get("recombined", id)),
            int(values.get("forward", 0)) == -1,
            covered,
            features,
            _target_words(out.strip(), extended=bool(has_scores)) if has_out else [],
            place,
        )
    except KeyError as error:
        key = error.args[0]
        raise InputError(
            f"{place}: no '{key}=', expected a line of -output-search-graph[-extended]"
        ) from None
    except (ValueError, InputError) as error:
        raise InputError(f"{place}: {in_line(error)}; recreate the search graph") from None


def _score_features(text: str, core_names: Sequence[str] | None) -> dict[str, float]:
    match = re.match(r"core=\(([^)]*)\)\s*(.*)", text)
    if match is None:
        raise ValueError(f"scores {text[:40]!r}, expected core=(…)")
    core = [float(value) for value in match[1].split(",") if value]
    if core_names is None:
        core_names = [f"core_{i}" for i in range(1, len(core) + 1)]
    if len(core_names) != len(core):
        raise ValueError(
            f"{len(core)} dense scores, but {len(core_names)} names were given; give one for each"
        )
    features = dict(zip(core_names, core, strict=True))
    for part in match[2].split():
        name, _, value = part.rpartition("=")
        features[name] = float(value)
    return features


def _target_words(out: str, *, extended: bool) -> list[str]:
    if not extended:
        return out.split()
    out = out.removeprefix('"').removesuffix('"')
    _, bar, target = out.partition("|")
    if not bar or "|" in target:
        raise ValueError(f"out {out[:40]!r}, expected source|target with one factor each")
    return target.split()


def _graph_forest(builder: ForestBuilder, sentence: str, hypotheses: list[_Hypothesis]) -> Forest:
    winners = {h.id: h.node for h in hypotheses}
    starts = [h for h in hypotheses if h.back is None] or [_start(hypotheses[0])]
    coverage: dict[int, frozenset[int]] = {starts[0].id: frozenset()}
    number = {starts[0].id: builder.node()}
    builder.edge(number[starts[0].id], (), ())
    complete = max(h.stack for h in hypotheses)
    goal_tails = []
    for h in sorted((h for h in hypotheses if h.back is not None), key=lambda h: (h.stack, h.id)):
        assert h.back is not None
        assert h.covered is not None
        back = winners.get(h.back, h.back)
        if back not in number:
            raise InputError(
                f"{h.place}: back={h.back} is not an earlier hypothesis; the graph is damaged"
            )
        covered = coverage[back] | frozenset(range(*h.covered))
        if h.node not in number:
            coverage[h.node] = covered
            number[h.node] = builder.node(coverage=covered)
            if h.final and h.stack == complete:
                goal_tails.append(number[h.node])
        if coverage[h.node] != covered:
            raise InputError(f"{h.place}: recombined with another coverage; the graph is damaged")
        try:
            builder.edge(number[h.node], [number[back]], [0, *h.words], features=h.features)
        except (ValueError, InputError) as error:
            raise InputError(f"{h.place}: {in_line(error)}") from None
    goal = None
    if goal_tails:
        goal = builder.node(covered=complete)
        for tail in goal_tails:
            builder.edge(goal, [tail])
    try:
        return builder.finish(goal, id=sentence)
    except ValueError as error:  # a cycle
        raise InputError(f"{hypotheses[0].place}: {in_line(error)}; the graph is damaged") from None


def _start(h: _Hypothesis) -> _Hypothesis:
    """Return the empty hypothesis, for files that leave it out."""
    return h._replace(id=0, stack=0, back=None, node=0, final=False, features={}, words=[])


def read_moses_hypergraph(
    path: PathLike,
    *,
    id: str = "",
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Forest:
    """Take the hypergraph file of a sentence and return its forest."""
    builder = ForestBuilder(vocabulary=vocabulary, names=names)
    name = display_name(path)
    with open_text(path) as lines:
        numbered = ((n, line) for n, line in enumerate(lines, 1) if not line.startswith("#"))
        place = name

        def next_line() -> str:
            nonlocal place
            try:
                number, line = next(numbered)
            except StopIteration:
                raise InputError(f"{name}: ends early; recreate the hypergraph") from None
            place = f"{name}:{number}"
            return line

        try:
            nodes = _count(next_line().split()[0])
            for node in range(nodes):
                edges = _count(next_line())
                for edge in range(edges):
                    _hypergraph_edge(builder, node, next_line(), first=edge == 0)
                if edges == 0:
                    builder.node()
        except (ValueError, IndexError, InputError) as error:
            reason = in_line(error)
            raise InputError(f"{place}: {reason}; expected Moses's hypergraph format") from None
    return builder.finish(nodes - 1 if nodes else None, id=id)


def _count(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"{text[:40]!r}, expected a number of nodes or edges")
    return int(text)


def _hypergraph_edge(builder: ForestBuilder, node: int, line: str, *, first: bool) -> None:
    parts = [part.strip() for part in line.split("|||")]
    if len(parts) < 2:
        raise ValueError(f"edge {line[:40]!r} has no features field")
    tails: list[int] = []
    target: list[str | int] = []
    for token in parts[0].split():
        match = _SLOT.fullmatch(token)
        if match is not None:
            if int(match[1]) >= node:
                raise ValueError(f"{token} is not a node before {node}")
            target.append(len(tails))
            tails.append(int(match[1]))
        elif token not in _MARKERS:
            target.append(token)
    features: dict[str, float] = {}
    for part in parts[1].split():
        name, _, value = part.rpartition("=")
        features[name] = float(value)
    if first:
        builder.node(covered=int(parts[2]) if len(parts) > 2 and parts[2] else 0)
    builder.edge(node, tails, target, row=builder.row(features))
