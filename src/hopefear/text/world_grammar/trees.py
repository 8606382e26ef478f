"""Gold phrase-structure trees of the built-in world's English sentences.

Takes the derivation of a sentence and a random generator and returns the English text with its
tree, `(TOP (S (NP (PRP he)) (VP (VBD slept)) (. .)))`: labels and shapes are those of the Penn
Treebank, without function tags and traces. `TreeSpeaker` makes the same random choices as
`Speaker`, so the text is the same as without trees.

While the sentence is made, texts are `Piece`s: strings that know their label and parts. Parts that
a construction puts side by side are grouped here: prepositions with what follows them, verb groups
into nested verb phrases, postmodifiers of noun phrases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hopefear.text.world_grammar.phrases import Node
from hopefear.text.world_grammar.speak import Speaker
from hopefear.text.world_grammar.words import Adjective, Number, Saying

_TAGS = {
    "DT": "a the this that these those some all every each no",
    "IN": "of in on at by for with from than as about concerning into over under against near "
    "inside outside around because since although though after while if according compared "
    "before without until",
    "TO": "to",
    "CC": "and but so or ;",
    "CD": "one two three four five six seven eight nine ten eleven twelve hundred thousand million",
    "RB": "not too much far very really extremely rather fairly quite already yet still never "
    "previously often frequently always occasionally sometimes also ago here there meanwhile "
    "away daily early soon today tomorrow yesterday tonight now well long",
    "RP": "off up out down back forward",
    "MD": "will would can could may might must should ought",
    "VBZ": "is does has",
    "VBP": "am are do have",
    "VBD": "was were did had",
    "VB": "be",
    "VBN": "been",
    "JJ": "many numerous several few able likely close responsible delayed injured bankrupt last "
    "next whole present",
    "PRP": "i you he she it we they me him her us them",
    "PRP$": "my your his its our their",
    "POS": "'s '",
    "WP": "who what",
    "WDT": "which",
    "WRB": "when where why",
    "UH": "please",
    "NNS": "days years months weeks hours weekends",
    ",": ",",
    ".": ". ?",
}
TAGS = {word: tag for tag, words in _TAGS.items() for word in words.split()}
VERBS = frozenset(("MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
NOUNS = frozenset(("NN", "NNS", "NNP", "CD"))
SUBORDINATORS = frozenset(
    ("because", "since", "although", "though", "after", "while", "if", "that")
)
_FORMS = {"do": "VB", "does": "VBZ", "did": "VBD", "done": "VBN", "doing": "VBG"}


class Piece(str):
    """A text with its label: a word with its tag, or a phrase with its parts."""

    label: str
    parts: tuple[Piece, ...]

    def __new__(cls, label: str, parts: Sequence[Piece] | str) -> Piece:
        if isinstance(parts, str):
            piece = super().__new__(cls, parts)
            piece.parts = ()
        else:
            piece = super().__new__(cls, " ".join(parts))
            piece.parts = tuple(parts)
        piece.label = label
        return piece

    @property
    def leaf(self) -> bool:
        """Whether it is a word."""
        return not self.parts

    def brackets(self, words: list[str]) -> str:
        """Return the tree in brackets, with words taken from the front of a list."""
        if self.leaf:
            return f"({self.label} {words.pop(0)})"
        return f"({self.label} {' '.join(part.brackets(words) for part in self.parts)})"


def tag_of(word: str, default: str = "NN") -> str:
    """Return the tag of a word that is not in the lexicon's open classes."""
    tag = TAGS.get(word)
    if tag:
        return tag
    if word[0].isdigit():
        return "CD"
    if word.endswith("ly"):
        return "RB"
    return "NNP" if word[0].isupper() else default


def tagged(text: str, default: str = "NN") -> list[Piece]:
    """Return the words of a text with tags."""
    return [Piece(tag_of(word, default), word) for word in text.split(" ")]


def pieces(parts: Sequence[str]) -> list[Piece]:
    """Return parts as pieces; plain text is tagged word by word."""
    found: list[Piece] = []
    for part in parts:
        found += [part] if isinstance(part, Piece) else tagged(part)
    return found


def unpacked(parts: Sequence[str]) -> list[Piece]:
    """Return pieces, with the words of WORDS pieces (several words without a phrase)."""
    found: list[Piece] = []
    for piece in pieces(parts):
        found += piece.parts if piece.label == "WORDS" else [piece]
    return found


