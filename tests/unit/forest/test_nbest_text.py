"""N-best lists are read back as what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.weights import Weights
from hopefear.forest import ForestBuilder, kbest
from hopefear.forest.io import NbestWriter, read_nbest


def test_groups() -> None:
    writer = NbestWriter(["LM0", "TM0_1", "TM0_2", "A_1", "B_1", "B_3", "p(f|e)"])
    text = writer.features(
        {"TM0_2": -0.1, "TM0_1": 1e-7, "z:a|b": 2.0, "p(f|e)": -3.5, "LM0": -0.0}
    )
    assert text == "LM0= 0 TM0= 0.0000001 -0.1 A_1= 0 B_1= 0 B_3= 0 p(f|e)= -3.5 z:a|b= 2"


@pytest.mark.engine
def test_roundtrip(tmp_path: Path) -> None:
    weights = Weights({"TM0_1": 0.5, "TM0_2": 0.25, "rule:x": 0.125})
    writer = NbestWriter(["TM0_1", "TM0_2"])
    builder = ForestBuilder()
    goal = builder.node()
    builder.edge(goal, (), ["a", "|||", "b"], row=builder.row({"TM0_1": -1 / 3, "TM0_2": 0.1}))
    builder.edge(goal, (), [], row=builder.row({"TM0_1": -2, "rule:x": 1}))
    forest = builder.finish(goal)
    entries = kbest(forest, weights, 10)
    path = tmp_path / "nbest"
    path.write_text(
        "".join(writer.line("4", entry, builder.names, ["0=0"]) + "\n" for entry in entries)
    )
    (found,) = read_nbest(path)
    assert found.id == "4"
    back = kbest(found.forest, weights, 10)
    assert [d.score for d in back] == [d.score for d in entries]
    assert back[0].text == "a &#124;&#124;&#124; b"
    assert back[1].text == ""
    assert list(back[0].features.values) == list(entries[0].features.values)
    assert found.scores.tolist() == pytest.approx([d.score for d in entries], rel=1e-7)
