"""The built-in world: a bilingual corpus of our own, Mandarin in pinyin and English.

In: sizes and a seed. Out: a `World` of training, development and test sentences in documents, each
with a topic; files as every other command reads them; statistics; examples. Nothing is downloaded:
a synchronous grammar (hopefear.text.world_grammar) makes every sentence. It has what makes
translation hard in the papers: phrases that move, words that topic or neighbour decide, words that
must be inserted, several right translations, a little noise in the training text (and none
elsewhere), and names in the test that training never saw.

Every document has random numbers of its own, from the seed, its part and its number. So `dev` and
`test` stay the same, byte by byte, whatever the size of `train`, a larger part begins with
the documents of a smaller one, and only `random.Random.random` is used, which is the same in every
version of Python. No source sentence of `test` is in `dev`, and none of either is in `train`. Words
of theirs that the usual 8,000 training pairs lack stay unseen in any larger training text.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, write_text
from hopefear.text.world_grammar.constructions import default_grammar
from hopefear.text.world_grammar.derive import Maker
from hopefear.text.world_grammar.phrases import Derivation
from hopefear.text.world_grammar.words import Word

PARTS = ("train", "dev", "test")
REFERENCES = 4
SHORTEST, LONGEST = 5, 20  # sentences in a document
BAD_PAIRS = 0.03  # share of training pairs with the translation of another sentence
MISSING_WORDS = 0.03  # share of training pairs with some words lost on one side
TRIES = 40  # to say a sentence in four ways; a stubborn one is replaced
HELD_BACK = 8000  # training pairs after which the unseen words of dev and test are kept out
PATIENCE = 1000  # sentences in a row that are not new; then there are no more


@dataclass(frozen=True)
class Sentence:
    """A source sentence with its references (one in training text).

    `document` names the document and ends in its topic. `noise` says what is wrong with the pair:
    `bad pair`, `missing words` or nothing. `words` are the lexicon's entries that the sentence was
    made of, kept for development and test sentences: each reference has a form of each of them.
    """

    __slots__ = ("bits", "document", "noise", "references", "source", "words")
    source: str
    references: tuple[str, ...]
    document: str
    bits: int
    noise: str
    words: tuple[Word, ...]

    @property
    def topic(self) -> str:
        return topic_of(self.document)

    @property
    def phenomena(self) -> tuple[str, ...]:
        """The names of the constructions and of the other phenomena in it, as in grammar.toml."""
        return default_grammar().phenomena(self.bits)


@dataclass(frozen=True)
class World:
    """The three parts, sentence by sentence in the order of the documents."""

    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    test: Sequence[Sentence]
    seed: int

    def part(self, name: str) -> Sequence[Sentence]:
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        return parts[name]


class Example(NamedTuple):
    """A sentence to show; the phenomena are in plain words."""

    source: str
    references: tuple[str, ...]
    phenomena: tuple[str, ...]
    topic: str


def topic_of(document: str) -> str:
    """The topic of a document from its name: `train-00001-food` is about food."""
    return document.rpartition("-")[2]


@lru_cache(maxsize=1)
def _maker() -> Maker:
    return Maker(default_grammar())


def generate(
    *,
    train: int = 8000,
    dev: int = 300,
    test: int = 500,
    seed: int = 1,
    progress: Callable[[int], None] = lambda count: None,
) -> World:
    """Make a world of these numbers of sentences. The same seed gives the same world.

    `progress` is told, document by document, how many sentences are new.
    """
    for name, size in (("train", train), ("dev", dev), ("test", test)):
        if size < 0:
            raise OptionError(f"{name}={size}: expected a number of sentences of at least 0")
    opening = _opening_source()
    tested = _part("test", test, seed, {opening}, progress)
    banned = {opening, *(sentence.source for sentence in tested)}
    developed = _part("dev", dev, seed, banned, progress)
    banned |= {sentence.source for sentence in developed}
    banned.discard(opening)
    words = {word for sentence in (*tested, *developed) for word in sentence.source.split(" ")}
    return World(_part("train", train, seed, banned, progress, words), developed, tested, seed)


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
    tested_words: Set[str] = frozenset(),
) -> list[Sentence]:
    """The sentences of a part, document by document. Outside training all are different.

    `tested_words` are those of dev and test: what is unseen of them after `HELD_BACK` sentences is
    not used any more.
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
            english = maker.english(derivation, draw, plain=True)
            document.append(_sentence(derivation, (english,), name))
        refused = 0
        while len(document) < length:
            refused += 1
            if refused > PATIENCE:
                raise OptionError(
                    f"{part}={size}: no new sentence about {scene.topic} in {PATIENCE} tries; "
                    f"ask for less than {done + len(document) + 1}"
                )
            derivation = maker.sentence(scene)
            if derivation.source in banned or derivation.source in seen:
                continue
            if unseen and not unseen.isdisjoint(derivation.source.split(" ")):
                continue
            if part == "train":
                references: tuple[str, ...] = (maker.english(derivation, draw),)
            else:
                references = _references(maker, derivation, draw)
                if len(references) < REFERENCES:
                    continue
                seen.add(derivation.source)
            document.append(_sentence(derivation, references, name, part != "train"))
            refused = 0
        if part == "train":
            document = _spoil(document, _stream(seed, "noise", number), opens, banned)
        sentences += document
        done += length
        progress(length)
    return sentences


