"""Batch tuners on the pool that Moses's tuners were run on; a moses.ini of the real thing."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear.base import config, registry
from hopefear.base.weights import Weights
from hopefear.decode.remote.moses_ini import MosesIni
from hopefear.learn.pool.candidates import from_arrays
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create


@pytest.fixture(scope="module")
def pool(shared: Path) -> tuple[Pool, Weights]:
    with gzip.open(shared / "golden" / "tuning" / "pool.tsv.gz", "rt") as file:
        names = file.readline().split()[1:15]
        table = np.loadtxt(file)
    candidates = from_arrays(
        table[:, 0].astype(int), table[:, 1:15], table[:, 15:].astype(int), names
    )
    start = dict(zip(names, [0.3] * 7 + [0.5, -1.0] + [0.2] * 5, strict=True))
    return Pool(metric=create("bleu"), candidates=candidates), Weights(start)


# The floor is what other programs reach (PRO: 49.08), less what chance does; see
# docs/reference/tuners/index.md.
@pytest.mark.parametrize(
    ("tuner", "options", "floor"),
    [
        ("pro", {}, 48.8),
        ("pro", {"accept": "random"}, 48.8),
        ("pro", {"smooth_brevity": True}, 48.8),
        ("rampion", {}, 48.8),
        ("svm", {}, 48.8),
        ("risk", {}, 51.0),
        ("risk", {"gain": "sentence"}, 50.5),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_the_pool_of_moses(
    pool: tuple[Pool, Weights], tuner: str, options: Mapping[str, Any], floor: float, seed: int
) -> None:
    task = Task(random=np.random.default_rng(seed))
    found = config.from_mapping(registry.get("tuner", tuner), options).optimize(*pool, task)
    candidates = pool[0].candidates
    assert candidates is not None
    rows = candidates.best(candidates.scores(candidates.vector(found.weights)))
    bleu = float(pool[0].metric.shown(candidates.total(rows)))
    assert bleu == pytest.approx(100 * found.objective, abs=0.05)  # weights are floats in there
    assert bleu >= floor


def test_pro_draws_as_many_pairs_as_moses(pool: tuple[Pool, Weights]) -> None:
    tuner: Any = registry.get("tuner", "pro")()
    notes = tuner.optimize(*pool, Task(random=np.random.default_rng(1))).notes
    assert 39_580 <= 2 * notes["pairs"] <= 39_620  # Moses: 39,610 lines


def test_a_real_moses_ini(shared: Path) -> None:
    found = MosesIni.read(shared / "golden" / "moses" / "decode" / "moses.ini").weights
    assert len(found) == 15
    assert found["TranslationModel0_4"] == 0.0473497
