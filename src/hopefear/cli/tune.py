"""`hopefear tune`: weights learned on a development set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import fields_of, option, part_of, to_mapping
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.cli.translate import DecoderOverrides
from hopefear.cli.tune_shown import show_outcome
from hopefear.cli.tune_systems import (
    System,
    external_system,
    model_system,
    stream_system,
)
from hopefear.learn.loop.options import LoopOptions, TrainingOptions


@register("command", "tune")
@dataclass(kw_only=True)
class Tune(DecoderOverrides, TrainingOptions, LoopOptions, Command):
    """Learn the weights of a model on a development set, or on a bitext.

    Decodes the set, optimises the weights on everything decoded so far, and repeats, until nothing
    changes any more; online tuners (mira, rm, violation) learn from sentence after sentence
    instead, decoded with the weights of that moment. With --train they learn from that bitext, and
    the development set only says when to stop and which iteration is best; violation learns from
    those of its sentence pairs that the decoder can derive. The run directory then has the best
    weights (weights.tsv), those of every iteration, metrics.jsonl, and config.toml with all that is
    needed to repeat it. A run that was killed goes on with --resume and ends with the same weights.
    --set gives options of the tuner and of the metric (--set restarts=5
    metric.reference_length=average). With --lattices nothing is decoded: any tuner learns from
    forests or lattices of any system (docs/tuning.md).
    """

    section = "Learn"
    examples = (
        "hopefear tune --model fr-en --dev dev.fr --refs dev.en --tuner mert -o run",
        "hopefear tune --model m --dev d.zh --refs d.en.? --tuner batch-mira -o run --set C=0.001",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mert -o run --runs 3 --resume",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mira -o run --set step=kbest",
        "hopefear tune --model m --train t.fr t.en --dev d.fr --refs d.en --tuner maxforce -o run",
        "hopefear tune --lattices dev.plf --refs dev.en --tuner lattice-svm -o run",
    )
    components = {"tuner": "tuner", "metric": "metric"}  # noqa: RUF012

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
        None, metavar="COMMAND", help="decode with this command instead, see docs/tuning.md"
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

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.threads import all_cores
        from hopefear.learn.loop.base import BaseLoop
        from hopefear.learn.loop.batch import Loop
        from hopefear.learn.loop.lattice import LatticeLoop
        from hopefear.learn.loop.online import OnlineLoop
        from hopefear.learn.loop.runs import tune
        from hopefear.learn.online.lattice_svm import LatticeSvm
        from hopefear.learn.tuner import OnlineTuner

        self._check()
        threads = self.threads or all_cores()
        tuner, metric = self.component("tuner"), self.component("metric")
        if not tuner.takes_lists:
            self._check_forests()
        system = self._system(console, self.kbest or tuner.kbest, getattr(tuner, "learners", 1))
        data = system.read(self.sources, self.refs)
        heldout = system.read([self.heldout], self.heldout_refs) if self.heldout else None
        training = system.read([self.train[0]], self.train[1:]) if self.train else None
        training_options = TrainingOptions(**part_of(TrainingOptions, self))
        if training is not None and self.leave_out:
            training = system.without_own_rules(training)
        if training is not None and self.folds:
            training = system.in_folds(training, self.train[0])
        if training is not None and self.align is not None:
            training = system.aligned(training, self.align)
        config = {
            "tuner": {"name": self.tuner, **to_mapping(tuner)},
            "metric": {"name": self.metric, **to_mapping(metric)},
            **self._config(system),
            **({"training": given} if (given := training_options.given()) else {}),
            "resources": {"threads": threads},
        }

        def make_loop(directory: Any, options: LoopOptions) -> BaseLoop:
            shared: dict[str, Any] = {
                "decoder": system.decoder,
                "metric": metric,
                "data": data,
                "start": system.weights,
                "directory": directory,
                "options": options,
                "heldout": heldout,
                "threads": threads,
                "display": console.display,
                "tell": console.note,
                "warn": console.warn,
            }
            if isinstance(tuner, OnlineTuner):
                return OnlineLoop(
                    make_tuner=lambda: self.component("tuner"),
                    training=training,
                    training_options=training_options,
                    **shared,
                )
            for name in ("train", *training_options.given()):
                if getattr(self, name):
                    raise OptionError(
                        f"--{name.replace('_', '-')}: {self.tuner} learns from the development "
                        "set; leave it out or take an online tuner, as mira or violation"
                    )
            loop = LatticeLoop if isinstance(tuner, LatticeSvm) else Loop
            return loop(tuner=self.component("tuner"), **shared)

        options = LoopOptions(**part_of(LoopOptions, self))
        with system.running:
            report = tune(
                make_loop,
                self.output,
                config,
                options,
                runs=self.runs,
                resume=self.resume,
                tell=console.note,
            )
        return {"tuner": self.tuner, "run": str(self.output), **report}

    @property
    def sources(self) -> list[Path]:
        """What is learned from, besides references."""
        return self.lattices if self.dev is None else [self.dev]

    def _check(self) -> None:
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

    def _check_forests(self) -> None:
        """No lists are taken from the forests of a decoder of ours; others are asked for lists."""
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

    def _system(self, console: Console, k: int, learners: int) -> System:
        from hopefear.model.directory import Model

        if self.lattices:
            from hopefear.cli.tune_lattices import lattice_system

            return lattice_system(self)
        model = None if self.model is None else Model.load(self.model)
        if self.decoder is not None:
            return external_system(self, self.decoder, model, k, console)
        if self.stream_decoder is not None:
            return stream_system(self, self.stream_decoder, model, k, learners, console)
        assert model is not None
        return model_system(self, model, console)

    def _config(self, system: System) -> dict[str, Any]:
        """What makes the run repeatable: files by their content, and where they were."""
        from hopefear.learn.loop.run import digest_of, digest_of_weights

        plugins = [digest_of(path) for path in self.plugin]
        files: dict[str, Any] = {"dev": self.sources, "refs": self.refs}
        if self.heldout is not None:
            files |= {"heldout": [self.heldout], "heldout_refs": self.heldout_refs}
        if self.train:
            files["train"] = self.train
        if self.align is not None:
            files["align"] = [self.align]
        places: dict[str, Any] = {key: [str(p) for p in paths] for key, paths in files.items()}
        for key in ("model", "weights"):
            if getattr(self, key) is not None:
                places[key] = str(getattr(self, key))
        contents = {key: [system.digests[p] for p in paths] for key, paths in files.items()}
        return {
            "system": {
                "tokenized": self.tokenized,
                **system.config,
                **({"plugins": plugins} if plugins else {}),
            },
            "contents": {**contents, "start_weights": digest_of_weights(system.weights)},
            "files": places,
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        show_outcome(report, console)
