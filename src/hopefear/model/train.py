"""Training: make a model directory from a bitext.

Takes a source and a target text and `TrainOptions`, and writes a model directory. Text steps, word
alignment, language model, rules, word lists and word classes are each a `TrainingStep`, which lists
what its outputs depend on. `work/steps.json` keeps a digest of that for each finished step: an
interrupted run resumes after the last finished step, and a run with other options repeats only the
steps that depend on them. Times are in `work/times.json` only: all other files of two trainings
with equal inputs and options are byte-equal.

On a cluster (`--cluster`) all workers extract the rules (`rules/runs.py`); with folds, each table
and language model is made by one of them (`train_tables.py`). The other steps stay on this machine.
They take a small part of the time: with 28,000 pairs of Multi30k fr-en and of the Bible zh-en,
preparing tokenised text takes 0.4 and 0.5 CPU seconds, alignment 1.3 and 4.1, and the language
model 0.3 and 0.8; rules take 1.5 and 3.0 as phrase pairs, 22 and 59 as hierarchical rules, and each
of two folds half of that. The aligner learns from blocks of 64k cells, each of which needs the
counts of the one before. A block takes one thread 2 ms, and an exchange of its counts with two
workers on the same machine 3 ms at best: no number of workers would make it faster with the same
result. Writing the alignment takes a seventh of the time of learning it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import hopefear
from hopefear.base.config import part_of
from hopefear.base.errors import InputError, OptionError, naming
from hopefear.base.executor import Executor, Threads
from hopefear.base.files import PathLike, locked, open_input, refuse_devices, write_text
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.decode.systems.base import get_system
from hopefear.features.word_classes import CLASSES_FILE, SideClasses, WordClasses
from hopefear.features.word_lists import LISTS_FILE, WordLists
from hopefear.model.directory import (
    FOLDS,
    LM_FILE,
    MODEL_FILE,
    WEIGHTS_FILE,
    WORK,
    Model,
    write_settings,
)
from hopefear.model.folds import SIDES, fold_range
from hopefear.model.times import without_times
from hopefear.model.train_options import TrainOptions
from hopefear.model.train_steps import STATE_FILE, FinishedSteps, TrainingStep
from hopefear.model.train_tables import (
    Corpus,
    Task,
    make_language_model,
    make_side_by_side,
    make_table,
    remove_folders_of_workers,
)
from hopefear.rules.table import TABLE_FILE, RuleTable
from hopefear.text.clean import CleanRules, clean_files
from hopefear.text.clusters import cluster
from hopefear.text.lines import read_lines
from hopefear.text.pipeline import TextPipeline, casing_name, language_of, subwords_name
from hopefear.text.subwords import Subwords
from hopefear.text.taggers import make_tagger
from hopefear.text.tokenizers.plain import split_words

__all__ = ["TrainOptions", "train"]

# Options whose files only the step of word classes reads.
_CLASS_FILES = ("source_clusters", "target_clusters", "source_tags", "target_tags")
LOCK_FILE = "lock"


def train(
    source: PathLike,
    target: PathLike,
    directory: PathLike,
    options: TrainOptions | None = None,
    *,
    display: Display | None = None,
    tell: Callable[[str], None] = lambda text: None,
    plugins: Sequence[Path] = (),
) -> dict[str, Any]:
    """Make or complete a model directory; returns a report of the steps and their times.

    `tell` is called with messages for the user, one line each; the machines of a cluster load the
    files of `plugins`.
    """
    options = options or TrainOptions()
    training = Training(
        Path(source), Path(target), Path(directory), options, display, tell, plugins
    )
    return training.run()


class Training:
    """A training in a model directory: its steps and the files they make."""

    def __init__(
        self,
        source: Path,
        target: Path,
        directory: Path,
        options: TrainOptions,
        display: Display | None,
        tell: Callable[[str], None],
        plugins: Sequence[Path] = (),
    ) -> None:
        options.check_cluster()
        self.inputs = dict(zip(SIDES, (source, target), strict=True))
        self.directory, self.options = directory, options
        self.system = get_system(options.system)
        self.work = directory / WORK
        self.display = display or Display()
        self.tell = tell
        self.threads = options.threads or all_cores()
        self.plugins = plugins
        self.executor: Executor = Threads(self.threads)
        self.sentences = 0  # in the prepared text
        self._check_subwords()
        for path in self._all_inputs().values():
            if str(path) == "-":
                raise OptionError("'-': the texts are read more than once in training; give a file")

    def run(self) -> dict[str, Any]:
        started = time.monotonic()
        # Errors in the inputs and options are raised before anything is written.
        self.options.extract_options().check_inputs()
        self.classes = {side: self._read_classes(side) for side in SIDES}
        tagger = self._tagger()
        steps = self._steps(self._input_digests())
        self._prepare_directory()
        refusal = f"{self.directory}: another process is training in it; wait for it or stop it"
        options = self.options
        with locked(self.work / LOCK_FILE, refusal), ExitStack() as stack:
            if options.cluster is not None:
                stack.callback(remove_folders_of_workers, options.tmp)
            executor = options.executor(self.threads, plugins=self.plugins, tell=self.tell)
            self.executor = stack.enter_context(executor)
            report = self._run(steps, tagger)
        report["seconds"] = round(time.monotonic() - started, 3)
        return report

    def _run(self, steps: list[TrainingStep], tagger: dict[str, Any]) -> dict[str, Any]:
        """Run the steps that are not finished yet; the directory is locked."""
        self._remove_leftovers()
        state = FinishedSteps(self.directory, [step.name for step in steps])
        report: dict[str, Any] = {"model": str(self.directory), "steps": {}}
        made: dict[str, dict[str, Any]] = {}
        for step in steps:
            if step.name == "alignment":  # the first one after the text
                self.sentences = report["steps"]["text"]["kept"]
                self._check_folds()
            if state.is_finished(step):
                if step.name not in made:
                    self.tell(f"{step.name}: done before")
                reused = {**state.report(step), "reused": True}
                report["steps"][step.name] = made.get(step.name, reused)
                continue
            (self.directory / MODEL_FILE).unlink(missing_ok=True)
            tasks = [s for s in steps if s.task and step.task and not state.is_finished(s)]
            if step.work is None or len(tasks) > 1:
                self._make_tables(tasks, state)
            else:
                wall, cpu = time.monotonic(), self._cpu_seconds()
                result = step.work()
                step.check(result)
                state.finish(step, result, time.monotonic() - wall, self._cpu_seconds() - cpu)
            made |= {s.name: {**state.report(s), "reused": False} for s in tasks or [step]}
            report["steps"][step.name] = made[step.name]
        self._remove_unused_folds()
        self._remove_unused_classes()
        self._finish(report, tagger)
        return report

    def _cpu_seconds(self) -> float:
        return time.process_time() + self.executor.cpu_seconds

    def _make_tables(self, steps: list[TrainingStep], state: FinishedSteps) -> None:
        """Run steps whose tasks can be done at the same time."""
        tasks = [step.task() for step in steps if step.task is not None]
        with self._scratch() as scratch:
            results = make_side_by_side(
                self._corpus(), tasks, self.executor, scratch=scratch, display=self.display
            )
            for step, (made, folder) in zip(steps, results, strict=True):
                for note in made.notes:
                    self.tell(f"{step.name}: {note}")
                step.check(made.report)
                place = (self.directory / step.outputs[0]).parent
                place.mkdir(parents=True, exist_ok=True)
                for path in folder.iterdir():
                    path.replace(place / path.name)
                state.finish(step, made.report, made.seconds, made.cpu_seconds)

    def add_folds(self, model: Model, rules: dict[str, Any], lm: dict[str, Any]) -> None:
        """Add folds to a finished model, as a training with the same options and folds would.

        `rules`, `lm`: what its rules and its language model depend on. The model stays usable; of
        its files only model.toml changes, at the end.
        """
        refusal = f"{self.directory}: another process is training in it; wait for it or stop it"
        executor = self.options.executor(self.threads, plugins=self.plugins, tell=self.tell)
        with locked(self.work / LOCK_FILE, refusal), executor as self.executor:
            self._remove_leftovers()
            training = dict(model.settings["training"])
            reports = dict(training["steps"])
            self.sentences = reports["text"]["kept"]
            self._check_folds()
            steps = self.fold_steps(rules, lm)
            state = FinishedSteps(self.directory, [*reports, *(step.name for step in steps)])
            left = [step for step in steps if not state.is_finished(step)]
            if left:
                self._make_tables(left, state)
            reports |= {step.name: without_times(state.report(step)) for step in steps}
            training |= {"folds": self.options.folds, "steps": reports}
            made = ("format", "digests")
            settings = {k: v for k, v in model.settings.items() if k not in made}
            write_settings(self.directory, {**settings, "training": training})

    # -- the directory and its state --

    def _prepare_directory(self) -> None:
        if self.directory.exists():
            if not self.directory.is_dir():
                raise OptionError(f"{self.directory}: is a file; give a new directory")
            marks = (self.work / LOCK_FILE, self.work / STATE_FILE, self.directory / MODEL_FILE)
            is_model = any(path.exists() for path in marks)
            if not is_model and any(self.directory.iterdir()):
                raise OptionError(
                    f"{self.directory}: is not empty and not a model; give a new directory"
                )
            refuse_devices(self.directory)
        self.work.mkdir(parents=True, exist_ok=True)

    def _remove_leftovers(self) -> None:
        """Remove temporary files and directories of a run that was killed."""
        for path in self.work.glob("tmp-*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self.directory.rglob(".*.tmp"):
            path.unlink(missing_ok=True)

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="tmp-", dir=self.work) as name:
            yield Path(name)

    # -- the steps and their dependencies --

    def _input_digests(self) -> dict[str, str]:
        with self.display.step("read the inputs"):
            return {name: _file_digest(path) for name, path in self._all_inputs().items()}

    def _all_inputs(self) -> dict[str, Path]:
        optional = {name: getattr(self.options, name) for name in ("lm_text", *_CLASS_FILES)}
        given = {name: path for name, path in optional.items() if path is not None}
        return {**self.inputs, **self._parallel_files(), **given}

    def _steps(self, hashes: dict[str, str]) -> list[TrainingStep]:
        options = self.options
        rules = part_of(CleanRules, options)
        classes = [hashes.pop(name, None) for name in _CLASS_FILES]
        # Only the language model depends on lm_text.
        own_text = {"lm_text": hashes.pop("lm_text")} if "lm_text" in hashes else {}
        text = {
            "inputs": hashes,
            "languages": {side: self._language(side) for side in SIDES},
            "options": [options.tokenized, options.casing, rules],
            "version": 1,
        }
        if options.subwords:
            text["subwords"] = options.subwords
        aligned = {"text": text, "version": 1}
        if options.align is None:
            aligned |= {"aligner": options.aligner, "version": 2}
        lm = {"text": text, **own_text, "order": options.order, "version": 1}
        content = options.extract_options().content()
        table = {"alignment": aligned, "options": content, "version": 1}
        lists = {"alignment": aligned, "size": options.list_size, "version": 1}
        names = [f"{WORK}/{side}.txt" for side in SIDES]
        names += [f"{WORK}/given.{name}" for name in self._parallel_files()]
        if not options.tokenized and options.casing != "none":
            names += [casing_name(side) for side in SIDES]
        if options.subwords:
            names += [subwords_name(side) for side in SIDES]
        steps = [
            TrainingStep("text", text, (*names, f"{WORK}/text.json"), self._text),
            TrainingStep("alignment", aligned, (f"{WORK}/alignment.txt",), self._alignment),
            TrainingStep("language model", lm, (LM_FILE,), self._language_model),
            TrainingStep(
                "rules", table, (TABLE_FILE,), self._rules, lambda: Task(0), self._check_rules
            ),
            TrainingStep("word lists", lists, (LISTS_FILE,), self._word_lists),
        ]
        if options.clusters or any(classes):
            depends = {"text": text, "clusters": options.clusters, "given": classes, "version": 1}
            steps.append(TrainingStep("word classes", depends, (CLASSES_FILE,), self._word_classes))
        steps += self.fold_steps(table, lm)
        return steps

    def fold_steps(self, table: dict[str, Any], lm: dict[str, Any]) -> list[TrainingStep]:
        """The steps of the folds; `table`, `lm`: what rules and language model depend on."""
        steps, own_lm = [], "lm_text" not in lm
        for number in range(self.options.folds):
            fold = {"rules": table, "lm": lm, "fold": [number, self.options.folds]}
            place = f"{FOLDS}/{number}"
            outputs = (f"{place}/{TABLE_FILE}", *([f"{place}/{LM_FILE}"] if own_lm else []))
            task = partial(self._fold, number, own_lm)
            steps.append(TrainingStep(f"fold {number}", fold, outputs, None, task))
        return steps

    def _language(self, side: str) -> str:
        language = getattr(self.options, f"{side}_language") or language_of(self.inputs[side])
        if language is None and not self.options.tokenized:
            raise OptionError(
                f"{self.inputs[side]}: no language in the file name; "
                f"give --{side}-language, or --tokenized"
            )
        return language or "en"

    # -- running the steps --

    def _text(self) -> dict[str, Any]:
        pipelines = {}
        with self._scratch() as scratch:
            for side in SIDES:
                pipelines[side] = self._prepare_side(side, scratch / side)
            inputs = [scratch / side for side in SIDES]
            outputs = [self.work / f"{side}.txt" for side in SIDES]
            for name, path in self._parallel_files().items():
                inputs.append(path)
                outputs.append(self.work / f"given.{name}")
            rules = CleanRules(**part_of(CleanRules, self.options))
            originals = {scratch / side: self.inputs[side] for side in SIDES}
            with naming(originals), self.display.step("clean", unit="pairs") as step:
                cleaned = clean_files(inputs, outputs, rules, step=step)
        if cleaned.dropped:
            self.tell(cleaned.text())
        if not cleaned.kept:
            raise InputError(
                f"{self.inputs['source']}: cleaning dropped all {cleaned.pairs:,} sentence pairs; "
                "check the texts, or --max-words and --max-ratio"
            )
        if self.options.subwords:
            for side in SIDES:
                pipelines[side].subwords = self._split_words(side)
        text = {side: pipelines[side].save(self.directory, side) for side in SIDES}
        with write_text(self.work / "text.json") as file:
            json.dump(text, file)
        return cleaned.to_mapping()

    def _prepare_side(self, side: str, output: Path) -> TextPipeline:
        path, language = self.inputs[side], self._language(side)
        if self.options.tokenized:
            pipeline = TextPipeline.as_it_is(language)
        else:
            pipeline = TextPipeline(language=language, casing=self.options.casing)
            for note in pipeline.notes():
                self.tell(f"{side}: {note}")
            with self.display.step(f"learn {side} text", unit="lines") as step:
                pipeline.learn(_counted(read_lines(path), step.advance))
        with self.display.step(f"prepare {side} text", unit="lines") as step:
            pipeline.prepare_file(path, output, step)
        return pipeline

    def _check_subwords(self) -> None:
        """Refuse inputs that are about whole words if words are split."""
        names = [*self._parallel_files(), *_CLASS_FILES, "source_tagger"]
        given = [name for name in names if getattr(self.options, name, None) is not None]
        if self.options.subwords and given:
            raise OptionError(
                f"--subwords: --{given[0].replace('_', '-')} is for whole words; leave one of them "
                "out, or split the texts first and give --tokenized"
            )

    def _split_words(self, side: str) -> Subwords:
        """Learn subwords from a side's cleaned text and split its words.

        Cleaning comes first, so that its limits are numbers of words.
        """
        path = self.work / f"{side}.txt"
        with self.display.step(f"learn {side} subwords"):
            counts = Counter(word for line in read_lines(path) for word in split_words(line))
            subwords = Subwords.learn(counts, self.options.subwords)
        with self._scratch() as scratch:
            with write_text(scratch / side) as file:
                for line in read_lines(path):
                    file.write(" ".join(subwords.split(split_words(line))) + "\n")
            (scratch / side).replace(path)
        return subwords

    def _alignment(self) -> dict[str, Any]:
        output = self.work / "alignment.txt"
        if self.options.align is not None:
            shutil.copyfile(self.work / "given.align", output)
            return {"given": str(self.options.align)}
        from hopefear.align import Aligner, Settings, read_pairs

        source, target = (self.work / f"{side}.txt" for side in SIDES)
        pairs = read_pairs(source, target, max_length=max(1000, self.options.max_words))
        settings = Settings(aligner=self.options.aligner)
        total = settings.passes * pairs.pairs
        with self.display.step("learn to align", total=total, unit="pairs") as step:
            aligner = Aligner.train(pairs, settings, threads=self.threads, progress=step.update)
        with self.display.step("align", total=pairs.pairs, unit="pairs") as step:
            report = aligner.write(pairs, output, threads=self.threads, progress=step.update)
        return asdict(report)

    def _language_model(self) -> dict[str, Any]:
        if self.options.lm_text is None:
            return self._estimate(self.work / "target.txt", self.directory / LM_FILE)
        with self._scratch() as scratch:
            pipeline = TextPipeline.load(self.directory, "target", self._texts()["target"])
            with self.display.step("prepare the language model's text", unit="lines") as step:
                pipeline.prepare_file(self.options.lm_text, scratch / "lm.txt", step)
            with naming({scratch / "lm.txt": self.options.lm_text}):
                return self._estimate(scratch / "lm.txt", self.directory / LM_FILE)

    def _estimate(self, text: Path, output: Path) -> dict[str, Any]:
        with self._scratch() as scratch:
            return make_language_model(
                text, output, self._corpus(), scratch, self.display, self.tell
            )

    def _parallel_files(self) -> dict[str, Path]:
        """The given files with a line for each sentence pair, besides the texts."""
        names = ("align", *self.system.parallel_inputs)
        given = {name: getattr(self.options, name, None) for name in names}
        return {name: path for name, path in given.items() if path is not None}

    def _corpus(self) -> Corpus:
        """The prepared texts, their alignment, and other parallel inputs of the system."""
        others = [name for name in self._parallel_files() if name != "align"]
        names = [
            *(f"{name}.txt" for name in (*SIDES, "alignment")),
            *(f"given.{n}" for n in others),
        ]
        options = replace(self.options.extract_options(), threads=self.threads)
        return Corpus(
            self.work, tuple(names), self.sentences, self.options.system, options,
            self.options.order,
        )  # fmt: skip

    def _rules(self) -> dict[str, Any]:
        return make_table(
            self._corpus(),
            self.directory / TABLE_FILE,
            display=self.display,
            executor=self.executor,
        )

    def _check_rules(self, report: dict[str, Any]) -> None:
        if not report["rules"]:
            raise InputError(
                f"{self.directory / TABLE_FILE}: no rules in {report['sentences']:,} sentence "
                "pairs; check the alignment, or --min-count and --max-length"
            )

    def _fold(self, number: int, own_lm: bool) -> Task:
        """A table and a model without the fold; the alignment of the whole text is kept.

        Not `own_lm`: the language model has a text of its own, which all folds share.
        """
        left_out = fold_range(number, self.options.folds, self.sentences)
        return Task(number + 1, left_out, language_model=own_lm)

    def _check_folds(self) -> None:
        folds = self.options.folds
        if folds > self.sentences:
            raise OptionError(
                f"--folds {folds}: the text has only {self.sentences:,} sentence pairs; use fewer "
                "folds"
            )
        if folds and self.options.lm_text is not None:
            self.tell("all folds share the language model of --lm-text; only their rules differ")

    def _word_lists(self) -> dict[str, Any]:
        texts = [self.work / f"{name}.txt" for name in (*SIDES, "alignment")]
        with self._scratch() as scratch, self.display.step("count words", unit="sentences") as step:
            lists = WordLists.count(
                *texts, limit=self.options.list_size, tmp=scratch, progress=step.update
            )
        lists.save(self.directory / LISTS_FILE)
        return {"entries": {name: len(entries) for name, entries in (lists.lists or {}).items()}}

    def _read_classes(self, side: str) -> SideClasses:
        paths, tags = (getattr(self.options, f"{side}_{kind}") for kind in ("clusters", "tags"))
        return SideClasses.read(paths, tags)

    def _word_classes(self) -> dict[str, Any]:
        sides = {}
        for side in SIDES:
            classes = self.classes[side]
            if not classes.paths and self.options.clusters:
                with self.display.step(f"cluster {side} words", unit="words") as step:
                    clusters, _ = cluster(
                        [self.work / f"{side}.txt"],
                        clusters=self.options.clusters,
                        progress=step.update,
                    )
                classes = SideClasses(clusters.paths, classes.tags)
            sides[side] = classes
        WordClasses(sides["source"], sides["target"]).save(self.directory / CLASSES_FILE)
        return {
            side: {"clustered": len(classes.paths), "tagged": len(classes.tags)}
            for side, classes in sides.items()
        }

    def _remove_unused_classes(self) -> None:
        """Remove the word classes of an earlier run, if the options ask for none."""
        options = self.options
        if not options.clusters and not any(getattr(options, name) for name in _CLASS_FILES):
            (self.directory / CLASSES_FILE).unlink(missing_ok=True)

    def _remove_unused_folds(self) -> None:
        """Remove the folds of an earlier run that had more of them."""
        for place in (self.directory / FOLDS).glob("*"):
            if not place.name.isdigit() or int(place.name) >= self.options.folds:
                shutil.rmtree(place, ignore_errors=True)

    # -- weights and settings --

    def _texts(self) -> dict[str, Any]:
        texts: dict[str, Any] = json.loads((self.work / "text.json").read_text(encoding="utf-8"))
        return texts

    def _write_weights(self) -> None:
        """Write default weights, unless the directory has weights for all features already."""
        from hopefear.base.weights import Weights

        path = self.directory / WEIGHTS_FILE
        columns = RuleTable.open(self.directory / TABLE_FILE).columns
        default = self.system.default_weights(columns, ["lm"])
        if path.is_file():
            with contextlib.suppress(InputError):
                existing = Weights.load(path)
                if all(name in existing for name in default):
                    return
        Weights(default).save(path)

    def _tagger(self) -> dict[str, Any]:
        """The entry of the tagger in model.toml; an unknown tagger is an error."""
        name = self.options.source_tagger
        if name is None:
            return {}
        lexicon = self.classes["source"].tags
        tools = make_tagger(name, self._language("source"), lexicon).versions()
        return {"tagger": {"name": name, "tools": tools}}

    def _finish(self, report: dict[str, Any], tagger: dict[str, Any]) -> None:
        steps = report["steps"]
        self._write_weights()
        write_settings(
            self.directory,
            {
                "system": self.options.system,
                "made_by": f"hopefear {hopefear.__version__}",
                "text": self._texts(),
                **tagger,
                "training": {
                    "source": self.inputs["source"].name,
                    "target": self.inputs["target"].name,
                    "folds": self.options.folds,
                    "order": self.options.order,
                    "steps": {
                        name: {k: v for k, v in without_times(step).items() if k != "reused"}
                        for name, step in steps.items()
                    },
                },
            },
        )


def _counted(lines: Iterable[str], count: Callable[[], None]) -> Iterator[str]:
    for line in lines:
        count()
        yield line


def _file_digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open_input(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
