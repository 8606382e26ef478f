"""Rule tables and language models of the training text and of its folds, made side by side.

Takes the prepared and aligned text of a model directory; a table of the whole text, and a table and
language model without each fold, are items of one job. On threads as many are made at the same time
as there are threads and memory for. On a cluster each is made by one worker, in a temporary folder
of its machine, from where the files come back in pieces.

The bytes of the files depend on the text and the options only.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from hopefear.base.config import Size
from hopefear.base.executor import Executor, Folder, Job, Resources, StateLost, Threads
from hopefear.base.files import atomic_path, write_text
from hopefear.base.progress import Display, Progress
from hopefear.base.temporary import remove_leftovers, temporary_directory
from hopefear.decode.systems.base import get_system
from hopefear.model.directory import LM_FILE
from hopefear.rules.extract import ExtractOptions
from hopefear.rules.table import TABLE_FILE
from hopefear.text.lines import read_lines, read_parallel, write_parallel

LEAST_MEMORY = 64 << 20  # of a language model, and to sort the rules of a table
PIECE = 4 << 20  # bytes of a file that a worker sends at once
_PREFIX = "hopefear-train-"  # of temporary folders of workers
_STEPS = 4  # of extraction, which count sentences: read, extract, count, write

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Corpus:
    """The files of a prepared text, line by line, and what is made of it."""

    folder: Path
    names: tuple[str, ...]  # source, target, alignment, other inputs of the system
    sentences: int
    system: str
    options: ExtractOptions
    order: int  # of language models

    @property
    def memory(self) -> int:
        """The memory for a table or a language model, in bytes."""
        return int(self.options.memory)

    @property
    def least_memory(self) -> int:
        """The memory that a table should have while others are made, in bytes.

        The words and the lexicon of a text take less than twice the bytes of its files.
        """
        files = (self.folder / name for name in self.names)
        return LEAST_MEMORY + 2 * sum(path.stat().st_size for path in files)

    def with_memory(self, memory: int, threads: int) -> Corpus:
        """Return the same with other limits, which change no result."""
        return replace(self, options=replace(self.options, memory=Size(memory), threads=threads))


@dataclass(frozen=True)
class Task:
    """A rule table of the whole text; or without the lines of a fold, with a language model."""

    number: int  # in its call, from 0
    left_out: tuple[int, int] | None = None
    language_model: bool = False

    @property
    def steps(self) -> int:
        """The number of steps that go through all sentences."""
        return _STEPS + self.language_model


class Made(NamedTuple):
    """What is known of the files of a task."""

    report: dict[str, Any]
    notes: list[str]  # for the user
    sizes: dict[str, int]  # of files; a system may write others beside its table
    seconds: float
    cpu_seconds: float


class Item(NamedTuple):
    """What to do: make the files of a task, or read a piece of one, or remove them."""

    task: Task
    action: str = "make"
    name: str = ""
    offset: int = 0
    again: bool = False  # make files that are lost


def make_table(
    corpus: Corpus,
    output: Path,
    *,
    display: Display | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Write the rule table of a text and return a report."""
    source, target, alignment, *others = (corpus.folder / name for name in corpus.names)
    more: dict[str, Any] = {path.suffix[1:]: path for path in others}
    options = replace(corpus.options, **more)
    report = get_system(corpus.system).extract(
        source, target, alignment, output, options, display=display, executor=executor
    )
    return {key: report[key] for key in ("sentences", "pairs", "rules", "source_sides")}


def make_language_model(
    text: Path, output: Path, corpus: Corpus, scratch: Path, display: Display, tell: Tell
) -> dict[str, Any]:
    """Write the language model of a text and return a report."""
    from hopefear.lm import LanguageModel
    from hopefear.lm.estimate import estimate

    with display.step("estimate", unit="tokens") as step:
        report = estimate(
            text,
            scratch / "lm.arpa",
            order=corpus.order,
            discount_fallback=True,  # small texts are allowed
            memory=max(corpus.memory, LEAST_MEMORY),
            threads=corpus.options.threads or 0,
            tmp=corpus.options.tmp,
            skip_symbols=True,
            progress=step.update,
        )
        LanguageModel.load(scratch / "lm.arpa").compile(output)
    if fell_back := [order.order for order in report.orders if order.fell_back]:
        orders = ", ".join(map(str, fell_back))
        tell(f"the text is too small to estimate discounts of order {orders}; using default ones")
    return {
        "tokens": report.tokens,
        "types": report.types,
        "order": corpus.order,
        "ngrams": [order.ngrams for order in report.orders],
    }


def make(corpus: Corpus, task: Task, folder: Path, display: Display, tell: Tell) -> dict[str, Any]:
    """Write the files of a task into a folder, which is also used for temporary files."""
    if task.left_out is None:
        return make_table(corpus, folder / TABLE_FILE, display=display)
    begin, end = task.left_out
    scratch = folder / "scratch"
    scratch.mkdir()
    texts = [corpus.folder / name for name in corpus.names]
    rest = [scratch / name for name in corpus.names]
    # Lines of the fold are emptied, so that the others keep their numbers.
    empty = ("",) * len(texts)
    rows = enumerate(read_parallel(texts))
    write_parallel(rest, (empty if begin <= i < end else row for i, row in rows))
    report = make_table(replace(corpus, folder=scratch), folder / TABLE_FILE, display=display)
    if task.language_model:
        words = scratch / "lm.txt"
        with write_text(words) as file:
            file.writelines(f"{line}\n" for line in read_lines(rest[1]) if line)
        lm = make_language_model(words, folder / LM_FILE, corpus, scratch, display, tell)
        report["lm_tokens"] = lm["tokens"]
    shutil.rmtree(scratch)
    return {**report, "left_out": [begin, end]}


