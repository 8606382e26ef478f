"""Word lattices: PLF (Python lattice format) and OpenFst's text format.

A lattice is read as a forest whose edges have one tail, at most one word, and the feature
`lattice`: the log of the arc's weight. With `Weights({"lattice": 1})` it can be decoded, sampled
and pruned. Tuning needs further features: `count_words` adds `words`, the number of words, and
additional weights of an arc in PLF become `lattice2`, `lattice3`, and so on.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from hopefear._engine import Forest, Vocabulary
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_text
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder

FEATURE = "lattice"
WORDS = "words"
_EPSILON = ("*EPS*", "<eps>", "<epsilon>")
_FAULTS = (ValueError, SyntaxError, TypeError, OverflowError, RecursionError, MemoryError)


def read_plf(
    path: PathLike,
    *,
    weights: Literal["probability", "log"] = "probability",
    count_words: bool = False,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Iterator[Forest]:
    """Take a PLF file and yield its lattices, one per line.

    Format: `((('a',0.5,1),('b',0.5,2),),(('c',1.0,1),),)`: per node its arcs, each a word, one or
    more weights, and the distance to the node that it leads to (1 if there is only one number).
    Weights are probabilities (Moses) or their logs (cdec); arcs of probability 0 are dropped.
    `*EPS*` is the empty word.
    """
    builder = ForestBuilder(vocabulary=vocabulary, names=names)
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # invalid escape sequences in words
                    lattice = ast.literal_eval(line.strip())
                logs = weights == "log"
                yield _plf_forest(builder, lattice, logs, count_words, str(number - 1))
            except InputError as error:  # a word with blanks, for example
                raise InputError(f"{display_name(path)}:{number}: {in_line(error)}") from None
            except _FAULTS as error:
                what = in_line(error)
                if isinstance(error, SyntaxError | TypeError) or what.startswith("malformed node"):
                    what = "not PLF"
                raise InputError(
                    f"{display_name(path)}:{number}: {what}, expected ((('word',weight,1),),…)"
                ) from None


def _plf_forest(
    builder: ForestBuilder, lattice: Any, logs: bool, count_words: bool, id: str
) -> Forest:
    last = len(lattice)
    for _ in range(last + 1):
        builder.node()
    builder.edge(0, (), ())
    for node, arcs in enumerate(lattice):
        for word, weight, *numbers in arcs:
            *other_weights, distance = numbers or [1]
            head = node + distance
            if not isinstance(head, int) or not node < head <= last:
                raise ValueError(f"an arc of node {node} leads to node {head} of {last}")
            values = [_log(value, logs) for value in (weight, *other_weights)]
            if -math.inf not in values:
                _arc(builder, head, node, word, values, count_words)
    return builder.finish(last, id=id)


def _log(weight: float, is_log: bool) -> float:
    if is_log:
        return float(weight)
    if not 0 <= weight <= 1:
        raise ValueError(f"{weight} is not a probability (weights='log' reads logs)")
    return math.log(weight) if weight else -math.inf


def _arc(
    builder: ForestBuilder,
    head: int,
    tail: int,
    word: str,
    values: Sequence[float],
    count_words: bool,
) -> None:
    if not isinstance(word, str):
        raise ValueError(f"{word!r} is no word")
    target: list[str | int] = [0] if word in _EPSILON else [0, word]
    numbered = enumerate(values, 1)
    features = {FEATURE if number == 1 else f"{FEATURE}{number}": v for number, v in numbered}
    if count_words and len(target) > 1:
        features[WORDS] = 1.0
    builder.edge(head, [tail], target, features=features)


def read_openfst(
    path: PathLike,
    *,
    symbols: Mapping[int, str] | None = None,
    transducer: bool | None = None,
    count_words: bool = False,
    id: str = "",
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Forest:
    """Take an OpenFst text file and return the acceptor, or the output side of the transducer.

    Lines are `from to label [output] [cost]` or `final [cost]`; costs are negative logs; the state
    of the first line is the start. Labels are words, or with `symbols` their numbers (0: epsilon).
    Lines of four columns end in a cost if all of their last columns are numbers, else in an output
    label; `transducer` overrides this.
    """
    name = display_name(path)
    with open_text(path) as lines:
        rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    if transducer is None:
        four_columns = [row for _, row in rows if len(row) == 4]
        transducer = any(len(row) == 5 for _, row in rows) or not all(
            _is_number(row[3]) for row in four_columns
        )
    builder = ForestBuilder(vocabulary=vocabulary, names=names)
    states: dict[str, int] = {}

    def state(label: str) -> int:
        if label not in states:
            states[label] = builder.node()
        return states[label]

    finals: list[tuple[int, float]] = []
    for number, row in rows:
        try:
            if len(row) <= 2:
                finals.append((state(row[0]), _cost(row[1:])))
                continue
            if len(row) > (5 if transducer else 4):
                raise ValueError(f"{len(row)} columns")
            if not states:
                builder.edge(state(row[0]), (), ())
            tail, head = state(row[0]), state(row[1])
            cost = _cost(row[4 if transducer else 3 :])
            if cost < math.inf:
                word = _word(row[3 if transducer else 2], symbols)
                _arc(builder, head, tail, word, [-cost], count_words)
        except (ValueError, IndexError, KeyError, InputError) as error:
            raise InputError(f"{name}:{number}: {in_line(error)}; expected OpenFst text") from None
    if rows and len(rows[0][1]) <= 2:  # the start state is final, and its line comes first
        builder.edge(states[rows[0][1][0]], (), ())
    goal = builder.node()
    for tail, cost in finals:
        if cost < math.inf:
            builder.edge(goal, [tail], features={FEATURE: -cost})
    try:
        return builder.finish(goal, id=id)
    except ValueError as error:
        raise InputError(f"{name}: {in_line(error)}; only acyclic machines are forests") from None


_LARGEST = 3.4e38  # features have single precision; an infinite cost means no arc


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cost(columns: list[str]) -> float:
    cost = float(columns[0]) if columns else 0.0
    if math.isnan(cost) or cost < -_LARGEST or _LARGEST < cost < math.inf:
        raise ValueError(f"cost {cost}")
    return cost


def _word(label: str, symbols: Mapping[int, str] | None) -> str:
    if symbols is None:
        return label
    number = int(label)
    if number == 0:
        return "<eps>"
    if number not in symbols:
        raise ValueError(f"label {number} is not in the symbol table")
    return symbols[number]
