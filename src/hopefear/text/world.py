"""The built-in world: a generated bilingual corpus, Mandarin in pinyin and English.

Takes sizes and a seed and returns a `World` of training, development and test sentences in
documents with topics; also writes files, statistics and examples. Nothing is downloaded: a
synchronous grammar (hopefear.text.world_grammar) generates every sentence. The corpus has the
difficulties described in the papers: phrase reordering, words whose translation depends on topic or
context, inserted words, several correct translations, some noise in the training text (only there),
and names in the test set that do not occur in training.

Each document has its own random numbers, derived from the seed, its part and its number. So `dev`
and `test` are the same, byte by byte, for any size of `train`, and a larger part begins with the
documents of a smaller one. Only `random.Random.random` is used, which is the same in every version
of Python. No source sentence of `test` is in `dev`, and none of either is in `train`. Words of
`dev` and `test` that do not occur in the first 8,000 training pairs do not occur in larger training
texts either.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, write_text
from hopefear.text.world_grammar.constructions import default_grammar
from hopefear.text.world_grammar.derive import SentenceMaker
from hopefear.text.world_grammar.phrases import Derivation
from hopefear.text.world_grammar.trees import without_words
from hopefear.text.world_grammar.words import Word

PARTS = ("train", "dev", "test")
REFERENCES = 4
SHORTEST, LONGEST = 5, 20  # sentences in a document
BAD_PAIRS = 0.03  # share of training pairs with the translation of another sentence
MISSING_WORDS = 0.03  # share of training pairs with missing words on one side
TRIES = 40  # attempts to find four different translations of a sentence before it is replaced
HELD_BACK = 8000  # training pairs after which unseen words of dev and test are excluded
PATIENCE = 1000  # successive rejected sentences after which generation fails


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source sentence with its references (one in training text).

    `document` is the name of the document, which ends with the topic. `noise` is the kind of noise
    in the pair: `bad pair`, `missing words` or empty. `words` are the lexicon entries that the
    sentence consists of (only for dev and test): each reference has a form of each of them. `trees`
    are the gold trees of the references, in brackets, if they were requested.
    """

    source: str
    references: tuple[str, ...]
    document: str
    bits: int
    noise: str
    words: tuple[Word, ...]
    trees: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        """The topic of the sentence's document."""
        return topic_of(self.document)

    @property
    def phenomena(self) -> tuple[str, ...]:
        """Names of the constructions and other phenomena in the sentence, as in grammar.toml."""
        return default_grammar().phenomena(self.bits)


@dataclass(frozen=True)
class World:
    """A generated corpus: the sentences of its three parts, in document order."""

    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    test: Sequence[Sentence]
    seed: int

    def part(self, name: str) -> Sequence[Sentence]:
        """Take the name of a part (train, dev, test) and return its sentences."""
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        return parts[name]


class Example(NamedTuple):
    """An example sentence with descriptions of its phenomena."""

    source: str
    references: tuple[str, ...]
    phenomena: tuple[str, ...]
    topic: str


def topic_of(document: str) -> str:
    """Take the name of a document and return its topic: `food` for `train-00001-food`."""
    return document.rpartition("-")[2]


@lru_cache(maxsize=1)
def _maker() -> SentenceMaker:
    return SentenceMaker(default_grammar())


