"""The run directory: checkpoints, resuming after a kill, and errors of resuming."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear.base.config import load_toml
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.learn.loop.run import (
    RunDirectory,
    complete,
    read_metrics,
    write_metrics,
)

TESTS = Path(__file__).resolve().parent.parent.parent
# A run of the toy that is slow enough to be killed in the middle of anything.
SCRIPT = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from loop_toy import Climber, ToyDecoder, start_weights, toy_set
from hopefear.metrics import create
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.runs import tune

class Slow(ToyDecoder):
    def answer(self, request):
        time.sleep(0.002)
        return super().answer(request)

def loop(directory, options):
    return Loop(decoder=Slow(sparse=True), tuner=Climber(trials=30), metric=create("bleu"),
                data=toy_set(20), start=start_weights(), directory=directory, options=options,
                threads=2)

if float(sys.argv[4]) > 0:
    threading.Timer(float(sys.argv[4]), os.kill, (os.getpid(), signal.SIGKILL)).start()
options = LoopOptions(iterations=6, patience=0, tolerance=0, kbest=4, average_last=3)
tune(loop, Path(sys.argv[2]), {"tuner": {"name": "climber"}}, options, runs=int(sys.argv[3]),
     resume=True)
"""


def opened(path: Path, config: Mapping[str, Any], *, resume: bool) -> RunDirectory:
    run = RunDirectory(path)
    run.prepare(config, resume=resume)
    return run


@pytest.mark.parametrize("runs", [1, 2])
def test_killed_runs_end_with_the_same_bytes(tmp_path: Path, runs: int) -> None:
    """The process kills itself after a random time; a run takes 0.14 s or more."""

    def run(directory: Path, seconds: float) -> int:
        words = [str(TESTS), str(directory), str(runs), str(seconds)]
        done = subprocess.run([sys.executable, "-c", SCRIPT, *words], timeout=60)
        return done.returncode

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run(whole, 0) == 0
    chance = random.Random(runs)
    codes = [run(broken, chance.uniform(0.01, 0.12)) for _ in range(5)]
    assert -signal.SIGKILL in codes
    assert run(broken, 0) == 0
    names = {
        path.relative_to(whole)
        for path in whole.rglob("*")
        if path.is_file() and path.suffix in (".tsv", ".toml")
    }
    assert len(names) > 3 * runs
    for name in names:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    assert _without_seconds(broken) == _without_seconds(whole)
    left = [path for path in broken.rglob("*") if path.name.startswith(".")]
    assert not left


def _without_seconds(directory: Path) -> list[dict[str, Any]]:
    records = read_metrics(directory / "metrics.jsonl")
    return [{k: v for k, v in record.items() if "seconds" not in k} for record in records]


CONFIG = {"tuner": {"name": "mert", "restarts": 20}, "resources": {"threads": 2}}