def noun_phrase(parts: Sequence[Piece]) -> Piece:
    """Return a noun phrase: premodifiers and head flat, postmodifiers beside an inner phrase."""
    parts = list(parts)
    for i, part in enumerate(parts):
        if part.label == "POS" and i > 0 and parts[i - 1].label == "NP":
            parts[i - 1 : i + 1] = [Piece("NP", (parts[i - 1], part))]
            break
    if len(parts) == 1 and parts[0].label == "NP":
        return parts[0]
    for i, part in enumerate(parts):
        if i == 0:
            continue
        if part.leaf and part.label == "CC":
            return Piece("NP", (noun_phrase(parts[:i]), part, noun_phrase(parts[i + 1 :])))
        if part.leaf and part.label in ("IN", "TO"):
            after = Piece("PP", (part, noun_phrase(parts[i + 1 :])))
            return Piece("NP", (noun_phrase(parts[:i]), after))
        if part.label in ("S", "SQ") and i > 1:
            who = Piece("WHNP", (Piece("WDT" if parts[i - 1] != "who" else "WP", parts[i - 1]),))
            relative = Piece("SBAR", (who, Piece("S", part.parts)))
            return Piece("NP", (noun_phrase(parts[: i - 1]), relative))
    return Piece("NP", parts)


def word_phrase(parts: Sequence[Piece]) -> Piece:
    """Return the phrase of an adverbial: a time, a duration, a manner, a place."""
    if len(parts) == 1 and parts[0].label in ("RB", "JJ"):
        return parts[0]
    if parts[-1].label == "RB":  # two days ago, not long ago, the day before yesterday
        if any(part.label == "IN" for part in parts):
            return noun_phrase([*parts[:-1], Piece("NP", (Piece("NN", str(parts[-1])),))])
        if parts[0].label in ("CD", "DT"):
            return Piece("ADVP", (Piece("NP", parts[:-1]), parts[-1]))
        return Piece("ADVP", parts)
    if parts[0].label == "IN" and len(parts) > 1:
        return Piece("PP", (parts[0], noun_phrase(parts[1:])))
    if parts[0].label == "RB" and parts[0] == "early":
        return Piece("NP", (Piece("ADVP", parts[:1]), noun_phrase(parts[1:])))
    return noun_phrase(parts)


def place(parts: Sequence[Piece]) -> Piece:
    """Return the phrase of a place: in X, in front of X, close to X, not far from X."""
    if parts[0].label == "IN":
        return Piece("PP", (parts[0], noun_phrase(parts[1:])))
    words = [Piece("RB", str(part)) for part in parts[:-2]]
    return Piece("ADVP", (*words, Piece("PP", (parts[-2], noun_phrase(parts[-1:])))))


def verb_phrase(parts: Sequence[Piece]) -> Piece:
    """Return the verb phrase of a verb and all that follows it in the clause."""
    first, rest = parts[0], list(parts[1:])
    adverbs = 0
    while adverbs < len(rest) and rest[adverbs].label == "RB":
        adverbs += 1
    before, after = rest[:adverbs], rest[adverbs:]
    if after and after[0].leaf and after[0].label in VERBS:
        wrapped = [part if part == "not" else Piece("ADVP", (part,)) for part in before]
        return Piece("VP", (first, *wrapped, verb_phrase(after)))
    return Piece("VP", (first, *arguments(rest)))


def _infinitive(parts: Sequence[Piece], at: int) -> bool:
    """Whether `to` and a verb begin at a position."""
    return (
        at + 1 < len(parts)
        and parts[at].leaf
        and parts[at].label == "TO"
        and parts[at + 1].leaf
        and parts[at + 1].label in VERBS
    )


