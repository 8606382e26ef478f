"""SparseVector, Weights and their files."""

from __future__ import annotations

import gzip
import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hopefear._engine import hash64
from hypothesis import given
from hypothesis import strategies as st

from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, SparseVector, Weights, difference, sparse_vector

pytestmark = pytest.mark.engine

values = st.floats(-100, 100, width=32)
vectors = st.dictionaries(st.integers(1, 2**64 - 1) | st.integers(1, 20), values, max_size=30)


def make(entries: dict[int, float]) -> SparseVector:
    return SparseVector(
        np.array(list(entries), dtype=np.uint64), np.array(list(entries.values()), np.float32)
    )


def entries(vector: SparseVector) -> dict[int, float]:
    return dict(zip(vector.ids.tolist(), vector.values.tolist(), strict=True))


@given(vectors, vectors, st.floats(-3, 3))
def test_vector_arithmetic_is_that_of_dictionaries(
    a: dict[int, float], b: dict[int, float], factor: float
) -> None:
    x, y = make(a), make(b)
    assert entries(x) == a
    assert x.ids.tolist() == sorted(a)
    assert x.dot(y) == pytest.approx(sum(a[i] * b[i] for i in a if i in b))
    total = entries(x.plus(y, factor))
    for i in a.keys() | b.keys():
        expected = np.float32(a.get(i, 0) + factor * b.get(i, 0))
        assert total.get(i, 0.0) == pytest.approx(float(expected), abs=1e-6)
    assert x.norm1 == pytest.approx(sum(map(abs, a.values())))
    assert x.norm2 == pytest.approx(math.sqrt(sum(v * v for v in a.values())))
    assert x.max_norm == max(map(abs, a.values()), default=0)


@given(vectors, vectors)
def test_table_is_a_dictionary(a: dict[int, float], b: dict[int, float]) -> None:
    weights = Weights(make(a))
    for feature, value in b.items():
        weights[feature] = value
    expected = {**a, **b}
    assert entries(weights.vector()) == expected
    assert len(weights) == len(expected)
    assert weights.active == sum(v != 0 for v in expected.values())
    assert all(feature in weights for feature in expected)
    weights.drop_zeros()
    assert entries(weights.vector()) == {i: v for i, v in expected.items() if v}


@given(vectors, vectors, st.floats(-2, 2))
def test_table_dot_and_add(a: dict[int, float], b: dict[int, float], factor: float) -> None:
    weights, vector = Weights(make(a)), make(b)
    assert weights.dot(vector) == pytest.approx(make(a).dot(vector))
    weights.add(vector, factor)
    for i in a.keys() | b.keys():
        assert weights[i] == pytest.approx(a.get(i, 0) + factor * b.get(i, 0), abs=1e-4)


def test_duplicate_ids_are_summed() -> None:
    vector = SparseVector(np.array([7, 3, 7], np.uint64), np.array([1, 2, 4], np.float32))
    assert entries(vector) == {3: 2.0, 7: 5.0}


def test_views_are_not_copies_and_keep_their_owner() -> None:
    ids = sparse_vector({"a": 1.0}).ids  # the vector itself is freed
    assert ids.tolist() == [hash64(b"a")]
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 1


@pytest.mark.parametrize(("ids", "numbers"), [(np.int64, np.float32), (np.uint64, np.float64)])
def test_wrong_dtype_is_an_error(ids: type, numbers: type) -> None:
    with pytest.raises(TypeError):
        SparseVector(np.array([1], ids), np.array([1], numbers))


def test_lengths_must_agree_and_ids_are_not_zero() -> None:
    with pytest.raises(ValueError, match="as many values"):
        SparseVector(np.array([1], np.uint64), np.array([], np.float32))
    with pytest.raises(ValueError, match="not a valid feature id"):
        SparseVector(np.array([0], np.uint64), np.array([1], np.float32))
    with pytest.raises(ValueError, match="not a valid feature id"):
        Weights()[0] = 1.0


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("lm", 0x6BA70C8EB7CD2D9D),
        ("reorder.fwd.mono", 0x3869174C1E59FE61),
        ("rule:的→of", 0x44CBB5A557B5BCBB),
    ],
)
def test_the_hash_never_changes(name: str, id: int) -> None:
    """File formats contain ids."""
    assert hash64(name.encode()) == id


