"""train, translate and inspect with a small hierarchical model of the world."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.model.directory import Model
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.text.world import generate, write

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    """A directory with a corpus and a model of each system."""
    folder = tmp_path_factory.mktemp("world")
    write(generate(train=400, dev=5, test=20, seed=2), folder)
    for system in ("hiero", "phrase"):
        words = ["train", folder / "train.zh", folder / "train.en", "--system", system]
        result = hopefear(*words, "--model", folder / system, "--tokenized", "--order", "3")
        assert result.returncode == 0, result.stderr
    return folder


def test_threads_and_lists(world: Path, hopefear: Run, tmp_path: Path) -> None:
    outputs = []
    for threads in ("1", "3"):
        files = [tmp_path / f"{name}.{threads}" for name in ("text", "nbest")]
        words = ["translate", "--model", world / "hiero", "-i", world / "test.zh", "--tokenized"]
        words += ["-o", files[0], "--nbest", "20", "--distinct", "--nbest-out", files[1]]
        result = hopefear(*words, "--trace", "--trace-alignment", "--threads", threads)
        assert result.returncode == 0, result.stderr
        outputs.append([path.read_bytes() for path in files])
    assert outputs[0] == outputs[1]
    lists = [line.split(b" ||| ") for line in outputs[0][1].splitlines()]
    assert len({(row[0], row[1]) for row in lists}) == len(lists)
    arity = [row[2].split() for row in lists]
    for found in arity:
        values = dict(zip(found[::2], map(float, found[1::2]), strict=True))
        assert values[b"arity0="] - values[b"arity2="] == 1


@pytest.mark.parametrize("system", ["hiero", "phrase"])
@pytest.mark.parametrize("rule", ["mbr", "max_translation"])
def test_scaling_the_weights_changes_no_translation(world: Path, system: str, rule: str) -> None:
    """Weights divided by 8 give the same translations under each decision rule."""
    model = Model.load(world / system)
    lines = (world / "test.zh").read_text().splitlines()[:10]
    options = TranslateOptions(
        tokenized=True, samples=100 if rule != "mbr" else None, **{rule: True}
    )
    weights = model.weights()
    short = Weights({name: value / 8 for name, value in weights.items()})
    texts = [
        [found.text for found in Translator(model, weights=given, options=options).translate(lines)]
        for given in (weights, short)
    ]
    assert texts[0] == texts[1]
    short["lm"] = -0.1
    with pytest.raises(OptionError, match=r"weight is -0\.1, so there is no default"):
        Translator(model, weights=short, options=options)
