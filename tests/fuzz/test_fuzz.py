"""A short run of the fuzzer, and what longer ones found."""

from __future__ import annotations

import argparse
import os
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzz import Failure, Log, digest_of, fuzz, judge, run
from fuzz_directories import MODEL
from fuzz_mutate import case, checksum, resealed
from fuzz_readers import CALLS, READERS

from hopefear.base.errors import HopefearError
from hopefear.base.weights import Weights

pytestmark = pytest.mark.engine
INPUTS, OF_COMMANDS = 100, 20  # a command takes longer than a reader


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
    for number in range(OF_COMMANDS if name.startswith(("use/", "resume/")) else INPUTS):
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
    ("run/metrics.jsonl", b"\xf5"),
    ("run/metrics.jsonl", b"[" * 100_000),
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
    ("nbest-json", b'{"id": 3, "text": "\\ud800"}'),
    ("nbest-json", b'{"id": "\\ud800", "text": "a"}'),
    ("plf-log", b"((('a'," + b"9" * 400 + b",1),),)\n"),
    (
        "moses-graph",
        b"0 hyp=2 stack=0 back=0 transition=1 covered=1-1\n"
        b"0 hyp=4 stack=2 back=1 transition=0 covered=1-1\n"
        b"0 hyp=1 stack=2 back=2 transition=3 recombined=4 covered=0-0",
    ),
    ("moses-hypergraph", b"1\n1\na ||| b=1 ||| -1\n"),
    ("markup", b"&#" + b"9" * 5000 + b";\n"),
    ("markup", b"<" + b"a" * 5000 + b"\n"),
    ("config", b"[tune]\ntolerance = " + b"9" * 400 + b"\n"),
    ("config", b"[tune]\n" + b"a." * 20_000 + b"b = 1\n"),
    ("config", b'[tune]\ntuner = "' + b"x" * 100_000 + b'"\n'),
    ("run/config.toml", b"tuner = 1\n"),
    ("run/config.toml", b"[metric]\nname = 1\n"),
    ("run/config.toml", b"[files]\ndev = 1\n"),
    ("run/config.toml", b"runs = 1e9\n"),
    ("run/metrics.jsonl", b'{"score": 1, "bleu": 1, "length_ratio": 1}\n'),
    ("run/metrics.jsonl", b'{"iteration": 1, "change": "x"}\n'),
    (
        "run/metrics.jsonl",
        b'{"iteration": 1, "score": 1, "bleu": 1, "length_ratio": 1, "mean_of": [0, 1]}\n',
    ),
    ("run/state.json", b"[]"),
    ("run/state.json", b"[" * 100_000),
    ("run/tuner.npz", b"PK"),
    ("run/candidates.npz", b"\x93NUMPY"),
    ("run/fired.npz", b""),
    ("use/inspect-model.toml", b'format = 1\nsystem = "phrase"\n[training]\nsource = "s"\n'),
    (
        "use/inspect-model.toml",
        MODEL.replace('language = "fr"', "language = [1]").encode(),
    ),
    (
        "use/inspect-model.toml",
        MODEL.replace("lm_tokens = 9", 'lm_tokens = 9\nseconds = "x"').encode(),
    ),
    ("use/rerank-moses", b"0 ||| a ||| caf\xe9= 1 b\x1b= 2 ||| 1\n"),
    ("use/rerank-cdec", b"0 ||| a ||| caf\xe9=1 ||| 1\n"),
    ("use/rerank-weights", b"caf\xe9\t1\n"),
    ("use/model-weights", b"b\x1b\t1\n"),
]


@pytest.mark.parametrize(("name", "data"), FOUND)
def test_earlier_findings_stay_fixed(name: str, data: bytes, tmp_path: Path) -> None:
    READERS[name].samples(tmp_path)
    assert outcome(name, tmp_path, data) == ""


def test_rule_table_with_a_nonsensical_header(tmp_path: Path) -> None:
    (sample, *_) = READERS["rules-binary"].samples(tmp_path)
    at = sample.index(b'"made_by"')
    assert outcome("rules-binary", tmp_path, resealed(sample[:at] + b"\1" + sample[at + 1 :])) == ""


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ("folds = 2", "folds = 4294967295"),
        ("folds = 2", "folds = 0.5"),
        ("text.target", "other.target"),
        ("beam = 10", "distortion_limit = 2147483648"),
        ("beam = 10", "table_limit = 18446744073709551616"),
        ('lm = "lm.bin"', 'lm = "\\n"'),
        ("[decoder]", "[decoder.features]\nwords = {name = 'w', factor = 3e38}\n[decoder]"),
    ],
)
def test_model_with_nonsensical_metadata(found: str, instead: str, tmp_path: Path) -> None:
    (sample, *_) = READERS["model/model.toml"].samples(tmp_path)
    assert found.encode() in sample
    data = sample.replace(found.encode(), instead.encode())
    path = _written(tmp_path / READERS["model/model.toml"].file, data)
    with pytest.raises(HopefearError) as raised:
        READERS["model/model.toml"].read(path)
    assert "\n" not in str(raised.value)


def _changed(sample: bytes, section: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A binary file of ours with another content of a section."""
    at = next(at for at in range(64, 64 + 24 * 48, 48) if sample[at:].startswith(section + b"\0"))
    begin, size = struct.unpack_from("<QQ", sample, at + 16)
    content = change(sample[begin : begin + size])
    assert len(content) == size
    return resealed(sample[:begin] + content + sample[begin + size :])


@pytest.mark.parametrize(
    ("name", "section", "change"),
    [
        ("model/rules.bin", b"columns", lambda text: b"\xbf" + text[1:]),
        ("model/hiero-rules.bin", b"scores", lambda scores: b"\xff" * len(scores)),
        # Every source phrase has the rules of another, which may be longer.
        ("model/rules.bin", b"rules", lambda rules: rules[24:] + rules[:24]),
    ],
)
def test_a_rule_table_of_which_parts_do_not_fit(
    name: str, section: bytes, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Links of a rule at a wrong source phrase led out of the sentence."""
    (sample,) = READERS[name].samples(tmp_path)
    assert outcome(name, tmp_path, _changed(sample, section, change)) == ""


def test_run_resumes_from_its_log(tmp_path: Path) -> None:
    """And an input that failed is read again, and forgotten if it no longer fails."""
    log = Log(tmp_path / "log", 1)
    given = argparse.Namespace(inputs=30, seed=1, seconds=1e9, limit=30.0)
    digest = digest_of("plf")
    log.add("plf", digest, 20, 1.0, [Failure("plf", 3, "a hang of before", "hang")])
    count, _, failed = run("plf", Log(tmp_path / "log", 1), given)
    assert (count, failed) == (30, [])
    rows = list(Log(tmp_path / "log", 1).table())
    assert [row.split(" | ")[:2] for row in rows[2:]] == [["| plf", "30"], ["| all", "30"]]
    assert Log(tmp_path / "log", 1).state("plf", "other samples")[0] == 0


def test_samples_are_always_the_same() -> None:
    """Else a number and a seed would not name an input."""
    for name in ("model/model.toml", "model/rules.bin", "align/align.bin", "run/tuner.npz", "pool"):
        assert digest_of(name) == digest_of(name), name


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


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan has its own ways with memory"
)
def test_runner_reports_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
