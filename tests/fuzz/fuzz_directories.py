"""Readers of directories: models, word alignment models, runs. One file of them is damaged.

Where it is not model.toml, that is read once and the other parts each time: making all of a model
anew takes ten times as long as what the damaged file changes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_files import forest
from fuzz_reader import reader

from hopefear.align.model import Aligner, read_pairs
from hopefear.analysis.report.runs import read_systems
from hopefear.base.console import Console
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.cli.tune_shown import describe_run, show_run
from hopefear.decode.contract import Decoder
from hopefear.forest import kbest, viterbi
from hopefear.learn.loop.run import RunDirectory
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.learn.pool.feature_selection import FiredIn
from hopefear.metrics import create
from hopefear.model.directory import Model
from hopefear.model.train import TrainOptions, train

# -- models --

TEXT = "".join(
    f'[text.{side}]\nlanguage = "{language}"\ntokenizer = "whitespace"\ncasing = "truecase"\n'
    f"normalize = true\n[text.{side}.spacing]\n[text.{side}.tools]\n"
    for side, language in (("source", "fr"), ("target", "en"))
)
MODEL = f"""\
format = 1
system = "phrase"
made_by = "hopefear 0.1.0"
{TEXT}
[lms]
lm = "lm.bin"
[decoder]
search = "cube"
beam = 10
threshold = 0.5
[features.word-context]
size = 2
[features.target-bigrams]
[features.insertion]
[features.word-edges]
levels = "t"
[features.rule-history]
[training]
folds = 2
order = 2
[training.steps."fold 0"]
lm_tokens = 9
"""
IMPORTED = f"""\
format = 1
system = "phrase"
{TEXT.replace("truecase", "lower")}
[decoder]
distortion_limit = 6
[decoder.features]
"distortion" = {{name = "Distortion0", factor = 1.0}}
"words" = {{name = "WordPenalty0", factor = -1.0}}
[tagger]
name = "lexicon"
tools = {{}}
[features.word-pairs]
[imported]
format = "moses"
"""
HIERO = f'format = 1\nsystem = "hiero"\n{TEXT}'
HIERO += "[decoder]\nspan_limit = 10\npop_limit = 9\nrule_limit = 5\nlabel = 'X'\nglue = true\n"
HIERO += "[features.rule-shape]\n[features.word-pairs]\n"
CLASSES = "source\tla\t0110\tDET\nsource\tmaison\t10\tN\ntarget\tthe\t0\tDT\n"
SENTENCE = "La maison , oui x"


def model(folder: Path, system: str = "phrase") -> Path:
    """A model directory, hardly larger than nothing."""
    place = folder / system
    if not (place / "model.toml").exists():
        (folder / "t.fr").write_text("la maison est petite\noui , la fleur\n" * 3)
        (folder / "t.en").write_text("The house is small\nyes , the flower\n" * 3)
        options = TrainOptions(order=2, threads=1, system=system)
        train(folder / "t.fr", folder / "t.en", place, options)
        (place / "word-classes.tsv").write_text(CLASSES)
        for fold in ("0", "1"):
            (place / "folds" / fold).mkdir(parents=True)
            for name in ("rules.bin", "lm.bin"):
                shutil.copy(place / name, place / "folds" / fold / name)
        # What training writes has times in it.
        (place / "model.toml").write_text(MODEL if system == "phrase" else HIERO)
    return place


def part(name: str, system: str = "phrase") -> Callable[[Path], list[bytes]]:
    return lambda folder: [(model(folder, system) / name).read_bytes()]


@cache
def settings(folder: Path) -> dict[str, Any]:
    return dict(Model.load(folder).settings)


def decode(found: Model, words: list[str], *, folds: bool = False) -> list[str]:
    weights = found.weights(warn=lambda text: None)
    decoder: Decoder = found.decoder(folds=folds)
    best = viterbi(decoder.forest(words, weights), weights)
    return [] if best is None else list(best.words)


def use_model(path: Path) -> None:
    """All that translating a sentence needs."""
    found = Model.load(path.parent)
    source, target = (found.text(side, lambda text: None) for side in ("source", "target"))
    target.restore(decode(found, source.prepare(SENTENCE), folds=bool(found.folds)))


def use_part(path: Path) -> None:
    decode(Model(path.parent, settings(path.parent)), SENTENCE.split())


def use_text(path: Path) -> None:
    text = Model(path.parent, settings(path.parent)).text(path.name.split(".")[1])
    text.restore(text.prepare(SENTENCE))


def descriptions(folder: Path) -> list[bytes]:
    model(folder)
    return [MODEL.encode(), IMPORTED.encode()]


reader("model/model.toml", descriptions, file="phrase/model.toml")(use_model)
reader("model/hiero.toml", part("model.toml", "hiero"), file="hiero/model.toml")(use_model)
for _name in ("casing.source.tsv", "casing.target.tsv"):
    reader(f"model/{_name}", part(_name), file=f"phrase/{_name}")(use_text)
for _name in ("weights.tsv", "word-lists.tsv", "word-classes.tsv"):
    reader(f"model/{_name}", part(_name), file=f"phrase/{_name}")(use_part)
for _name in ("rules.bin", "lm.bin"):
    reader(f"model/{_name}", part(_name), file=f"phrase/{_name}", binary=True)(use_part)
reader("model/hiero-rules.bin", part("rules.bin", "hiero"), file="hiero/rules.bin", binary=True)(
    use_part
)

# -- runs --

RUN_CONFIG = """\
runs = 1
[tuner]
name = "mert"
restarts = 20
[metric]
name = "bleu"
[loop]
seed = 1
[system]
tokenized = true
[files]
dev = ["dev.fr"]
refs = ["dev.en.0", "dev.en.1"]
model = "m"
[contents]
dev = ["0123456789abcdef"]
"""
METRICS = (
    '{"iteration": 0, "score": 20.5, "bleu": 20.5, "length_ratio": 0.98, "warnings": ["a", "b"]}\n'
    '{"iteration": 1, "score": 21.5, "bleu": 21.5, "length_ratio": 1.0, "objective": 0.2, '
    '"change": 0.1, "active_features": 14, "decode_seconds": 1.5, "optimise_seconds": 0.25, '
    '"heldout_score": 20.25, "mean_of": [0, 1], "candidates": 120}\n'
)
STATE = (
    '{"phase": "finished", "iteration": 1, "chosen": 1, "records": [],'
    ' "useless": {"never_fired": [], "constant": []}}\n'
)


def run_directory(folder: Path) -> list[bytes]:
    (folder / "run" / "checkpoint").mkdir(parents=True, exist_ok=True)
    for name, text in (("config.toml", RUN_CONFIG), ("metrics.jsonl", METRICS)):
        (folder / "run" / name).write_text(text)
    (folder / "run" / "checkpoint" / "state.json").write_text(STATE)
    return []


@reader("run/config.toml", RUN_CONFIG, run_directory, file="run/config.toml")
@reader("run/metrics.jsonl", METRICS, run_directory, file="run/metrics.jsonl")
def use_run(path: Path) -> None:
    """What `inspect` and `report` show of it."""
    with redirect_stdout(StringIO()):
        show_run(describe_run(path.parent), Console(Display()))
    for system in read_systems([path.parent]):
        run = system.shown
        _ = run.metric, run.tuner, run.which, run.chosen, run.seconds
        _ = run.file("dev"), run.file("refs")


@reader("run/state.json", STATE, run_directory, file="run/checkpoint/state.json")
def use_state(path: Path) -> None:
    _ = read_systems([path.parent.parent])[0].shown.which


def tuner_state(folder: Path) -> list[bytes]:
    run_directory(folder)
    run = RunDirectory(folder / "run")
    state = {"weights": np.arange(3, dtype=np.float32), "rest": [1, {"rng": np.zeros(2)}, "x"]}
    run.save_tuner_state(1, state)
    return [(run.checkpoint / "tuner-01.npz").read_bytes()]


@reader("run/tuner.npz", tuner_state, file="run/checkpoint/tuner-01.npz")
def use_tuner_state(path: Path) -> None:
    RunDirectory(path.parent.parent).load_tuner_state(1)


def candidates() -> CandidateBuilder:
    return CandidateBuilder(create("bleu"), [["the cats sleep"]])


def saved_candidates(folder: Path) -> list[bytes]:
    builder = candidates()
    builder.add(0, kbest(forest(), Weights({"tm": 1.0}), 3))
    builder.save(folder / "candidates.npz")
    return [(folder / "candidates.npz").read_bytes()]


@reader("run/candidates.npz", saved_candidates, file="candidates.npz")
def use_candidates(path: Path) -> None:
    candidates().restore(path)


def saved_fired(folder: Path) -> list[bytes]:
    fired = FiredIn(2)
    fired.add(0, np.array([3, 5], np.uint64))
    fired.save(folder / "fired.npz")
    return [(folder / "fired.npz").read_bytes()]


@reader("run/fired.npz", saved_fired, file="fired.npz")
def use_fired(path: Path) -> None:
    fired = FiredIn(2)
    fired.load(path)
    fired.frequent(1, 0, [])


# -- word alignment models --


def align_model(folder: Path) -> list[bytes]:
    if not (folder / "align").exists():
        (folder / "s").write_text("la maison\nla fleur\n")
        (folder / "t").write_text("the house\nthe flower\n")
        pairs = read_pairs(folder / "s", folder / "t")
        Aligner.train(pairs, threads=1).save(folder / "align")
    return []


def align_part(name: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: align_model(folder) or [(folder / "align" / name).read_bytes()]


def read_aligner(path: Path) -> None:
    found = Aligner.load(path.parent)
    found.align(["la", "maison", "x"], ["the", "house", "y"])
    found.posteriors(["la", "x"], ["the"])
    found.translations("la")


reader("align/align.toml", align_part("align.toml"), file="align/align.toml")(read_aligner)
reader("align/align.bin", align_part("align.bin"), file="align/align.bin", binary=True)(
    read_aligner
)
