"""Splits."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hopefear.base.errors import OptionError
from hopefear.text.split import SplitSizes, assign, ending, split_files


def test_sizes_and_seed() -> None:
    sources = [f"sentence {i}" for i in range(100)]
    sizes = SplitSizes(dev=10, test=20, seed=3)
    parts = assign(sources, sizes)
    assert [parts.count(part) for part in ("train", "dev", "test", "dropped")] == [70, 10, 20, 0]
    assert assign(sources, sizes) == parts
    assert assign(sources, SplitSizes(dev=10, test=20, seed=4)) != parts
    # The same on every Python: a change here breaks everybody's splits.
    assert [i for i, part in enumerate(parts) if part == "dev"] == DEV_OF_SEED_3


DEV_OF_SEED_3 = [0, 8, 9, 24, 43, 64, 72, 79, 84, 94]


def test_no_source_in_two_parts() -> None:
    sources = [f"s {i % 30}" for i in range(120)]
    parts = assign(sources, SplitSizes(dev=10, test=10))
    where: dict[str, set[str]] = {}
    for source, part in zip(sources, parts, strict=True):
        if part != "dropped":
            where.setdefault(source, set()).add(part)
    assert all(len(found) == 1 for found in where.values())
    assert parts.count("dev") == parts.count("test") == 10
    kept = assign(sources, SplitSizes(dev=10, test=10, leakage="keep"))
    assert kept.count("train") == 100


def test_documents_stay_whole() -> None:
    documents = [f"d{i // 5}" for i in range(50)]
    parts = assign([str(i) for i in range(50)], SplitSizes(dev=7, test=5), documents)
    assert (parts.count("dev"), parts.count("test")) == (10, 5)
    for first in range(0, 50, 5):
        assert len(set(parts[first : first + 5])) == 1


def test_documents_and_leakage() -> None:
    documents = [f"d{i // 2}" for i in range(20)]
    sources = ["sí" if i % 2 else str(i) for i in range(20)]
    parts = assign(sources, SplitSizes(dev=1, test=2), documents)
    assert parts.count("test") == 2
    assert parts.count("dev") == 1  # its "sí" is in test
    assert parts.count("train") == 8
    assert parts.count("dropped") == 9


@pytest.mark.parametrize(
    ("lines", "sizes"),
    [(0, {"dev": 0, "test": 0}), (10, {"dev": 5, "test": 5}), (10, {"dev": 0, "test": 11})],
)
def test_too_much_is_refused(lines: int, sizes: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="leave no line"):
        assign([str(i) for i in range(lines)], SplitSizes(**sizes))


def test_all_the_same_is_refused() -> None:
    with pytest.raises(OptionError, match="only 0 lines are left for dev"):
        assign(["same"] * 10, SplitSizes(dev=1, test=1))
    with pytest.raises(OptionError, match="no line is left to train on"):
        assign(["same"] * 10, SplitSizes(dev=0, test=1))


def test_files(tmp_path: Path) -> None:
    (tmp_path / "all.fr").write_text("".join(f"f{i}\n" for i in range(30)))
    (tmp_path / "all.en.0").write_text("".join(f"e{i}\n" for i in range(30)))
    inputs = [tmp_path / "all.fr", tmp_path / "all.en.0"]
    digests = []
    for name in ("one", "two"):
        counts = split_files(inputs, tmp_path / name, SplitSizes(dev=4, test=0, seed=9))
        assert counts == {"train": 26, "dev": 4, "dropped": 0}
        files = sorted((tmp_path / name).iterdir())
        assert [f.name for f in files] == ["dev.en.0", "dev.fr", "train.en.0", "train.fr"]
        digests.append([hashlib.sha256(f.read_bytes()).hexdigest() for f in files])
        dev = [f.read_text().split() for f in files[:2]]
        assert [e[1:] for e in dev[0]] == [f[1:] for f in dev[1]]
    assert digests[0] == digests[1]


def test_names(tmp_path: Path) -> None:
    assert [ending(name) for name in ("a.fr", "x/a.b.fr.gz", "a.en.0")] == ["fr", "fr", "en.0"]
    with pytest.raises(OptionError, match="the file name has no ending"):
        ending("corpus")
    with pytest.raises(OptionError, match=r"a second file that ends in \.fr"):
        split_files(["a.fr", "b.fr"], tmp_path, SplitSizes())
    (tmp_path / "a.fr").write_text("x\ny\nz\n")
    with pytest.raises(OptionError, match="2 document names for 3 lines"):
        split_files([tmp_path / "a.fr"], tmp_path / "o", SplitSizes(dev=1, test=0), ["a", "b"])
    assert not (tmp_path / "o").exists()
    with pytest.raises(OptionError, match="the file name has no ending"):
        split_files(["-"], tmp_path, SplitSizes())


def test_an_input_is_not_replaced_by_its_part(tmp_path: Path) -> None:
    (tmp_path / "train.fr").write_text("".join(f"f{i}\n" for i in range(9)))
    (tmp_path / "all.en").write_text("".join(f"e{i}\n" for i in range(9)))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(OptionError, match=r"train\.fr: is an input .*give another directory"):
        split_files(
            [tmp_path / "all.en", tmp_path / "train.fr"], tmp_path, SplitSizes(dev=1, test=1)
        )
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
