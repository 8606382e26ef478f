"""`hopefear tune`: weights learned on a development set."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.cli.command import Command, Console, table
from hopefear.cli.translate import DecoderOverrides, chosen_templates
from hopefear.config import fields_of, option, part_of, to_mapping
from hopefear.errors import InputError, OptionError
from hopefear.files import check_one_stdin
from hopefear.progress import duration
from hopefear.registry import register
from hopefear.tune.options import LoopOptions, TrainingOptions

if TYPE_CHECKING:
    from hopefear.model import Model
    from hopefear.tune.loop import Decodes, TuningSet
    from hopefear.weights import Weights


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
        from hopefear.threads import all_cores
        from hopefear.tune.base_loop import BaseLoop
        from hopefear.tune.lattice_loop import LatticeLoop
        from hopefear.tune.lattice_svm import LatticeSvm
        from hopefear.tune.loop import Loop
        from hopefear.tune.online import OnlineLoop
        from hopefear.tune.runs import tune
        from hopefear.tune.tuner import OnlineTuner

        self._check()
        threads = self.threads or all_cores()
        tuner, metric = self.component("tuner"), self.component("metric")
        system = self._system(console, self.kbest or tuner.kbest, getattr(tuner, "learners", 1))
        data = system.read(self.sources, self.refs)
        heldout = system.read([self.heldout], self.heldout_refs) if self.heldout else None
        training = system.read([self.train[0]], self.train[1:]) if self.train else None
        training_options = TrainingOptions(**part_of(TrainingOptions, self))
        if training is not None and self.leave_out:
            training = without_own_rules(training)
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
        if self.align is not None and self.prefixes is None:
            raise OptionError("--align: belongs to --train and --prefixes; give these or leave it")
        heldout = [self.heldout] if self.heldout else []
        check_one_stdin(*self.sources, *self.refs, *heldout, *self.heldout_refs, *self.train)

    def _check_lattices(self) -> None:
        overrides = [f.name for f in fields_of(DecoderOverrides) if f.name != "plugin"]
        for name in ("dev", "train", "model", "decoder", "stream_decoder", *overrides):
            if getattr(self, name) not in (None, []):
                raise OptionError(
                    f"--{name.replace('_', '-')}: with --lattices nothing is decoded; leave it out"
                )

    def _system(self, console: Console, k: int, learners: int) -> System:
        from hopefear.model import Model

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
        from hopefear.tune.run import digest_of, digest_of_weights

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


@dataclass
class System:
    """What is tuned: a decoder, the weights to start from, and how text is read for it."""

    decoder: Decodes
    weights: Weights
    config: Mapping[str, Any]
    sentence: Callable[[str, str], Any]  # of a source line and its place
    reference: Callable[[str], str]
    model: Model | None = None  # that the decoder is of
    digests: dict[Path, str] = field(default_factory=dict)  # of the texts that were read
    # What runs as long as there is something to decode.
    running: AbstractContextManager[Any] = field(default_factory=nullcontext)

    def read(self, sources: Sequence[Path], references: Sequence[Path]) -> TuningSet:
        """A set as the decoder and the metric take it."""
        from hopefear.text.lines import read_parallel
        from hopefear.tune.loop import TuningSet

        sentences, expected = [], []
        (source,) = sources
        paths = [source, *references]
        hashes = [hashlib.sha256() for _ in paths]  # now: standard input comes only once
        for number, row in enumerate(read_parallel(paths), 1):
            for line, digest in zip(row, hashes, strict=True):
                digest.update(f"{line}\n".encode())
            sentences.append(self.sentence(row[0], f"{source}:{number}"))
            expected.append([self.reference(line) for line in row[1:]])
        for path, digest in zip(paths, hashes, strict=True):
            self.digests[path] = digest.hexdigest()[:16]
        return TuningSet(sentences, expected)

    def in_folds(self, data: TuningSet, place: Path) -> TuningSet:
        """Training data whose sentences are decoded without what their folds gave the model."""
        from hopefear.folds import in_folds
        from hopefear.text.tokenizers.plain import split_words
        from hopefear.tune.loop import TuningSet

        assert self.model is not None
        targets = (split_words(texts[0]) for texts in data.references)
        pairs = zip(data.sentences, targets, strict=True)
        return TuningSet(in_folds(self.model, pairs, place), data.references)

    def aligned(self, data: TuningSet, path: Path) -> TuningSet:
        """Training data with a word alignment."""
        from hopefear.align import read_alignments
        from hopefear.text.tokenizers.plain import split_words
        from hopefear.tune.loop import TuningSet
        from hopefear.tune.run import digest_of

        pairs = zip(data.sentences, data.references, strict=True)
        lengths = ((len(one.words), len(split_words(texts[0]))) for one, texts in pairs)
        links = read_alignments(path, lengths=lengths)
        aligned = zip(data.sentences, links, strict=True)
        self.digests[path] = digest_of(path)
        return TuningSet(
            [replace(one, links=tuple(points)) for one, points in aligned], data.references
        )


def without_own_rules(data: TuningSet) -> TuningSet:
    """Training data whose sentences are decoded without what the model has from them alone."""
    from hopefear.decode.forced import leaving_out
    from hopefear.tune.loop import TuningSet

    pairs = zip(data.sentences, data.references, strict=True)
    return TuningSet([leaving_out(source, texts[0]) for source, texts in pairs], data.references)


def model_system(command: Tune, model: Model, console: Console) -> System:
    """A model directory with its own decoder and text steps."""
    from hopefear.translate import TranslateOptions, Translator

    overrides = command.overrides(model.decoder_class.options_class)
    # A model that was never tuned has default weights; this is what we are here for.
    weights = model.weights(command.weights, warn=lambda text: None)
    translator = Translator(
        model,
        weights=weights,
        options=TranslateOptions(tokenized=command.tokenized),
        decoder=overrides,
        templates=chosen_templates(command.templates, model),
        folders=[*(path.parent for path in command.sources), Path()],
        folds=command.folds,
        warn=console.warn,
    )
    return System(
        decoder=translator.decoder,
        weights=weights,
        config={
            "decoder": overrides,
            "templates": {name: dict(values) for name, values in translator.templates.items()},
            "model": _contents(model),
            **({"folds": _contents_of_folds(model)} if command.folds else {}),
        },
        sentence=lambda line, place: translator.read(line, place)[0],
        reference=_reference_steps(command, model, console),
        model=model,
    )


def external_system(
    command: Tune, line: str, model: Model | None, k: int, console: Console
) -> System:
    """Another system's decoder; a model, if given, has the text steps only."""
    from hopefear.config import from_mapping
    from hopefear.decode.decoder import Sentence
    from hopefear.decode.external import ExternalDecoder, ExternalOptions
    from hopefear.weights import Weights

    given = command.overrides(ExternalOptions)
    decoder = ExternalDecoder(from_mapping(ExternalOptions, {"k": k, **given, "command": line}))
    if command.weights is not None:
        weights = Weights.load(command.weights)
    else:
        weights = decoder.start_weights()
        if not weights.active:
            raise OptionError(
                "--decoder: no weights to start from; give --weights FILE, or the decoder's "
                "moses.ini with --options config=FILE"
            )
    source = None if command.tokenized or model is None else model.text("source", console.warn)

    def sentence(text: str, place: str) -> Sentence:
        return Sentence.of(text if source is None else source.prepare(text))

    return System(
        decoder=decoder,
        weights=weights,
        config={
            "decoder": {"command": line, **{key: str(value) for key, value in given.items()}},
            "model": {} if model is None else _contents(model),
        },
        sentence=sentence,
        reference=_reference_steps(command, model, console),
    )


