"""The options of tuning, apart from what does it, so that `hopefear --help` stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hopefear.base.config import fields_of, option
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.model.overrides import DecoderOverrides


@dataclass(kw_only=True)
class TuneOptions(DecoderOverrides, TrainingOptions, LoopOptions):
    """What is tuned, on what and how; also the options of `hopefear tune`."""

    dev: Path | None = option(
        None, metavar="SRC", help="source text to learn from, one sentence per line"
    )
    refs: list[Path] = option(metavar="REF", help="references, one file each")
    tuner: str = option(help="the method, such as mert, batch-mira or mira")
    output: Path = option(flags=("-o",), metavar="RUN", help="directory of the run")
    train: list[Path] = option(
        [], metavar="FILE", help="learn from this bitext, SRC TGT, and judge by the development set"
    )
    align: Path | None = option(
        None,
        metavar="FILE",
        help="word alignment of --train, by which --prefixes takes beginnings that belong together",
    )
    lattices: list[Path] = option(
        [],
        metavar="FILE",
        help="learn from these instead of decoding: forests or lattices of any system",
    )
    lattice_format: str | None = option(
        None, metavar="NAME", help="their format; if not given, by how the files begin"
    )
    model: Path | None = option(None, metavar="DIR", help="the model directory")
    decoder: str | None = option(
        None,
        metavar="COMMAND",
        help="decode with this command instead, see docs/guides/other-systems.md",
    )
    stream_decoder: str | None = option(
        None,
        metavar="COMMAND",
        help="decode with this process, which is told new weights with each sentence",
    )
    weights: Path | None = option(None, help="start from these; by default the model's own")
    metric: str = option("bleu", help="what is to rise: bleu, ter, chrf …")
    heldout: Path | None = option(
        None, metavar="SRC", help="another source text, by which the best iteration is chosen"
    )
    heldout_refs: list[Path] = option([], metavar="REF", help="its references")
    tokenized: bool = option(False, help="the texts are words between blanks: take them so")
    runs: int = option(1, min=1, max=99, help="repeat with so many seeds; reports the spread")
    resume: bool = option(False, help="go on with a run that was stopped")
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")

    @property
    def sources(self) -> list[Path]:
        """What is learned from, besides references."""
        return self.lattices if self.dev is None else [self.dev]

    def check(self) -> None:
        """Refuse options that contradict each other or have no effect."""
        command = self.decoder or self.stream_decoder
        if self.decoder is not None and self.stream_decoder is not None:
            raise OptionError("--decoder and --stream-decoder are two ways to decode; give one")
        if self.lattices:
            self._check_lattices()
        elif self.lattice_format is not None:
            raise OptionError("--lattice-format: belongs to --lattices FILE; leave it out")
        elif self.dev is None:
            raise OptionError("--dev is missing: a source text; or --lattices FILE")
        elif self.model is None and command is None:
            raise OptionError("--model is missing: the model directory, or --decoder COMMAND")
        flag = "--decoder" if self.stream_decoder is None else "--stream-decoder"
        if command is not None and self.model is None and not self.tokenized:
            raise OptionError(
                f"{flag} without --model: there are no text steps; prepare the texts and give "
                "--tokenized"
            )
        if command is not None and self.templates is not None:
            raise OptionError(f"--templates: is for a decoder of ours, not {flag}; leave it out")
        if (self.heldout is None) != (not self.heldout_refs):
            raise OptionError("--heldout and --heldout-refs belong together; give both")
        if self.train and len(self.train) != 2:
            raise OptionError(f"--train: {len(self.train)} files; give two, SRC TGT")
        for name in ("leave_out", "folds"):
            if getattr(self, name) and (not self.train or command is not None):
                raise OptionError(
                    f"--{name.replace('_', '-')}: belongs to --train and a model of ours; leave it "
                    "out"
                )
        if self.leave_out and self.folds:
            raise OptionError(
                "--leave-out: with --folds nothing comes from a pair itself; leave it out"
            )
        if self.align is not None and (not self.train or self.prefixes is None):
            raise OptionError("--align: belongs to --train and --prefixes; give these or leave it")
        if str(self.align) == "-":
            raise OptionError("--align -: is read more than once; give a file")
        single = [path for path in (self.heldout, self.weights) if path is not None]
        check_one_stdin(*self.sources, *self.refs, *single, *self.heldout_refs, *self.train)

    def check_forests(self) -> None:
        """Refuse options of lists, for a tuner that takes whole forests.

        A decoder of ours gives forests; others are asked for lists.
        """
        ours = self.decoder is None and self.stream_decoder is None
        for flag, given in (("--kbest", ours and self.kbest), ("--no-distinct", not self.distinct)):
            if given:
                raise OptionError(
                    f"{flag}: {self.tuner} learns from whole forests here, not from lists; leave "
                    "it out"
                )

    def _check_lattices(self) -> None:
        overrides = [f.name for f in fields_of(DecoderOverrides) if f.name != "plugin"]
        for name in ("dev", "train", "model", "decoder", "stream_decoder", *overrides):
            if getattr(self, name) not in (None, []):
                raise OptionError(
                    f"--{name.replace('_', '-')}: with --lattices nothing is decoded; leave it out"
                )
