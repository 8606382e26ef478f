"""Tuning runs as text: the outcome of a run, and a run directory for `hopefear inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopefear.base.console import Console, table
from hopefear.base.progress import duration


def show_outcome(report: Mapping[str, Any], console: Console) -> None:
    """Print the outcome of a run: its weights, score and time, and a table of repeated runs."""
    from hopefear.learn.loop.base import name_of
    from hopefear.model.run import short_name

    if "runs" in report:
        rows = [
            (
                f"run {number}",
                f"{run['dev_bleu']:.2f}",
                short_name(run["best_iteration"], run.get("mean_of")),
                str(run["iterations"]),
                duration(run["seconds"]),
            )
            for number, run in enumerate(report["runs"], 1)
        ]
        header = ("", "dev BLEU", "result", "iterations", "time")
        console.print(table(rows, header) + "\n")
        console.print(
            f"mean {report['dev_bleu_mean']:.2f}, standard deviation "
            f"{report['dev_bleu_deviation']:.2f}"
        )
    for number, run in enumerate(report.get("runs", [report]), 1):
        if "steps" in run:
            label = f"run {number}: " if "runs" in report else ""
            rows = [
                (
                    label + step["step"],
                    step["tuner"],
                    f"{step['dev_bleu']:.2f}",
                    f"{step['active_features']:,}",
                    duration(step["seconds"]),
                )
                for step in run["steps"]
            ]
            console.print(table(rows, ("step", "tuner", "dev BLEU", "features", "time")) + "\n")
    chosen = name_of({"iteration": report["best_iteration"], "mean_of": report.get("mean_of")})
    stopped = "" if report["stopped"] == "iterations" else f" (stopped: {report['stopped']})"
    console.print(
        f"{report['run']}/weights.tsv: dev BLEU {report['dev_bleu']:.2f}, {chosen} "
        f"of {report['iterations']}{stopped}, "
        f"{duration(report['seconds'])}, of which decoding {duration(report['decode_seconds'])}"
    )


def is_run(path: Path) -> bool:
    """Whether `path` is a run directory."""
    return (path / "config.toml").is_file()


def describe_run(path: Path) -> dict[str, Any]:
    """The report of `hopefear inspect` on a run directory."""
    from hopefear.learn.loop.run import CONFIG_FILE, METRICS_FILE, read_config, read_metrics

    config = read_config(path / CONFIG_FILE)
    metrics = path / METRICS_FILE
    if "recipe" in config:
        from hopefear.model.run import Run

        run = Run(path)
        return {
            "kind": "run",
            "directory": str(path),
            "tuner": {"name": run.tuner, "steps": " ".join(config["recipe"]["steps"])},
            "metric": config.get("metric", {}),
            "signature": config.get("signature", ""),
            "config": config,
            "iterations": run.records,
        }
    return {
        "kind": "run",
        "directory": str(path),
        "tuner": config.get("tuner", {}),
        "metric": config.get("metric", {}),
        "signature": config.get("signature", ""),
        "config": config,
        "iterations": read_metrics(metrics) if metrics.is_file() else [],
    }


def show_run(report: Mapping[str, Any], console: Console) -> None:
    """Print the configuration of a run, a table of its iterations, and their warnings."""
    from hopefear.model.run import iteration_table

    tuner, metric = report["tuner"], report["metric"]
    loop = report["config"].get("loop", {})
    options = [f"{k} {v}" for k, v in {**tuner, "seed": loop.get("seed")}.items() if k != "name"]
    console.print(
        f"{report['directory']}: a run of {tuner.get('name')} for {metric.get('name')} "
        f"({', '.join(options)})\n"
    )
    header, rows = iteration_table(report["config"], report["iterations"])
    console.print(table(rows, header))
    for record in report["iterations"]:
        place = f"run {record['run']}, " if "run" in record else ""
        for text in record.get("warnings", []):
            console.print(f"\n{place}iteration {record['iteration']}: {text}")
