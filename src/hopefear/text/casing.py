"""Truecasing: the usual upper- and lower-case form of each word.

Takes tokenised sentences and returns, for each word in lower case, its most frequent form. Only
places where the case is informative are counted: not the beginning of a sentence, nor after a
colon, a quotation mark or a bracket. `truecase` replaces words at the other places by their usual
forms before translation. After it, `recase` restores learned forms, and `capitalize_sentences` the
capitals at the beginning of sentences, if the training text had them.

The file is text: a header line, then `word<TAB>form<TAB>count of form<TAB>count of word`, sorted by
word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.text.lines import read_lines

_HEADER = "# hopefear casing 1"
_STOPS = frozenset(".?!。？！؟।…")
_AMBIGUOUS = _STOPS | frozenset(":;•*|") | frozenset(("...", "--"))
_OPENERS = frozenset("\"'“”„‟«»‹›‘’‚([{¿¡-–—`") | frozenset(("``", "''"))
_TURKIC = frozenset(("tr", "az"))


def lower(word: str, language: str) -> str:
    """Return the word in lower case; in Turkish and Azeri, I becomes dotless ı."""
    if language in _TURKIC:
        word = word.replace("I", "ı").replace("İ", "i")
    return word.lower()


def capitalize(word: str, language: str) -> str:
    """Return the word with its first letter capitalised: `'tis` becomes `'Tis`."""
    if "://" in word or "@" in word[1:]:  # URLs and e-mail addresses are not changed
        return word
    for i, char in enumerate(word):
        if char.isalpha():
            if language in _TURKIC and char == "i":
                return f"{word[:i]}İ{word[i + 1 :]}"
            capital = char.title()
            # ß and ligatures have no single capital; the capital of µ (micro) is a Greek letter's.
            reversible = len(capital) == 1 and capital.lower() == char.lower()
            return word[:i] + capital + word[i + 1 :] if reversible else word
        if char.isalnum():
            return word
    return word


@dataclass
class Casing:
    """The usual forms of words, learned from text."""

    language: str = "en"
    starts_upper: bool = True  # whether sentences of the text begin with a capital
    forms: dict[str, str] = field(default_factory=dict)  # word in lower case -> usual form
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)  # of the form, of the word

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[str]], language: str) -> Casing:
        """Take tokenised sentences in their original case and return the usual forms.

        Memory grows only with the vocabulary.
        """
        counts: Counter[str] = Counter()
        starts = {True: 0, False: 0}
        for words in sentences:
            for word, ambiguous in zip(words, _ambiguous_places(words), strict=True):
                if not ambiguous:
                    counts[word] += 1
            if words and words[0][0].lower() != words[0][0].upper():  # a script with case
                starts[words[0][0].isupper()] += 1
        totals: Counter[str] = Counter()
        best: dict[str, tuple[int, bool, str]] = {}
        for word, count in counts.items():
            key = lower(word, language)
            if key == word and not any(map(str.isalpha, word)):
                continue
            totals[key] += count
            # The most frequent form; ties go to the lower-case form, then to the alphabetic first.
            rank = (-count, word != key, word)
            if key not in best or rank < best[key]:
                best[key] = rank
        return cls(
            language,
            starts[True] > starts[False],
            {key: best[key][2] for key in sorted(best)},
            {key: (-best[key][0], totals[key]) for key in sorted(best)},
        )

    def truecase(self, words: Sequence[str]) -> list[str]:
        """Return the words with usual forms where the case may be due to the place.

        These are the words after sentence ends and certain marks, and all words of a line in
        capitals.
        """
        all_capitals = _is_all_capitals(words)
        return [
            self.forms.get(lower(word, self.language), word) if ambiguous or all_capitals else word
            for word, ambiguous in zip(words, _ambiguous_places(words), strict=True)
        ]

    def recase(self, words: Sequence[str]) -> list[str]:
        """Take words in lower case and return their usual forms."""
        return [self.forms.get(word, word) for word in words]

    def capitalize_sentences(self, words: Sequence[str]) -> list[str]:
        """Return the words with capitals at sentence beginnings, if the training text has them."""
        if not self.starts_upper:
            return list(words)
        result, at_start = [], True
        for word in words:
            if at_start and word not in _OPENERS:
                word = capitalize(word, self.language)
                at_start = not any(map(str.isalnum, word))
            at_start = at_start or word in _STOPS
            result.append(word)
        return result

    def save(self, path: PathLike) -> None:
        """Write the forms to a file, which `load` reads."""
        with write_text(path) as file:
            starts = "upper" if self.starts_upper else "lower"
            file.write(f"{_HEADER}\tlanguage={self.language}\tstarts={starts}\n")
            for word, form in self.forms.items():
                count, total = self.counts[word]
                file.write(f"{word}\t{form}\t{count}\t{total}\n")

    @classmethod
    def load(cls, path: PathLike) -> Casing:
        """Take a file that `save` wrote and return its forms."""
        name = display_name(path)
        lines = read_lines(path)
        header = next(lines, "").split("\t")
        keys = [field.partition("=")[0] for field in header[1:]]
        if header[0] != _HEADER or keys != ["language", "starts"]:
            raise InputError(
                f"{name}:1: expected {_HEADER!r}, found {header[0][:40]!r}; "
                "learn it again with 'hopefear text casing' or 'hopefear train'"
            )
        casing = cls(header[1].partition("=")[2], header[2] == "starts=upper")
        for number, line in enumerate(lines, 2):
            columns = line.split("\t")
            if len(columns) != 4 or not all(_is_count(c) for c in columns[2:]):
                raise InputError(
                    f"{name}:{number}: expected word, form and two counts separated by tabs, "
                    f"found {line[:60]!r}; learn it again with 'hopefear text casing'"
                )
            casing.forms[columns[0]] = columns[1]
            casing.counts[columns[0]] = int(columns[2]), int(columns[3])
        return casing


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _ambiguous_places(words: Sequence[str]) -> Iterator[bool]:
    """Yield, for each word, whether its case may be due to its place."""
    ambiguous = True
    for word in words:
        yield ambiguous
        ambiguous = word in _AMBIGUOUS or word in _OPENERS


def _is_all_capitals(words: Sequence[str]) -> bool:
    """Whether the whole line is in capitals, as in a heading."""
    cased = [word for word in words if word.lower() != word.upper()]
    return len(cased) > 2 and all(word == word.upper() for word in cased)
