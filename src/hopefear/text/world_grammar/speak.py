"""Generation of text from derivations of the built-in world, in Mandarin and English.

Takes a tree of `Node` and returns words. The English text has a random paraphrase of each
construction and a random synonym of each word, with correct agreement, tense, articles and question
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopefear.text.world_grammar.constructions import (
    FORM,
    GROUP,
    HEAD,
    SLOT,
    WORD,
    Alternative,
    Construction,
    Op,
)
from hopefear.text.world_grammar.english import VerbForms, verb_group
from hopefear.text.world_grammar.lexicon import Lexicon
from hopefear.text.world_grammar.phrases import Filler, Node
from hopefear.text.world_grammar.words import Noun, Saying, Word


def append_mandarin(ops: Sequence[Op], slots: dict[str, Any], out: list[str]) -> None:
    """Append the Mandarin words of a node to `out`."""
    for kind, name, key, inner in ops:
        if kind == WORD:
            out.append(name)
            continue
        if kind == GROUP:
            if slots.get(name) is not None:
                append_mandarin(inner, slots, out)
            continue
        filler = slots.get(key or name)
        if filler is None:
            continue
        if isinstance(filler, str):
            if filler:
                out.append(filler)
        elif isinstance(filler, Node):
            append_mandarin(filler.zh, filler.slots, out)
        else:
            out.append(filler.zh)


class Speaker:
    """Generates the English text of a derivation with random choices.

    `agreement` is that of the last noun phrase. The methods before `sentence` make texts of words;
    trees.py overrides them to keep the structure.
    """

    def __init__(self, lexicon: Lexicon, heads: Mapping[str, VerbForms], draw: Callable[[], float]):
        self.lexicon = lexicon
        self.heads = heads
        self.draw = draw
        self.agreement = "s"

    def joined(self, node: Node, out: list[str]) -> str:
        """Return the text of a sentence, a place or a noun phrase."""
        return " ".join(out)

    def end_clause(self, mode: str, start: int, out: list[str]) -> None:
        """Take the parts of a clause, which begin at `start`."""

    def spoken(self, filler: Any, text: str) -> str:
        """Return the text of a word other than a noun or verb."""
        return text

    def pronoun(self, text: str, possessive: bool = False) -> str:
        """Return the text of a pronoun."""
        return text

    def noun_text(self, text: str, plural: bool) -> str:
        """Return the text of a noun."""
        return text

    def comparative(self, text: str) -> str:
        """Return the text of a compared adjective."""
        return text

    def verb(self, forms: Any, form: str, finite: bool = False) -> str:
        """Return a form of a verb; `finite`: it is not preceded by an auxiliary."""
        text: str = getattr(forms, form)
        return text

    def auxiliaries(self, text: str, finite: bool) -> str:
        """Return the text of auxiliaries and `not`; `finite`: they begin the verb group."""
        return text

    def sentence(self, node: Node) -> str:
        """Return the words of a sentence, before `articles` is applied."""
        choice = self._paraphrase(node.rule)
        out: list[str] = []
        last, inside = "s", False
        for op in choice.ops:
            if op.kind == WORD:
                out.append(op.name)
                inside = op.name not in ",;"  # "after last month , he left" is not English
                continue
            filler = node.slots[op.name]
            if op.name == "saying":
                out.append(self._saying(filler))
            elif isinstance(filler, Node) and filler.aspect:
                last = self.clause(filler, op.arg or ("inside" if inside else ""), last, out)
            else:
                out.append(self.phrase(filler, True))
        return self.joined(node, out)

    def _paraphrase(self, rule: Construction) -> Alternative:
        free = rule.free
        return free.pick(self.draw()) if len(free.items) > 1 else free.items[0]

    def _saying(self, saying: Saying) -> str:
        text = saying.table.pick(self.draw())
        return text if self.agreement == "s" else saying.plurals[text]

    def clause(self, node: Node, mode: str, agreement: str, out: list[str]) -> str:
        """Append a clause; return its subject's agreement (`agreement` if that slot is open)."""
        draw, slots, rule, start = self.draw, node.slots, node.rule, len(out)
        form = node.verb.forms.pick(draw()) if node.verb else None
        assert node.aspect
        willing = node.aspect.options.get("agent", False)  # "a title wants to be won by"
        table = rule.choices(mode, node.gap, form.passive and not willing if form else True)
        choice = table.pick(draw())
        if any(slots.get(name) is None for name in choice.needs):
            choice = table.items[0]
        filler = slots.get(choice.agree)
        subject = ""
        if isinstance(filler, Node):
            subject = self.phrase(filler, True)
            agreement = self.agreement
        tense = node.aspect.en.pick(draw())
        if mode == "question":
            if tense.startswith("ought"):
                tense = node.aspect.en.items[0]
            head = next(op.name for op in choice.ops if op.kind == HEAD)
            be = head == "be" or (form is not None and form.forms.do.startswith("be "))
            out.append(self.auxiliaries(verb_group(tense, be, agreement, True).aux, True))
        self._ops(choice.ops, node, choice, mode, tense, form, subject, agreement, out)
        self.end_clause(mode, start, out)
        return agreement

    def _ops(
        self, ops: Sequence[Op], node: Node, choice: Alternative, mode: str, tense: str,
        form: Any, subject: str, agreement: str, out: list[str],
    ) -> None:  # fmt: skip
        slots = node.slots
        for kind, name, arg, inner in ops:
            if kind == WORD:
                out.append(name)
            elif kind == SLOT:
                if name == choice.agree and subject:
                    out.append(subject)
                    continue
                filler = slots.get(name)
                if filler is not None and type(filler) is not str:
                    out.append(self.phrase(filler, False))
            elif kind == HEAD:
                forms = form.forms if name == "verb" else self.heads[name]
                self._head(forms, name == "be", slots.get("adverb"), mode, tense, agreement, out)
            elif kind == GROUP:
                filler = slots.get(name)
                if filler is not None and type(filler) is not str:
                    self._ops(inner, node, choice, mode, tense, form, subject, agreement, out)
            elif kind == FORM:
                if name == "verb":
                    out.append(self.verb(form.forms, arg))
                else:  # {quality:more}
                    adjective = slots[name]
                    text = adjective.comparatives[adjective.table.pick(self.draw())]
                    out.append(self.comparative(text))
            elif name == "prep":
                out.append(form.prep)
            else:  # {at:slot}
                out.append(slots[arg].noun.cls.at)

    def _head(
        self, forms: Any, be: bool, adverb: Filler, mode: str, tense: str, agreement: str,
        out: list[str],
    ) -> None:  # fmt: skip
        if mode == "do":
            out.append(self.verb(forms, "do"))
            return
        be = be or forms.do.startswith("be ")
        aux, rest, form = verb_group(tense, be, agreement, mode == "question")
        if aux and mode != "question":
            out.append(self.auxiliaries(aux, True))
        often = adverb.table.pick(self.draw()) if isinstance(adverb, Word) else ""
        if often and not rest.startswith("not"):
            out.append(self.spoken(adverb, often))
            often = ""
        if rest:
            out.append(self.auxiliaries(rest, not aux))
        if often:
            out.append(self.spoken(adverb, often))
        if form:
            out.append(self.verb(forms, form, not aux and not rest))
        elif len(forms.do) > 2:  # "be responsible for": the rest of the phrase
            out.append(forms.do[3:])

    def phrase(self, filler: Any, nominative: bool) -> str:
        """Return the words of a noun phrase, a place or a word."""
        if not isinstance(filler, Node):
            return self.spoken(filler, filler.table.pick(self.draw()))
        rule = filler.rule
        choice = self._paraphrase(rule)
        noun = filler.noun
        out: list[str] = []
        if noun is None:
            pronoun = filler.slots.get("pronoun")
            if pronoun is not None:
                self.agreement = pronoun.agreement
                return self.pronoun(str(pronoun.english[0 if nominative else 1]))
            for op in choice.ops:
                out.append(
                    op.name if op.kind == WORD else self.phrase(filler.slots[op.name], False)
                )
            return self.joined(filler, out)
        self._noun_phrase(choice, filler, noun, out)
        return self.joined(filler, out)

    def _noun_phrase(self, choice: Alternative, node: Node, noun: Noun, out: list[str]) -> None:
        slots, draw = node.slots, self.draw
        form = noun.forms.pick(draw())
        owner = slots.get("owner")
        if owner is not None and owner.rule.options.get("heavy"):
            choice = node.rule.en[1]  # "the plan of the man who ...", not "the man who ... 's plan"
        plural = choice.number == "plural" if choice.number else node.plural
        own = "p" if form.kind == "plural" or (plural and form.kind == "count") else "s"
        if node.rule.name == "measure":
            own = "p" if plural else "s"
        for kind, name, arg, _ in choice.ops:
            if kind == WORD:
                if name == "'s" and out[-1].endswith("s") and self.agreement == "p":
                    out.append("'")
                else:
                    out.append(name)
            elif name == "n":
                if arg == "title":
                    out.append(self.noun_text(noun.english[0].title(), False))
                else:
                    text = form.plural if plural else form.singular
                    out.append(self.noun_text(text, own == "p"))
            elif name == "det":
                det = "the" if form.the else node.det
                if det == "the" and form.kind not in ("bare", "name"):
                    out.append(det)
                elif form.kind == "count" and not plural:
                    out.append("a")
            elif name == "who":
                out.append(
                    ("who" if draw() < 0.7 else "that")
                    if noun.person
                    else ("that" if draw() < 0.65 else "which")
                )
            elif name == "measure":
                text = self.lexicon.measures[noun.measure][plural]
                out.append(self.noun_text(text, plural))
            elif name == "pronoun":
                out.append(self.pronoun(slots["pronoun"].english[2], True))
            else:
                filler = slots.get(name)
                if filler is None:
                    continue
                if isinstance(filler, Node) and filler.aspect:
                    self.clause(filler, "", own, out)
                else:
                    out.append(self.phrase(filler, False))
        self.agreement = node.rule.options.get("agreement") or own
