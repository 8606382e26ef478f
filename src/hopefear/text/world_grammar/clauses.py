"""Clauses of the built-in world.

Takes the requirements of a sentence (any clause, one that can be a question, one with an open slot,
certain aspects) and returns a clause as a tree of `Node`: a construction, a verb that fits it, an
aspect, and noun phrases that fit the verb.
"""

from __future__ import annotations

from typing import Any

from hopefear.text.world_grammar.constructions import Aspect, Construction, Grammar, Template
from hopefear.text.world_grammar.phrases import DeadEndError, Filler, Node, NounPhrases
from hopefear.text.world_grammar.words import GENERAL, Class, Noun, Table, Verb, Word

Clause = tuple[Construction, Verb | None]


class Clauses(NounPhrases):
    """Generates clauses; tables of fitting constructions and verbs are cached by topic."""

    def __init__(self, grammar: Grammar):
        super().__init__(grammar)
        self.places = Table((rule, rule.weight) for rule in grammar.rules["place"])
        self._clauses: dict[tuple[str, str], Table[Clause]] = {}
        self._gaps: dict[
            tuple[Noun | Class, str, str], Table[tuple[Construction, Verb | None, str]]
        ] = {}
        self._aspects: dict[tuple[int, frozenset[str], str], Table[Aspect]] = {}

    def _clause_table(self, need: str) -> Table[tuple[Construction, Verb | None]]:
        topic = self.scene.topic
        table = self._clauses.get((need, topic))
        if table is None:
            pairs: list[tuple[tuple[Construction, Verb | None], float]] = []
            for rule in self.grammar.rules["clause"]:
                if not self._suits(rule, need):
                    continue
                verbs = [v for v in self._verbs_for(rule, topic) if self._verb_suits(v, need)]
                total = sum(weight for _, weight in verbs)
                if "verb" not in rule.options and need in ("any", "asked", "clause"):
                    pairs.append(((rule, None), rule.weight))
                pairs += [((rule, verb), rule.weight * w / total) for verb, w in verbs]
            table = self._clauses[need, topic] = Table(pairs)
        return table

    def _suits(self, rule: Construction, need: str) -> bool:
        if need == "any":
            return True
        if need == "asked":
            return rule.has_choice("question") and not rule.options.get("plain")
        if need == "active":
            return (
                "verb" in rule.options
                and rule.begins_with("subject", "object")
                and rule.has_choice("active")
            )
        if need == "command":
            return rule.name in ("transitive", "dative", "go-to-do") and rule.has_choice(
                "do", "subject"
            )
        gap = need.partition(" ")[2]
        mode = "" if gap == "subject" else "question"
        in_place = gap in rule.options.get("gaps", []) if gap in ("subject", "object") else True
        return in_place and rule.always_has(gap) and rule.has_choice(mode, gap)

    def _verbs_for(self, rule: Construction, topic: str) -> list[tuple[Verb, float]]:
        shape, flag = rule.options.get("verb"), rule.options.get("flag")
        found = []
        if shape:
            for source, share in ((topic, 1.0), (GENERAL, 0.45)):
                for verb in self.lexicon.verbs[source]:
                    if (
                        verb.shape == shape
                        and (not flag or flag in verb.flags)
                        and not (rule.name == "moved-pp" and "gei" in verb.flags)
                        and all(
                            len(self.lexicon.nouns(selector, topic))
                            for selector in (verb.subject, verb.object, verb.partner)
                            if selector
                        )
                    ):
                        found.append((verb, verb.weight * share))
        return found

    def _verb_suits(self, weighted: tuple[Verb, float], need: str) -> bool:
        verb, topic = weighted[0], self.scene.topic
        if need == "gap object":
            return not any(noun.person for noun in self.lexicon.nouns(verb.object, topic).items)
        if need in ("gap subject", "command"):
            return any(noun.person for noun in self.lexicon.nouns(verb.subject, topic).items) and (
                "will" in verb.flags
            )
        return True

    def _aspect_table(self, rule: Construction, verb: Verb | None, allowed: str) -> Table[Aspect]:
        flags = verb.flags if verb else frozenset(("state",))
        key = (id(rule), flags, allowed)
        table = self._aspects.get(key)
        if table is None:
            names = rule.options.get("aspects") or list(self.grammar.aspects)
            names_allowed = allowed.split()
            chosen = []
            for name in names:
                aspect = self.grammar.aspects[name]
                option = aspect.options
                if verb and "state" in flags and not option.get("states"):
                    continue
                if verb and option.get("agent") and "will" not in flags:
                    continue
                if names_allowed == ["relative"]:
                    if not option.get("relative"):
                        continue
                elif name not in names_allowed and (names_allowed or option.get("only")):
                    continue
                chosen.append((aspect, aspect.weight))
            table = self._aspects[key] = Table(chosen)
        return table

    def _clause(
        self, need: str, depth: int, allowed: str = "", gap: str = "", fill: str = ""
    ) -> Node:
        table = self._clause_table(need)
        for _ in range(20 if len(table) else 0):
            rule, verb = table.pick(self.draw())
            aspects = self._aspect_table(rule, verb, allowed)
            if not len(aspects):
                continue
            aspect = aspects.pick(self.draw())
            if gap == "place" and aspect.options.get("place") is False:
                continue
            return self._fill(rule, verb, aspect, depth, gap, fill, None)
        raise DeadEndError

    def _next(self, previous: Node, depth: int) -> Node:
        """A clause about the subject of another."""
        subject = previous.slots.get("subject")
        noun = subject.noun if isinstance(subject, Node) else None
        if noun is None:
            raise DeadEndError
        table = self._gap_table(noun, "subject")
        assert previous.aspect
        for allowed in (previous.aspect.name, previous.aspect.name, ""):
            if not len(table):
                break
            rule, verb, gap = table.pick(self.draw())
            aspects = self._aspect_table(rule, verb, allowed)
            if verb and verb is not previous.verb and len(aspects):
                return self._fill(rule, verb, aspects.pick(self.draw()), depth, gap, "", noun)
        raise DeadEndError

    def _relative(self, noun: Noun, depth: int) -> Node:
        table = self._gap_table(noun, "")
        if not len(table):
            raise DeadEndError
        rule, verb, gap = table.pick(self.draw())
        aspects = self._aspect_table(rule, verb, "relative")
        if not len(aspects):
            raise DeadEndError
        return self._fill(rule, verb, aspects.pick(self.draw()), depth, gap, "", noun)

    def _gap_table(self, noun: Noun, only: str) -> Table[tuple[Construction, Verb | None, str]]:
        """Clauses that can have the noun in an open slot."""
        topic = self.scene.topic
        table = self._gaps.get((noun.key, topic, only))
        if table is None:
            found: list[tuple[tuple[Construction, Verb | None, str], float]] = []
            for rule in self.grammar.rules["clause"]:
                for gap in rule.options.get("gaps", []):
                    if only and gap != only:
                        continue
                    if "verb" not in rule.options:
                        if len(self.lexicon.adjectives(noun, topic, predicate=True)):
                            found.append(((rule, None, gap), 0.3))
                        continue
                    for verb, weight in self._verbs_for(rule, topic):
                        if self.lexicon.fits(noun, getattr(verb, gap)):
                            found.append(((rule, verb, gap), weight * rule.weight))
            table = self._gaps[noun.key, topic, only] = Table(found)
        return table

    def _fill(
        self, rule: Construction, verb: Verb | None, aspect: Aspect,
        depth: int, gap: str, fill: str, noun: Noun | None,
    ) -> Node:  # fmt: skip
        draw, found = self.draw, 0
        zh = rule.zh.pick(draw())
        definite = rule.options.get("definite", ())
        slots: dict[str, Any] = {}
        if verb:
            if gap != "subject":
                slots["subject"] = self._np(verb.subject, depth, True)
            if verb.object and gap != "object":
                mode = "definite" if "object" in definite else ""
                slots["object"] = self._np(verb.object, depth, False, mode)
            if verb.partner:
                slots["partner"] = self._np(verb.partner, depth + 1)
        for name, declaration in rule.slots.items():
            if name != gap:
                slots[name] = self._special(name, declaration, slots, depth, noun)
        optional = self.grammar.optional
        names = zh.names
        if (
            aspect.time
            and "time" in names
            and gap != "time"
            and not self.timed
            and draw() < optional["time"]
        ):
            self.timed = True
            slots["time"] = self._word(self.lexicon.times[aspect.time])
            if zh[0].name == "time":
                found |= self.bits["moved-time"]
        place_fits = aspect.options.get("place", True) and (not verb or "anywhere" in verb.flags)
        if (
            "place" in names
            and gap != "place"
            and draw() < optional["place"] / (depth + 1)
            and place_fits
        ):
            slots["place"] = self._place(depth)
        if "manner" in names and verb and "will" in verb.flags and draw() < optional["manner"]:
            slots["manner"] = self._word(self.lexicon.manners)
        often = aspect.options.get("adverb") and "adverb" in names and gap != "adverb"
        if often and draw() < optional["adverb"]:
            slots["adverb"] = self._word(self.lexicon.adverbs)
        if gap:
            slots[gap] = fill
        self.phenomena |= found | rule.bit
        node = self._clause_node(rule, zh, slots, verb, aspect.name)
        node.gap = gap
        return node

    def _clause_node(
        self, rule: Construction, zh: Template, slots: dict[str, Any], verb: Verb | None,
        aspect: str,
    ) -> Node:  # fmt: skip
        node = Node(rule, zh, slots)
        node.aspect = self.grammar.aspects[aspect]
        node.verb = verb
        suffix = node.aspect.suffix
        slots["zh.marker"] = node.aspect.marker
        slots["zh.suffix"] = suffix
        if verb:
            self.words.append(verb)
            slots["zh.verb"] = f"{verb.zh} {suffix}" if suffix else verb.zh
            slots["zh.stem"] = verb.zh
            slots["zh.prep"] = verb.prep
        self.phenomena |= node.aspect.bit
        return node

    def _special(
        self, name: str, declaration: str, slots: dict[str, Any], depth: int, noun: Noun | None
    ) -> Filler:
        """A slot that the construction declares itself."""
        kind, _, argument = declaration.partition(" ")
        if kind == "np":
            place = "venue" in argument or "city" in argument
            return self._np(argument, depth + 1, name == "subject", "place" if place else "")
        if kind == "bare":
            return self._np(argument, depth + 1, False, "bare")
        if kind == "adjective":
            filler = slots.get(argument)
            noun = filler.noun if isinstance(filler, Node) else noun
            if noun is None:
                raise DeadEndError
            table = self.lexicon.adjectives(noun, self.scene.topic, predicate=True)
            if not len(table):
                raise DeadEndError
            adjective = table.pick(self.draw())
            if adjective in self.words:  # "the important plan is important"
                raise DeadEndError
            self.words.append(adjective)
            return adjective
        if kind == "same":
            noun = slots[argument].noun
            if noun is None or noun.cls.np:
                raise DeadEndError
            return self._np(noun.cls.name, depth + 1, False, "definite")
        if kind == "name":
            people = [n for n in self.scene.cast if n.person and n.is_name]
            if not people:
                raise DeadEndError
            return self._phrase(people[int(self.draw() * len(people))], 1, True, "name")
        if kind == "indefinite":
            if argument in slots:
                return self._np(slots[argument].noun.cls.name, depth + 1, False, "one")
            return self._np(argument, depth + 1, False, "indefinite")
        if kind == "duration":
            return self._word(self.lexicon.durations)
        degree: Word = self.lexicon.degrees.pick(self.draw())
        return degree

    def _place(self, depth: int) -> Node:
        rule = self.places.pick(self.draw())
        self.phenomena |= rule.bit
        where = self._np(rule.slots["where"].partition(" ")[2], depth + 1, False, "place")
        return Node(rule, rule.zh.items[0], {"where": where})
