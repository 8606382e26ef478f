"""Upper and lower case: which form of a word is the usual one.

Goes in: tokenised sentences. Comes out: for each word, spelt in lower case, its most frequent form
at places where the case says something; that is not the beginning of a sentence, nor after a colon,
a quotation mark or a bracket. `truecase` brings words at such places to their usual form before
translation; `restore` gives the translation its capitals back: learned forms, and the beginning
of each sentence, if the training text had capitals there.

The file is text: a header line, then `word<TAB>form<TAB>count<TAB>of` sorted by word.
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
_UNSURE = _STOPS | frozenset(":;•*|") | frozenset(("...", "--"))
_OPENERS = frozenset("\"'“”„‟«»‹›‘’‚([{¿¡-–—`") | frozenset(("``", "''"))
_TURKIC = frozenset(("tr", "az"))


def lower(word: str, language: str) -> str:
    """Lower case; Turkish and Azeri have a dotless i."""
    if language in _TURKIC:
        word = word.replace("I", "ı").replace("İ", "i")
    return word.lower()


def capitalize(word: str, language: str) -> str:
    """The word with its first letter as a capital; the rest stays. `'tis` is `'Tis`."""
    if "://" in word or "@" in word[1:]:  # an address
        return word
    for i, char in enumerate(word):
        if char.isalpha():
            if language in _TURKIC and char == "i":
                return f"{word[:i]}İ{word[i + 1 :]}"
            capital = char.title()
            # ß and ligatures have no single capital, and that of µ (micro) is another letter's.
            good = len(capital) == 1 and capital.lower() == char.lower()
            return word[:i] + capital + word[i + 1 :] if good else word
        if char.isalnum():
            return word
    return word


@dataclass
class Casing:
    """The usual forms of words. `starts_upper`: sentences of this text begin with a capital."""

    language: str = "en"
    starts_upper: bool = True
    forms: dict[str, str] = field(default_factory=dict)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)  # of the form, of the word

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[str]], language: str) -> Casing:
        """From tokenised text in its own case; memory grows with the vocabulary only."""
        seen: Counter[str] = Counter()
        starts = {True: 0, False: 0}
        for words in sentences:
            for word, unsure in zip(words, _unsure_places(words), strict=True):
                if not unsure:
                    seen[word] += 1
            if words and words[0][0].lower() != words[0][0].upper():  # a script with case
                starts[words[0][0].isupper()] += 1
        totals: Counter[str] = Counter()
        best: dict[str, tuple[int, bool, str]] = {}
        for word, count in seen.items():
            key = lower(word, language)
            if key == word and not any(map(str.isalpha, word)):
                continue
            totals[key] += count
            # The most frequent; of two, the lower case; then by the alphabet, for determinism.
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
        """Words whose case is due to their place, or to a line in capitals, in their usual form."""
        shouting = _shouting(words)
        return [
            self.forms.get(lower(word, self.language), word) if unsure or shouting else word
            for word, unsure in zip(words, _unsure_places(words), strict=True)
        ]

    def recase(self, words: Sequence[str]) -> list[str]:
        """Lower-cased words in their usual forms."""
        return [self.forms.get(word, word) for word in words]

    def capitalize_sentences(self, words: Sequence[str]) -> list[str]:
        """Capitals where sentences begin, if the text this was learned from has them."""
        if not self.starts_upper:
            return list(words)
        result, beginning = [], True
        for word in words:
            if beginning and word not in _OPENERS:
                word = capitalize(word, self.language)
                beginning = not any(map(str.isalnum, word))
            beginning = beginning or word in _STOPS
            result.append(word)
        return result

    def save(self, path: PathLike) -> None:
        with write_text(path) as file:
            starts = "upper" if self.starts_upper else "lower"
            file.write(f"{_HEADER}\tlanguage={self.language}\tstarts={starts}\n")
            for word, form in self.forms.items():
                count, total = self.counts[word]
                file.write(f"{word}\t{form}\t{count}\t{total}\n")

    @classmethod
    def load(cls, path: PathLike) -> Casing:
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


def _unsure_places(words: Sequence[str]) -> Iterator[bool]:
    """For each word whether its case may come from its place."""
    unsure = True
    for word in words:
        yield unsure
        unsure = word in _UNSURE or word in _OPENERS


def _shouting(words: Sequence[str]) -> bool:
    """Whether all of a line is in capitals: a heading, not a name."""
    cased = [word for word in words if word.lower() != word.upper()]
    return len(cased) > 2 and all(word == word.upper() for word in cased)
