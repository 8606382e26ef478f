"""The notebooks and plugins in examples/, run as their documentation says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., subprocess.CompletedProcess[str]]


def run(name: str, folder: Path, shared: Path | None = None, **edits: str) -> str:
    """Run a notebook as a script in a folder, with other values of some of its constants."""
    script = (EXAMPLES / name).read_text("utf-8")
    for constant, value in edits.items():
        script, count = re.subn(rf"^{constant} = .*", f"{constant} = {value}", script, flags=re.M)
        assert count == 1, constant
    (folder / name).write_text(script, "utf-8")
    done = subprocess.run(
        [sys.executable, name],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "HOPEFEAR_SHARED": str(shared or folder / "none")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("[!m]*.py")), ids=lambda path: path.stem)
def test_notebooks_consist_of_cells(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    for cell in text.split("# %% [markdown]\n")[1:]:
        markdown, _, code = cell.partition("\n# %%\n")
        assert all(line.startswith("#") for line in markdown.strip().splitlines())
        compile(code, path.name, "exec")


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neural")
    output = run("rerank_neural.py", folder)
    assert "tuned, 5 folds" in output
    assert "p: against hypotheses" in output
    return folder / "rerank-neural"


def test_hypotheses_of_a_speech_recogniser(tmp_path: Path) -> None:
    output = run("rerank_speech.py", tmp_path, SENTENCES="120")
    assert "tuned, 5 folds" in output
    assert "without" in output
    assert "p: against hypotheses" in output
    assert (tmp_path / "rerank-speech" / "report.json").exists()


@pytest.mark.golden
def test_real_lists_of_a_neural_system(shared: Path, tmp_path: Path) -> None:
    output = run("rerank_neural.py", tmp_path, shared)
    assert "1,014 lists" in output
    bleu = re.findall(r"^BLEU +\S+ +([\d.]+)|^ +first best +([\d.]+)", output, re.M)
    assert float(bleu[0][0]) > float(bleu[1][1]) + 2


def test_a_feature_is_written_and_learned(tmp_path: Path) -> None:
    output = run("write_feature.py", tmp_path)
    assert re.search(r"^ *-?0\.\d+  length-change:inside\|\+1$", output, re.M)
    assert "dense" in output


def test_a_study_compares_two_tuners(tmp_path: Path) -> None:
    output = run("compare_tuners.py", tmp_path, RUNS="2")
    assert "compared with mert" in output
    assert "s_run: standard deviation over 2 runs" in output
    assert "batch-mira {1,2}" in output


def test_reranking_improves_the_metric(lists: Path, hopefear: Run) -> None:
    entries = map(json.loads, (lists / "test.jsonl").read_text().splitlines())
    first = {entry["id"]: entry["text"] for entry in reversed(list(entries))}
    (lists / "first.en").write_text("".join(f"{first[n]}\n" for n in range(len(first))))
    words = ["score", lists / "reranked.en", "--refs", lists / "test.en", "--json"]
    report = json.loads(hopefear(*words, "--versus", lists / "first.en").stdout)
    assert report["bleu"] > report["versus"][0]["bleu"] + 5
    assert report["versus"][0]["p_value"] < 0.05


@pytest.mark.parametrize("tuner", ["batch-perceptron", "mert"])
def test_plugins_in_reranking(tuner: str, lists: Path, hopefear: Run, tmp_path: Path) -> None:
    words = ["rerank", "tune", "--nbest", lists / "dev.jsonl", "--refs", lists / "dev.en"]
    words += ["-o", tmp_path / "w.tsv", "--json", "--tuner", tuner, "--metric", "word-f"]
    words += ["--plugin", EXAMPLES / "my_tuner.py", EXAMPLES / "my_metric.py"]
    options = ["--metric-set", "beta=2", *(["--set", "passes=5"] if "batch" in tuner else [])]
    done = hopefear(*words, *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["first_best"] < report["tuned"] <= report["oracle"]


def test_plugins_in_config_files(lists: Path, hopefear: Run, tmp_path: Path) -> None:
    words = ["rerank", "tune", "--nbest", lists / "dev.jsonl", "--refs", lists / "dev.en"]
    words += ["-o", tmp_path / "w.tsv", "--config", tmp_path / "c.toml"]
    plugin = f'plugin = ["{EXAMPLES / "my_tuner.py"}"]'
    text = '[rerank.tune]\ntuner = "batch-perceptron"\n%s\n[rerank.tune.batch-perceptron]\n%s\n'
    (tmp_path / "c.toml").write_text(text % (plugin, "passes = 2"))
    assert hopefear(*words).returncode == 0
    (tmp_path / "c.toml").write_text(text % (plugin, "passes = 0"))
    assert "passes" in hopefear(*words).stderr
    (tmp_path / "c.toml").write_text(text % ("", "passes = 2"))
    done = hopefear(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_plugin_system(hopefear: Run, hopefear_process: Run, tmp_path: Path) -> None:
    sizes = ["--train", "100", "--dev", "1", "--test", "5"]
    assert hopefear("world", "-o", tmp_path, *sizes).returncode == 0
    words = ["--model", tmp_path / "m", "--plugin", EXAMPLES / "my_system.py", "--tokenized"]
    texts = [tmp_path / "train.zh", tmp_path / "train.en"]
    options = ["--system", "monotone", "--longest", "2", "--order", "2"]
    done = hopefear_process("train", *texts, *words, *options)
    assert done.returncode == 0, done.stderr
    source = (tmp_path / "test.zh").read_text()
    done = hopefear("translate", *words, "--nbest", "5", "--nbest-out", "-", "-o", tmp_path / "out",
                    "--trace", input=source)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        phrases = [phrase.partition("=")[0] for phrase in line.split(" ||| ")[4].split()]
        starts = [tuple(map(int, phrase.split("-"))) for phrase in phrases]
        assert starts == sorted(starts)
        assert all(ends[-1] - ends[0] < 2 for ends in starts)


def test_a_model_of_moses(hopefear: Run, tmp_path: Path) -> None:
    output = run("tune_moses.py", tmp_path)
    work = tmp_path / "tune-moses"
    assert "TranslationModel0_4" in output
    assert (work / "after.out").read_text().count("\n") == 60
    assert "word-f" not in output

    # The tuner and the metric of the examples, in the loop.
    words = ["tune", "--model", work / "model", "--dev", work / "dev.source", "--tokenized"]
    words += ["--refs", work / "dev.reference", "-o", tmp_path / "mine", "--json"]
    words += ["--tuner", "batch-perceptron", "--metric", "word-f", "--iterations", "2"]
    words += ["--plugin", EXAMPLES / "my_tuner.py", EXAMPLES / "my_metric.py"]
    words += ["--set", "eta=0.001", "metric.beta=2", "--beam", "30"]
    done = hopefear(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["iterations"] == 2
    page = ["report", tmp_path / "mine", "--no-translations", "-o", tmp_path / "report.html"]
    assert "unknown metric 'word-f'" in hopefear(*page).stderr
    done = hopefear(*page, "--plugin", EXAMPLES / "my_metric.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.golden
def test_the_tuned_model_of_moses(shared: Path, tmp_path: Path) -> None:
    golden = shared / "golden" / "moses" / "decode"
    names = {"INI": "moses.ini", "SOURCE": "input.fr", "REFERENCE": "reference.en"}
    files = {key: f'Path("{golden / name}")' for key, name in names.items()}
    output = run("tune_moses.py", tmp_path, **files)
    assert "LexicalReordering0_6" in output
    assert (tmp_path / "tune-moses" / "after.out").read_text().count("\n") == 100
