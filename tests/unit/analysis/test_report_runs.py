"""Reading run directories as systems, and errors for other directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_runs import write_run

from hopefear.analysis.report.learning import learning
from hopefear.analysis.report.runs import Run, heaviest, read_systems
from hopefear.base.errors import InputError, OptionError
from hopefear.learn.loop.run import write_config


def test_a_run(tmp_path: Path) -> None:
    run = Run(write_run(tmp_path / "run"))
    assert run.tuner == "mira"
    assert run.finished
    assert run.chosen == 1
    assert run.seconds == [1, 2, 3]
    assert run.weights["lm"] == 2


def test_a_metric_where_lower_is_better(tmp_path: Path) -> None:
    run = Run(write_run(tmp_path / "run", (60, 50, 55), more={"metric": {"name": "ter"}}))
    assert run.chosen == 1
    assert run.quality == -50


def test_the_held_out_set_chooses(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    records = [{**line, "heldout_score": n} for n, line in enumerate(lines)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert Run(path).chosen == 2
    assert "held out" in learning(read_systems([path]))


def test_chosen_weights_in_the_state(tmp_path: Path) -> None:
    for name, chosen in (("a", 3), ("b", 1), ("c", None)):
        path = write_run(tmp_path / name, (20.0, 25.0, 23.0, 24.0))
        if chosen is not None:
            state = {"phase": "finished", "iteration": 2, "chosen": chosen}
            (path / "checkpoint").mkdir(exist_ok=True)
            (path / "checkpoint" / "state.json").write_text(json.dumps(state))
        lines = (path / "metrics.jsonl").read_text().splitlines()
        mean = {**json.loads(lines[3]), "mean_of": [1, 2]}
        (path / "metrics.jsonl").write_text("\n".join([*lines[:3], json.dumps(mean)]) + "\n")
        run = Run(path)
        assert run.chosen == (1 if chosen is None else chosen)
        assert run.which == ("mean of 1 to 2" if chosen == 3 else "1 of 2")


def test_runs_of_one_system(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / name, scores) for name, scores in
             (("a1", (1, 2)), ("a2", (1, 3)), ("b1", (1, 4)), ("b2", (1, 2)))]  # fmt: skip
    systems = read_systems(paths, group=2, names=["a", "b"])
    assert [(s.name, len(s.runs), s.best) for s in systems] == [("a", 2, 1), ("b", 2, 0)]
    drawn = learning(systems)
    assert "bands the range" in drawn
    assert "run 2" in drawn


def test_a_directory_of_several_runs(tmp_path: Path) -> None:
    for number in (1, 2):
        write_run(tmp_path / "many" / f"run-{number}")
    write_config(tmp_path / "many" / "config.toml", {"runs": 2})
    (system,) = read_systems([tmp_path / "many"])
    assert (system.name, len(system.runs)) == ("many", 2)
    write_config(tmp_path / "many" / "config.toml", {"runs": 3})
    with pytest.raises(InputError, match="run-3: this run has not begun"):
        read_systems([tmp_path / "many"])


def test_unique_names(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / a / b) for a, b in (("x", "run"), ("y", "run"), ("y", "other"))]
    assert [s.name for s in read_systems(paths)] == ["x/run", "y/run", "y/other"]
    assert [s.name for s in read_systems([paths[0]] * 2)][1].endswith("(2)")


def test_bad_runs(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    with pytest.raises(InputError, match=r"has no config.toml"):
        read_systems([tmp_path])
    with pytest.raises(OptionError, match="do not divide into groups of 2"):
        read_systems([run], group=2)
    with pytest.raises(OptionError, match="2 names for 1 systems"):
        read_systems([run], names=["a", "b"])
    (run / "metrics.jsonl").write_text('{"iteration": 0, "score": NaN}\n')
    with pytest.raises(InputError, match=r"metrics.jsonl:1: score is nan, expected a"):
        read_systems([run])
    (run / "metrics.jsonl").write_text("")
    with pytest.raises(InputError, match="no iteration is finished"):
        read_systems([run])


def test_an_iteration_that_was_not_decoded_yet(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", (20.0, 25.0), phase="optimised")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 2, "objective": 1.0, "change": 0.1}\n')
    read = Run(run)
    assert len(read.records) == 2
    assert not read.finished


def test_heaviest_features_by_share(tmp_path: Path) -> None:
    small = [
        {"lm": 0.1, "words": 0.3, "unknown": -100.0},
        {"lm": 0.3, "words": -0.1, "unknown": -100.0},
    ]
    large = [{"lm": 1.0, "tm": 9.0}, {"lm": 1.0, "tm": 9.5}]
    paths = [
        write_run(tmp_path / name, (20, 25), weights=weights)
        for name, weights in (("a", small), ("b", large))
    ]
    features = heaviest(read_systems(paths), 10)
    assert [feature.name for feature in features] == ["tm", "lm", "words", "unknown"]
    by_name = {feature.name: feature for feature in features}
    assert by_name["lm"].path[0] == pytest.approx([0.25, 0.75])  # 'unknown' was not learned
    assert by_name["unknown"].path[0] is None
    assert by_name["words"].path[0] == pytest.approx([0.75, -0.25])
    assert by_name["tm"].final == pytest.approx([0, 9.5])
    assert len(heaviest(read_systems(paths), 2)) == 2