def generate(
    *,
    train: int = 8000,
    dev: int = 300,
    test: int = 500,
    seed: int = 1,
    trees: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> World:
    """Take the sizes of the parts in sentences and a seed; return the generated world.

    The same seed gives the same world, with `trees` or without. `progress` is called for each
    document, with its number of sentences.
    """
    for name, size in (("train", train), ("dev", dev), ("test", test)):
        if size < 0:
            raise OptionError(f"{name}={size}: expected a number of sentences of at least 0")
    opening = _opening_source()
    test_part = _part("test", test, seed, {opening}, progress, trees)
    banned = {opening, *(sentence.source for sentence in test_part)}
    dev_part = _part("dev", dev, seed, banned, progress, trees)
    banned |= {sentence.source for sentence in dev_part}
    banned.discard(opening)
    words = {word for sentence in (*test_part, *dev_part) for word in sentence.source.split(" ")}
    train_part = _part("train", train, seed, banned, progress, trees, words)
    return World(train_part, dev_part, test_part, seed)


def _stream(*name: object) -> Callable[[], float]:
    return random.Random(" ".join(map(str, ("hopefear world", *name)))).random


def _opening_source() -> str:
    maker = _maker()
    scene = maker.new_scene(_stream("opening"), maker.grammar.opening["topic"])
    return maker.opening(scene).source


def _part(
    part: str,
    size: int,
    seed: int,
    banned: Container[str],
    progress: Callable[[int], None],
    trees: bool,
    tested_words: Set[str] = frozenset(),
) -> list[Sentence]:
    """Return the sentences of a part; those of dev and test are all different.

    `tested_words` are the words of dev and test; those that do not occur in the first `HELD_BACK`
    sentences are excluded from the others.
    """
    maker = _maker()
    sentences: list[Sentence] = []
    seen: set[str] = set()
    unseen: Set[str] = frozenset()
    number = done = 0
    while done < size:
        if tested_words and done >= HELD_BACK:
            known = {word for s in sentences for word in s.source.split(" ")}
            unseen, tested_words = tested_words - known, frozenset()
        number += 1
        draw = _stream(seed, part, number)
        length = _document_length(size - done, draw)
        opens = part == "train" and number == 1
        scene = maker.new_scene(draw, maker.grammar.opening["topic"] if opens else "")
        name = f"{part}-{number:05d}-{scene.topic}"
        document: list[Sentence] = []
        if opens:
            derivation = maker.opening(scene)
            if trees:
                spoken = dict([maker.english_tree(derivation, draw, plain=True)])
            else:
                spoken = {maker.english(derivation, draw, plain=True): ""}
            document.append(_sentence(derivation, spoken, name))
        refused = 0
        while len(document) < length:
            refused += 1
            if refused > PATIENCE:
                raise OptionError(
                    f"{part}={size}: no new sentence about {scene.topic} in {PATIENCE} tries; "
                    f"give a number below {done + len(document) + 1}"
                )
            derivation = maker.sentence(scene)
            if derivation.source in banned or derivation.source in seen:
                continue
            if unseen and not unseen.isdisjoint(derivation.source.split(" ")):
                continue
            if part == "train":
                spoken = _references(maker, derivation, draw, trees, 1)
            else:
                spoken = _references(maker, derivation, draw, trees, REFERENCES)
                if len(spoken) < REFERENCES:
                    continue
                seen.add(derivation.source)
            document.append(_sentence(derivation, spoken, name, part != "train"))
            refused = 0
        if part == "train":
            document = _add_noise(document, _stream(seed, "noise", number), opens, banned)
        sentences += document
        done += length
        progress(length)
    return sentences


def _document_length(remaining: int, draw: Callable[[], float]) -> int:
    """Return a length of 5 to 20 sentences that leaves enough sentences for another document."""
    length = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
    if remaining - length < SHORTEST:
        return remaining if remaining <= LONGEST else remaining - SHORTEST
    return length


def _sentence(
    derivation: Derivation, references: Mapping[str, str], document: str, keep: bool = False
) -> Sentence:
    """Return a sentence; `references` are English texts with trees, which may be empty."""
    words = derivation.words if keep else ()
    trees = tuple(tree for tree in references.values() if tree)
    return Sentence(
        derivation.source, tuple(references), document, derivation.bits, "", words, trees
    )


def _references(
    maker: SentenceMaker,
    derivation: Derivation,
    draw: Callable[[], float],
    trees: bool,
    count: int,
) -> dict[str, str]:
    """Return up to `count` different translations, with their trees or with empty texts."""
    translations: dict[str, str] = {}
    for _ in range(TRIES if count > 1 else 1):
        if trees:
            text, tree = maker.english_tree(derivation, draw)
        else:
            text, tree = maker.english(derivation, draw), ""
        translations[text] = tree
        if len(translations) == count:
            break
    return translations


def _add_noise(
    document: list[Sentence], draw: Callable[[], float], opens: bool, banned: Container[str]
) -> list[Sentence]:
    """Return the document with some bad pairs and missing words, but not in the opening."""
    result = []
    for i, sentence in enumerate(document):
        u = draw()
        if not (opens and i == 0):
            if u < BAD_PAIRS and len(document) > 1:
                j = int(draw() * (len(document) - 1))
                other = document[j + (j >= i)]
                if other.references != sentence.references:
                    sentence = _changed(
                        sentence, sentence.source, other.references, "bad pair", other.trees
                    )
            elif BAD_PAIRS <= u < BAD_PAIRS + MISSING_WORDS:
                sentence = _drop_words(sentence, draw, banned)
        result.append(sentence)
    return result


def _drop_words(sentence: Sentence, draw: Callable[[], float], banned: Container[str]) -> Sentence:
    """Drop one to three adjacent words, mostly of the target, never the last token."""
    source, target = sentence.source, sentence.references[0]
    from_target = draw() < 0.8
    words = (target if from_target else source).split(" ")
    count = min(1 + int(draw() * 3), len(words) - 2)
    start = int(draw() * (len(words) - count))
    shorter = " ".join(words[:start] + words[start + count :])
    if from_target:
        trees = tuple(without_words(tree, start, count) for tree in sentence.trees)
        return _changed(sentence, source, (shorter,), "missing words", trees)
    if shorter in banned:
        return sentence
    return _changed(sentence, shorter, (target,), "missing words", sentence.trees)


def _changed(
    sentence: Sentence,
    source: str,
    references: tuple[str, ...],
    noise: str,
    trees: tuple[str, ...],
) -> Sentence:
    return Sentence(
        source, references, sentence.document, sentence.bits, noise, sentence.words, trees
    )


def write(world: World, directory: PathLike) -> None:
    """Write `{train,dev,test}.zh`, `train.en`, `{dev,test}.en.0` to `.en.3` and `.doc` files.

    A .doc file has the document name of each line, which contains the topic (`topic_of`). If the
    world has trees, `train.en.trees` and `{dev,test}.en.0.trees` to `.en.3.trees` have those of the
    English files. The files appear together, when all are complete.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for part in PARTS:
            sentences = world.part(part)
            columns: dict[str, Iterable[str]] = {
                "zh": (s.source for s in sentences),
                "doc": (s.document for s in sentences),
            }
            if part == "train":
                columns["en"] = (s.references[0] for s in sentences)
            else:
                for i in range(REFERENCES):
                    columns[f"en.{i}"] = [s.references[i] for s in sentences]
            if any(s.trees for s in sentences):
                for i in range(len(sentences[0].trees)):
                    name = "en.trees" if part == "train" else f"en.{i}.trees"
                    columns[name] = [s.trees[i] for s in sentences]
            for suffix, lines in columns.items():
                file = stack.enter_context(write_text(folder / f"{part}.{suffix}"))
                file.writelines(line + "\n" for line in lines)


def statistics(world: World) -> dict[str, Any]:
    """Take a world and return counts and shares that describe it, as a mapping for JSON.

    Per part: sentences, documents, words, types and lengths; for dev and test also words that do
    not occur in training. Over all parts: `noise`, `topics` (number of sentences) and `phenomena`
    (share of the sentences).
    """
    report: dict[str, Any] = {"seed": world.seed}
    topics: Counter[str] = Counter()
    bits: Counter[int] = Counter()
    noise: Counter[str] = Counter({"bad pair": 0, "missing words": 0})
    known: set[str] = set()
    for part in PARTS:
        sentences = world.part(part)
        source = Counter(word for s in sentences for word in s.source.split(" "))
        target = Counter(word for s in sentences for r in s.references for word in r.split(" "))
        lengths = [s.source.count(" ") + 1 for s in sentences]
        texts = sum(len(s.references) for s in sentences)
        counts: dict[str, Any] = {
            "sentences": len(sentences),
            "documents": len({s.document for s in sentences}),
            "references": texts // len(sentences) if sentences else 0,
            "source_words": source.total(),
            "source_types": len(source),
            "target_words": target.total(),
            "target_types": len(target),
            "mean_source_length": _ratio(source.total(), len(sentences)),
            "mean_target_length": _ratio(target.total(), texts),
            "longest_source": max(lengths, default=0),
        }
        if part == "train":
            known = set(source)
        else:
            unseen = {word: count for word, count in source.items() if word not in known}
            counts["unseen_words"] = sum(unseen.values())
            counts["unseen_types"] = len(unseen)
            counts["unseen_share"] = _ratio(counts["unseen_words"], source.total())
        report[part] = counts
        for s in sentences:
            topics[s.topic] += 1
            bits[s.bits] += 1
            if s.noise:
                noise[s.noise] += 1
    report["topics"] = {topic: topics[topic] for topic in _maker().lexicon.topics}
    report["noise"] = {
        "bad_pairs": noise["bad pair"],
        "missing_words": noise["missing words"],
        "share": _ratio(noise.total(), len(world.train)),
    }
    sentence_count = sum(bits.values())
    report["phenomena"] = {
        name: _ratio(sum(n for b, n in bits.items() if b & bit), sentence_count)
        for name, bit in default_grammar().bits.items()
    }
    return report


def _ratio(a: float, b: float) -> float:
    return round(a / b, 4) if b else 0.0


def examples(world: World, n: int = 3) -> list[Example]:
    """Take a world and return up to `n` sentences that illustrate it.

    Each has medium length and a phenomenon of its own; topics differ if possible; sentences of dev
    and test, with several references, are preferred.
    """
    grammar = default_grammar()
    pool = [*world.dev, *world.test] or list(world.train)
    shown: list[Sentence] = []
    for phenomenon in grammar.plain_words:
        if len(shown) == min(n, len(pool)):
            break
        bit = grammar.bits[phenomenon]
        topics = {s.topic for s in shown}
        having = [s for s in pool if s.bits & bit and s not in shown]
        if having:
            shown.append(min(having, key=lambda s: (s.topic in topics, _unsuitability(s))))
    return [
        Example(
            s.source,
            s.references,
            tuple(
                text for name, text in grammar.plain_words.items() if s.bits & grammar.bits[name]
            ),
            s.topic,
        )
        for s in shown
    ]


def _unsuitability(sentence: Sentence) -> int:
    """Return the unsuitability as an example: best are ten words and different reference starts."""
    beginnings = {reference.split(" ", 1)[0] for reference in sentence.references}
    length = abs(sentence.source.count(" ") - 9)
    return length - 3 * len(beginnings) + 10 * bool(sentence.noise)