def test_names() -> None:
    weights = Weights({"lm": 0.5, "words": -1.0})
    assert weights["lm"] == 0.5
    assert weights["nobody"] == 0.0
    assert "lm" in weights
    assert "nobody" not in weights
    assert weights.names is not None
    assert len(weights.names) == 2  # look-up does not add a name
    assert list(weights.items()) == [("lm", 0.5), ("words", -1.0)]
    assert weights.top(1) == [("words", -1.0)]
    weights.drop_names()
    assert weights["lm"] == 0.5
    assert weights.top(1)[0][0].startswith("id:")


@pytest.mark.parametrize("name", ["", "a\tb", "a\nb"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="feature name"):
        FeatureNames().intern(name)


def test_average_and_difference() -> None:
    a, b = Weights({"x": 1.0, "y": 2.0}), Weights({"x": 3.0, "z": 4.0})
    assert dict(Weights.average([a, b]).items()) == {"x": 2.0, "y": 1.0, "z": 2.0}
    assert dict(Weights.average([a, b], [3, 1]).items()) == {"x": 1.5, "y": 1.5, "z": 1.0}
    assert dict(difference(a, b).items()) == {"x": -2.0, "y": 2.0, "z": -4.0}
    assert list(difference(a, a).items()) == []
    with pytest.raises(ValueError, match="no weights"):
        Weights.average([])
    with pytest.raises(ValueError, match="factors"):
        Weights.average([a], [0.0])


def test_average_of_many_is_exact_to_float() -> None:
    many = [Weights({"x": 0.1}) for _ in range(1000)]
    assert Weights.average(many)["x"] == np.float32(0.1)


def test_copy_is_independent() -> None:
    a = Weights({"x": 1.0})
    b = a.copy()
    b["x"] = 2.0
    b.scale(2)
    assert (a["x"], b["x"]) == (1.0, 4.0)
    assert a.norm(1) == 1.0


@pytest.mark.parametrize("name", ["w.tsv", "w.tsv.gz", "w.bin"])
def test_files_round_trip(tmp_path: Path, name: str) -> None:
    weights = Weights({"lm": 0.1, "p(f|e)": -1e-8, "字=word": 3.5e10, "zero": 0.0})
    path = tmp_path / name
    weights.save(path)
    first = path.read_bytes()
    again = Weights.load(path)
    assert list(again.items()) == list(weights.items())
    assert entries(again.vector()) == entries(weights.vector())
    again.save(path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]  # no temporary file left
    nameless = Weights.load(path, names=False)
    assert nameless.names is None
    assert nameless["lm"] == weights["lm"]


def test_nameless_text_round_trip(tmp_path: Path) -> None:
    weights = Weights({"lm": 0.5})
    weights.drop_names()
    weights.save(tmp_path / "w.tsv")
    assert Weights.load(tmp_path / "w.tsv")["lm"] == 0.5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lm", "w.tsv:2: expected name<TAB>value or 'name value', found 'lm'"),
        ("\t0.5", "w.tsv:2: expected name<TAB>value or 'name value'"),
        ("le chat noir", "w.tsv:2: weight of 'le chat' is 'noir', expected a finite number"),
        ("#tag\tx 1", None),  # no number after the tab: a comment
        ("lm\tmuch", "w.tsv:2: weight of 'lm' is 'much', expected a finite number"),
        ("lm\tnan", "w.tsv:2: weight of 'lm' is 'nan'"),
        ("lm\t0.5x", "w.tsv:2: weight of 'lm' is '0.5x'"),
        ("words\t1", "w.tsv:2: 'words' has a weight already"),
    ],
)
def test_bad_text(tmp_path: Path, line: str, message: str | None) -> None:
    path = tmp_path / "w.tsv"
    path.write_text(f"words\t1\n{line}\n")
    if message is None:
        assert dict(Weights.load(path).items()) == {"words": 1}
        return
    with pytest.raises(InputError) as error:
        Weights.load(path)
    assert message in str(error.value)


