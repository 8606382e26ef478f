"""The lexicon of the built-in world.

Takes `data/lexicon.toml`, `english.toml` and `topics.toml`, whose comments describe the notation,
and returns a `Lexicon`, which provides the nouns, verbs and adjectives that fit together in a
topic. The files are checked when they are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from hopefear.base.config import parse_toml
from hopefear.text.world_grammar.english import English
from hopefear.text.world_grammar.words import (
    CLASS_KEYS,
    GENERAL,
    Adjective,
    Class,
    Noun,
    NounForm,
    Saying,
    Table,
    Verb,
    VerbForm,
    Word,
    WorldDataError,
    expand,
    variants,
)

PARTICLES = frozenset(
    ("off", "on", "up", "out", "down", "over", "back", "forward", "around", "under")
)
NOUN_MARKS = frozenset(("mass", "plural", "the", "bare", "name", "m", "f", "title"))
VERB_FLAGS = frozenset(("ba", "state", "activity", "motion"))
TIMES = ("past", "future", "present", "now")


def read_data(name: str) -> dict[str, Any]:
    """Read a file of the folder `data`."""
    text = resources.files(__package__).joinpath("data", name).read_text("utf-8")
    return parse_toml(text, name)


#: A noun with one of these words in its name takes none of them as an adjective.
AGES = {"ancient", "elderly", "new", "old", "young"}


class Lexicon:
    """All words, by topic and class. `nouns(selector, topic)` and `adjectives(noun, topic)` are
    weighted tables; a selector is `class|class|noun`.
    """

    def __init__(
        self, data: Mapping[str, Any], english: Mapping[str, Any], topics: Mapping[str, Any]
    ):
        self.data = data
        self.topics: dict[str, Mapping[str, Any]] = dict(topics)
        self.english = English(english["verbs"], english["plurals"], english["comparatives"])
        self.classes: dict[str, Class] = {}
        self._read_classes()
        self.by_topic: dict[str, list[Noun]] = {t: [] for t in (GENERAL, *self.topics)}
        self._read_nouns()
        self._read_compounds()
        self.nouns_of = {t: self._visible_nouns(t) for t in self.topics}
        self._known = {n.zh for nouns in self.by_topic.values() for n in nouns}
        self.verbs: dict[str, list[Verb]] = {t: [] for t in (GENERAL, *self.topics)}
        self._read_verbs()
        self.adjectives_of: dict[str, list[list[Adjective]]] = {t: [] for t in self.verbs}
        self._read_adjectives()
        self._read_small_words()
        self._check_topics()
        self._mark_senses()
        self._selectors: dict[str, frozenset[str]] = {}
        self._noun_tables: dict[tuple[str, str], Table[Noun]] = {}
        self._adjective_tables: dict[tuple[Noun | Class, str, bool], Table[Adjective]] = {}

    # -- reading ------------------------------------------------------------------------------

    def _fail(self, place: str, problem: str) -> WorldDataError:
        return WorldDataError(f"lexicon.toml: {place}: {problem}")

    def _read_classes(self) -> None:
        for name, values in self.data["classes"].items():
            place = f"[classes] {name}"
            unknown = set(values) - CLASS_KEYS
            if unknown:
                legal = ", ".join(sorted(CLASS_KEYS))
                raise self._fail(place, f"unknown key {sorted(unknown)[0]!r}; use one of {legal}")
            parent = values.get("is")
            if parent is not None and parent not in self.classes:
                raise self._fail(place, f"is {parent!r}, which is no class above; define it first")
            self.classes[name] = Class(name, self.classes.get(parent), values)

    def _topic_section(self, kind: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        for topic, section in self.data[kind].items():
            if topic != GENERAL and topic not in self.topics:
                known = ", ".join(self.topics)
                raise self._fail(
                    f"[{kind}.{topic}]", f"no such topic; use {known} or add it to topics.toml"
                )
            yield topic, section

    def noun(self, zh: str, english: str, cls: str, topic: str, weight: float) -> Noun:
        """Make a noun from its line in the lexicon."""
        forms, gender = [], "m"
        for text, marks in variants(english):
            if marks - NOUN_MARKS:
                raise self._fail(
                    f"{zh} = {english!r}",
                    f"unknown mark {sorted(marks - NOUN_MARKS)[0]!r}; "
                    f"use one of {', '.join(sorted(NOUN_MARKS))}",
                )
            kind = next((k for k in ("mass", "plural", "bare", "name") if k in marks), "count")
            gender = "f" if "f" in marks else gender
            plural = self.english.plural(text) if kind == "count" else text
            forms.append(NounForm(text, plural, kind, "the" in marks))
        if any(form.kind == "name" for form in forms):  # one mark is enough for all variants
            for form in forms:
                form.kind, form.plural = "name", form.singular
        noun = Noun(zh, forms, self.classes[cls], topic, weight, gender)
        noun.titled = "title" in english
        return noun

    def _read_nouns(self) -> None:
        for topic, classes in self._topic_section("nouns"):
            for cls, words in classes.items():
                if cls not in self.classes:
                    raise self._fail(f"[nouns.{topic}.{cls}]", "no such class; add it to [classes]")
                for rank, (zh, english) in enumerate(words.items()):
                    noun = self.noun(zh, english, cls, topic, 1.0 / (rank + 1.5))
                    self.by_topic[topic].append(noun)

    def _read_compounds(self) -> None:
        for compound in self.data["compounds"]:
            for key in ("zh", "en", "parts", "topic", "class"):
                if key not in compound:
                    raise self._fail(f"[[compounds]] {compound}", f"needs the key {key!r}")
            topic = compound["topic"]
            for zh, english in compound["parts"].items():
                noun = self.noun(
                    compound["zh"].replace("{}", zh),
                    compound["en"].replace("{}", english),
                    compound["class"],
                    topic,
                    0.035,
                )
                noun.compound = True
                self.by_topic[topic].append(noun)

    def _visible_nouns(self, topic: str) -> list[Noun]:
        hidden = {noun.zh for noun in self.by_topic[topic]}
        general = [noun for noun in self.by_topic[GENERAL] if noun.zh not in hidden]
        return self.by_topic[topic] + general

    def check_selector(self, selector: str, place: str) -> str:
        """Return a selector without blanks; raise an error that names an unknown part."""
        parts = [part.strip() for part in selector.split("|")]
        for part in parts:
            if part not in self.classes and part not in self._known:
                raise self._fail(
                    place, f"{part!r} is neither a class nor a noun; add it to [classes] or [nouns]"
                )
        return "|".join(parts)

    def _read_verbs(self) -> None:
        for topic, words in self._topic_section("verbs"):
            for rank, (zh, senses) in enumerate(words.items()):
                for i, sense in enumerate([senses] if isinstance(senses, str) else senses):
                    verb = self._verb(zh, sense, topic, 1.0 / (rank + 3) / (i + 1))
                    self.verbs[topic].append(verb)

    def _verb(self, zh: str, sense: str, topic: str, weight: float) -> Verb:
        place = f"[verbs.{topic}] {zh}"
        match = re.fullmatch(
            r"([^>&+:]+)(?:>([^&+:]+))?(?:&\s*(\w+)\s+([^+:]+))?((?:\s*\+\w+)*)\s*:\s*(.+)", sense
        )
        if not match:
            raise self._fail(
                place,
                f"cannot read {sense!r}; expected 'subject > object & prep partner +flag: english'",
            )
        subject, obj, prep, partner, flags, english = match.groups()
        forms = []
        for text, marks in variants(english):
            words, _, preposition = (part.strip() for part in text.partition("..."))
            if marks - {"active"}:
                raise self._fail(place, f"unknown mark {sorted(marks)[0]!r}; use 'active'")
            if bool(preposition) != bool(obj and partner):
                raise self._fail(
                    place, f"{text!r}: write 'verb ... preposition' exactly for verbs with '&'"
                )
            tail = words.rpartition(" ")[2] if " " in words else ""
            passive = not marks and bool(obj) and (not tail or tail in PARTICLES)
            forms.append(VerbForm(self.english.verb(words), preposition, passive))
        verb = Verb(zh, forms, topic, weight)
        verb.subject = self.check_selector(subject, place)
        verb.object = self.check_selector(obj, place) if obj else ""
        verb.partner = self.check_selector(partner, place) if partner else ""
        verb.prep = prep or ""
        verb.shape = "s" + ("o" if obj else "") + ("p" if partner else "")
        flag_names = set(flags.replace("+", " ").split())
        if flag_names - VERB_FLAGS:
            raise self._fail(
                place,
                f"unknown flag +{sorted(flag_names - VERB_FLAGS)[0]}; "
                f"use one of {', '.join('+' + f for f in sorted(VERB_FLAGS))}",
            )
        if prep == "gei":
            flag_names.add("gei")
        if all(form.passive for form in forms) and "state" not in flag_names:
            flag_names.add("passive")
        if "state" not in flag_names and all(
            self._of_class(part, "agent") for part in verb.subject.split("|")
        ):
            flag_names.add("will")
            if not any(self._of_class(part, "place") for part in verb.object.split("|")):
                flag_names.add("anywhere")  # "he visited Vienna in Shanghai" is not meant
        verb.flags = frozenset(flag_names)
        return verb

    def _of_class(self, part: str, cls: str) -> bool:
        """Whether this part of a selector (a class or a noun) belongs to the class."""
        if part in self.classes:
            return cls in self.classes[part].ancestors
        nouns = [n for ns in self.by_topic.values() for n in ns if n.zh == part]
        return bool(nouns) and all(cls in noun.cls.ancestors for noun in nouns)

    def _read_adjectives(self) -> None:
        for topic, words in self._topic_section("adjectives"):
            for rank, (zh, senses) in enumerate(words.items()):
                group = []
                for sense in [senses] if isinstance(senses, str) else senses:
                    selector, colon, english = sense.partition(":")
                    place = f"[adjectives.{topic}] {zh}"
                    if not colon:
                        raise self._fail(place, f"{sense!r}: expected 'class: english'")
                    selector = self.check_selector(selector, place)
                    parts = variants(english)
                    marks = frozenset().union(*(marks for _, marks in parts))
                    if marks - {"attributive"}:
                        raise self._fail(place, f"unknown mark in {english!r}; use 'attributive'")
                    synonyms = [text for text, _ in parts]
                    adjective = Adjective(zh, synonyms, selector, topic, 1.0 / (rank + 2))
                    adjective.attributive = bool(marks)
                    compare = self.english.comparative
                    adjective.comparatives = {word: compare(word) for word in synonyms}
                    group.append(adjective)
                self.adjectives_of[topic].append(group)

    def _words(self, section: Mapping[str, str]) -> list[Word]:
        return [
            Word(zh, [text for text, _ in variants(english)], weight=1.0 / (rank + 1.5))
            for rank, line in enumerate(section.items())
            for zh, english in expand(*line)
        ]

    def _read_small_words(self) -> None:
        data = self.data
        self.demonyms = {zh: Word(zh, [text]) for zh, text in data["demonyms"].items()}
        self.countries = [n for n in self.by_topic[GENERAL] if n.zh in self.demonyms]
        self.measures = {zh: text.split(" | ") for zh, text in data["measures"].items()}
        for cls in self.classes.values():
            if cls.measure and cls.measure not in self.measures:
                raise self._fail(
                    f"[classes] {cls.name}", f"measure {cls.measure!r} is not in [measures]"
                )
            for part in cls.owner.split("|") if cls.owner else []:
                self.check_selector(part, f"[classes] {cls.name}: owner")
        self.times = {tense: self._weigh(self._words(data["times"][tense])) for tense in TIMES}
        self.durations = self._weigh(self._words(data["durations"]))
        self.adverbs = self._weigh(self._words(data["adverbs"]))
        self.manners = self._weigh(self._words(data["manners"]))
        self.degrees = self._weigh(self._words(data["degrees"]))
        self.pronouns = {key: tuple(forms.split()) for key, forms in data["pronouns"].items()}
        self.saying: list[Saying] = []
        for rank, (zh, line) in enumerate(data["verbs_of_saying"].items()):
            frame, _, english = line.partition(":")
            selector, _, aspects = frame.partition(">")
            selector = self.check_selector(selector, f"[verbs_of_saying] {zh}")
            synonyms = [text for text, _ in variants(english)]
            weight = 1.0 / (rank + 1.5)
            self.saying.append(Saying(zh, synonyms, weight, selector, aspects.strip()))

    @staticmethod
    def _weigh(words: Sequence[Word]) -> Table[Word]:
        """The entries that one line was expanded to share its weight."""
        shares = Counter(word.weight for word in words)
        return Table((word, word.weight / shares[word.weight]) for word in words)

    def _check_topics(self) -> None:
        for topic, values in self.topics.items():
            for cls in values["cast"]:
                if cls not in self.classes or "agent" not in self.classes[cls].ancestors:
                    raise WorldDataError(
                        f"topics.toml: [{topic}] cast: {cls!r} is not a class of agents; "
                        "use one from [classes] in lexicon.toml that is an agent"
                    )
            if topic not in self.data["nouns"] or topic not in self.data["verbs"]:
                raise WorldDataError(
                    f"topics.toml: [{topic}] has no words; "
                    f"add [nouns.{topic}.<class>] and [verbs.{topic}] to lexicon.toml"
                )

    def _mark_senses(self) -> None:
        """Mark the words whose sense depends on the topic (the same zh, no common English, in two
        topics) and those whose sense depends on a neighbour (several senses in one topic).
        """
        for nouns_or_verbs in (self.by_topic.values(), self.verbs.values()):
            entries: dict[str, list[Word]] = {}
            for entry in (entry for words in nouns_or_verbs for entry in words):
                entries.setdefault(entry.zh, []).append(entry)
            for group in entries.values():
                for word in group:
                    others = [w for w in group if not set(w.english) & set(word.english)]
                    if word.kind == "verb" and any(
                        w.topic in (GENERAL, word.topic) for w in others
                    ):
                        word.senses = "neighbour"
                    elif others:
                        word.senses = "topic"
        for groups in self.adjectives_of.values():
            for senses in groups:
                for adjective in senses:
                    if any(not set(a.english) & set(adjective.english) for a in senses):
                        adjective.senses = "neighbour"

    # -- look-up ------------------------------------------------------------------------------

    def fits(self, noun: Noun, selector: str) -> bool:
        """Whether the selector names the noun or one of its classes."""
        parts = self._selectors.get(selector)
        if parts is None:
            parts = self._selectors[selector] = frozenset(selector.split("|"))
        return not parts.isdisjoint(noun.tags)

    def nouns(self, selector: str, topic: str) -> Table[Noun]:
        """The nouns that fit a selector in a topic; those of the topic itself come more often."""
        table = self._noun_tables.get((selector, topic))
        if table is None:
            table = Table(
                (noun, noun.weight * (0.35 if noun.topic == GENERAL else 1.0))
                for noun in self.nouns_of[topic]
                if self.fits(noun, selector)
            )
            self._noun_tables[selector, topic] = table
        return table

    def adjectives(self, noun: Noun, topic: str, predicate: bool = False) -> Table[Adjective]:
        """The adjectives that a noun can have (as its predicate); of each the first sense that
        fits. A noun that contains an adjective takes neither the same one nor its opposite: no
        "young young person", no "old young person".
        """
        table = self._adjective_tables.get((noun.key, topic, predicate))
        if table is None:
            described = {word for name in noun.english for word in name.split()}
            described |= AGES if described & AGES else set()
            in_topic = {group[0].zh for group in self.adjectives_of[topic]}
            weighted: list[tuple[Adjective, float]] = []
            for source in (topic, GENERAL):
                for group in self.adjectives_of[source]:
                    if source == GENERAL and group[0].zh in in_topic:
                        continue
                    sense = next((a for a in group if self.fits(noun, a.selector)), None)
                    if sense and not (
                        (predicate and sense.attributive) or described & set(sense.english)
                    ):
                        weighted.append((sense, sense.weight))
            table = self._adjective_tables[noun.key, topic, predicate] = Table(weighted)
        return table


@lru_cache(maxsize=1)
def default_lexicon() -> Lexicon:
    """The lexicon that comes with the package."""
    return Lexicon(read_data("lexicon.toml"), read_data("english.toml"), read_data("topics.toml"))
