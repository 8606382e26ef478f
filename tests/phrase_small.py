"""Small phrase models, and what a phrase decoder must find in them, written out in Python."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopefear._engine import BestSpans
from lm_arpa import SMALL, write_arpa

from hopefear.base.weights import SparseVector, Weights
from hopefear.decode.contract import Decoded, GoldOptions, Request
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists
from hopefear.forest import Derivation
from hopefear.lm import LanguageModel
from hopefear.rules.moses import read_table
from hopefear.rules.table import RuleTable

Phrase = tuple[int, int, tuple[str, ...]]
TRANSLATION = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")
REORDERING = tuple(f"reorder.{d}.{o}" for d in ("bwd", "fwd") for o in ("mono", "swap", "other"))
EXACT = PhraseOptions(
    beam=1_000_000, pop_limit=100_000_000, distortion_limit=-1, table_limit=0, long_sentence=0
)


@dataclass
class SmallModel:
    """`pairs`: source words -> target words -> probabilities (translation, then reordering)."""

    pairs: dict[tuple[str, ...], dict[tuple[str, ...], tuple[float, ...]]]
    reordering: int = 6
    lms: tuple[str, ...] = ("lm",)
    templates: tuple[Feature, ...] = ()
    lists: WordLists = field(default_factory=WordLists)

    def __post_init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:  # what was mapped stays
            self._make(Path(folder))

    def _make(self, folder: Path) -> None:
        phrases, reordering = [], []
        for source, targets in self.pairs.items():
            for target, scores in targets.items():
                sides = f"{' '.join(source)} ||| {' '.join(target)} |||"
                links = f"0-{len(target) - 1}"
                phrases.append(f"{sides} {' '.join(map(repr, scores[:4]))} ||| {links} ||| 1 1 1")
                reordering.append(f"{sides} {' '.join(map(repr, scores[4:]))}")
        files = [folder / "phrases", folder / "reordering"]
        for path, lines in zip(files, (phrases, reordering), strict=True):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        read_table(
            files[0],
            files[1] if self.reordering else None,
            output=folder / "rules.bin",
            threads=1,
            memory=1 << 20,
        )
        self.rules = RuleTable.open(folder / "rules.bin")
        self.lm = LanguageModel.load(write_arpa(folder / "lm.arpa", SMALL))

    def decoder(self, options: PhraseOptions = EXACT) -> PhraseDecoder:
        lms = dict.fromkeys(self.lms, self.lm)
        return PhraseDecoder(
            self.rules, lms, templates=self.templates, lists=self.lists, options=options
        )

    # -- the definition --

    def options(self, words: Sequence[str], begin: int, end: int) -> list[tuple[str, ...]]:
        found = list(self.pairs.get(tuple(words[begin:end]), {}))
        if end == begin + 1 and not found:
            return [(words[begin],)]
        return found

    def derivations(self, words: Sequence[str], limit: int = -1) -> Iterator[tuple[Phrase, ...]]:
        """All of them, by Moses's two conditions for the distortion limit."""
        n = len(words)

        def go(covered: frozenset[int], last: int, so_far: tuple[Phrase, ...]) -> Iterator:
            if len(covered) == n:
                yield so_far
                return
            gap = min(set(range(n)) - covered)
            for begin in range(n):
                for end in range(begin + 1, n + 1):
                    span = frozenset(range(begin, end))
                    if span & covered:
                        break
                    if limit >= 0 and abs(begin - last) > limit:
                        continue
                    if limit >= 0 and begin != gap and abs(gap - end) > limit:
                        continue
                    for target in self.options(words, begin, end):
                        yield from go(covered | span, end, (*so_far, (begin, end, target)))

        yield from go(frozenset(), 0, ())

    def features(self, words: Sequence[str], phrases: Sequence[Phrase]) -> Counter[str]:
        """The features of a derivation, templates apart."""
        sums: Counter[str] = Counter()
        last_begin = last_end = 0
        last_scores: tuple[float, ...] = ()
        output: list[str] = []
        for begin, end, target in phrases:
            source = tuple(words[begin:end])
            output += target
            sums["phrases"] += 1
            sums["words"] += len(target)
            sums["distortion"] -= abs(begin - last_end)
            scores: tuple[float, ...] = ()
            if source in self.pairs and target in self.pairs[source]:
                scores = tuple(math.log(p) for p in self.pairs[source][target])
            else:
                sums["unknown"] += 1
            orientation = 0 if begin == last_end else 1 if end == last_begin else 2
            for name, score in zip(TRANSLATION, scores, strict=False):
                sums[name] += score
            if self.reordering and scores:
                sums[REORDERING[orientation]] += scores[4 + orientation]
            if self.reordering == 6 and last_scores:
                sums[REORDERING[3 + orientation]] += last_scores[7 + orientation]
            last_begin, last_end, last_scores = begin, end, scores
        for name in self.lms:
            sums[name] += self.lm.score(output) * math.log(10)
        return Counter({name: value for name, value in sums.items() if value})

    def score(self, words: Sequence[str], phrases: Sequence[Phrase], weights: Weights) -> float:
        return sum(weights[name] * value for name, value in self.features(words, phrases).items())


