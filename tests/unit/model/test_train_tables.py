"""Tables of a text and its folds: equal bytes on threads and in other processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from remote_toy import ToyCluster

from hopefear.align import align_files
from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.base.executor import Executor, Threads
from hopefear.base.progress import Display, Progress
from hopefear.model import train_tables
from hopefear.model.directory import Model
from hopefear.model.folds import fold_range
from hopefear.model.train import TrainOptions, train
from hopefear.model.train_tables import Corpus, Task, make_side_by_side, make_table
from hopefear.rules.hiero import HieroExtractOptions
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.text import world
from hopefear.text.lines import read_lines

SENTENCES = 800
FOLDS = 3


class Last(Display):
    """Keeps the last state of each step."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, tuple[int, int | None]] = {}

    def refresh(self, step: Progress) -> None:
        self.states[step.label] = step.done, step.total


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tables")
    world.write(world.generate(train=SENTENCES, dev=5, test=5), directory)
    align_files(directory / "train.zh", directory / "train.en", directory / "links.txt")
    return directory


def corpus(folder: Path, system: str, memory: int = 1 << 30) -> Corpus:
    phrases = PhraseExtractOptions(max_length=5)
    rules = HieroExtractOptions(max_span=6, max_nonterminals=1)
    options = phrases if system == "phrase" else rules
    names = ("train.zh", "train.en", "links.txt")
    limited = replace(options, memory=Size(memory), threads=2)
    return Corpus(folder, names, SENTENCES, system, limited, 2)


TASKS = [
    Task(0),
    *(Task(n + 1, fold_range(n, FOLDS, SENTENCES), language_model=True) for n in range(FOLDS)),
]


def made_with(
    executor: Executor, corpus: Corpus, scratch: Path, display: Display | None = None
) -> tuple[list[bytes], list[object]]:
    """The files of all tasks, and their reports."""
    scratch.mkdir()
    files, reports = [], []
    results = make_side_by_side(
        corpus, TASKS, executor, scratch=scratch, display=display or Display()
    )
    for task, (made, folder) in zip(TASKS, results, strict=True):
        names = ["lm.bin", "rules.bin"] if task.language_model else ["rules.bin"]
        assert sorted(path.name for path in folder.iterdir()) == names == list(made.sizes)
        files += [(folder / name).read_bytes() for name in names]
        reports.append(made.report)
    return files, reports


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_the_same_bytes_whatever_makes_them(
    folder: Path, tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = corpus(folder, system)
    expected = made_with(Threads(1), texts, tmp_path / "one")
    make_table(texts, tmp_path / "table")
    assert expected[0][0] == (tmp_path / "table").read_bytes()
    # 100 MB: one after the other, with both threads each.
    assert made_with(Threads(2), corpus(folder, system, 100 << 20), tmp_path / "two") == expected
    display = Last()
    assert made_with(ToyCluster(), texts, tmp_path / "cluster", display) == expected
    total = (4 + FOLDS * 5) * SENTENCES
    assert display.states == {"rules of text and folds": (total, total)}
    sizes = [len(data) for data in expected[0]]
    monkeypatch.setattr(train_tables, "PIECE", max(sizes) // 3)
    cluster = ToyCluster(lose=4)
    assert made_with(cluster, texts, tmp_path / "lost") == expected
    assert cluster.lost > 1


def test_a_worker_leaves_no_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made_with(ToyCluster(), corpus(folder, "phrase"), tmp_path / "scratch")
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_sorted_runs_of_workers_make_the_same_table(
    folder: Path, tmp_path: Path, system: str
) -> None:
    cluster = ToyCluster()
    display = Last()
    texts = corpus(folder, system)
    expected = make_table(texts, tmp_path / "threads")
    got = make_table(texts, tmp_path / "runs", executor=cluster, display=display)
    assert got == expected
    assert cluster.items >= 2  # not the whole text at once
    assert display.states["extract"] == (SENTENCES, SENTENCES)
    assert (tmp_path / "runs").read_bytes() == (tmp_path / "threads").read_bytes()
    # Memory for less than the records of a run: workers sort in pieces, too.
    small = replace(texts, options=replace(texts.options, memory=Size(1 << 18)))
    make_table(small, tmp_path / "small", executor=ToyCluster())
    assert (tmp_path / "small").read_bytes() == (tmp_path / "threads").read_bytes()


def test_a_failure_is_that_of_the_first_task(folder: Path, tmp_path: Path) -> None:
    bad = corpus(folder, "phrase")
    links = list(read_lines(folder / "links.txt"))
    for name in bad.names[:2]:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    links[5] = "0-0 x"
    (tmp_path / "links.txt").write_text("".join(f"{line}\n" for line in links))
    for name, executor in (("threads", Threads(2)), ("cluster", ToyCluster())):
        with pytest.raises(InputError, match=r"links\.txt:6: 'x' is no alignment point"):
            made_with(executor, replace(bad, folder=tmp_path), tmp_path / name)


def test_only_missing_folds_are_made(folder: Path, tmp_path: Path) -> None:
    texts = folder / "train.zh", folder / "train.en"
    options = TrainOptions(tokenized=True, order=2, folds=2, threads=2, align=folder / "links.txt")
    train(*texts, tmp_path / "model", options)
    before = (tmp_path / "model/work/steps.json").read_bytes()
    for name in ("folds/1/rules.bin", "rules.bin"):
        (tmp_path / "model" / name).unlink()
    steps = train(*texts, tmp_path / "model", options)["steps"]
    assert {name for name, step in steps.items() if not step["reused"]} == {"rules", "fold 1"}
    assert (tmp_path / "model/work/steps.json").read_bytes() == before
    assert len(Model.load(tmp_path / "model").folds) == 2


def test_options_of_a_cluster_need_one(folder: Path, tmp_path: Path) -> None:
    texts = folder / "train.zh", folder / "train.en"
    with pytest.raises(OptionError, match="--workers: only with --cluster"):
        train(*texts, tmp_path / "model", TrainOptions(tokenized=True, workers=3))
    assert not (tmp_path / "model").exists()