def test_text_of_cdec_and_moses(tmp_path: Path) -> None:
    """Blanks separate where there is no tab; a name with blanks is unambiguous either way."""
    path = tmp_path / "w.txt"
    path.write_text(
        "# objective 0.3\nGlue -0.5\n  Word Penalty   +2 \n\nLM= 1e-60\nPassThrough=-3\n"
        "a name\t0.25\n#hash\t7\n"
    )
    assert dict(Weights.load(path).items()) == {
        "#hash": 7.0,
        "Glue": -0.5,
        "LM": 0.0,
        "PassThrough": -3.0,
        "Word Penalty": 2.0,
        "a name": 0.25,
    }


def test_bad_binary(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    Weights({"lm": 0.5}).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="truncated"):
        Weights.load(path)
    packed = tmp_path / "w.tsv.gz"
    packed.write_bytes(gzip.compress(b"".join(b"f%d\t1\n" % i for i in range(1000)))[:-9])
    with pytest.raises(InputError, match="truncated gzip"):
        Weights.load(packed)
    packed.write_bytes(b"lm\t1\n")
    with pytest.raises(InputError, match="not a gzip file"):
        Weights.load(packed)


@pytest.mark.parametrize("name", ["w.tsv", "w.bin"])
def test_nan_is_never_saved(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"weight of 'lm' is -?nan"):
        Weights({"lm": math.nan}).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"caf\xe9", r"'caf\\xe9'"),
        (b"a\x1b[31mb", r"'a\\x1b\[31mb'"),
        (b"a\tb", r"'a\\tb'"),
        (b"next\xc2\x85line", r"'next\\xc2\\x85line'"),
        (b"\xed\xa0\x80", r"'\\xed\\xa0\\x80'"),
    ],
)
def test_names_that_are_not_valid(tmp_path: Path, name: bytes, shown: str) -> None:
    path = tmp_path / "w.tsv"
    path.write_bytes(b"lm\t1\n" + name + b"\t1\n")
    with pytest.raises(InputError, match=rf"w\.tsv:2: feature name {shown} is not valid") as error:
        Weights.load(path)
    assert str(error.value).isprintable()
    with pytest.raises(InputError, match=f"feature name {shown} is not valid, expected UTF-8"):
        Weights({name.decode("utf-8", "surrogateescape"): 1.0})


def test_an_underflow_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "w.tsv"
    path.write_bytes(b"caf\xc3\xa9\t1\ntiny\t1e-50\n")
    weights = Weights.load(path)
    assert weights["caf\u00e9"] == 1.0
    assert weights["tiny"] == 0.0
    weights.save(tmp_path / "again.tsv")
    assert (tmp_path / "again.tsv").read_bytes() == b"caf\xc3\xa9\t1\ntiny\t0\n"
    path.write_bytes(b"caf\xe9\0-and-so-on-" + 1000 * b"x")
    with pytest.raises(InputError, match=r"w\.tsv:1: .* found 'caf\\xe9\\x00-and-so-on-x+\.\.\.'$"):
        Weights.load(path)


@pytest.mark.parametrize("suffix", ["tsv", "bin"])
def test_file_names_that_are_not_utf8(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / os.fsdecode(b"w\xff." + suffix.encode())
    Weights({"lm": 0.5}).save(path)
    assert Weights.load(path)["lm"] == 0.5
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match=f"w\ufffd\\.{suffix}"):
        Weights.load(path)


def test_a_pipe(tmp_path: Path) -> None:
    """Detecting the format must not consume the input of a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"lm\t0.5\n",))
    writer.start()
    assert list(Weights.load(pipe).items()) == [("lm", 0.5)]
    writer.join()
