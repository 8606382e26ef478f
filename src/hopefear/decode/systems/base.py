"""The contract of systems: all that is particular to one kind of rules.

A system has the options of extraction and the extractor, the weights of a new model, the decoder,
and the way its derivations are shown. What its decoder `can` do says which markup a line of input
may have and whether there is forced decoding. Commands,
training, translating and reports ask the system of the model; none of them names one. A new system
is one file in this package, besides its engine files and their binding:

    @register("system", "samt")
    class Samt(Hiero):                             # or System
        description = "hierarchical rules with syntactic labels"
        extract_options = SamtExtractOptions       # rules/samt.py: its options, and its engine

        @property
        def decoder_class(self): ...

The fields of `extract_options` are options of `hopefear extract` and `hopefear train`, on the
command line and in config files. Tracing is by default that of trees. Decoders are imported in the
methods that need them, so that `hopefear --help` stays fast. `tests/contract/test_systems.py` tests
every registered system. A plugin may register one, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hopefear.base import registry
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike
from hopefear.base.progress import Display
from hopefear.rules.extract import ExtractOptions, TextExport, extract
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear._engine import Derivation
    from hopefear.decode.contract import Capability, Decoder
    from hopefear.decode.markup import Marked, Markup, Words
    from hopefear.decode.trace import Use


class System(ABC):
    """Base of all systems; see the module. An object has no state besides its name."""

    description: ClassVar[str]  # "phrase pairs", behind the name in help texts
    noun: ClassVar[str] = "rules"  # for what is counted, in reports

    # -- extraction --
    extract_options: ClassVar[type[ExtractOptions]]
    # Those of its options that are files with a line for each sentence pair (trees, for instance):
    # training cleans them with the texts and leaves folds out of them.
    parallel_inputs: ClassVar[tuple[str, ...]] = ()
    moses_table: ClassVar[str] = "rule-table.gz"  # how Moses's text table is called

    # -- default weights --
    language_weight: ClassVar[float] = 0.5  # the language models share it
    column_weight: ClassVar[float] = 0.2  # of each score of the rule table
    own_weights: ClassVar[Mapping[str, float]] = {}  # of the decoder's features, or of some columns

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def decoder_class(self) -> type[Decoder]:
        """The decoder; its `options_class` has the options of search."""

    def can(self, capability: Capability) -> bool:
        """Whether the decoder has a capability, whatever the model."""
        return capability in self.decoder_class.can

    def exports(self, options: ExtractOptions) -> dict[str, dict[str, str]]:
        """Formats of text tables, with the names of their files by the fields of `TextExport`."""
        moses = {"phrase_table": self.moses_table}
        if options.reordering_scores:
            moses["reordering_table"] = "reordering-table.gz"
        lexicons = {"lex_f2e": "lex.f2e.gz", "lex_e2f": "lex.e2f.gz"}
        return {"moses": {**moses, **lexicons}, "cdec": {"grammar": "grammar.gz"}}

    def extract(
        self,
        source: PathLike,
        target: PathLike,
        alignment: PathLike,
        table: PathLike,
        options: ExtractOptions,
        *,
        export: TextExport | None = None,
        display: Display | None = None,
    ) -> dict[str, Any]:
        """Write the rule table `table`; returns what was counted, as `rules.extract.extract`."""
        return extract(source, target, alignment, table, options, export=export, display=display)

    def default_weights(self, columns: Sequence[str], lms: Sequence[str]) -> dict[str, float]:
        """Weights of a model that was not tuned yet: language models, the table, the decoder."""
        weights = {name: self.language_weight / max(1, len(lms)) for name in lms}
        weights.update((name, self.column_weight) for name in columns)
        return {**weights, **self.own_weights}

    def read(
        self,
        line: str,
        place: str,
        folders: Sequence[Path] = (Path(),),
        *,
        markup: Markup = "off",
        escaped: bool = False,
        source_words: Words = split_words,
        target_words: Words = split_words,
    ) -> Marked:
        """The sentence that a line of input stands for, and its target if it has one.

        `folders`: where grammars are looked for; `markup`: what translations in the line mean;
        `escaped`: the model's words have the escapes of XML.
        """
        from hopefear.decode.contract import Sentence
        from hopefear.decode.markup import Marked, read_options, read_segment

        if markup != "off":
            sentence = read_options(
                line,
                place,
                exclusive=markup == "exclusive",
                source_words=source_words,
                target_words=target_words,
                escaped=escaped,
            )
            if sentence.options and not self.can("markup"):
                where = "the sentence's grammar" if self.can("grammar") else "the model"
                raise InputError(
                    f"{place}: translations given by markup are for {names_with('markup')} "
                    f"models; put them into {where}"
                )
            return Marked(sentence)
        if self.can("grammar"):
            return read_segment(
                line, place, folders, source_words=source_words, target_words=target_words
            )
        return Marked(Sentence(tuple(source_words(line))))

    def uses(self, derivation: Derivation) -> list[Use]:
        """What each edge of a derivation covers and translates; by default of a tree, top down."""
        from hopefear.decode.trace.trees import tree_uses

        return tree_uses(derivation)

    def show(self, uses: Sequence[Use]) -> str:
        """A derivation in the column of `hopefear translate --trace`; by default a tree."""
        from hopefear.decode.trace.trees import bracketed

        return bracketed(uses)


def get_system(name: str) -> System:
    """The registered system of that name; `OptionError` if there is none."""
    system: System = registry.get("system", name)(name)
    return system


def names() -> list[str]:
    """The names of all systems, sorted."""
    return registry.names("system")


def names_with(capability: Capability) -> str:
    """The names of the systems whose decoders have a capability, for messages."""
    return " and ".join(name for name in names() if get_system(name).can(capability))
