"""The constructions of the built-in world.

Takes `data/grammar.toml`, whose comments describe the notation, and returns a `Grammar` of compiled
constructions: for each a weight, slots, and the templates of both languages as short lists of
operations. The templates are checked: each slot of an English template must be in the Mandarin
template, so that the translation adds no content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from hopefear.base.errors import suggestion
from hopefear.text.world_grammar.english import VerbForms, verb_group
from hopefear.text.world_grammar.lexicon import Lexicon, default_lexicon, read_data
from hopefear.text.world_grammar.words import Noun, Table, WorldDataError, zipf_table

# Operations of a template
WORD, SLOT, GROUP, HEAD, FORM, MODE, SPECIAL = range(7)

#: Slots with a Mandarin side of their own (aspect particles, classifiers …).
ZH_OWN = frozenset(["verb", "stem", "suffix", "marker", "prep", "n", "adj", "cl", "measure"])
#: Slots of the English side that need no partner in the Mandarin.
EN_OWN = frozenset(["det", "who", "be", "go", "have", "at", "prep", "measure", "verb"])
#: Slots that a translation may leave out; `often` goes with the verb.
OPTIONAL_IN_ENGLISH = frozenset(("degree", "adverb", "n"))
HEADS = ("be", "go", "have")
MODES = ("question", "active", "do")
CATEGORIES = ("clause", "np", "place", "sentence")
KEYS = {
    "clause": ["verb", "flag", "aspects", "slots", "gaps", "definite", "plain"],
    "np": ["count", "mass", "heavy", "needs", "title", "indefinite", "only", "slots", "agreement"],
    "place": ["slots"],
    "sentence": ["slots"],
}
ASPECT_KEYS = frozenset(
    (
        *("name", "weight", "marker", "suffix", "en", "time"),
        *("states", "agent", "place", "adverb", "relative", "only"),
    )
)


class Op(NamedTuple):
    """One operation of a template: a word, a slot, a group that vanishes with its slot, the head
    of the verb group, a form of a word, a clause in a mood, or something special by name.
    """

    kind: int
    name: str
    arg: str = ""
    ops: tuple[Any, ...] = ()


class Template(tuple[Op, ...]):
    """The operations of a Mandarin side; `names` are its slots and words."""

    names: frozenset[str]

    def __new__(cls, ops: tuple[Op, ...]) -> Template:
        template = super().__new__(cls, ops)
        template.names = frozenset(op.name for op in ops)
        return template


class Alternative:
    """An English template with its properties: the slot its verb agrees with (`agree`),
    the slot it begins with if the verb follows at once (`lead`), the slots it `needs`.
    """

    __slots__ = ("agree", "lead", "needs", "number", "ops", "passive", "slots")

    def __init__(self, ops: tuple[Op, ...]):
        self.ops = ops
        head = next((i for i, op in enumerate(ops) if op.kind == HEAD), None)
        self.agree = self.lead = ""
        if head is not None:
            before = [op.name for op in ops[:head] if op.kind == SLOT]
            self.agree = ops[head].arg or (before[-1] if before else "")
            first = ops[0]
            if head == 1 and (first.kind == SLOT or first == Op(WORD, "there")):
                self.lead = first.name
        self.passive = any(op.kind == FORM and op.name == "verb" and op.arg == "done" for op in ops)
        self.needs = tuple(op.name for op in ops if op.arg == "!")
        self.slots = _slots(ops)
        numbers = [op.arg for op in ops if op.name == "n" and op.arg]
        self.number = numbers[0] if numbers else ""


class Construction:
    """A named pair of templates."""

    __slots__ = (
        "_choices",
        "active",
        "bit",
        "category",
        "en",
        "free",
        "name",
        "options",
        "place",
        "slots",
        "weight",
        "zh",
    )

    def __init__(self, category: str, number: int, data: Mapping[str, Any]):
        self.category = category
        self.name: str = data.get("name", "")
        self.place = f"grammar.toml: [[{category}]] {number + 1} ({self.name})"
        legal = {"name", "weight", "zh", "en", *KEYS[category]}
        for key in data:
            if key not in legal:
                raise WorldDataError(
                    f"{self.place}: unknown key {key!r}; use one of {', '.join(sorted(legal))}"
                )
        for key in ("name", "zh", "en"):
            if not data.get(key):
                raise WorldDataError(f"{self.place}: needs the key {key!r}")
        self.weight = float(data.get("weight", 0))
        self.options = data
        self.slots: dict[str, str] = dict(data.get("slots", {}))
        self.zh = zipf_table([Template(self._compile(text, "zh")) for text in data["zh"]], 0.8)
        self.en = [Alternative(self._compile(text, "en")) for text in data["en"]]
        mandarin_slots = set().union(*(_slots(ops) for ops in self.zh.items))
        for alternative in self.en:
            unknown = alternative.slots - mandarin_slots - EN_OWN
            if unknown:
                raise WorldDataError(
                    f"{self.place}: {{{sorted(unknown)[0]}}} is in 'en' but not in 'zh'; "
                    "write the slot on both sides"
                )
            missing = mandarin_slots - alternative.slots - ZH_OWN - OPTIONAL_IN_ENGLISH
            if missing:
                raise WorldDataError(
                    f"{self.place}: {{{sorted(missing)[0]}}} is in 'zh' but not in every 'en'; "
                    "write the slot in each paraphrase"
                )
        self.bit = 0  # set by the grammar, when it knows all names
        self.free = zipf_table(self.en, 1.0)  # the paraphrases, where nothing restricts them
        self._choices: dict[tuple[str, str, bool], Table[Alternative]] = {}
        modes = [op for a in self.en for op in a.ops if op.kind == MODE]
        #: slots of a sentence whose own subject comes first in some paraphrase
        self.active = frozenset(op.name for op in modes if op.arg == "active")

    def _compile(self, text: str, side: str) -> tuple[Op, ...]:
        ops: list[Op] = []
        for token in re.findall(r"\[[^\]]*\]|\S+", text):
            if token.startswith("["):
                inner = self._compile(token[1:-1], side)
                slot = next((op.name for op in inner if op.kind == SLOT), "")
                if not slot:
                    raise WorldDataError(f"{self.place}: {token!r} needs a slot inside")
                ops.append(Op(GROUP, slot, "", inner))
            elif token.startswith("{"):
                match = re.fullmatch(r"\{(\w+)(?:([:@])([\w!-]+))?\}", token)
                if not match:
                    raise WorldDataError(
                        f"{self.place}: cannot read the slot {token!r}; "
                        "write {name}, {name:form} or {verb@slot}"
                    )
                ops.append(self._slot(match[1], match[2] or "", match[3] or "", side))
            else:
                ops.append(Op(WORD, token))
        return tuple(ops)

    def _slot(self, name: str, mark: str, arg: str, side: str) -> Op:
        if side == "zh":
            return Op(SLOT, name, f"zh.{name}" if name in ZH_OWN else "")
        if arg == "!":
            return Op(SLOT, name, "!")
        if self.category == "clause" and (name in HEADS or (name == "verb" and not arg)):
            return Op(HEAD, name, arg if mark == "@" else "")
        if name == "verb" and arg not in VerbForms._fields:
            raise WorldDataError(
                f"{self.place}: {{verb:{arg}}}: use one of {', '.join(VerbForms._fields)}"
            )
        if self.category == "sentence" and arg in MODES:
            return Op(MODE, name, arg)
        if name in ("det", "n", "who", "at", "measure", "prep", "saying") or name == "pronoun":
            return Op(SPECIAL, name, arg)
        return Op(FORM, name, arg) if arg else Op(SLOT, name)

    def choices(self, mode: str, gap: str, passive: bool) -> Table[Alternative]:
        """The English alternatives that can stand in a mood, with a slot left open, and with a
        verb that has a passive or has none.
        """
        key = (mode, gap, passive)
        table = self._choices.get(key)
        if table is None:
            table = self._choices[key] = zipf_table(
                [a for a in self.en if self._fits(a, mode, gap, passive)], 1.0
            )
        return table

    @staticmethod
    def _fits(alternative: Alternative, mode: str, gap: str, passive: bool) -> bool:
        lead = alternative.lead
        if alternative.passive and not passive:
            return False
        if gap in ("subject", "object"):
            if lead not in ("subject", gap) or gap not in alternative.slots:
                return False
        elif gap and gap in alternative.needs:
            return False
        if mode in ("question", "inside"):
            return bool(lead)
        if mode in ("active", "do"):
            return lead == "subject"
        return True

    def has_choice(self, mode: str, gap: str = "") -> bool:
        """Whether an English alternative fits a mood and an open slot, also without a passive."""
        return len(self.choices(mode, gap, False)) > 0

    def begins_with(self, first: str, second: str) -> bool:
        """Whether the first slot is before the second in every Mandarin template."""
        for ops in self.zh.items:
            order = [op.name for op in ops if op.name in (first, second)]
            if not order or order[0] != first:
                return False
        return True

    def always_has(self, slot: str) -> bool:
        """Whether the slot is in every Mandarin template."""
        return all(slot in _slots(ops) for ops in self.zh.items)


def _slots(ops: tuple[Op, ...]) -> frozenset[str]:
    names = {op.name for op in ops if op.kind != WORD}
    for op in ops:
        if op.ops:
            names |= _slots(op.ops)
    return frozenset(names)


class Aspect:
    """How a clause is placed in time: what Mandarin puts before and after the verb, and the
    English tenses for it.
    """

    __slots__ = ("bit", "en", "marker", "name", "options", "suffix", "time", "weight")

    def __init__(self, data: Mapping[str, Any], times: Mapping[str, Any]):
        place = f"grammar.toml: [[aspect]] {data.get('name', '?')}"
        for key in data:
            if key not in ASPECT_KEYS:
                raise WorldDataError(
                    f"{place}: unknown key {key!r}; use one of {', '.join(sorted(ASPECT_KEYS))}"
                )
        self.name: str = data["name"]
        self.bit = 0  # set by the grammar
        self.weight: float = data["weight"]
        self.marker: str = data.get("marker", "")
        self.suffix: str = data.get("suffix", "")
        self.time: str = data.get("time", "")
        if self.time and self.time not in times:
            raise WorldDataError(
                f"{place}: time {self.time!r} is not in lexicon.toml; use {', '.join(times)}"
            )
        for tense in data["en"]:
            try:
                verb_group(tense, False, "s", False)
            except ValueError as error:
                raise WorldDataError(f"{place}: {error}") from error
        self.en = zipf_table(list(data["en"]), 1.2)
        self.options = data


class Grammar:
    """All constructions, the aspects, and the names of the phenomena that statistics count."""

    def __init__(self, data: Mapping[str, Any], lexicon: Lexicon):
        self.lexicon = lexicon
        self.aspects = {a["name"]: Aspect(a, lexicon.times) for a in data["aspect"]}
        self.optional: dict[str, float] = dict(data["optional"])
        self.opening: dict[str, str] = dict(data["opening"])
        #: phenomenon -> its description, the most important first
        self.plain_words: dict[str, str] = dict(data["phenomena"])
        self.rules: dict[str, list[Construction]] = {
            category: [Construction(category, i, entry) for i, entry in enumerate(data[category])]
            for category in CATEGORIES
        }
        for rule in self.rules["clause"]:
            for gap in ("", *rule.options.get("gaps", [])):
                if gap not in ("", "subject", "object"):
                    raise WorldDataError(f"{rule.place}: gap {gap!r}; use subject or object")
                if not rule.has_choice("inside", gap):
                    raise WorldDataError(
                        f"{rule.place}: no paraphrase begins with {{{gap or 'subject'}}} and its "
                        "verb, in the active; questions and relative clauses need one"
                    )
            for aspect in rule.options.get("aspects", []):
                if aspect not in self.aspects:
                    raise WorldDataError(
                        f"{rule.place}: no aspect {aspect!r}; use {', '.join(self.aspects)}"
                    )
        self._check_slots()
        self.noun_phrases = {
            rule.name: rule for rule in self.rules["np"] if rule.options.get("only")
        }
        for nouns in lexicon.by_topic.values():
            for noun in nouns:
                noun.rules = self.phrases_of(noun)
        names = [rule.name for rules in self.rules.values() for rule in rules]
        names += ["aspect-" + name for name in self.aspects]
        names += [
            "topic-sense",
            "neighbour-sense",
            "attributive-de",
            "plural-men",
            "nested-relative",
        ]
        names += ["moved-time", "new-name"]
        #: phenomenon -> bit, in the order of the grammar
        self.bits = {name: 1 << i for i, name in enumerate(dict.fromkeys(names))}
        for rule in (rule for rules in self.rules.values() for rule in rules):
            rule.bit = self.bits[rule.name]
        for aspect in self.aspects.values():
            aspect.bit = self.bits["aspect-" + aspect.name]
        for name in self.plain_words:
            if name not in self.bits:
                raise WorldDataError(
                    f"grammar.toml: [phenomena] {name}: no construction has this name; "
                    f"{suggestion(name, self.bits)}"
                )

    def _check_slots(self) -> None:
        for rules in self.rules.values():
            for rule in rules:
                for slot, declaration in rule.slots.items():
                    kind, _, selector = declaration.partition(" ")
                    other = rule.slots.get(selector, "")
                    if (
                        kind in ("np", "bare", "indefinite", "name")
                        and selector != "saying"
                        and not other
                    ):
                        self.lexicon.check_selector(selector, f"({rule.place}: slot {slot})")

    def phrases_of(self, noun: Noun) -> frozenset[str]:
        """The noun phrases a noun can head, as indices into `rules['np']` written as strings."""
        indices = []
        only = noun.cls.np
        bare = any(form.kind == "bare" for form in noun.forms.items)
        fixed = any(form.the for form in noun.forms.items)
        for i, rule in enumerate(self.rules["np"]):
            option = rule.options
            if noun.is_name:
                fits = rule.name in ("name", "conjunction")
            elif only:
                fits = rule.name in only
            elif option.get("only"):
                fits = False
            elif bare or fixed:
                fits = rule.name == "bare"
            else:
                fits = (
                    (noun.countable or not option.get("count"))
                    and (noun.mass or not option.get("mass"))
                    and ("needs" not in option or bool(getattr(noun.cls, option["needs"])))
                )
            if option.get("title") and not noun.titled:
                fits = False
            if noun.compound and rule.name == "national":
                fits = False  # "the German former mayor"
            if fits:
                indices.append(str(i))
        if not indices:
            raise WorldDataError(
                f"lexicon.toml: {noun.zh}: no noun phrase fits it; "
                f"see np in [classes] {noun.cls.name}"
            )
        return frozenset(indices)

    def phenomena(self, bits: int) -> tuple[str, ...]:
        """Return the names of a set of bits."""
        return tuple(name for name, bit in self.bits.items() if bits & bit)


@lru_cache(maxsize=1)
def default_grammar() -> Grammar:
    """The grammar that comes with the package."""
    return Grammar(read_data("grammar.toml"), default_lexicon())
