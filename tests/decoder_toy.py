"""A decoder for tests of what is around decoders: word by word, in Python, without search.

System "toy": every word becomes each of its rules' targets, or itself; forests are like those of
phrase search (one tail, coverage). System "toytree": the words of a sentence become a tree.
As a program it is the command line with these systems: `python decoder_toy.py translate …`.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import option
from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, ModelParts, Request, Sentence
from hopefear.decode.systems.hiero import Hiero
from hopefear.decode.systems.phrase import Phrase
from hopefear.forest import Forest, ForestBuilder
from hopefear.lm.estimate import estimate
from hopefear.model.directory import Model, write_settings
from hopefear.rules.extract import extract
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.text.pipeline import TextPipeline


@dataclass(kw_only=True)
class ToyOptions:
    beam: int = option(7, min=1, help="does nothing but being there")


class ToyDecoder(Decoder):
    options_class = ToyOptions
    can = frozenset({"markup"})

    def __init__(self, parts: ModelParts, options: ToyOptions) -> None:
        assert parts.rules is not None
        self.rules, self.options = parts.rules, options
        self.names = FeatureNames()
        self._dense = [*self.rules.columns[:4], "words", "unknown"]

    @classmethod
    def load(cls, parts: ModelParts, options: Any) -> ToyDecoder:
        return cls(parts, options)

    @property
    def dense(self) -> list[str]:
        return list(self._dense)

    def answer(self, request: Request) -> Decoded:
        return Decoded(self._search(Sentence.of(request.sentence)))

    def _search(self, sentence: Sentence) -> Forest:
        if "slow" in sentence.words:
            time.sleep(0.3)
        if "refused" in sentence.words:
            raise InputError("no such words; leave them out")
        builder = ForestBuilder(names=self.names)
        node = builder.node()
        builder.edge(node, (), ())
        at = 0
        while at < len(sentence.words):
            forced = [o for o in sentence.options if o.begin == at]
            end = forced[0].end if forced else at + 1
            head = builder.node(coverage=range(end))
            for choice in forced:
                builder.edge(
                    head, [node], [0, *choice.target], features={"words": len(choice.target)}
                )
            if not forced or not sentence.exclusive:
                self._rules(builder, head, node, sentence.words[at])
            node, at = head, end
        return builder.finish(node, id=sentence.id)

    def _rules(self, builder: ForestBuilder, head: int, tail: int, word: str) -> None:
        trie = self.rules.engine
        child = trie.child(trie.root, word)
        begin, end = (0, 0) if child is None else trie.rules(child)
        for number, rule in zip(range(begin, end), self.rules.lookup([word]), strict=True):
            scores = dict(zip(self.rules.columns[:4], rule.scores, strict=False))
            row = builder.row({**scores, "words": len(rule.target)})
            builder.edge(head, [tail], [0, *rule.target], row=row, rule=number)
        if begin == end:
            builder.edge(head, [tail], [0, word], row=builder.row({"words": 1, "unknown": 1}))


class ToyTreeDecoder(ToyDecoder):
    can = frozenset()

    def _search(self, sentence: Sentence) -> Forest:
        builder = ForestBuilder(names=self.names)
        n = len(sentence.words)
        glue = None
        for i, word in enumerate(sentence.words):
            leaf = builder.node(span=(i, i + 1), symbol="X")
            builder.edge(leaf, (), [word.upper()], features={"words": 1})
            top = builder.node(span=(0, i + 1), symbol="S")
            builder.edge(top, [leaf] if glue is None else [glue, leaf])
            glue = top
        goal = builder.node(span=(0, n), symbol="Goal")
        assert glue is not None
        builder.edge(goal, [glue])
        return builder.finish(goal, id=sentence.id)


@register("system", "toy")
class Toy(Phrase):
    @property
    def decoder_class(self) -> type[Decoder]:
        return ToyDecoder


@register("system", "toytree")
class ToyTree(Hiero):
    @property
    def decoder_class(self) -> type[Decoder]:
        return ToyTreeDecoder


def toy_model(directory: Path, *, system: str = "toy") -> Model:
    """A model directory with a handful of rules; the first text line is `das haus ist klein`."""
    directory.mkdir(parents=True)
    (directory / "a.de").write_text("das haus\ndas haus ist klein\ndie maus\ndas\n")
    (directory / "a.en").write_text("the house\nthe house is small\nthe mouse\nthat\n")
    (directory / "a.align").write_text("0-0 1-1\n0-0 1-1 2-2 3-3\n0-0 1-1\n0-0\n")
    files = [directory / name for name in ("a.de", "a.en", "a.align")]
    extract(*files, directory / "rules.bin", PhraseExtractOptions(threads=1))
    estimate(directory / "a.en", directory / "lm.arpa", order=2, discount_fallback=True)
    from hopefear.lm import LanguageModel

    LanguageModel.load(directory / "lm.arpa").compile(directory / "lm.bin")
    text = {}
    for side, language in (("source", "de"), ("target", "en")):
        pipeline = TextPipeline(language=language)
        pipeline.learn(["Das Haus ist klein." if side == "source" else "The house is small."])
        text[side] = pipeline.save(directory, side)
    weights = {"p(f|e)": 0.2, "lex(f|e)": 0.2, "p(e|f)": 0.2, "lex(e|f)": 0.2}
    Weights({**weights, "words": 0.25, "unknown": -100.0}).save(directory / "weights.tsv")
    write_settings(directory, {"system": system, "made_by": "a test", "text": text})
    return Model.load(directory)


if __name__ == "__main__":
    from hopefear.cli.main import main

    sys.exit(main())