def random_model(seed: int, reordering: int = 6, **more: object) -> SmallModel:
    """Over the source words d e f (and u, which is in longer phrases only), target words a b c."""
    rng = random.Random(seed)
    pairs: dict[tuple[str, ...], dict[tuple[str, ...], tuple[float, ...]]] = {}
    for _ in range(rng.randint(1, 9)):
        source = tuple(rng.choice("defu") for _ in range(rng.choice((1, 1, 2, 3))))
        if source == ("u",):
            continue
        target = tuple(rng.choice("abcz") for _ in range(rng.choice((1, 1, 2, 3))))
        # Few values, so that forward scores are equal now and then.
        scores = [rng.choice((0.5, 0.25, 0.1)) for _ in range(4 + reordering)]
        pairs.setdefault(source, {})[target] = tuple(scores)
    pairs = pairs or {("d",): {("a",): (0.5,) * (4 + reordering)}}
    return SmallModel(pairs, reordering, **more)  # type: ignore[arg-type]


def random_weights(seed: int, model: SmallModel) -> Weights:
    rng = random.Random(seed)
    names = (*model.lms, *TRANSLATION, "words", "phrases", "distortion", "unknown")
    names = (*names, *REORDERING[: model.reordering])
    return Weights({name: rng.uniform(-0.5, 1) for name in names})


def phrases_of(derivation: Derivation) -> tuple[Phrase, ...]:
    """From the labels of its nodes, in the order of the output."""
    forest = derivation.forest

    def coverage(node: int) -> set[int]:
        words = forest.coverage[forest.coverage_begin[node] : forest.coverage_begin[node + 1]]
        return {64 * i + b for i, w in enumerate(words.tolist()) for b in range(64) if w >> b & 1}

    phrases: list[Phrase] = []
    for edge in reversed(derivation.edges.tolist()):
        tails = forest.tails[forest.tail_begin[edge] : forest.tail_begin[edge + 1]].tolist()
        if not tails or forest.heads[edge] == forest.goal:
            continue
        new = sorted(coverage(int(forest.heads[edge])) - coverage(tails[0]))
        assert new == list(range(new[0], new[-1] + 1))
        target = forest.target[forest.target_begin[edge] : forest.target_begin[edge + 1]].tolist()
        assert target[0] == -1
        words = tuple(forest.vocabulary.word(word) for word in target[1:])
        phrases.append((new[0], new[-1] + 1, words))
    return tuple(phrases)


def named(vector: SparseVector, decoder: PhraseDecoder) -> dict[str, float]:
    ids, values = vector.ids.tolist(), vector.values.tolist()
    return {str(decoder.names.name(i)): v for i, v in zip(ids, values, strict=True)}


def uncovered(words: int, covered: set[int]) -> list[tuple[int, int]]:
    """uncov(d, x): maximal spans, from left to right."""
    found: list[tuple[int, int]] = []
    for at in range(words):
        if at in covered:
            continue
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def gold(decoder: PhraseDecoder, sentence: Any, target: Any, **options: Any) -> Decoded:
    """A sentence pair as an example to learn from."""
    return decoder.decode(Request(sentence, Weights(), target, gold=GoldOptions(**options)))


def best_spans(
    decoder: PhraseDecoder, sentence: Any, weights: Weights, width: int = -1
) -> BestSpans:
    """The best translations of spans of up to `width` words, computed alone, not by a search."""
    return decoder.engine_of(sentence).best_spans(
        decoder.engine_input(sentence),
        weights=weights.table,
        settings=decoder.settings,
        width=width,
    )
