"""What a line of input says besides its words.

Goes in: a line. Comes out: a `Sentence`, and for constrained decoding its target.

- Moses's markup: `<n translation="a house||the house" prob="0.7||0.3">das haus</n>` gives
  translations for the words between the tags. The name of the tag is free. Exclusive: only these;
  inclusive: they compete with the rules of the model. Without `prob` each has probability 1.
- cdec's segments: `<seg id="7" grammar="grammars/7.gz"> das haus </seg> ||| the house`: an id, a
  grammar for this sentence, and after the bars the only translation that is wanted.

In both `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;` and `&#NUMBER;` stand for characters, unless the
model's own words are escaped like that (models of Moses are).
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from hopefear.base.errors import InputError
from hopefear.decode.contract import ForcedOption, Sentence
from hopefear.text.tokenizers.plain import split_words

Markup = Literal["off", "exclusive", "inclusive"]
Words = Callable[[str], Sequence[str]]  # how a piece of text becomes words

# One way to match each text: with two, a tag that is never closed would take exponential time.
_TAG = re.compile(
    r"<(/?)([A-Za-z][\w.:-]*)(?=[\s/>])((?:[^<>\"'/]|/(?!>)|\"[^\"]*\"|'[^']*')*)(/?)>"
)
_ATTRIBUTE = re.compile(r"\s*([\w.:-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#[0-9]{1,9}|#x[0-9A-Fa-f]{1,8});")
_SEGMENT = re.compile(r"\s*<seg(?=[\s>])")
_BARS = re.compile(r"(?:^|\s)\|\|\|(?:\s|$)")


class Marked(NamedTuple):
    """A line that was read."""

    sentence: Sentence
    target: tuple[str, ...] | None = None


def unescape(text: str) -> str:
    """Characters for the escapes of XML."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def read_options(
    line: str,
    place: str,
    *,
    exclusive: bool = True,
    source_words: Words = split_words,
    target_words: Words = split_words,
    escaped: bool = False,
) -> Sentence:
    """The sentence of a line with Moses's markup; `escaped`: the model's words are."""
    plain = str if escaped else unescape
    words: list[str] = []
    options: list[ForcedOption] = []
    opened: tuple[str, dict[str, str], int] | None = None  # name, attributes, first word
    at = 0
    for tag in _TAG.finditer(line):
        words += source_words(plain(_text(line[at : tag.start()], place)))
        at = tag.end()
        closing, name, inside, empty = tag.groups()
        if closing:
            if opened is None or opened[0] != name:
                raise InputError(f"{place}: </{name}> closes nothing; write <{name} …> before it")
            options += _options(opened, len(words), place, plain, target_words)
            opened = None
            continue
        if opened is not None:
            raise InputError(
                f"{place}: <{name}> inside <{opened[0]}>; close <{opened[0]}> first, markup "
                "cannot be nested"
            )
        if empty or name in ("wall", "zone"):
            raise InputError(
                f"{place}: <{name}> is not known; markup gives translations, as in "
                '<n translation="…">words</n>'
            )
        opened = (name, _attributes(inside, place, plain), len(words))
    words += source_words(plain(_text(line[at:], place)))
    if opened is not None:
        raise InputError(f"{place}: <{opened[0]}> is not closed; write </{opened[0]}> after it")
    return Sentence(tuple(words), options=tuple(options), exclusive=exclusive)


def _text(text: str, place: str) -> str:
    """Text between tags."""
    if "<" in text:
        start = text.index("<")
        raise InputError(
            f"{place}: {text[start : start + 20]!r} is no markup; write &lt; for the character <"
        )
    return text


def _attributes(text: str, place: str, plain: Callable[[str], str]) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    # One after the other: to search for the next would try every letter of a long name as its
    # first.
    while match := _ATTRIBUTE.match(text, at):
        if match[1] in found:
            raise InputError(f"{place}: attribute {match[1]} is given twice; keep one")
        found[match[1]] = plain(match[2][1:-1])
        at = match.end()
    if text[at:].strip():
        raise InputError(f'{place}: {text[at:].strip()[:40]!r}, expected NAME="VALUE"')
    return found


def _options(
    opened: tuple[str, dict[str, str], int],
    end: int,
    place: str,
    plain: Callable[[str], str],
    target_words: Words,
) -> list[ForcedOption]:
    name, attributes, begin = opened
    known = {"translation", "english", "prob"}
    unknown = sorted(attributes.keys() - known)
    if unknown:
        raise InputError(f"{place}: <{name}> has {unknown[0]}=, expected translation= and prob=")
    given = attributes.get("translation", attributes.get("english"))
    if given is None:
        raise InputError(f'{place}: <{name}> has no translation; write <{name} translation="…">')
    if begin == end:
        raise InputError(f"{place}: <{name}> has no words between its tags; put some there")
    texts = given.split("||")
    probabilities = [1.0] * len(texts)
    if "prob" in attributes:
        parts = attributes["prob"].split("||")
        if len(parts) != len(texts):
            raise InputError(
                f"{place}: <{name}> has {len(texts)} translations and {len(parts)} "
                "probabilities; give one for each"
            )
        probabilities = [_probability(part, place) for part in parts]
    return [
        ForcedOption(begin, end, tuple(target_words(text)), math.log(p))
        for text, p in zip(texts, probabilities, strict=True)
    ]


def _probability(text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise InputError(f"{place}: prob is {text!r}, expected a number above 0, up to 1")
    return value


def read_segment(
    line: str,
    place: str,
    folders: Sequence[Path] = (Path(),),
    *,
    source_words: Words = split_words,
    target_words: Words = split_words,
) -> Marked:
    """A line of cdec's input: a segment or plain words, with or without a target after the bars.

    A grammar's path is looked for in `folders` in turn. As in cdec, words are not unescaped.
    """
    target = None
    bars = _BARS.search(line)
    if bars is not None:
        target = tuple(target_words(line[bars.end() :]))
        line = line[: bars.start()]
    if not _SEGMENT.match(line):
        return Marked(Sentence(tuple(source_words(line))), target)
    segment = read_tags(line, place)
    sentence = Sentence(tuple(source_words(segment.text)), id=segment.attributes.get("id", ""))
    if "grammar" in segment.attributes:
        grammar = find_grammar(segment.attributes["grammar"], folders, place)
        sentence = replace(sentence, grammar=grammar)
    return Marked(sentence, target)


class Segment(NamedTuple):
    """A line `<seg …> text </seg>`."""

    attributes: dict[str, str]
    text: str


def read_tags(line: str, place: str) -> Segment:
    """A segment's attributes, whatever they are, and what is between its tags."""
    line = line.strip()
    tag = _TAG.match(line)
    if tag is None or tag[2] != "seg" or tag[1] or tag[4]:
        raise InputError(f'{place}: {line[:40]!r}, expected <seg id="…" grammar="…"> words </seg>')
    attributes = _attributes(tag[3], place, unescape)
    if not line.endswith("</seg>") or len(line) < tag.end() + len("</seg>"):
        raise InputError(f"{place}: <seg> is not closed at the end of the line; write </seg>")
    return Segment(attributes, line[tag.end() : -len("</seg>")])


def find_grammar(name: str, folders: Sequence[Path], place: str) -> Path:
    """The file that a segment names, looked for in folders in turn."""
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    looked = " and ".join(dict.fromkeys(str(folder) for folder in folders))
    raise InputError(f"{place}: no grammar {name!r}, looked in {looked}; paths start there")