def stream_system(
    command: Tune, line: str, model: Model | None, k: int, learners: int, console: Console
) -> System:
    """A decoder that serves learners; a model, if given, has the text steps and the weights."""
    from hopefear.config import from_mapping
    from hopefear.decode.decoder import Sentence
    from hopefear.decode.markup import read_segment
    from hopefear.decode.stream import StreamDecoder, StreamOptions
    from hopefear.importing.cdec import load_weights
    from hopefear.text.tokenizers.plain import split_words

    given = command.overrides(StreamOptions)
    options = from_mapping(StreamOptions, {"k": k, **given, "command": line})
    if command.weights is not None:
        weights = load_weights(command.weights)
    elif model is not None:
        weights = model.weights(warn=lambda text: None)
    else:
        raise OptionError("--stream-decoder: no weights to start from; give --weights FILE")
    decoder = StreamDecoder(options, weights, learners=learners, warn=console.warn)
    source = None if command.tokenized or model is None else model.text("source", console.warn)
    words = split_words if source is None else source.prepare
    folders = [*(path.parent for path in command.sources), Path()]

    numbers = itertools.count()

    def sentence(text: str, place: str) -> Sentence:
        found, target = read_segment(text, place, folders, source_words=words)
        if target is not None:
            raise InputError(
                f"{place}: has text after |||, which cannot be told to the decoder; take it out, "
                "references are in files of their own (--refs)"
            )
        number = str(next(numbers))
        return found if found.id else replace(found, id=number)

    return System(
        decoder=decoder,
        weights=weights,
        config={
            "decoder": {"stream": line, **{key: str(value) for key, value in given.items()}},
            "model": {} if model is None else _contents(model),
        },
        sentence=sentence,
        reference=_reference_steps(command, model, console),
        running=decoder,
    )


