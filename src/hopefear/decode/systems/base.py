"""The contract of systems: everything that is specific to one kind of rules.

A system defines the extraction options and the extractor, the default weights, the decoder, and how
derivations are displayed. The capabilities of its decoder determine which markup input lines may
have and whether forced decoding is possible. Commands, training, translation and reports use the
system of the model and contain no system's name. A new system is one file in this package, besides
its engine files and their binding:

    @register("system", "samt")
    class Samt(Hiero):                             # or System
        description = "hierarchical rules with syntactic labels"
        extract_options = SamtExtractOptions       # rules/samt.py: its options, and its engine

        @property
        def decoder_class(self): ...

The fields of `extract_options` are options of `hopefear extract` and `hopefear train`, on the
command line and in config files. Derivations are displayed as trees by default. Decoders are
imported in the methods that use them, which keeps `hopefear --help` fast.
`tests/contract/test_systems.py` tests every registered system. Plugins may register systems, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hopefear.base import registry
from hopefear.base.errors import InputError
from hopefear.base.executor import Executor
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
    """Base class of all systems; see the module. An object has no state besides its name."""

    description: ClassVar[str]  #: "phrase pairs", after the name in help texts
    noun: ClassVar[str] = "rules"  #: what reports call its rules

    # -- extraction --
    extract_options: ClassVar[type[ExtractOptions]]
    #: Options that are files with a line for each sentence pair (parse trees, for instance):
    #: training filters them together with the texts, and leaves out the lines of a fold.
    parallel_inputs: ClassVar[tuple[str, ...]] = ()
    moses_table: ClassVar[str] = "rule-table.gz"  #: file name of the text table in Moses's format

    # -- default weights --
    language_weight: ClassVar[float] = 0.5  #: divided among the language models
    column_weight: ClassVar[float] = 0.2  #: of each column of the rule table
    own_weights: ClassVar[
        Mapping[str, float]
    ] = {}  #: of the decoder's features and certain columns

    #: Feature templates that `tune --recipe best` learns.
    sparse_templates: ClassVar[tuple[str, ...]] = ("rule-id", "word-edges", "rule-bigrams")

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def decoder_class(self) -> type[Decoder]:
        """The class of the decoder; its `options_class` has the options of search."""

    def can(self, capability: Capability) -> bool:
        """Whether the decoder has a capability for every model."""
        return capability in self.decoder_class.can

    def exports(self, options: ExtractOptions) -> dict[str, dict[str, str]]:
        """Return the formats of text tables, each with file names by field of `TextExport`."""
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
        executor: Executor | None = None,
    ) -> dict[str, Any]:
        """Write the rule table `table` and return a report, as `rules.extract.extract` does."""
        return extract(
            source,
            target,
            alignment,
            table,
            options,
            export=export,
            display=display,
            executor=executor,
        )

    def default_weights(self, columns: Sequence[str], lms: Sequence[str]) -> dict[str, float]:
        """Return the weights of an untuned model: language models, table columns, decoder."""
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
        """Parse a line of input; return the sentence, and its target if it has one.

        `place`: the line's position, for messages; `folders`: directories searched for grammars;
        `markup`: how translations in the line are used; `escaped`: the model's words are
        XML-escaped.
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
                alternative = "the sentence's grammar" if self.can("grammar") else "the model"
                raise InputError(
                    f"{place}: translations given by markup are for {names_with('markup')} "
                    f"models; put them into {alternative}"
                )
            return Marked(sentence)
        if self.can("grammar"):
            return read_segment(
                line, place, folders, source_words=source_words, target_words=target_words
            )
        return Marked(Sentence(tuple(source_words(line))))

    def uses(self, derivation: Derivation) -> list[Use]:
        """Return the source and target words of each edge of a derivation; by default top down."""
        from hopefear.decode.trace.trees import tree_uses

        return tree_uses(derivation)

    def show(self, uses: Sequence[Use]) -> str:
        """Format a derivation for the column of `hopefear translate --trace`; by default a tree."""
        from hopefear.decode.trace.trees import bracketed

        return bracketed(uses)


def get_system(name: str) -> System:
    """Return the registered system of that name; raise an `OptionError` if there is none."""
    system: System = registry.get("system", name)(name)
    return system


def names() -> list[str]:
    """Return the names of all systems, sorted."""
    return registry.names("system")


def names_with(capability: Capability) -> str:
    """Return the names of the systems whose decoders have a capability, for messages."""
    return " and ".join(name for name in names() if get_system(name).can(capability))
