"""Scenes and noun phrases of the built-in world.

Takes a `Grammar` and a random generator; returns a `Scene` (the topic of a document and its
participants) and noun phrases about it, as trees of `Node`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Union

from hopefear.text.world_grammar.constructions import Aspect, Construction, Grammar, Template
from hopefear.text.world_grammar.words import (
    Noun,
    Number,
    Pronoun,
    Table,
    Verb,
    Word,
    number_words,
    numeral,
)

Filler = Union["Node", Word, str, None]

#: How much rarer a heavy noun phrase (relative clause, possessor) is inside another.
DEPTH = (1.0, 0.4, 0.0)


class DeadEndError(Exception):
    """Raised if a derivation cannot be completed; another one is drawn then."""


class Node:
    """A construction with its slots filled. `agree` is the agreement of a noun phrase that has
    one of its own (a pronoun); `gap` the slot that a clause leaves open.
    """

    __slots__ = ("aspect", "det", "gap", "noun", "plural", "rule", "slots", "verb", "zh")

    def __init__(self, rule: Construction, zh: Template, slots: dict[str, Any]):
        self.rule = rule
        self.zh = zh
        self.slots = slots
        self.noun: Noun | None = None
        self.det = ""
        self.plural = False
        self.aspect: Aspect | None = None
        self.gap = ""
        self.verb: Verb | None = None


class Scene:
    """The topic and the participants of a document, with its own random generator."""

    def __init__(self, topic: str, draw: Callable[[], float]):
        self.topic = topic
        self.draw = draw
        self.cast: list[Noun] = []
        self.fitting: dict[str, list[Noun]] = {}  # selector -> members of the cast
        self.recent: dict[str, Noun] = {}  # selector -> last noun


class Derivation:
    """The derivation of a sentence: its tree, its words, and its phenomena."""

    __slots__ = ("bits", "root", "source", "words")

    def __init__(self, root: Node, words: tuple[Word, ...], bits: int, source: str):
        self.root, self.words, self.bits, self.source = root, words, bits, source


class NounPhrases:
    """Makes scenes and noun phrases. It keeps the state of the sentence that is being made: its
    scene, words, nouns already used, and the phenomena so far (a bit set).
    """

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        self.lexicon = grammar.lexicon
        self.bits = grammar.bits
        self.pronouns = {
            key: Pronoun(key.partition("_")[0], forms)
            for key, forms in self.lexicon.pronouns.items()
        }
        self.strangers = Table([("wo", 3.0), ("women", 3.0), ("tamen", 3.0), ("ni", 1.0)])
        self.small = Table((self._number(n), 9.0 if n == 1 else 2.0 / n) for n in range(1, 11))
        self.topics = Table((t, values["weight"]) for t, values in self.lexicon.topics.items())
        self._phrases: dict[tuple[frozenset[str], int, str], Table[Construction]] = {}
        self._people: dict[str, bool] = {}
        self._begin(Scene("", lambda: 0.0))

    def _begin(self, scene: Scene) -> None:
        self.scene = scene
        self.draw = scene.draw
        self.words: list[Word] = []
        self.used: set[Noun] = set()
        self.phenomena = 0
        self.timed = False  # one time is enough for a sentence: "on Monday ... yesterday"

    def _relative(self, noun: Noun, depth: int) -> Node:
        raise NotImplementedError  # clauses.py

    # -- scenes -------------------------------------------------------------------------------

    def new_scene(self, draw: Callable[[], float], topic: str = "") -> Scene:
        """A document's topic and cast."""
        scene = Scene(topic or self.topics.pick(draw()), draw)
        for cls in self.lexicon.topics[scene.topic]["cast"]:
            table = self.lexicon.nouns(cls, scene.topic)
            noun = table.pick(draw())
            if noun.person and not noun.is_name and draw() < 0.7:
                noun = self._person(cls, scene)
            if noun not in scene.cast:
                scene.cast.append(noun)
        scene.cast.append(self.lexicon.nouns("city", scene.topic).pick(draw()))
        if draw() < 0.6:
            scene.cast.append(self._town(scene))
        return scene

    def _person(self, cls: str, scene: Scene) -> Noun:
        names, draw = self.lexicon.data["names"], scene.draw
        given = names["given"].split()
        first = skewed_choice(given, draw()).capitalize()
        if draw() < 0.6:
            first += skewed_choice(given[::-1], draw())
        name = skewed_choice(names["surnames"].split(), draw()) + " " + first
        return self._name(name, cls, scene, "f" if draw() < 0.5 else "m")

    def _town(self, scene: Scene) -> Noun:
        names, draw = self.lexicon.data["names"], scene.draw
        start = skewed_choice(names["towns"].split(), draw())
        return self._name(start + skewed_choice(names["town_ends"].split(), draw()), "city", scene)

    def _name(self, name: str, cls: str, scene: Scene, gender: str = "m") -> Noun:
        noun = self.lexicon.noun(name, f"{name} (name {gender})", cls, "", 1.0)
        noun.rules = self.grammar.phrases_of(noun)
        return noun

    # -- noun phrases -------------------------------------------------------------------------

    def _np(self, selector: str, depth: int, subject: bool = False, mode: str = "") -> Node:
        draw, scene = self.draw, self.scene
        cast = scene.fitting.get(selector)
        if cast is None:
            cast = [noun for noun in scene.cast if self.lexicon.fits(noun, selector)]
            scene.fitting[selector] = cast
        noun = None
        if mode not in ("one", "indefinite"):
            u = draw()
            if cast and u < 0.45:
                noun = cast[int(u / 0.45 * len(cast))]
                if subject and noun.person and noun.is_name and draw() < 0.28:
                    return self._pronoun("ta_" + noun.gender)
            elif subject and u > 0.95 and self._person_like(selector):
                return self._pronoun(self.strangers.pick(draw()))
            elif u < 0.6:
                noun = scene.recent.get(selector)
        if noun is None or noun in self.used:
            table = self.lexicon.nouns(selector, scene.topic)
            if not len(table):
                raise DeadEndError
            for _ in range(6):
                noun = table.pick(draw())
                if noun not in self.used and not (noun.is_name and mode in ("one", "indefinite")):
                    break
            else:
                raise DeadEndError
            scene.recent[selector] = noun
        return self._phrase(noun, depth, subject, mode)

    def _person_like(self, selector: str) -> bool:
        known = self._people.get(selector)
        if known is None:
            parts = selector.split("|")
            known = self._people[selector] = bool({"person", "folk", "agent"} & set(parts))
        return known

    def _pronoun(self, key: str) -> Node:
        rule = self.grammar.noun_phrases["pronoun"]
        self.phenomena |= rule.bit
        return Node(rule, rule.zh.items[0], {"pronoun": self.pronouns[key]})

    def _phrase_table(self, noun: Noun, depth: int, mode: str) -> Table[Construction]:
        key = (noun.rules, depth, mode)
        table = self._phrases.get(key)
        if table is None:
            fitting = []
            heavy = DEPTH[depth] if depth < len(DEPTH) else 0.0
            for i in sorted(map(int, noun.rules)):
                rule = self.grammar.rules["np"][i]
                option = rule.options
                weight = rule.weight or 60.0
                if mode == "bare" and rule.name != "bare":
                    continue
                if mode in ("definite", "place") and option.get("indefinite"):
                    continue
                if mode in ("indefinite", "one") and not option.get("indefinite"):
                    continue
                if mode == "one" and rule.name in ("many", "some"):
                    continue
                if mode == "name" and rule.name != "name":
                    continue
                fitting.append((rule, weight * (heavy if option.get("heavy") else 1.0)))
            table = self._phrases[key] = Table(fitting)
        return table

    def _phrase(self, noun: Noun, depth: int, subject: bool, mode: str) -> Node:
        draw = self.draw
        table = self._phrase_table(noun, depth, mode)
        if not len(table):
            raise DeadEndError
        rule = table.pick(draw())
        self.used.add(noun)
        self.words.append(noun)
        self.phenomena |= rule.bit
        if noun.topic == "":
            self.phenomena |= self.bits["new-name"]
        slots: dict[str, Any] = {}
        node = Node(rule, rule.zh.items[0], slots)
        node.noun = noun
        for name, declaration in rule.slots.items():
            slots[name] = self._part(declaration, noun, depth, mode)
        if rule.name == "relative-indefinite":
            node.plural = False
        elif "number" in slots:
            node.plural = slots["number"].value > 1
        elif noun.countable and mode != "place" and rule.name not in ("title", "demonstrative"):
            node.plural = draw() < 0.22
        self._article(node, noun, subject, mode)
        zh = noun.zh
        if (
            node.plural
            and noun.person
            and rule.name in ("bare", "relative", "possessive", "national")
        ):
            zh += "men"
            self.phenomena |= self.bits["plural-men"]
        slots["zh.n"] = zh
        slots["zh.cl"] = noun.cl
        if noun.measure:
            slots["zh.measure"] = noun.measure
        if not noun.is_name and draw() < self.grammar.optional["adjective"]:
            self._adjective(node, noun)
        return node

    def _article(self, node: Node, noun: Noun, subject: bool, mode: str) -> None:
        if mode == "bare":
            node.det = ""
        elif subject or mode in ("definite", "place"):
            plain = not noun.countable and mode != "definite" and self.draw() < 0.6
            node.det = "" if plain else "the"
        elif node.plural or not noun.countable:
            node.det = "the" if self.draw() < 0.25 else ""
        else:
            node.det = "the" if self.draw() < 0.45 else "a"

    def _adjective(self, node: Node, noun: Noun) -> None:
        if "adj" not in node.zh.names or noun.forms.items[0].kind == "bare":
            return
        table = self.lexicon.adjectives(noun, self.scene.topic)
        if len(table):
            adjective = table.pick(self.draw())
            if adjective in self.words:  # "the large school that is large"
                return
            self.words.append(adjective)
            node.slots["adj"] = adjective
            node.slots["zh.adj"] = adjective.zh + " de" if adjective.de else adjective.zh
            if adjective.de:
                self.phenomena |= self.bits["attributive-de"]

    def _part(self, declaration: str, noun: Noun, depth: int, mode: str) -> Filler:
        """A slot of a noun phrase."""
        kind, _, argument = declaration.partition(" ")
        draw = self.draw
        if kind == "relative":
            if depth > 0:
                self.phenomena |= self.bits["nested-relative"]
            return self._relative(noun, depth + 1)
        if kind == "owner":
            return self._np(noun.cls.owner, depth + 1, False, "definite")
        if kind == "np":
            return self._np(argument, depth + 1)
        if kind == "np-like":
            return self._np(noun.cls.name, 3, False, "name" if noun.is_name else "definite")
        if kind == "name-like":
            names = [n for n in self.scene.cast if n.is_name and n.cls is noun.cls]
            if not names:
                raise DeadEndError
            name = names[int(draw() * len(names))]
            return self._phrase(name, 3, False, "name")
        if kind == "pronoun":
            heroes = [n for n in self.scene.cast if n.person]
            key = (
                "ta_" + heroes[0].gender if heroes and draw() < 0.7 else self.strangers.pick(draw())
            )
            return self.pronouns[key]
        if kind == "country":
            table = self.lexicon.nouns("country", self.scene.topic)
            country = self.lexicon.demonyms[table.pick(draw()).zh]
            self.words.append(country)
            return country
        number = self._draw_number(kind, mode)
        if number.value != 1:
            self.words.append(number)
        return number

    def _draw_number(self, kind: str, mode: str) -> Number:
        draw = self.draw
        if mode == "one":
            return Number(1, "yi", ["a"])
        if kind == "percentage":
            percent = 1 + int(60 * draw() * draw())
            return Number(percent, numeral(percent), [str(percent)])
        if kind == "amount":
            digits = 1 + int(draw() * 99) if draw() < 0.4 else 1 + int(draw() * 9)
            return self._number(digits * int(10 ** (2 + int(draw() * 5))), False)
        if draw() < 0.07:
            return self._number(11 + int(draw() * draw() * 150))
        return self.small.pick(draw())

    @staticmethod
    def _number(n: int, counting: bool = True) -> Number:
        zh = "liang" if n == 2 and counting else numeral(n)
        return Number(n, zh, ["a"] * 6 + ["one"] if n == 1 and counting else number_words(n))

    def _word(self, table: Table[Any]) -> Word:
        word: Word = table.pick(self.draw())
        self.words.append(word)
        return word


def skewed_choice(items: Sequence[str], u: float) -> str:
    """Choose an item for u uniform in [0, 1); earlier items are more likely."""
    return items[int(u * math.sqrt(u) * len(items))]
