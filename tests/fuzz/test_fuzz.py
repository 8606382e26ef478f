"""A short run of the fuzzer, and what longer ones found."""

from __future__ import annotations

import struct
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzz import fuzz, judge
from fuzz_mutate import case, checksum, resealed
from fuzz_readers import CALLS, READERS

from hopefear.weights import Weights

pytestmark = pytest.mark.engine
INPUTS = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def outcome(name: str, folder: Path, data: bytes) -> str:
    reader = READERS[name]
    path = folder / reader.file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(reader.read, path)[0]


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused(name: str, folder: Path) -> None:
    reader = READERS[name]
    samples = reader.samples(folder)
    for sample in samples:
        reader.read(_written(folder / reader.file, sample))
    for number in range(INPUTS // 5 if name.startswith("model/") else INPUTS):
        data = case(samples, f"0 {name} {number}", binary=reader.binary)
        assert outcome(name, folder, data) == "", f"input {number} of seed 0"
    _written(folder / reader.file, samples[0])  # the others of a model go on


def _written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


FOUND: list[tuple[str, bytes]] = [
    ("phrase-table", b"a ||| b ||| 0." + b"[" * 20_000 + b"\n"),
    ("phrase-table", b"a ||| b ||| 0.5 ||| ||| " + b"[" * 20_000 + b"\n"),
    ("openfst", b"0 1e39\n"),
    ("openfst", b"0 1 a\n1 1e39" + b"(" * 40_000 + b"\n"),
    ("moses-hypergraph", b"-1"),
    ("moses-hypergraph", b"4 \n1\n||||||4709551616"),
    ("cdec-forest", b'{"edges":[{"spans":[0,-0.5]}],"node":{"in_edges":[0]}}'),
    ("json-forest", b'{"nodes": [{"covered": 4294967296}]}'),
    ("json-forest", b'{"nodes": [{"coverage": [9223372036854775807]}]}'),
    ("json-forest", b'{"nodes": 4294967295}'),
    ("json-forest", b'{"nodes": 1, "edges": [{"head": 0, "target": [1e999]}]}'),
    ("json-forest", b'{"nodes": 1, "goal": 18446744073709551616}'),
    ("json-forest", b'{"a":' * 100_000),
    ("nbest-json", b'{"a":' * 1000),
    ("metrics.jsonl", b"\xf5"),
    ("metrics.jsonl", b"[" * 100_000),
    ("alignments", b"# Sentence pair (1) source length " + b"9" * 5000 + b" target length 3\n\n\n"),
    (
        "alignments",
        b"# Sentence pair (1) source length 1 target length 1\na\nNULL ({ }) x ({ "
        + b"9" * 5000
        + b" })\n",
    ),
    ("align/align.toml", b"format = " + b"9" * 5000),
    ("config", b"a = " + b"[" * 100_000),
    ("moses.ini", b"[feature]\nWordPenalty\n[weight]\nWordPenalty0= 3" + b"x" * 16_000 + b"\n"),
    ("cdec.ini", b"formalism=scfg\nscfg_max_span_limit=" + b"9" * 5000 + b"\n"),
    ("cdec.ini", b"formalism=scfg\nadd_pass_through_rules=" + b"9" * 5000 + b"\n"),
    ("cdec.ini", b"formalism=scfg\nfeature_function='\n"),
    ("cdec.ini", b"formalism=scfg\n" + b"ature_fu" * 100_000 + b"=1\n"),
    ("clusters", b"01\ta\t" + b"9" * 5000 + b"\n"),
]


@pytest.mark.parametrize(("name", "data"), FOUND)
def test_what_was_found(name: str, data: bytes, tmp_path: Path) -> None:
    READERS[name].samples(tmp_path)
    assert outcome(name, tmp_path, data) == ""


def test_a_rule_table_that_says_nonsense_of_its_making(tmp_path: Path) -> None:
    (sample, *_) = READERS["rules-binary"].samples(tmp_path)
    at = sample.index(b'"made_by"')
    assert outcome("rules-binary", tmp_path, resealed(sample[:at] + b"\1" + sample[at + 1 :])) == ""


def test_checksums_are_those_of_the_engine(tmp_path: Path) -> None:
    """Else every damaged binary file would be refused for its checksum alone."""
    path = tmp_path / "w.bin"
    Weights({"lm": 0.5}).save(path)
    data = path.read_bytes()
    front = data[:32] + bytes(8) + data[40 : 64 + 24 * 48]
    assert struct.unpack_from("<Q", data, 32) == (checksum(front),)
    assert resealed(data) == data
    for name, reader in READERS.items():
        if reader.binary:
            for sample in reader.samples(tmp_path):
                assert resealed(sample) == sample, name


def test_the_runner_sees_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, a crash and a hang, told apart, and the inputs after them are read."""
    monkeypatch.setenv(CALLS, str(tmp_path / "calls"))
    count, cpu, failures = fuzz("self-test", inputs=6, seed=1, limit=3.0)
    assert count == 6
    assert cpu > 0
    found = {failure.number: failure.what for failure in failures}
    assert "ZeroDivisionError" in found[1]
    assert "SIGSEGV" in found[2]
    assert "no end after 3 seconds" in found[3]
    assert "MemoryError" in found[4]
    assert "message" in found[5]
    assert set(found) == {1, 2, 3, 4, 5}
