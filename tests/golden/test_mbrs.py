"""Minimum Bayes risk is that of the package mbrs 0.1.8.

`mbrs.json` has lists of 8 texts that this test's authors made at random, with the expected scores
of its MetricBLEU(tokenize="none"), MetricChrF and MetricTER with equal and with given log
probabilities of the references, and the choices of its DecoderMBR.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear.base.weights import Weights
from hopefear.forest.io import read_nbest
from hopefear.learn.rerank_mbr import ExpectedUtility

LISTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "mbrs.json").read_text("utf-8"))


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
@pytest.mark.parametrize("kind", ["uniform", "weighted"])
def test_expected_utilities_and_choices(metric: str, kind: str) -> None:
    entries = [
        {"id": number, "text": text, "features": {"p": logprob}}
        for number, row in enumerate(LISTS)
        for text, logprob in zip(row["texts"], row["lprobs"], strict=True)
    ]
    weights = Weights({"p": 1.0}) if kind == "weighted" else None
    utility = ExpectedUtility(metric, weights)
    for list_, row in zip(read_nbest("memory", entries=entries), LISTS, strict=True):
        ours = 100 * utility.expected(list_)
        theirs = np.array(row[f"{metric}.{kind}"])
        np.testing.assert_allclose(ours, -theirs if metric == "ter" else theirs, atol=2e-3)
        best = row[f"{metric}.{kind}.best"]
        assert utility.choose(list_) == best or ours[best] == pytest.approx(ours.max(), abs=1e-6)
