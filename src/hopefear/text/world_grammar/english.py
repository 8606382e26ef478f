"""English inflection for the built-in world.

Takes dictionary forms (`hold`, `turn off`, `head of state`, `heavy`) and a table of irregular ones;
returns verb forms, plurals, comparatives, the article before a word, and the *verb group*: the
words before and after the subject for a tense, a head verb, an agreement and a mood.

Agreement is one letter: `s` (he, the company), `p` (they, the companies) or `i` (I).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

VOWELS = "aeiou"

#: Words that invert with the subject in a question; all others need `do`.
AUXILIARIES = frozenset(
    (
        *("is", "was", "has", "did", "does", "will", "would"),
        *("can", "could", "may", "might", "must", "should", "ought"),
    )
)

_BE = {
    "present": {"s": "is", "p": "are", "i": "am"},
    "past": {"s": "was", "p": "were", "i": "was"},
}


class VerbForms(NamedTuple):
    """The forms of a verb, named by those of `do`, which the grammar's tenses are written with."""

    do: str
    does: str
    did: str
    done: str
    doing: str


class Group(NamedTuple):
    """A verb group: `aux` is the finite auxiliary (before the subject in a question), `rest` what
    follows it, `form` the form of the head verb (empty when the head is in `aux` already).
    """

    aux: str
    rest: str
    form: str


def _ends_in_sibilant(word: str) -> bool:
    return word.endswith(("s", "x", "z", "ch", "sh"))


def _consonant_y(word: str) -> bool:
    return len(word) > 1 and word[-1] == "y" and word[-2] not in VOWELS


def _doubles(word: str) -> bool:
    """One syllable that ends in consonant, vowel, consonant: stop, plan, but not show or fix."""
    return (
        len(re.findall("[aeiouy]+", word)) == 1
        and re.search("[^aeiou][aeiou][^aeiouwxy]$", "b" + word) is not None
    )


@dataclass(frozen=True)
class English:
    """The inflection tables: `verbs` maps a base form to `past participle` or `past participle
    ing`, `plurals` and `comparatives` map to the one irregular form.
    """

    verbs: Mapping[str, str]
    plurals: Mapping[str, str]
    comparatives: Mapping[str, str]

    def verb(self, phrase: str) -> VerbForms:
        """Forms of a verb; in a phrase (`turn off`) the first word is inflected."""
        word, blank, tail = phrase.partition(" ")
        tail = blank + tail
        stem = word[:-1] if word.endswith("e") else word
        if _doubles(word):
            stem = word + word[-1]
        past = word[:-1] + "ied" if _consonant_y(word) else stem + "ed"
        participle = past
        ing = stem + "ing"
        if word.endswith(("ee", "oe", "ye")):
            ing = word + "ing"
        elif word.endswith("ie"):
            ing = word[:-2] + "ying"
        if word in self.verbs:
            forms = self.verbs[word].split()
            past, participle = forms[0], forms[1]
            ing = forms[2] if len(forms) > 2 else ing
        present = {"have": "has", "be": "is"}.get(word) or (
            word + "es" if word.endswith("o") else self._with_s(word)
        )
        return VerbForms(*(form + tail for form in (word, present, past, participle, ing)))

    def plural(self, phrase: str) -> str:
        """Plural of a noun; in `head of state` the word before the preposition is inflected."""
        match = re.match(r"(.*?)( (?:of|for|to|in) .*)$", phrase)
        head, tail = match.groups() if match else (phrase, "")
        before, blank, word = head.rpartition(" ")
        plural = self.plurals.get(word) or self._with_s(word)
        if word.endswith("man") and word not in self.plurals:
            plural = word[:-2] + "en"
        return before + blank + plural + tail

    def comparative(self, word: str) -> str:
        """`bigger`, `better`, `more useful`."""
        if word in self.comparatives:
            return self.comparatives[word]
        if " " in word or "-" in word:
            return "more " + word
        syllables = len(re.findall("[aeiouy]+", re.sub("e$", "", word)))
        if syllables == 1:
            if word.endswith("e"):
                return word + "r"
            return word + (word[-1] if _doubles(word) else "") + "er"
        if syllables == 2 and _consonant_y(word):
            return word[:-1] + "ier"
        return "more " + word

    @staticmethod
    def _with_s(word: str) -> str:
        if _consonant_y(word):
            return word[:-1] + "ies"
        return word + ("es" if _ends_in_sibilant(word) else "s")


@cache
def verb_group(tense: str, be: bool, agreement: str, question: bool) -> Group:
    """The verb group of a tense written with the verb `do`: `did`, `has done`, `does not do`,
    `is going to do`, `wants to do`. With `be` the head verb is `be`, which needs no other `do`.

    >>> verb_group("did", False, "s", True)
    Group(aux='did', rest='', form='do')
    >>> verb_group("does not do", True, "p", False)
    Group(aux='are', rest='not', form='')
    """
    words = tense.split()
    first, form = words[0], words[-1]
    if form not in VerbForms._fields:
        raise ValueError(f"tense {tense!r} must end in one of {', '.join(VerbForms._fields)}")
    if first in ("did", "does"):
        rest = " ".join(words[1:-1])  # "" or "not"
        if be:
            return Group(_BE["past" if first == "did" else "present"][agreement], rest, "")
        if len(words) == 1 and not question:
            if first == "does" and agreement != "s":
                form = "do"
            return Group("", "", form)
        return Group("do" if first == "does" and agreement != "s" else first, rest, "do")
    rest = " ".join(words[1:-1])
    lexical = first not in AUXILIARIES or (rest.startswith("to") and first == "has")
    if lexical:  # wants to do, has to do
        base = "have" if first == "has" else first[:-1]
        if question:
            return Group("does" if agreement == "s" else "do", f"{base} {rest}".strip(), form)
        return Group("", f"{first if agreement == 's' else base} {rest}".strip(), form)
    if first in ("is", "was"):
        first = _BE["present" if first == "is" else "past"][agreement]
    elif first == "has" and agreement != "s":
        first = "have"
    return Group(first, rest, form)


_AN = re.compile(
    r"\ba(?= (?:[aeioAEIO](?!ne\b|nce\b|uro)|u(?!ni|s[eu]|ti)|hour|hon(?:est|o)|8|11 |18 ))"
)


def articles(text: str) -> str:
    """Turn the article `a` into `an` where the next word begins with a vowel sound."""
    return _AN.sub("an", text) if "a " in text else text
