"""Training examples loaded from the folder of a run: errors for damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopefear.base.errors import InputError
from hopefear.base.weights import Weights
from hopefear.learn.loop.judge import TuningSet
from hopefear.learn.loop.options import TrainingOptions
from hopefear.learn.loop.training import PAIRS, reachable


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"statistics": {}}',
        '{"pairs": []}',
        '{"statistics": 3, "pairs": []}',
        '{"statistics": {}, "pairs": [[0, 1]]}',
        '{"statistics": {}, "pairs": [[7, 1, "x", true]]}',
        '{"statistics": {}, "pairs": [["a", 1, "x", true]]}',
    ],
)
def test_damaged_list_of_pairs_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / PAIRS).write_text(text)
    decoder: Any = None
    with pytest.raises(InputError, match=r"gold.json: not a list of pairs .*in a new directory"):
        reachable(
            decoder,
            TuningSet(["a"], [["x"]]),
            tmp_path,
            TrainingOptions(),
            Weights({"lm": 1.0}),
            seed=1,
        )