def arguments(parts: Sequence[Piece]) -> list[Piece]:
    """Return the phrases that follow a verb, or that stand before the subject."""
    found: list[Piece] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        if _infinitive(parts, at):
            infinitive = Piece("S", (Piece("VP", (part, verb_phrase(parts[at + 1 :]))),))
            if found and found[-1].label == "ADJP":  # able to come
                found[-1] = Piece("ADJP", (*found[-1].parts, infinitive))
            else:
                found.append(infinitive)
            return found
        if part == "at" and parts[at + 1 : at + 2] == ["all"]:
            found.append(Piece("ADVP", (part, parts[at + 1])))
            at += 2
        elif part.leaf and part.label in ("IN", "TO") and at + 1 < len(parts):
            if parts[at + 1].label == "NP":
                found.append(Piece("PP", (part, parts[at + 1])))
                at += 2
            elif parts[at + 1].label in ("IN", "TO") and at + 2 < len(parts):  # compared with X
                inner = Piece("PP", (parts[at + 1], parts[at + 2]))
                found.append(Piece("PP", (part, inner)))
                at += 3
            elif parts[at + 1].leaf and parts[at + 1].label in NOUNS | {"DT"}:  # on the phone
                end = at + 1
                while end < len(parts) and parts[end].leaf and parts[end].label in NOUNS | {"DT"}:
                    end += 1
                found.append(Piece("PP", (part, noun_phrase(parts[at + 1 : end]))))
                at = end
            else:
                found.append(Piece("PRT", (Piece("RP", str(part)),)))
                at += 1
        elif part.leaf and part.label == "IN":
            found.append(Piece("PRT", (Piece("RP", str(part)),)))
            at += 1
        elif part.leaf and part.label == "RP":
            found.append(Piece("PRT", (part,)))
            at += 1
        elif part.label in ("RB", "JJ", "JJR", "ADJP"):
            end = at
            while end < len(parts) and parts[end].label in ("RB", "JJ", "JJR", "ADJP"):
                end += 1
                if parts[end - 1].label != "RB":
                    break
            group = parts[at:end]
            if group[-1].label == "RB":
                # Adverbs side by side are phrases of their own.
                found += [Piece("ADVP", (adverb,)) for adverb in group]
            elif _comparison(parts, end):  # as big as X
                inner = Piece("PP", (parts[end], parts[end + 1]))
                found.append(Piece("ADJP", (*group, inner)))
                end += 2
            else:
                found.append(group[0] if len(group) == 1 and not group[0].leaf else _adjp(group))
            at = end
        elif part.leaf and part.label in NOUNS | {"DT"}:
            end = at
            while end < len(parts) and parts[end].leaf and parts[end].label in NOUNS | {"DT"}:
                end += 1
            found.append(noun_phrase(parts[at:end]))
            at = end
        else:
            found.append(part)
            at += 1
    return found


def _comparison(parts: Sequence[Piece], at: int) -> bool:
    return at + 1 < len(parts) and parts[at] in ("than", "as") and parts[at + 1].label == "NP"


def _adjp(group: Sequence[Piece]) -> Piece:
    flat: list[Piece] = []
    for part in group:
        flat += part.parts if part.label == "ADJP" else [part]
    return Piece("ADJP", flat)


def clause(parts: Sequence[Piece], question: bool) -> Piece:
    """Return the clause of its parts; a question begins with the auxiliary, before the subject."""
    parts = [Piece("NP", (Piece("EX", "there"),)) if p == "there" and p.leaf else p for p in parts]
    if question:
        # The subject, then the rest of the verb group and what follows.
        at = next((i for i, p in enumerate(parts) if i > 0 and p.leaf and p.label in VERBS), None)
        if at is None:
            return Piece("SQ", (parts[0], *arguments(parts[1:])))
        before = arguments(parts[1:at])
        return Piece("SQ", (parts[0], *before, verb_phrase(parts[at:])))
    at = next((i for i, part in enumerate(parts) if part.leaf and part.label in VERBS), None)
    if at is None:
        return Piece("S", arguments(parts))
    return Piece("S", (*arguments(parts[:at]), verb_phrase(parts[at:])))


def sentence(parts: Sequence[Piece]) -> Piece:
    """Return the tree of a sentence: clauses, subordinators, coordinators, reported speech."""
    parts, end = list(parts[:-1]), parts[-1]
    if len(parts) == 2 and parts[0].leaf and parts[0].label in ("WP", "WRB"):
        wh = Piece("WHNP" if parts[0].label == "WP" else "WHADVP", (parts[0],))
        return Piece("TOP", (Piece("SBARQ", (wh, Piece("SQ", parts[1].parts), end)),))
    grouped: list[Piece] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        following = parts[at + 1] if at + 1 < len(parts) else part
        if part.leaf and part in SUBORDINATORS and following.label == "S":
            grouped.append(Piece("SBAR", (Piece("IN", str(part)), following)))
            at += 2
        elif part == "when" and following.label == "S":
            wh = Piece("WHADVP", (Piece("WRB", "when"),))
            grouped.append(Piece("SBAR", (wh, following)))
            at += 2
        elif part == "even" and following == "though":
            words = (Piece("RB", "even"), Piece("IN", "though"))
            grouped.append(Piece("SBAR", (*words, parts[at + 2])))
            at += 3
        elif part == "according":
            inner = Piece("PP", (following, parts[at + 2]))
            grouped.append(Piece("PP", (Piece("VBG", "according"), inner)))
            at += 3
        elif part == "at":  # at the same time
            same = (parts[at + 1], Piece("JJ", "same"), parts[at + 3])
            grouped.append(Piece("PP", (part, Piece("NP", same))))
            at += 4
        elif part == "please":
            grouped.append(Piece("INTJ", (part,)))
            at += 1
        elif part.leaf and part.label == "RB":
            grouped.append(Piece("ADVP", (part,)))
            at += 1
        elif part == ";":
            grouped.append(Piece(":", ";"))
            at += 1
        else:
            grouped.append(part)
            at += 1
    said = next((i for i, part in enumerate(grouped) if part.leaf and part.label in VERBS), None)
    if said is not None:
        grouped[said:] = [Piece("VP", (grouped[said], *_arguments_of_saying(grouped[said + 1 :])))]
    if len(grouped) == 1:
        return Piece("TOP", (Piece(grouped[0].label, (*grouped[0].parts, end)),))
    return Piece("TOP", (Piece("S", (*grouped, end)),))


