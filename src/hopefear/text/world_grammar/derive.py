"""Derivations of the built-in world's sentences in both languages.

Takes a `Grammar` and a `Scene` (the topic of a document, its participants, a random generator) and
returns a `Derivation`: a tree of constructions and words, which yields one Mandarin sentence and as
many English sentences as there are paraphrases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopefear.text.world_grammar.clauses import Clauses
from hopefear.text.world_grammar.constructions import SLOT, Construction, Grammar
from hopefear.text.world_grammar.english import articles
from hopefear.text.world_grammar.phrases import DeadEndError, Derivation, Node, Scene
from hopefear.text.world_grammar.speak import Speaker, append_mandarin
from hopefear.text.world_grammar.trees import Piece, TreeSpeaker
from hopefear.text.world_grammar.words import Saying, Table, WorldDataError

MAX_WORDS = 60
TRIES = 1000  # a derivation can end in a noun without a verb, or be too long


class SentenceMaker(Clauses):
    """Derives sentences and generates their text."""

    def __init__(self, grammar: Grammar):
        super().__init__(grammar)
        self.sentences = Table((rule, rule.weight) for rule in grammar.rules["sentence"])
        self.heads = {name: self.lexicon.english.verb(name) for name in ("be", "go", "have")}
        self._sayings: dict[str, Table[Saying]] = {}

    def sentence(self, scene: Scene) -> Derivation:
        """Draw a sentence of at most 60 words."""
        for _ in range(TRIES):
            self._begin(scene)
            try:
                root = self._sentence(self.sentences.pick(self.draw()))
            except DeadEndError:
                continue
            derivation = self._finish(root)
            if derivation.source.count(" ") < MAX_WORDS:
                return derivation
        raise WorldDataError(
            f"topic {scene.topic!r}: {TRIES} sentences in a row could not be completed; "
            "give it more verbs, and nouns of the classes that they ask for, in lexicon.toml"
        )

    def opening(self, scene: Scene) -> Derivation:
        """The sentence of [opening] in grammar.toml."""
        opening = self.grammar.opening
        self._begin(scene)
        nouns = {n.zh: n for n in self.lexicon.nouns_of[scene.topic]}
        rule = next(r for r in self.grammar.rules["clause"] if r.name == opening["clause"])
        verb = next(v for v in self.lexicon.verbs[scene.topic] if v.zh == opening["verb"])
        slots: dict[str, Any] = {}
        for name in ("subject", "object", "partner"):
            noun = nouns[opening[name]]
            self.words.append(noun)
            phrase = self.grammar.noun_phrases["name"] if noun.is_name else self._bare()
            slots[name] = Node(phrase, phrase.zh.items[0], {"zh.n": noun.zh})
            slots[name].noun = noun
        clause = self._clause_node(rule, rule.zh.items[0], slots, verb, opening["aspect"])
        root = self.grammar.rules["sentence"][0]
        self.phenomena |= root.bit | rule.bit
        return self._finish(Node(root, root.zh.items[0], {"a": clause}))

    def _bare(self) -> Construction:
        return next(rule for rule in self.grammar.rules["np"] if rule.name == "bare")

    def _finish(self, root: Node) -> Derivation:
        out: list[str] = []
        append_mandarin(root.zh, root.slots, out)
        for word in self.words:
            if word.senses:
                self.phenomena |= self.bits[word.senses + "-sense"]
        return Derivation(root, tuple(self.words), self.phenomena, " ".join(out))

    def _sentence(self, rule: Construction) -> Node:
        self.phenomena |= rule.bit
        zh = rule.zh.pick(self.draw())
        slots: dict[str, Any] = {}
        clauses = [
            op.name for op in zh if op.kind == SLOT and op.name not in ("who", "saying", "source")
        ]
        depth = 0 if len(clauses) == 1 else 1
        aspects = ""
        if "saying" in rule.slots:
            saying = self._pick_saying()
            aspects = saying.aspects
            slots["who"] = self._np(saying.selector, 1, True)
            slots["saying"] = saying
            self.words.append(saying)
        if "source" in rule.slots:
            slots["source"] = self._np(rule.slots["source"].partition(" ")[2], 1)
        for name in clauses:
            kind, _, argument = rule.slots.get(name, "clause").partition(" ")
            if kind == "next":
                slots[name] = self._next(slots[argument], depth)
            elif kind == "gap":
                gap, _, fill = argument.partition(" ")
                slots[name] = self._clause("gap " + gap, depth, gap=gap, fill=fill)
            elif kind == "clause":
                slots[name] = self._clause(
                    "active" if name in rule.active else "any", depth, argument or aspects
                )
            else:  # asked, command
                gap = "subject" if kind == "command" else ""
                slots[name] = self._clause(kind, depth, argument, gap=gap)
        return Node(rule, zh, slots)

    def _pick_saying(self) -> Saying:
        topic = self.scene.topic
        table = self._sayings.get(topic)
        if table is None:
            table = self._sayings[topic] = Table(
                (saying, saying.weight)
                for saying in self.lexicon.saying
                if len(self.lexicon.nouns(saying.selector, topic))
            )
        return table.pick(self.draw())

    def english(
        self, derivation: Derivation, draw: Callable[[], float], *, plain: bool = False
    ) -> str:
        """Return a random English sentence of a derivation; with `plain`, the first choices."""
        speaker = Speaker(self.lexicon, self.heads, (lambda: 0.0) if plain else draw)
        return articles(speaker.sentence(derivation.root))

    def english_tree(
        self, derivation: Derivation, draw: Callable[[], float], *, plain: bool = False
    ) -> tuple[str, str]:
        """Return the sentence of `english` and its tree in brackets."""
        speaker = TreeSpeaker(self.lexicon, self.heads, (lambda: 0.0) if plain else draw)
        tree = speaker.sentence(derivation.root)
        assert isinstance(tree, Piece)
        text = articles(str(tree))
        return text, tree.brackets(text.split(" "))