def _document_length(left: int, draw: Callable[[], float]) -> int:
    """5 to 20 sentences, such that what is left after them is no stump."""
    length = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
    if left - length < SHORTEST:
        return left if left <= LONGEST else left - SHORTEST
    return length


def _sentence(
    derivation: Derivation, references: tuple[str, ...], document: str, keep: bool = False
) -> Sentence:
    words = derivation.words if keep else ()
    return Sentence(derivation.source, references, document, derivation.bits, "", words)


def _references(maker: Maker, derivation: Derivation, draw: Callable[[], float]) -> tuple[str, ...]:
    """Different translations, at most four."""
    found: dict[str, None] = {}
    for _ in range(TRIES):
        found[maker.english(derivation, draw)] = None
        if len(found) == REFERENCES:
            break
    return tuple(found)


def _spoil(
    document: list[Sentence], draw: Callable[[], float], opens: bool, banned: Container[str]
) -> list[Sentence]:
    """The document with some bad pairs and missing words; the opening stays as it is."""
    result = []
    for i, sentence in enumerate(document):
        u = draw()
        if not (opens and i == 0):
            if u < BAD_PAIRS and len(document) > 1:
                j = int(draw() * (len(document) - 1))
                other = document[j + (j >= i)].references
                if other != sentence.references:
                    sentence = _changed(sentence, sentence.source, other, "bad pair")
            elif BAD_PAIRS <= u < BAD_PAIRS + MISSING_WORDS:
                sentence = _lose_words(sentence, draw, banned)
        result.append(sentence)
    return result


def _lose_words(sentence: Sentence, draw: Callable[[], float], banned: Container[str]) -> Sentence:
    """Lose one to three neighbouring words, mostly of the target, never the last token."""
    source, target = sentence.source, sentence.references[0]
    from_target = draw() < 0.8
    words = (target if from_target else source).split(" ")
    count = min(1 + int(draw() * 3), len(words) - 2)
    start = int(draw() * (len(words) - count))
    shorter = " ".join(words[:start] + words[start + count :])
    if from_target:
        return _changed(sentence, source, (shorter,), "missing words")
    if shorter in banned:
        return sentence
    return _changed(sentence, shorter, (target,), "missing words")


def _changed(sentence: Sentence, source: str, references: tuple[str, ...], noise: str) -> Sentence:
    return Sentence(source, references, sentence.document, sentence.bits, noise, sentence.words)


def write(world: World, directory: PathLike) -> None:
    """Write `{train,dev,test}.zh`, `train.en`, `{dev,test}.en.0` to `.en.3` and `.doc` files.

    A .doc file has the name of each line's document; `topic_of` reads the topic from it. The files
    appear together, when all of them are complete.
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
            for suffix, lines in columns.items():
                file = stack.enter_context(write_text(folder / f"{part}.{suffix}"))
                file.writelines(line + "\n" for line in lines)


def statistics(world: World) -> dict[str, Any]:
    """Counts and shares that describe a world, fit for JSON.

    By part: sentences, documents, words, types and lengths; for dev and test also the words whose
    form training never saw. `noise`, `topics` (sentences in each) and `phenomena` (the share of all
    sentences that have each) are over the whole.
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
        about: dict[str, Any] = {
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
            about["unseen_words"] = sum(unseen.values())
            about["unseen_types"] = len(unseen)
            about["unseen_share"] = _ratio(about["unseen_words"], source.total())
        report[part] = about
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
    every = sum(bits.values())
    report["phenomena"] = {
        name: _ratio(sum(n for b, n in bits.items() if b & bit), every)
        for name, bit in default_grammar().bits.items()
    }
    return report


def _ratio(a: float, b: float) -> float:
    return round(a / b, 4) if b else 0.0


def examples(world: World, n: int = 3) -> list[Example]:
    """Sentences good to show: of middling length, each with a telling phenomenon of its own, of
    different topics as far as possible, with several references where there are some.
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
            shown.append(min(having, key=lambda s: (s.topic in topics, _strain(s))))
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


def _strain(sentence: Sentence) -> int:
    """How far from good to show: ten words are best, and references that begin differently."""
    beginnings = {reference.split(" ", 1)[0] for reference in sentence.references}
    length = abs(sentence.source.count(" ") - 9)
    return length - 3 * len(beginnings) + 10 * bool(sentence.noise)