def _reference_steps(command: Tune, model: Model | None, console: Console) -> Callable[[str], str]:
    if command.tokenized or model is None:
        return str
    target = model.text("target", console.warn)
    return lambda line: " ".join(target.prepare(line))


def _contents(model: Model) -> dict[str, str]:
    from hopefear.model import MODEL_FILE
    from hopefear.tune.run import digest_of

    paths = (model.directory / MODEL_FILE, *model.parts())
    return {path.name: digest_of(path) for path in paths}


def _contents_of_folds(model: Model) -> list[str]:
    from hopefear.tune.run import digest_of

    return [digest_of(path) for path in model.fold_files()]


# -- runs in words --


def show_outcome(report: Mapping[str, Any], console: Console) -> None:
    """The end of a run, and its iterations."""
    from hopefear.tune.base_loop import name_of

    if "runs" in report:
        rows = [
            (
                f"run {number}",
                f"{one['dev_bleu']:.2f}",
                str(one["best_iteration"]),
                str(one["iterations"]),
                duration(one["seconds"]),
            )
            for number, one in enumerate(report["runs"], 1)
        ]
        header = ("", "dev BLEU", "best iteration", "iterations", "time")
        console.print(table(rows, header) + "\n")
        console.print(
            f"mean {report['dev_bleu_mean']:.2f}, deviation {report['dev_bleu_deviation']:.2f}"
        )
    chosen = name_of({"iteration": report["best_iteration"], "mean_of": report.get("mean_of")})
    console.print(
        f"{report['run']}/weights.tsv: dev BLEU {report['dev_bleu']:.2f}, {chosen} "
        f"of {report['iterations']} ({report['stopped']}), "
        f"{duration(report['seconds'])}, of which decoding {duration(report['decode_seconds'])}"
    )


def is_run(path: Path) -> bool:
    """Whether a directory is that of a run."""
    return (path / "config.toml").is_file()


def describe_run(path: Path) -> dict[str, Any]:
    """A run directory for `hopefear inspect`."""
    from hopefear.config import load_toml
    from hopefear.tune.run import CONFIG_FILE, METRICS_FILE, read_metrics

    config = load_toml(path / CONFIG_FILE)
    metrics = path / METRICS_FILE
    return {
        "kind": "run",
        "directory": str(path),
        "tuner": config.get("tuner", {}),
        "metric": config.get("metric", {}),
        "signature": config.get("signature", ""),
        "config": config,
        "iterations": read_metrics(metrics) if metrics.is_file() else [],
    }


def show_run(report: Mapping[str, Any], console: Console) -> None:
    """The iterations of a run as a table."""
    tuner, metric = report["tuner"], report["metric"]
    loop = report["config"].get("loop", {})
    options = [f"{k} {v}" for k, v in {**tuner, "seed": loop.get("seed")}.items() if k != "name"]
    console.print(
        f"{report['directory']}: a run of {tuner.get('name')} for {metric.get('name')} "
        f"({', '.join(options)})\n"
    )
    heldout = any("heldout_score" in record for record in report["iterations"])
    several = any("run" in record for record in report["iterations"])
    rows = []
    for record in report["iterations"]:
        rows.append(
            [
                *([str(record["run"])] if several else []),
                str(record["iteration"]),
                _number(record, "score", ".2f"),
                *([_number(record, "heldout_score", ".2f")] if heldout else []),
                _number(record, "length_ratio", ".3f"),
                _number(record, "objective", ".4f"),
                _number(record, "change", ".4f"),
                _number(record, "candidates", ",d"),
                _number(record, "active_features", ",d"),
                _number(record, "decode_seconds", ".1f"),
                _number(record, "optimise_seconds", ".1f"),
            ]
        )
    header = [
        *(["run"] if several else []),
        "iteration",
        str(metric.get("name")),
        *(["held out"] if heldout else []),
        *("length", "objective", "change", "candidates", "active", "decode s", "optimise s"),
    ]
    console.print(table(rows, header))
    for record in report["iterations"]:
        place = f"run {record['run']}, " if several else ""
        for text in record.get("warnings", []):
            console.print(f"\n{place}iteration {record['iteration']}: {text}")


def _number(record: Mapping[str, Any], key: str, form: str) -> str:
    value = record.get(key)
    return "-" if value is None else format(value, form)