def _arguments_of_saying(parts: Sequence[Piece]) -> list[Piece]:
    """Return what follows a verb of saying: a particle, one or several clauses."""
    found = list(parts)
    if found and found[0].leaf and found[0].label == "RP":
        found[0] = Piece("PRT", (found[0],))
    if sum(part.label == "SBAR" for part in found) > 1:
        start = next(i for i, part in enumerate(found) if part.label == "SBAR")
        found[start:] = [Piece("SBAR", found[start:])]
    return found


class TreeSpeaker(Speaker):
    """Generates the English text of a derivation as a tree, with the choices of `Speaker`."""

    def joined(self, node: Node, out: list[str]) -> str:
        parts = unpacked(out)
        if node.rule.category == "sentence":
            return sentence(parts)
        return place(parts) if node.rule.category == "place" else noun_phrase(parts)

    def end_clause(self, mode: str, start: int, out: list[str]) -> None:
        out[start:] = [clause(unpacked(out[start:]), mode == "question")]

    def spoken(self, filler: Any, text: str) -> str:
        if isinstance(filler, Adjective):
            *before, last = text.split(" ")
            if not before:
                return Piece("JJ", last)
            return Piece("ADJP", (*tagged(" ".join(before), "RB"), Piece("JJ", last)))
        if isinstance(filler, Number):
            words = tagged(text, "CD")
            return words[0] if len(words) == 1 else Piece("QP", words)
        words = tagged(text)
        if len(words) == 1 and words[0].label == "NNP":  # a demonym
            return Piece("JJ", text)
        return word_phrase(words)

    def pronoun(self, text: str, possessive: bool = False) -> str:
        if possessive:
            return Piece("PRP$", text)
        return Piece("NP", (Piece("PRP", text),))

    def noun_text(self, text: str, plural: bool) -> str:
        words = tagged(text)
        head = next((i for i, word in enumerate(words) if word.label in ("IN", "TO")), len(words))
        if plural and head > 0 and words[head - 1].label == "NN":
            words[head - 1] = Piece("NNS", str(words[head - 1]))
        return words[0] if len(words) == 1 else Piece("WORDS", words)

    def comparative(self, text: str) -> str:
        first, _, rest = text.partition(" ")
        if rest:
            return Piece("ADJP", (Piece("RBR", first), *tagged(rest, "JJ")))
        return Piece("JJR", text)

    def verb(self, forms: Any, form: str, finite: bool = False) -> str:
        text = getattr(forms, form)
        first, _, rest = text.partition(" ")
        tag = "VBP" if finite and form == "do" else _FORMS[form]
        words = [Piece(tag, first), *(tagged(rest) if rest else ())]
        return words[0] if len(words) == 1 else Piece("WORDS", words)

    def auxiliaries(self, text: str, finite: bool) -> str:
        words = []
        for i, word in enumerate(text.split(" ")):
            known = TAGS.get(word)
            if known:
                words.append(Piece(known, word))
            elif word == "going":
                words.append(Piece("VBG", word))
            else:  # plans to, want to
                tag = "VBZ" if word.endswith("s") else "VBP" if i == 0 and finite else "VB"
                words.append(Piece(tag, word))
        return words[0] if len(words) == 1 else Piece("WORDS", words)

    def _saying(self, saying: Saying) -> str:
        first, _, rest = super()._saying(saying).partition(" ")
        tag = "VBD" if first.endswith(("ed", "said", "heard")) else "VBZ"
        tag = "VBP" if tag == "VBZ" and not first.endswith("s") else tag
        words = [Piece(tag, first), *(tagged(rest, "RP") if rest else ())]
        return words[0] if len(words) == 1 else Piece("WORDS", words)


_LEAF = re.compile(r"\([^() ]+ [^() ]+\)")
_EMPTY = re.compile(r" ?\([^() ]+ *\)")


def without_words(tree: str, start: int, count: int) -> str:
    """Return a tree in brackets without some of its words and the phrases that this empties."""
    number = -1

    def leaf(match: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return "" if start <= number < start + count else match[0]

    tree = _LEAF.sub(leaf, tree)
    while True:
        shorter = _EMPTY.sub("", tree)
        if shorter == tree:
            return re.sub(" +", " ", tree).replace(" )", ")")
        tree = shorter
