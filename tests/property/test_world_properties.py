"""What holds in every built-in world, whatever its seed and sizes."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.text.world import PARTS, generate, statistics

SIZE = st.integers(0, 40)
TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9'.,-]*|'s|[.,;?%']")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(), train=SIZE, dev=SIZE, test=SIZE)
def test_any_world_is_well_formed(seed: int, train: int, dev: int, test: int) -> None:
    world = generate(train=train, dev=dev, test=test, seed=seed)
    sizes = {"train": train, "dev": dev, "test": test}
    seen: set[str] = set()
    for part in ("test", "dev", "train"):
        sentences = world.part(part)
        assert len(sentences) == sizes[part]
        for sentence in sentences:
            assert len(sentence.references) == (1 if part == "train" else 4)
            assert len(sentence.source.split(" ")) <= 60
            for text in (sentence.source, *sentence.references):
                assert all(TOKEN.fullmatch(token) for token in text.split(" ")), text
            assert sentence.source not in seen
        seen |= {sentence.source for sentence in sentences}
        lengths = Counter(sentence.document for sentence in sentences)
        assert all(5 <= n <= 20 for n in lengths.values()) or sizes[part] < 5
    report = statistics(world)
    assert {part: report[part]["sentences"] for part in PARTS} == sizes
    assert sum(report["topics"].values()) == train + dev + test
