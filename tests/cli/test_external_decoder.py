"""Hopefear's decoder, used as an external decoder."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base import registry
from hopefear.base.weights import Weights
from hopefear.decode.remote.external import ExternalDecoder, ExternalOptions
from hopefear.forest import kbest
from hopefear.model.directory import Model

pytestmark = pytest.mark.skipif(
    not {"translate", "tune"} <= set(registry.names("command")),
    reason="COMMANDS ABSENT: translate and tune are not in this version",
)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    """A small world and a model of it."""
    folder = tmp_path_factory.mktemp("foreign")
    commands = [
        ["world", "-o", "w", "--train", "300", "--dev", "12", "--test", "4"],
        ["train", "w/train.zh", "w/train.en", "--model", "m", "--tokenized", "--order", "3"],
    ]
    for words in commands:
        done = hopefear(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def translate(folder: Path) -> str:
    program = f"{shlex.quote(sys.executable)} -m hopefear translate"
    model = shlex.quote(str(folder / "m"))
    return (
        f"{program} --model {model} --weights {{weights}} --tokenized -i {{input}} "
        "--nbest {k} --nbest-out {nbest} -o /dev/null --threads {threads}"
    )


def test_lists_equal_those_of_the_internal_decoder(folder: Path) -> None:
    model = Model.load(folder / "m")
    weights = model.weights()
    own = model.decoder()
    lines = (folder / "w" / "dev.zh").read_text(encoding="utf-8").splitlines()[:4]
    external = ExternalDecoder(ExternalOptions(command=translate(folder), k=5))
    forests = list(external.forests(lines, weights))
    assert len(forests) == 4
    for line, forest in zip(lines, forests, strict=True):
        expected = kbest(own.forest(line, weights), weights, 5)
        derivations = kbest(forest, weights, 5)
        assert derivations[0].text == expected[0].text
        assert [d.score for d in derivations] == pytest.approx(
            [d.score for d in expected], abs=1e-3
        )


def test_different_weights_give_different_translations(folder: Path) -> None:
    lines = (folder / "w" / "dev.zh").read_text(encoding="utf-8").splitlines()[:2]
    external = ExternalDecoder(ExternalOptions(command=translate(folder), k=1))
    texts = []
    for words in (3.0, -3.0):
        weights = Weights(dict(Model.load(folder / "m").weights().items()))
        weights["words"] = words
        texts.append([kbest(f, weights, 1)[0].text for f in external.forests(lines, weights)])
    assert sum(map(len, texts[0])) > sum(map(len, texts[1]))


def test_tuning_from_the_command_line(folder: Path, hopefear: Run) -> None:
    Model.load(folder / "m").weights().save(folder / "start.tsv")
    done = hopefear(
        "tune", "--decoder", translate(folder), "--weights", "start.tsv", "--tokenized",
        "--dev", "w/dev.zh", "--refs", *(f"w/dev.en.{i}" for i in range(4)), "--tuner", "pro",
        "-o", "run", "--iterations", "2", "--kbest", "20", "--json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "weights.tsv").is_file()
    broken = hopefear(
        "tune", "--decoder", "echo no licence >&2; exit 4 # {weights}", "--weights", "start.tsv",
        "--tokenized", "--dev", "w/dev.zh", "--refs", "w/dev.en.0", "--tuner", "pro", "-o", "run2",
        cwd=folder,
    )  # fmt: skip
    assert broken.returncode == 2
    assert "exit code 4; its last line: no licence" in broken.stderr


DECODER = """\
import sys

config, count = open(sys.argv[1]).read(), len(sys.stdin.readlines())
assert "[weight]" in config
for number in range(count):
    for words, lm, tm in (("a b c d", -1, -3), ("a b x d", -2, -1)):
        print(f"{number} ||| {words} ||| LM0= {lm} TM0= {tm} 0.5 ||| 0")
"""
INI = """\
# kept
[feature]
KENLM name=LM0 path=lm.arpa

[weight]
LM0= 0.1
TM0= 0.5 0.1
"""


def test_the_tuned_moses_ini(tmp_path: Path, hopefear: Run) -> None:
    """The run directory has the decoder's moses.ini with the tuned weights in place."""
    (tmp_path / "decoder.py").write_text(DECODER)
    (tmp_path / "moses.ini").write_text(INI)
    (tmp_path / "dev").write_text("u v\nw x\n")
    (tmp_path / "refs").write_text("a b c d\na b c d\n")
    decoder = f"{shlex.quote(sys.executable)} decoder.py {{config}} < {{input}}"
    words = ["tune", "--tuner", "mert", "-o", "run", "--tokenized", "--dev", "dev"]
    words += ["--refs", "refs", "--options", "config=moses.ini", "--iterations", "2"]
    words += ["--decoder", decoder]
    result = hopefear(*words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "wrote run/moses.ini" in result.stderr
    text = (tmp_path / "run/moses.ini").read_text()
    assert text.startswith(INI.partition("LM0= ")[0])
    weights = Weights.load(tmp_path / "run/weights.tsv")
    rows = dict(line.split("= ") for line in text.splitlines() if "= " in line)
    assert float(rows["LM0"]) == pytest.approx(weights["LM0"])
    assert [float(value) for value in rows["TM0"].split()] == pytest.approx(
        [weights["TM0_1"], weights["TM0_2"]]
    )
    assert rows != {"LM0": "0.1", "TM0": "0.5 0.1"}
