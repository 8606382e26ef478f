"""Checkpoints against damage: digests of files, and values of state.json with wrong types."""

from __future__ import annotations

import contextlib
import copy
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loop_toy import NEAR, Climber, ToyDecoder, toy_set

from hopefear.base.errors import InputError
from hopefear.base.weights import Weights
from hopefear.decode.contract import Decoded, Request
from hopefear.learn.loop.base import BaseLoop
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.checkpoint import DIGEST, Digests, check_state, digest_of_state
from hopefear.learn.loop.lattice import LatticeLoop
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.lattice_svm import LatticeSvm
from hopefear.learn.online.mira import Mira
from hopefear.metrics import create

pytestmark = pytest.mark.engine

KINDS = ("batch", "forests", "mapped", "online", "lattice")
ITERATIONS = 4


class Stopping(ToyDecoder):
    """Interrupts the run after a number of sentences."""

    def __init__(self, stops_after: int) -> None:
        super().__init__(sparse=True)
        self.left = stops_after

    def decode_all(self, requests: Iterable[Request], **more: Any) -> Iterator[Decoded]:
        for request in requests:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            yield self.decode(request)


def run(
    kind: str,
    directory: Path,
    stops_after: int = 10**9,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    def loop(place: RunDirectory, chosen: LoopOptions) -> BaseLoop:
        shared: dict[str, Any] = {
            "decoder": Stopping(stops_after),
            "metric": create("bleu"),
            "data": toy_set(12),
            "heldout": toy_set(4, 1),
            "start": Weights(NEAR),
            "directory": place,
            "options": chosen,
            "tell": tell,
        }
        if kind == "online":
            return OnlineLoop(make_tuner=lambda: Mira(learners=2), **shared)
        if kind == "lattice":
            return LatticeLoop(tuner=LatticeSvm(first=10, every=20, rate=0.02), **shared)
        tuner = Climber(trials=5)
        if kind == "forests":
            tuner = Forests(trials=5)
        return Loop(tuner=tuner, **shared)

    more = {"min_sentences": 2} if kind == "online" else {}
    options = LoopOptions(iterations=ITERATIONS, patience=0, tolerance=0, kbest=6, **more)
    return tune(loop, directory, {"tuner": {}}, options, resume=True)


class Forests(Climber):
    """Learns from forests; changes the weights without looking at them."""

    spaces = ("forest",)

    def optimize(self, pool: Any, weights: Weights, task: Any) -> Any:
        from hopefear.learn.tuner import Optimized

        changed = weights.copy()
        changed["right"] = changed["right"] + float(task.random.normal())
        return Optimized(changed, float(len(pool.forests[0])))


@pytest.fixture(scope="module", params=KINDS)
def killed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path, dict[str, bytes]]]:
    """A run that was interrupted after iteration 2, and the weights of a whole run."""
    kind: str = request.param
    with pytest.MonkeyPatch.context() as patch:
        if kind == "mapped":
            patch.setattr("hopefear.learn.pool.store.IN_MEMORY", 1)
        folder = tmp_path_factory.mktemp(kind)
        run(kind, folder / "whole")
        for stops_after in range(20, 200, 7):
            broken = folder / "broken"
            shutil.rmtree(broken, ignore_errors=True)
            try:
                run(kind, broken, stops_after)
            except KeyboardInterrupt:
                state = json.loads((broken / "checkpoint/state.json").read_text())
                if state["iteration"] == (1 if kind == "lattice" else 2):
                    break
        yield kind, broken, weights_of(folder / "whole")


def weights_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.rglob("*.tsv")}


Killed = tuple[str, Path, dict[str, bytes]]


def copied(killed: Killed, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed[1], tmp_path / "run"))


def test_an_untouched_run_resumes(killed: Killed, tmp_path: Path) -> None:
    place = copied(killed, tmp_path)
    run(killed[0], place)
    assert weights_of(place) == killed[2]


