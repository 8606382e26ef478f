"""JSON lines are read by the engine as Python's json module reads them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.base.errors import InputError
from hopefear.forest.io import NbestList, read_nbest
from hopefear.learn.pool.candidate_builder import entries

pytestmark = pytest.mark.engine

numbers = st.one_of(
    st.integers(-(10**6), 10**6), st.floats(-1e30, 1e30), st.sampled_from([0.0, -0.0, 1e-320])
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), min_size=1).filter(
    lambda name: not any(c.isspace() for c in name)
)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
records = st.fixed_dictionaries(
    {"id": st.one_of(st.integers(0, 3), st.sampled_from(["a", "é\n", '"'])), "text": texts},
    optional={
        "features": st.one_of(st.none(), st.dictionaries(names, numbers, max_size=4)),
        "score": st.one_of(st.none(), numbers),
        "scores": st.dictionaries(texts, numbers, max_size=3),
        "utilities": st.lists(numbers, max_size=3),
        "extra": st.recursive(
            st.one_of(st.none(), st.booleans(), st.text(st.characters(codec="utf-8"))),
            lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner)),
            max_leaves=5,
        ),
    },
)


def contents(lists: list[NbestList]) -> list[object]:
    result: list[object] = []
    for found in lists:
        vectors = [
            (d.text, sorted(zip(d.features.ids.tolist(), d.features.values.tolist(), strict=True)))
            for d in entries(found.forest)
        ]
        named = {name: repr(column.tolist()) for name, column in found.named.items()}
        utilities = [row.tolist() for row in found.utilities]
        result.append((found.id, vectors, repr(found.scores.tolist()), named, utilities))
    return result


@given(st.lists(records, max_size=6), st.booleans(), st.sampled_from([",", " ,\t"]))
@settings(max_examples=150, deadline=None)
def test_a_file_is_read_like_its_objects(
    tmp_path_factory: pytest.TempPathFactory, entries: list, ascii: bool, comma: str
) -> None:
    path = tmp_path_factory.mktemp("json") / "lists.jsonl"
    lines = [json.dumps(e, ensure_ascii=ascii, separators=(comma, ": ")) for e in entries]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    assert contents(list(read_nbest(path))) == contents(list(read_nbest(path, entries=entries)))


WRONG = {
    '{"id": 0, "text": "a"': "not a JSON object",
    '{"id": 0, "text": "a"} x': "not a JSON object",
    '{"id": 0, "text": "a\t"}': "not a JSON object",
    '{"id": 0, "text": "\\ud800"}': "surrogates not allowed",
    "[1]": "the line is [1], expected an object",
    '{"text": "a"}': '"id" is null',
    '{"id": 1.5, "text": "a"}': '"id" is 1.5',
    '{"id": 0, "text": 3}': '"text" is 3, expected a string',
    '{"id": 0, "text": "a", "features": [1]}': '"features" is [1], expected an object',
    '{"id": 0, "text": "a", "features": {"x": "1"}}': "feature 'x' is \"1\"",
    '{"id": 0, "text": "a", "features": {"x": 1e39}}': "feature 'x' is 1e+39",
    '{"id": 0, "text": "a", "features": {"x": 1, "x": 2}}': "a feature occurs twice",
    '{"id": 0, "text": "a", "scores": {"x": true}}': "score 'x' is true",
    '{"id": 0, "text": "a", "score": Infinity}': '"score" is Infinity',
    '{"id": 0, "text": "a", "utilities": [NaN]}': '"utilities" is [NaN]',
    '{"id": 0, "id": 1, "text": "a"}': "a key twice",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text('{"id": 0, "text": "right"}\n\n' + line + "\n")
    with pytest.raises(InputError) as error:
        list(read_nbest(path))
    assert str(error.value).startswith(f"{path}:3: ")
    assert WRONG[line] in str(error.value)


def test_missing_scores_are_nan(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(
        '{"id": 0, "text": "a", "scores": {"x": 1}}\n{"id": 0, "text": "b", "scores": {"y": 2}}\n'
    )
    (found,) = read_nbest(path)
    assert list(found.named) == ["x", "y"]
    assert found.named["x"][0] == 1
    assert math.isnan(found.named["x"][1])
    assert np.isnan(found.scores).all()
