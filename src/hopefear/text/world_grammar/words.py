"""The entries of the built-in world's lexicon, and weighted choice among them.

Takes strings in the notation of lexicon.toml and returns `Noun`, `Verb`, `Adjective`, `Word`,
`Number` and `Pronoun` with all their English forms, the `Class` of a noun, and `Table`, which draws
by weight.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from hopefear.base.errors import InputError
from hopefear.text.world_grammar.english import VerbForms

T = TypeVar("T")

GENERAL = "general"
CLASS_KEYS = frozenset(
    ("is", "cl", "person", "owner", "national", "located", "about", "measure", "np", "at")
)
DIGITS = ["ling", "yi", "er", "san", "si", "wu", "liu", "qi", "ba", "jiu"]
ENGLISH_DIGITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)


class WorldDataError(InputError):
    """The grammar or lexicon of the world is not well formed."""


class Table(Generic[T]):
    """Weighted choice: `table.pick(u)` for u uniform in [0, 1)."""

    __slots__ = ("items", "sums", "total")

    def __init__(self, weighted: Iterable[tuple[T, float]]):
        self.items: list[T] = []
        self.sums: list[float] = []
        self.total = 0.0
        for item, weight in weighted:
            if weight > 0:
                self.total += weight
                self.items.append(item)
                self.sums.append(self.total)
        if self.sums:
            self.sums.pop()  # the last item has the remaining weight, also after rounding

    def __len__(self) -> int:
        return len(self.items)

    def pick(self, u: float) -> T:
        """Return the item at `u`, in [0, 1)."""
        return self.items[bisect_right(self.sums, u * self.total)]


def zipf_table(items: Sequence[T], offset: float = 1.0) -> Table[T]:
    """Take items and return a table with Zipf weights, which decrease along the list."""
    return Table((item, 1.0 / (place + offset)) for place, item in enumerate(items))


class Word:
    """A word with its translations: the base of all entries, and an entry of its own for times,
    numbers, adverbs.
    """

    __slots__ = ("english", "senses", "table", "topic", "weight", "zh")
    kind = "word"

    def __init__(self, zh: str, english: Sequence[str], topic: str = GENERAL, weight: float = 1.0):
        self.zh = zh
        self.english = tuple(english)
        self.table = zipf_table(self.english, 1.4)
        self.topic = topic
        self.weight = weight
        self.senses = ""  # "topic" or "neighbour": what decides between this and a homograph

    def surfaces(self) -> frozenset[str]:
        """Return the English strings of which every translation contains one."""
        return frozenset(self.english)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.zh}: {' | '.join(self.english)})"


class NounForm:
    """One English noun for a zh noun. `kind` is count, mass, plural, bare or name."""

    __slots__ = ("kind", "plural", "singular", "the")

    def __init__(self, singular: str, plural: str, kind: str, the: bool):
        self.singular, self.plural, self.kind, self.the = singular, plural, kind, the


class Noun(Word):
    """A noun; `forms` are its English nouns, `cls` its class."""

    __slots__ = (
        "cl",
        "cls",
        "compound",
        "countable",
        "forms",
        "gender",
        "is_name",
        "key",
        "mass",
        "measure",
        "person",
        "rules",
        "tags",
        "titled",
    )  # fmt: skip
    kind = "noun"

    def __init__(
        self, zh: str, forms: Sequence[NounForm], cls: Class, topic: str, weight: float, gender: str
    ):
        super().__init__(zh, [form.singular for form in forms], topic, weight)
        self.forms = zipf_table(forms, 1.4)
        self.cls = cls
        self.gender = gender
        self.person = cls.person
        self.cl = cls.cl
        self.measure = cls.measure
        self.countable = all(form.kind == "count" and not form.the for form in forms)
        self.mass = all(form.kind in ("mass", "plural") for form in forms)
        self.tags = cls.ancestors | {zh}  # its names in selectors
        self.is_name = forms[0].kind == "name"
        #: the key of cached tables; names made up for one document (no topic) share their class's
        self.key: Noun | Class = self if topic else cls
        self.compound = False
        self.titled = False  # "President Bush"
        self.rules: frozenset[str] = frozenset()  # noun phrases it can head: set by the grammar

    def surfaces(self) -> frozenset[str]:
        forms = self.forms.items
        return frozenset(s for f in forms for s in (f.singular, f.plural, f.singular.title()))


class Verb(Word):
    """`shape` is `s`, `so`, `sp` or `sop`: subject, object, partner."""

    __slots__ = ("flags", "forms", "object", "partner", "prep", "shape", "subject")
    kind = "verb"

    def __init__(self, zh: str, forms: Sequence[VerbForm], topic: str, weight: float):
        super().__init__(zh, [form.forms.do for form in forms], topic, weight)
        self.forms = zipf_table(forms, 1.4)
        self.subject = self.object = self.partner = self.prep = ""
        self.flags: frozenset[str] = frozenset()
        self.shape = "s"

    def surfaces(self) -> frozenset[str]:
        forms = [form for v in self.forms.items for form in v.forms]
        return frozenset(form.removeprefix("be ") for form in forms)


class VerbForm:
    """One English verb: its forms, the preposition of the partner, and whether it has a passive."""

    __slots__ = ("forms", "passive", "prep")

    def __init__(self, forms: VerbForms, prep: str, passive: bool):
        self.forms, self.prep, self.passive = forms, prep, passive


class Adjective(Word):
    """An adjective for the nouns of a selector; `comparatives` maps English adjectives."""

    __slots__ = ("attributive", "comparatives", "de", "selector")
    kind = "adjective"

    def __init__(self, zh: str, english: Sequence[str], selector: str, topic: str, weight: float):
        super().__init__(zh, english, topic, weight)
        self.selector = selector
        self.comparatives: dict[str, str] = {}
        self.attributive = False  # "a bilateral treaty", but not "the treaty is bilateral"
        self.de = len(re.findall("[aeiouv]+", zh)) > 1  # `hong che`, but `piaoliang de che`

    def surfaces(self) -> frozenset[str]:
        return frozenset(self.english) | frozenset(self.comparatives.values())


class Class:
    """A class of nouns with its own and its inherited properties."""

    __slots__ = ("name", "ancestors", *sorted(CLASS_KEYS - {"is"}))

    def __init__(self, name: str, parent: Class | None, values: Mapping[str, Any]):
        self.name = name
        self.ancestors: frozenset[str] = (parent.ancestors if parent else frozenset()) | {name}
        defaults: dict[str, Any] = {
            **{"cl": "ge", "owner": "", "measure": "", "at": "in", "np": []},
            **dict.fromkeys(("person", "national", "located", "about"), False),
        }
        for key, default in defaults.items():
            inherited = getattr(parent, key) if parent else default
            setattr(self, key, values.get(key, inherited))

    cl: str
    person: bool
    owner: str
    national: bool
    located: bool
    about: bool
    measure: str
    np: list[str]
    at: str


class Saying(Word):
    """A verb with a clause as its object, in the tense it always has: `said`, `believes`.

    `selector` selects the possible subjects; `aspects` are those of the object clause (empty: any).
    """

    __slots__ = ("aspects", "plurals", "selector")

    def __init__(self, zh: str, english: Sequence[str], weight: float, selector: str, aspects: str):
        super().__init__(zh, english, weight=weight)
        self.selector = selector
        self.aspects = aspects
        self.plurals = {word: self._plural(word) for word in english}

    @staticmethod
    def _plural(word: str) -> str:
        if word.endswith("ies"):
            return word[:-3] + "y"
        return word.removesuffix("s")

    def surfaces(self) -> frozenset[str]:
        return frozenset((*self.plurals, *self.plurals.values()))


class Pronoun(Word):
    """`english` is subject, object, possessive; `agreement` s, p or i."""

    __slots__ = ("agreement",)

    def __init__(self, zh: str, forms: Sequence[str]):
        super().__init__(zh, forms[:3])
        self.agreement = forms[3]


class Number(Word):
    """A number with its value."""

    __slots__ = ("value",)

    def __init__(self, value: int, zh: str, english: Sequence[str]):
        super().__init__(zh, english)
        self.value = value


def variants(text: str) -> list[tuple[str, frozenset[str]]]:
    """Split `talks (plural) | meeting` into strings and their marks."""
    result = []
    for part in text.split("|"):
        match = re.fullmatch(r"\s*([^()]*?)\s*(?:\(([^()]*)\))?\s*", part)
        if not match or not match[1]:
            raise WorldDataError(f"{text!r}: expected 'word | word (mark)'")
        result.append((match[1], frozenset((match[2] or "").split())))
    return result


def numeral(n: int) -> str:
    """The Chinese numeral below 100,000,000 in pinyin, written as one word: 350 is sanbaiwushi."""
    if n >= 10_000:
        rest = n % 10_000
        return (
            numeral(n // 10_000)
            + "wan"
            + ("ling" if 0 < rest < 1000 else "")
            + (numeral(rest) if rest else "")
        )
    if 10 <= n < 20:
        return "shi" + (DIGITS[n - 10] if n > 10 else "")
    out, pending = "", False
    for unit, name in ((1000, "qian"), (100, "bai"), (10, "shi"), (1, "")):
        digit = n // unit % 10
        if digit:
            out += ("ling" if pending and out else "") + DIGITS[digit] + name
        pending = not digit
    return out or DIGITS[0]


def number_words(n: int) -> list[str]:
    """English for a number, the more usual first: `three | 3`, `45`, `3 million`."""
    if n >= 1_000_000 and n % 100_000 == 0:
        millions = n / 1_000_000
        return [f"{millions:g} million", f"{n:,}"]
    if n < len(ENGLISH_DIGITS):
        words = [ENGLISH_DIGITS[n], str(n)]
        return words if n <= 12 else words[::-1]
    return [f"{n:,}"]


def expand(zh: str, english: str) -> list[tuple[str, str]]:
    """Return both strings for each number in a range: `{2..9} tian qian` and `{} days ago`."""
    match = re.search(r"\{(\d+)\.\.(\d+)\}", zh)
    if not match:
        return [(zh, english)]
    result = []
    for n in range(int(match[1]), int(match[2]) + 1):
        year = n >= 1000
        spoken = str(n) if year else "liang" if n == 2 else numeral(n)
        written = str(n) if year else ENGLISH_DIGITS[n]
        result.append((zh.replace(match[0], spoken), english.replace("{}", written)))
    return result