def test_another_configuration_is_refused_by_name(tmp_path: Path) -> None:
    opened(tmp_path / "run", CONFIG, resume=False)
    opened(tmp_path / "run", CONFIG, resume=True)
    opened(tmp_path / "run", {**CONFIG, "resources": {"threads": 1}}, resume=True)
    other = {"tuner": {"name": "mert", "restarts": 5}}
    with pytest.raises(OptionError) as caught:
        opened(tmp_path / "run", other, resume=True)
    assert "tuner.restarts = 20, now it is 5" in str(caught.value)
    fewer = {"tuner": {"name": "mert"}}
    with pytest.raises(OptionError, match=r"tuner\.restarts = 20, now it is not given"):
        opened(tmp_path / "run", fewer, resume=True)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    opened(tmp_path / "run", CONFIG, resume=False)
    with pytest.raises(OptionError, match="has a run already; --resume continues"):
        opened(tmp_path / "run", CONFIG, resume=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    for resume in (False, True):
        with pytest.raises(OptionError, match="is neither empty nor a run"):
            opened(tmp_path / "other", CONFIG, resume=resume)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        opened(tmp_path / "file" / "run", CONFIG, resume=False)


def test_signature_covers_what_affects_the_result() -> None:
    one = complete(CONFIG)["signature"]
    assert complete({**CONFIG, "resources": {"threads": 7}})["signature"] == one
    assert complete({**CONFIG, "tuner": {"name": "pro"}})["signature"] != one


def test_two_processes_cannot_use_one_run(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", CONFIG, resume=False)
    with (
        run.locked(),
        pytest.raises(InputError, match="another process is tuning in it"),
        RunDirectory(tmp_path / "run").locked(),
    ):
        pass
    with run.locked():
        pass


def test_states_keep_arrays_and_other_values(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", CONFIG, resume=False)
    state = {"sums": np.arange(3.0), "deep": {"x": [np.array([1], np.uint64), "a", None]}, "n": 1}
    run.save_tuner_state(3, state)
    found = run.load_tuner_state(3)
    assert found["sums"].tolist() == [0, 1, 2]
    assert found["deep"]["x"][0].dtype == np.uint64
    assert found["deep"]["x"][1:] == ["a", None]
    assert found["n"] == 1
    run.save_tuner_state(4, {})
    run.tidy(4)
    assert run.load_tuner_state(4) == {}
    assert [path.name for path in run.checkpoint.glob("*.npz")] == ["tuner-04.npz"]


def test_many_weights_are_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(tmp_path / "run", CONFIG, resume=False)
    weights = Weights({"a": 0.1, "b": -2.0})
    run.save_weights(1, weights)
    assert run.weights_path(1).suffix == ".tsv"
    monkeypatch.setattr("hopefear.learn.loop.run.TEXT_LIMIT", 1)
    run.save_weights(1, weights)
    assert run.weights_path(1).suffix == ".bin"
    assert list(run.load_weights(1).items()) == list(weights.items())
    run.choose(run.load_weights(1))
    assert list(Weights.load(run.path / "weights.tsv").items()) == list(weights.items())


def test_metrics_name_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_metrics(path, [{"iteration": 0}, {"iteration": 1, "score": 2.5}])
    assert read_metrics(path)[1]["score"] == 2.5
    path.write_text('{"iteration": 0}\n[1]\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl:2: expected a JSON object"):
        read_metrics(path)
    path.write_text('{"iteration": 0}\n{"iterat\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl:2: not a JSON object"):
        read_metrics(path)


def test_damaged_state_is_reported(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", CONFIG, resume=False)
    assert run.read_state() is None
    run.write_state({"phase": "decoded"}, [])
    state = run.read_state()
    assert state is not None
    assert (state["phase"], state["records"], state["files"]) == ("decoded", [], {})
    for text in ("{", "[]", "{}"):
        (run.checkpoint / "state.json").write_text(text)
        with pytest.raises(InputError, match=r"state\.json: not the state of a run"):
            run.read_state()
    run.write_state({"phase": "decoded"}, [])
    with pytest.raises(InputError, match=r"iteration is missing, expected a value"):
        run.read_state(resume=True)
    run.save_tuner_state(0, {"a": np.zeros(100)})
    path = run.checkpoint / "tuner-00.npz"
    whole = path.read_bytes()
    for content in (b"", b"no zip", whole[: len(whole) // 2], whole[:-5]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"tuner-00\.npz: not the state of a tuner"):
            run.load_tuner_state(0)


def test_files_of_killed_runs_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = opened(folder, CONFIG, resume=False)
    left = [folder / "checkpoint" / ".state.json.abc.tmp", run.pool / ".00.npz.abc.tmp"]
    for path in left:
        path.write_text("half")
    again = opened(folder, CONFIG, resume=True)
    assert all(path.exists() for path in left)  # another process may be writing them
    with again.locked():
        assert not any(path.exists() for path in left)
        left[0].write_text("half")
        with (
            pytest.raises(InputError, match="another process"),
            opened(folder, CONFIG, resume=True).locked(),
        ):
            pytest.fail("the block ran")
        assert left[0].exists()
    assert load_toml(folder / "config.toml")["tuner"]["restarts"] == 20


def test_runs_without_a_record_of_a_model_file_can_resume(tmp_path: Path) -> None:
    old = {**CONFIG, "system": {"model": {"rules.bin": "a"}}}
    opened(tmp_path / "run", old, resume=False)
    opened(
        tmp_path / "run", {**old, "system": {"model": {"rules.bin": "a", "w": "b"}}}, resume=True
    )
    with pytest.raises(OptionError, match=r"system\.model\.rules\.bin"):
        opened(tmp_path / "run", {**old, "system": {"model": {"rules.bin": "b"}}}, resume=True)