@dataclass
class MakeTables(Job[Item, "Made | bytes"]):
    """Makes the files of tasks; in a worker of a cluster, also sends and removes them."""

    corpus: Corpus
    folder: Path  # of the files, unless they are made in another process
    width: int = 1  # tasks at the same time in a process

    def files(self) -> list[Folder]:
        return [Folder(self.corpus.folder, self.corpus.names)]

    def open(self, resources: Resources) -> Callable[[Item], Made | bytes]:
        corpus = self.corpus
        if resources.remote:
            here = resources.path(corpus.folder)
            corpus = replace(corpus, folder=here, options=corpus.options.found_here())

        kept: dict[int, _Kept] = resources.get("tables of training", dict)  # by number of task

        def make_files(task: Task) -> Made:
            if resources.remote:
                folder = _new_folder(kept, task, corpus.options.tmp)
            else:
                folder = self.folder / str(task.number)
                folder.mkdir()
            notes: list[str] = []
            clock = self._cpu_clock(resources)
            wall, cpu = time.monotonic(), clock()
            display = _Counted(resources.advance, corpus.sentences)
            report = make(corpus, task, folder, display, notes.append)
            seconds, cpu_seconds = time.monotonic() - wall, clock() - cpu
            sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
            return Made(report, notes, sizes, seconds, cpu_seconds)

        def work(item: Item) -> Made | bytes:
            if item.action == "make":
                return make_files(item.task)
            if item.action == "remove":
                _remove(kept, item.task)
                return b""
            if item.task.number not in kept:
                if not item.again:
                    raise StateLost
                make_files(item.task)
            with (kept[item.task.number].folder / item.name).open("rb") as file:
                file.seek(item.offset)
                return file.read(PIECE)

        return work

    def _cpu_clock(self, resources: Resources) -> Callable[[], float]:
        """Return the clock of a task's CPU time; a share of it, for several threads each."""
        if resources.remote:
            return time.process_time
        if self.corpus.options.threads == 1:
            return time.thread_time
        return lambda: time.process_time() / self.width


def make_side_by_side(
    corpus: Corpus,
    tasks: Sequence[Task],
    executor: Executor,
    *,
    scratch: Path,
    display: Display,
) -> Iterator[tuple[Made, Path]]:
    """Yield for each task what is known of its files, and the folder below `scratch` with them."""
    total = sum(task.steps for task in tasks) * corpus.sentences
    with display.step("rules of text and folds", total=total, unit="sentences") as step:
        if not executor.remote:
            room = corpus.memory // corpus.least_memory
            width = max(1, min(executor.threads, len(tasks), room))
            job = MakeTables(
                corpus.with_memory(corpus.memory // width, max(1, executor.threads // width)),
                scratch,
                width,
            )
            with Threads(width) as threads:
                made = threads.map(job, [Item(task) for task in tasks], advance=step.advance)
                for task, result in zip(tasks, made, strict=True):
                    assert isinstance(result, Made)
                    yield result, scratch / str(task.number)
            return
        job = MakeTables(corpus.with_memory(corpus.memory, 1), scratch)
        # So many that no worker has to keep the files of more than one task.
        for first in range(0, len(tasks), executor.workers):
            wave = tasks[first : first + executor.workers]
            yield from _on_cluster(job, wave, executor, scratch, step)


def _on_cluster(
    job: MakeTables, tasks: Sequence[Task], executor: Executor, scratch: Path, step: Progress
) -> Iterator[tuple[Made, Path]]:
    def place(item: Item) -> int:
        return item.task.number

    items = [Item(task) for task in tasks]
    results = list(executor.map(job, items, place=place, advance=step.advance))
    for task, made in zip(tasks, results, strict=True):
        assert isinstance(made, Made)
        folder = scratch / str(task.number)
        folder.mkdir()
        for name, size in made.sizes.items():
            pieces = [Item(task, "read", name, at) for at in range(0, max(size, 1), PIECE)]
            with atomic_path(folder / name) as path, path.open("wb") as file:
                for piece in executor.map(
                    job, pieces, place=place, refill=lambda item: item._replace(again=True)
                ):
                    assert isinstance(piece, bytes)
                    file.write(piece)
        list(executor.map(job, [Item(task, "remove")], place=place))
        yield made, folder


def remove_folders_of_workers(tmp: Path | None) -> None:
    """Remove the temporary folders on this machine whose worker was killed."""
    remove_leftovers(tmp or Path(tempfile.gettempdir()), _PREFIX)


class _Kept:
    """A temporary folder of a worker."""

    def __init__(self, parent: Path | None) -> None:
        self._stack = ExitStack()
        self.folder = self._stack.enter_context(temporary_directory(_PREFIX, parent))
        self.close = self._stack.close


def _new_folder(kept: dict[int, _Kept], task: Task, parent: Path | None) -> Path:
    _remove(kept, task)
    kept[task.number] = _Kept(parent)
    return kept[task.number].folder


def _remove(kept: dict[int, _Kept], task: Task) -> None:
    if task.number in kept:
        kept.pop(task.number).close()


class _Counted(Display):
    """Counts the work of a task: each of its steps goes once through all sentences."""

    def __init__(self, advance: Callable[[int], None], sentences: int) -> None:
        super().__init__()
        self._advance, self._sentences = advance, sentences
        self._counted = 0  # in the current step

    def refresh(self, step: Progress) -> None:
        total = step.total or (self._sentences if step.unit == "sentences" else 0)
        if total:
            self._count(min(self._sentences, self._sentences * step.done // total))

    def finish(self, step: Progress) -> None:
        self._count(self._sentences)
        self._counted = 0

    def _count(self, counted: int) -> None:
        if counted > self._counted:
            self._advance(counted - self._counted)
            self._counted = counted