def test_every_damaged_file_is_named(killed: Killed, tmp_path: Path) -> None:
    place = copied(killed, tmp_path)
    files = json.loads((place / "checkpoint/state.json").read_text())["files"]
    folders = {str(Path(name).parent) for name in files}
    assert {"iterations", "checkpoint"} <= folders
    assert len(files) > 3
    if killed[0] == "mapped":
        assert "checkpoint/pool/mapped" in folders
    for name, (size, _) in files.items():
        path = place / name
        original = path.read_bytes()
        whole = original[:size]  # a killed run may have added candidates behind it
        assert whole == original or killed[0] == "mapped"
        digit = bytes([whole[len(whole) // 2] ^ 1])
        changed = whole[: len(whole) // 2] + digit + whole[len(whole) // 2 + 1 :]
        for content in (b"", whole[:-1], changed):
            path.write_bytes(content)
            with pytest.raises(InputError) as caught:
                run(killed[0], place)
            assert str(caught.value).startswith(f"{path}: ")
            assert "tune again in a new directory" in str(caught.value)
        path.unlink()
        with pytest.raises(InputError, match="no such file, but"):
            run(killed[0], place)
        path.write_bytes(original)
    run(killed[0], place)
    assert weights_of(place) == killed[2]


def test_a_finished_run_checks_its_weights(killed: Killed, tmp_path: Path) -> None:
    place = copied(killed, tmp_path)
    report = run(killed[0], place)
    assert run(killed[0], place) == report
    path = place / "iterations/01.tsv"
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"01\.tsv: has 0 bytes, expected [1-9]"):
        run(killed[0], place)


def test_a_changed_digit_of_the_state_is_an_error(killed: Killed, tmp_path: Path) -> None:
    place = copied(killed, tmp_path)
    path = place / "checkpoint/state.json"
    state = json.loads(path.read_text())
    state["records"][0]["score"] += 0.5
    path.write_text(json.dumps(state))
    with pytest.raises(InputError, match=r"state\.json: its digest is '\w+', expected '\w+'"):
        run(killed[0], place)


def test_a_checkpoint_without_digests_is_taken_with_a_note(killed: Killed, tmp_path: Path) -> None:
    place = copied(killed, tmp_path)
    path = place / "checkpoint/state.json"
    state = json.loads(path.read_text())
    del state["files"], state[DIGEST]
    path.write_text(json.dumps(state))
    messages: list[str] = []
    run(killed[0], place, tell=messages.append)
    assert weights_of(place) == killed[2]
    assert sum("has no digests" in message for message in messages) == 1


WRONG: tuple[Any, ...] = (
    *(None, True, -1, 3, 10**400, 1.5, float("nan"), float("inf"), "", "7", "../../weights.tsv"),
    *([], {}, [[]], [None], ["x", "y"], {"a": None}, {"../../x": [1, "a"]}),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a JSON value."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*at, key)
        yield from places(item, (*at, key))


@pytest.mark.parametrize("phase", ["killed", "finished"])
def test_wrong_types_in_the_state_are_errors(phase: str, killed: Killed, tmp_path: Path) -> None:
    """Every value times every wrong one, and every key left out: an error, or a run that ends."""
    whole = copied(killed, tmp_path)
    if phase == "finished":
        run(killed[0], whole)
    state = json.loads((whole / "checkpoint/state.json").read_text())
    refused, accepted = 0, 0
    messages: set[str] = set()
    place = tmp_path / "mutated"
    for at in places(state):
        if at == (DIGEST,):
            continue
        for wrong in (*WRONG, "removed"):
            mutated = copy.deepcopy(state)
            parent = mutated
            for key in at[:-1]:
                parent = parent[key]
            if wrong == "removed":
                del parent[at[-1]]
            else:
                parent[at[-1]] = wrong
            mutated[DIGEST] = digest_of_state(mutated)
            path = place / "checkpoint/state.json"
            try:
                check_state(path, mutated, resume=True)
                Digests(whole).check(path, mutated.get("files", {}))
            except InputError as error:
                refused += 1
                messages.add(str(error))
                continue
            if accepted % 40 == 0:  # a sample: a run takes a hundred times as long
                shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(whole, place)
                path.write_text(json.dumps(mutated))
                with contextlib.suppress(InputError):
                    run(killed[0], place)
            accepted += 1
    assert refused > accepted > 0
    assert all("tune again in a new directory" in text for text in messages)
    assert not any("\n" in text for text in messages)
