"""Options of tuning, in a module without heavy imports so that `hopefear --help` is fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.config import changed, fields_of, option
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.model.overrides import DecoderOverrides
from hopefear.model.translate_options import UnknownWordOptions

#: Options that the steps of a recipe choose, or that a recipe cannot use.
_SET_BY_RECIPES = (
    *("tuner", "align", "lattices", "lattice_format", "lattice_scores", "decoder"),
    *("stream_decoder", "iterations", "kbest", "distinct", "patience", "tolerance"),
    *("average_last", "fix", "tie", "min_sentences", "most_frequent", "prefixes", "leave_out"),
    *("folds", "with_dev", "gold_phrases", "max_states"),
)


@dataclass(kw_only=True)
class TuneOptions(
    ClusterOptions, DecoderOverrides, UnknownWordOptions, TrainingOptions, LoopOptions
):
    """Options of `tune`: model, data, tuner and loop; also those of `hopefear tune`."""

    dev: Path | None = option(
        None, metavar="SRC", help="source text of the development set, one sentence per line"
    )
    refs: list[Path] = option(
        metavar="REF", help="reference translations of the development set, one file per reference"
    )
    tuner: str | None = option(
        None, metavar="NAME", help="tuning algorithm, such as mert, batch-mira or mira"
    )
    recipe: Literal["best", "fast"] | None = option(
        None,
        help="instead of a tuner, steps that are known to work well: best (dense weights, then "
        "millions of sparse ones from the training text in folds, then dense ones again) or fast "
        "(batch-mira)",
    )
    output: Path = option(flags=("-o",), metavar="RUN", help="directory of the tuning run")
    train: list[Path] = option(
        [],
        metavar="FILE",
        help="bitext SRC TGT to learn from; the development set is then only evaluated on",
    )
    align: Path | None = option(
        None,
        metavar="FILE",
        help="word alignment of the --train bitext, from which --prefixes finds matching prefixes",
    )
    grammars: list[Path] = option(
        [],
        metavar="DIR",
        help='folders in which the grammars of <seg grammar="…"> may be, besides that of the '
        "source text and the current one (/: anywhere)",
    )
    lattices: list[Path] = option(
        [],
        metavar="FILE",
        help="forests or lattices of any system to learn from, instead of decoding",
    )
    lattice_format: str | None = option(
        None,
        metavar="NAME",
        help="format of the lattices (default: detected from the file contents)",
    )
    lattice_scores: list[str] = option(
        [],
        metavar="NAME",
        help="names of the dense scores in a search graph of Moses (-osgx), in its order "
        "(default: core_1, core_2 …)",
    )
    model: Path | None = option(None, metavar="DIR", help="model directory")
    decoder: str | None = option(
        None,
        metavar="COMMAND",
        help="command of an external decoder to use instead, such as Moses or cdec",
    )
    stream_decoder: str | None = option(
        None,
        metavar="COMMAND",
        help="command of an external decoder that runs throughout and reads new weights with each "
        "sentence",
    )
    weights: Path | None = option(None, help="initial weights (default: those of the model)")
    metric: str = option(
        "bleu", metavar="NAME", help="metric to optimise, such as bleu, ter or chrf"
    )
    heldout: Path | None = option(
        None, metavar="SRC", help="source text of a held-out set, which chooses the best iteration"
    )
    heldout_refs: list[Path] = option(
        [], metavar="REF", help="reference translations of the held-out set"
    )
    tokenized: bool = option(
        False, help="the texts are already tokenised: words separated by spaces"
    )
    runs: int = option(
        1, min=1, max=99, help="number of runs, with different seeds; the report gives their spread"
    )
    resume: bool = option(False, help="resume an interrupted run")
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )

    @property
    def sources(self) -> list[Path]:
        """The files that the references translate: the lattices, or the development source."""
        return self.lattices if self.dev is None else [self.dev]

    def check(self) -> None:
        """Raise an `OptionError` for options that contradict each other or have no effect."""
        if self.tuner is None and self.recipe is None:
            raise OptionError("--tuner is missing; give a tuner, or --recipe best")
        if self.recipe is not None:
            self._check_recipe(self.recipe)
        command = self.decoder or self.stream_decoder
        self.check_cluster()
        if self.cluster is not None and (command is not None or self.lattices):
            raise OptionError(
                "--cluster: only for the built-in decoders, which every machine can open; leave "
                "it out"
            )
        if self.decoder is not None and self.stream_decoder is not None:
            raise OptionError("--decoder and --stream-decoder exclude each other; give one of them")
        if self.lattices:
            self._check_lattices()
        elif self.lattice_format is not None:
            raise OptionError("--lattice-format: only with --lattices FILE; leave it out")
        elif self.lattice_scores:
            raise OptionError("--lattice-scores: only with --lattices FILE; leave it out")
        elif self.dev is None:
            raise OptionError("--dev is missing; give a source text, or --lattices FILE")
        elif self.model is None and command is None:
            raise OptionError("--model is missing; give a model directory, or --decoder COMMAND")
        flag = "--decoder" if self.stream_decoder is None else "--stream-decoder"
        if command is not None and self.model is None and not self.tokenized:
            raise OptionError(
                f"{flag} without --model: no model tokenises the texts; tokenise them and give "
                "--tokenized"
            )
        if command is not None and self.templates is not None:
            raise OptionError(
                f"--templates: only for the built-in decoders, not with {flag}; leave it out"
            )
        if self.unknown != "copy" and (command is not None or self.lattices):
            raise OptionError(
                "--unknown: only for the built-in decoders, which know their rules; leave it out"
            )
        if (self.heldout is None) != (not self.heldout_refs):
            raise OptionError("--heldout and --heldout-refs: only together; give both")
        if self.train and len(self.train) != 2:
            raise OptionError(f"--train: {len(self.train)} files, expected two; give SRC TGT")
        if self.leave_out and (not self.train or command is not None):
            raise OptionError("--leave-out: only with --train and a built-in decoder; leave it out")
        if self.folds and (self.lattices or command is not None):
            raise OptionError("--folds: only with a built-in decoder; leave it out")
        if self.with_dev and not self.train and not self.folds:
            raise OptionError("--with-dev: only with --train or --folds; leave it out")
        if self.leave_out and self.folds:
            raise OptionError(
                "--leave-out: has no effect with --folds, which leaves out more; leave it out"
            )
        if self.align is not None and (not self.train or self.prefixes is None):
            raise OptionError(
                "--align: only with --train and --prefixes; give both or leave it out"
            )
        if str(self.align) == "-":
            raise OptionError("--align -: the alignment is read more than once; give a file")
        single = [path for path in (self.heldout, self.weights) if path is not None]
        check_one_stdin(*self.sources, *self.refs, *single, *self.heldout_refs, *self.train)

    def check_forests(self) -> None:
        """Raise an `OptionError` for options of k-best lists; for tuners that learn from forests.

        The built-in decoders return forests, external decoders k-best lists.
        """
        built_in = self.decoder is None and self.stream_decoder is None
        for flag, is_given in (
            ("--kbest", built_in and self.kbest),
            ("--no-distinct", not self.distinct),
        ):
            if is_given:
                raise OptionError(
                    f"{flag}: {self.tuner} learns from whole forests, not from k-best lists; leave "
                    "it out"
                )

    def _check_recipe(self, recipe: str) -> None:
        names = set(_SET_BY_RECIPES)
        if recipe == "fast":
            names |= {"train", "max_examples", "templates"}
        else:
            names |= {"keep_pool"}  # its online step has none
        field = changed(self, names)
        if field is not None:
            raise OptionError(
                f"{field.flag}: has no effect with --recipe {recipe}, whose steps choose it; leave "
                "it out, or tune without a recipe"
            )
        paths = [*self.sources, *self.refs, *self.train, self.weights, self.heldout]
        if any(str(path) == "-" for path in [*paths, *self.heldout_refs]):
            raise OptionError(f"'-': --recipe {recipe} reads its texts several times; give files")

    def _check_lattices(self) -> None:
        overrides = [f.name for f in fields_of(DecoderOverrides) if f.name != "plugin"]
        for name in ("dev", "train", "model", "decoder", "stream_decoder", *overrides):
            if getattr(self, name) not in (None, []):
                raise OptionError(
                    f"--{name.replace('_', '-')}: has no effect with --lattices, where nothing is "
                    "decoded; leave it out"
                )
