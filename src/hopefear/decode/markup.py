"""Markup in lines of input: forced translations, grammars and targets.

Takes a line and returns a `Sentence`, and for constrained decoding its target.

- Moses's markup: `<n translation="a house||the house" prob="0.7||0.3">das haus</n>` gives
  translations for the words between the tags. The tag may have any name. If markup is exclusive,
  only these translations are used; if inclusive, they compete with the rules of the model. Without
  `prob` each has probability 1.
- cdec's segments: `<seg id="7" grammar="grammars/7.gz"> das haus </seg> ||| the house`: an id, a
  grammar for this sentence, and after the bars the target of constrained decoding.

In both, `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;` and `&#NUMBER;` are unescaped, unless the
model's words are XML-escaped, as in models of Moses.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from hopefear.base.errors import InputError
from hopefear.base.files import path_inside
from hopefear.decode.contract import ForcedOption, Sentence
from hopefear.text.tokenizers.plain import split_words

Markup = Literal["off", "exclusive", "inclusive"]
Words = Callable[[str], Sequence[str]]  # splits text into words

# Every text has one match only: an ambiguous pattern takes exponential time on an unclosed tag.
_TAG = re.compile(
    r"<(/?)([A-Za-z][\w.:-]*)(?=[\s/>])((?:[^<>\"'/]|/(?!>)|\"[^\"]*\"|'[^']*')*)(/?)>"
)
_ATTRIBUTE = re.compile(r"\s*([\w.:-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#[0-9]{1,9}|#x[0-9A-Fa-f]{1,8});")
_SEGMENT = re.compile(r"\s*<seg(?=[\s>])")
_BARS = re.compile(r"(?:^|\s)\|\|\|(?:\s|$)")


class Marked(NamedTuple):
    """A line of input: the sentence, and the target of constrained decoding."""

    sentence: Sentence
    target: tuple[str, ...] | None = None


def unescape(text: str) -> str:
    """Replace XML escapes by their characters."""
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
    """Parse a line with Moses's markup; `escaped`: the model's words are XML-escaped."""
    decode = str if escaped else unescape
    words: list[str] = []
    options: list[ForcedOption] = []
    open_tag: tuple[str, dict[str, str], int] | None = None  # name, attributes, first word
    position = 0
    for tag in _TAG.finditer(line):
        words += source_words(decode(_text(line[position : tag.start()], place)))
        position = tag.end()
        closing, name, inside, empty = tag.groups()
        if closing:
            if open_tag is None or open_tag[0] != name:
                raise InputError(f"{place}: </{name}> closes nothing; write <{name} …> before it")
            options += _options(open_tag, len(words), place, target_words)
            open_tag = None
            continue
        if open_tag is not None:
            raise InputError(
                f"{place}: <{name}> inside <{open_tag[0]}>; close <{open_tag[0]}> first, markup "
                "cannot be nested"
            )
        if empty or name in ("wall", "zone"):
            raise InputError(
                f"{place}: <{name}> is not known; markup gives translations, as in "
                '<n translation="…">words</n>'
            )
        open_tag = (name, _attributes(inside, place, decode), len(words))
    words += source_words(decode(_text(line[position:], place)))
    if open_tag is not None:
        raise InputError(f"{place}: <{open_tag[0]}> is not closed; write </{open_tag[0]}> after it")
    return Sentence(tuple(words), options=tuple(options), exclusive=exclusive)


def _text(text: str, place: str) -> str:
    """Return the text between tags; refuse a `<` in it."""
    if "<" in text:
        start = text.index("<")
        raise InputError(
            f"{place}: {text[start : start + 20]!r} is not markup; write &lt; for the character <"
        )
    return text


def _attributes(text: str, place: str, decode: Callable[[str], str]) -> dict[str, str]:
    attributes: dict[str, str] = {}
    position = 0
    # `match`, not `search`: a search would try to start at every letter of a long name.
    while match := _ATTRIBUTE.match(text, position):
        if match[1] in attributes:
            raise InputError(f"{place}: attribute {match[1]} is given twice; keep one")
        attributes[match[1]] = decode(match[2][1:-1])
        position = match.end()
    if text[position:].strip():
        raise InputError(f'{place}: {text[position:].strip()[:40]!r}, expected NAME="VALUE"')
    return attributes


def _options(
    tag: tuple[str, dict[str, str], int], end: int, place: str, target_words: Words
) -> list[ForcedOption]:
    """Return the translations of a tag (name, attributes, first word) that closes before `end`."""
    name, attributes, begin = tag
    known = {"translation", "english", "prob"}
    unknown = sorted(attributes.keys() - known)
    if unknown:
        raise InputError(f"{place}: <{name}> has {unknown[0]}=, expected translation= and prob=")
    translation = attributes.get("translation", attributes.get("english"))
    if translation is None:
        raise InputError(f'{place}: <{name}> has no translation; write <{name} translation="…">')
    if begin == end:
        raise InputError(f"{place}: <{name}> has no words between its tags; put some there")
    texts = translation.split("||")
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
        raise InputError(f"{place}: prob is {text!r}, expected a number above 0 and at most 1")
    return value


def read_segment(
    line: str,
    place: str,
    folders: Sequence[Path] = (Path(),),
    *,
    source_words: Words = split_words,
    target_words: Words = split_words,
) -> Marked:
    """Parse a line of cdec's input: a segment or plain words, optionally with a target after bars.

    A grammar's path is searched in `folders` in turn and may not leave them. As in
    cdec, words are not unescaped.
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
    """The parts of a line `<seg …> text </seg>`."""

    attributes: dict[str, str]
    text: str


def read_tags(line: str, place: str) -> Segment:
    """Parse a segment; return all its attributes and the text between its tags."""
    line = line.strip()
    tag = _TAG.match(line)
    if tag is None or tag[2] != "seg" or tag[1] or tag[4]:
        raise InputError(f'{place}: {line[:40]!r}, expected <seg id="…" grammar="…"> words </seg>')
    attributes = _attributes(tag[3], place, unescape)
    if not line.endswith("</seg>") or len(line) < tag.end() + len("</seg>"):
        raise InputError(f"{place}: <seg> is not closed at the end of the line; write </seg>")
    return Segment(attributes, line[tag.end() : -len("</seg>")])


def find_grammar(name: str, folders: Sequence[Path], place: str) -> Path:
    """Return the path of the grammar that a segment names, searched in folders in turn.

    It must be in one of them: who writes the input may not be allowed to read every file.
    """
    searched = " and ".join(dict.fromkeys(str(folder) for folder in folders))
    outside = False
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if not any(path_inside(other, path.absolute()) for other in folders):
            outside = True
        elif path.is_file():
            return path
    if outside:
        raise InputError(
            f"{place}: the grammar {name!r} is outside of {searched}; move it there, or allow its "
            "folder with --grammars DIR"
        )
    raise InputError(
        f"{place}: no grammar {name!r} in {searched}; give its path relative to one of these"
    )
