"""Commands that use what was read: reranking, translating, inspecting, resuming a run.

One file of what a command takes is damaged, and all that follows from it is done, in this process:
what comes behind a reader is tested, such as the weights that are written and read again.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from fuzz_directories import SENTENCE, model
from fuzz_reader import Read, reader

from hopefear.cli.main import _run
from hopefear.learn.loop.run import RunDirectory
from hopefear.model.verify import verify


def command(*words: object) -> None:
    """Run a command as the command line does; errors are raised."""
    output = TextIOWrapper(BytesIO(), "utf-8", "surrogateescape")
    with redirect_stdout(output), redirect_stderr(StringIO()):
        _run([*map(str, words), "--progress", "off"])


# -- reranking --

REFS = "the cat sat\na dog barks\nthe house is small\n"
ENTRIES = (
    (0, "the cat sat", (-3.5, -1.0, -2.0), "a"),
    (0, "a cat sat", (-3.0, -1.5, -2.5), "b"),
    (1, "dog bark", (-4.0, -1.0, -1.0), "a"),
    (1, "a dog barks", (-4.5, -2.0, -1.5), "c"),
    (2, "the house is small", (-2.0, -0.5, -1.0), "b"),
    (2, "house small", (-1.0, -1.5, -0.5), "c"),
)
LISTS = {
    "moses": "".join(
        f"{i} ||| {text} ||| LM0= {a} TM0= {b} {c} rare~{word}= 1 ||| {a}\n"
        for i, text, (a, b, c), word in ENTRIES
    ),
    "cdec": "".join(
        f"{i} ||| {text} ||| LM={a} P={b} caf\u00e9_{word}={c} ||| {a}\n"
        for i, text, (a, b, c), word in ENTRIES
    ),
    "jsonl": "".join(
        f'{{"id": {i}, "text": "{text}", "features": {{"lm": {a}, "f:{word}": {b}}}, '
        f'"score": {c}}}\n'
        for i, text, (a, b, c), word in ENTRIES
    ),
}


def references(folder: Path) -> list[bytes]:
    (folder / "refs").write_text(REFS)
    (folder / "list").write_text(LISTS["moses"])
    (folder / "in").write_text("la maison\noui , x\n")
    return []


def rerank(format: str) -> Read:
    """Tune on damaged lists, apply the weights to them, and show the weights."""

    def run(path: Path) -> None:
        weights, refs = path.with_name("w.tsv"), path.with_name("refs")
        command(
            *("rerank", "tune", "--nbest", path, "--refs", refs, "--tuner", "batch-mira"),
            *("-o", weights, "--format", format, "--threads", 1, "--skip-missing"),
        )
        out = path.with_name("out")
        command(
            *("rerank", "apply", "--nbest", path, "--weights", weights, "-o", out),
            *("--format", format),
        )
        command("inspect", weights)
        command("inspect", weights, "--json")

    return run


for _format, _text in LISTS.items():
    reader(f"use/rerank-{_format}", _text, references)(rerank(_format))


@reader(
    "use/rerank-weights", "LM0\t0.5\nTM0_1\t-1\nrare~a\t2\nid:0123456789abcdef\t1\n", references
)
def rerank_with_weights(path: Path) -> None:
    lists, refs, out = (path.with_name(name) for name in ("list", "refs", "out"))
    command("inspect", path)
    command("rerank", "apply", "--nbest", lists, "--weights", path, "-o", out)
    command(
        *("rerank", "tune", "--nbest", lists, "--refs", refs, "--tuner", "pro", "-o", out),
        *("--weights", path, "--threads", 1),
    )


# -- a model --


def text_of_weights(folder: Path) -> list[bytes]:
    references(folder)
    return [(model(folder) / "weights.tsv").read_bytes() + b"word-context:la\t0.5\n"]


@reader("use/model-weights", text_of_weights)
def translate_with_weights(path: Path) -> None:
    place, out = path.parent / "phrase", path.with_name("out")
    command(
        *("translate", "--model", place, "--weights", path, "-i", path.with_name("in"), "-o", out),
        *("--nbest", 2, "--nbest-out", path.with_name("nbest"), "--threads", 1),
    )
    command("inspect", place, "--derivation", SENTENCE, "--weights", path)


def inspect_model(path: Path) -> None:
    place = path.parent
    verify(place)
    command("inspect", place)
    command("inspect", place, "--derivation", SENTENCE)
    command("inspect", place, "--features", SENTENCE, "--json")


for _part in ("model.toml", "weights.tsv", "rules.bin", "lm.bin"):
    reader(
        f"use/inspect-{_part}",
        lambda folder, part=_part: [(model(folder) / part).read_bytes()],
        file=f"phrase/{_part}",
        binary=_part.endswith(".bin"),
    )(inspect_model)

# -- a run that is resumed --

_TIMES = re.compile(r'("\w*seconds\w*": )[\d.e-]+')
TUNERS = {"batch": "mert", "online": "mira"}
STATES = 3  # that are written before the run stops


class StopError(Exception):
    """Stops a run as if it were killed."""


def tune(folder: Path, kind: str, run: Path, *more: object) -> None:
    words = ["--dev", folder / "in", "--refs", folder / "dev.refs", "--tuner", TUNERS[kind]]
    words += ["--model", model(folder), "-o", run, "--threads", 1, "--iterations", 2]
    command("tune", *words, *more)


def interrupted(folder: Path, kind: str) -> Path:
    """A run that was killed in its second iteration."""
    run = folder / f"run.{kind}"
    if run.exists():
        return run
    references(folder)
    (folder / "dev.refs").write_text("the house\nyes , x\n")
    states = iter(range(STATES))
    save = RunDirectory.write_state

    def save_and_stop(self: RunDirectory, *arguments: Any, **keywords: Any) -> None:
        save(self, *arguments, **keywords)
        if next(states, None) is None:
            raise StopError

    RunDirectory.write_state = save_and_stop  # type: ignore[method-assign]
    try:
        with suppress(StopError):
            tune(folder, kind, run)
    finally:
        RunDirectory.write_state = save  # type: ignore[method-assign]
    for path in run.rglob("*.json*"):  # samples are always the same
        path.write_text(_TIMES.sub(r"\g<1>0.5", path.read_text()))
    # Without its digest, as older versions wrote it, a damaged state gets further.
    state = run / "checkpoint" / "state.json"
    content = json.loads(state.read_text())
    del content["digest"]
    state.write_text(json.dumps(content))
    return run


def resume(kind: str, name: str) -> Read:
    def read(path: Path) -> None:
        folder = path.parent
        copy = folder / "resumed"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(interrupted(folder, kind), copy)
        shutil.copyfile(path, copy / name)
        tune(folder, kind, copy, "--resume")
        command("inspect", copy)

    return read


def part_of_run(kind: str, name: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [(interrupted(folder, kind) / name).read_bytes()]


_PARTS = ("config.toml", "metrics.jsonl", "iterations/01.tsv", "checkpoint/state.json")
for _kind in TUNERS:
    for _name in _PARTS:
        reader(f"resume/{_kind}-{_name}", part_of_run(_kind, _name))(resume(_kind, _name))
