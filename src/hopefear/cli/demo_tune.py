"""The demo's chapter on tuning: every tuner on the world, on dev and on test.

Goes in: the model of the chapter before. Comes out: a run directory for each tuner, and a table
with BLEU on both sets, the time, and whether the gain on test is more than chance.
"""

from __future__ import annotations

import shutil
import textwrap
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hopefear.cli.command import Console, table
from hopefear.cli.tune import Tune
from hopefear.progress import Display, duration

if TYPE_CHECKING:
    from hopefear.cli.demo import Stage
    from hopefear.metrics.metric import Metric, Prepared
    from hopefear.model import Model
    from hopefear.weights import Weights

ITERATIONS = 4
EXAMPLES = 300  # sentence pairs, of tuners that learn from the training text


def tune_model(stage: Stage) -> dict[str, Any]:
    """Weights, learned in several ways"""
    from hopefear import registry
    from hopefear.metrics import create
    from hopefear.metrics.significance import paired_bootstrap
    from hopefear.model import Model
    from hopefear.text.lines import read_lines
    from hopefear.threads import all_cores
    from hopefear.tune.violation import Violation
    from hopefear.weights import Weights

    world = stage.path("world")
    references = {
        part: [world / f"{part}.en.{number}" for number in range(4)] for part in ("dev", "test")
    }
    model = Model.load(stage.path("model"))
    bleu = create("bleu")
    columns = [list(read_lines(path)) for path in references["test"]]
    prepared = bleu.prepare(list(zip(*columns, strict=True)))
    test = _Test(model, list(read_lines(world / "test.zh")), bleu, prepared, all_cores())

    before = test.statistics(model.weights(warn=lambda text: None))
    tuners = registry.names("tuner")
    found: dict[str, Any] = {}
    start = None
    with stage.console.step("tune", total=len(tuners), unit="tuners") as step:
        for name in tuners:
            step.say(name)
            run = stage.path("runs") / name
            shutil.rmtree(run, ignore_errors=True)
            began = time.monotonic()
            # These learn from pairs that the model can derive, which those of a dev set seldom are.
            more: dict[str, Any] = {}
            if issubclass(registry.get("tuner", name), Violation):
                more["train"] = [world / "train.zh", world / "train.en"]
                more["max_examples"] = EXAMPLES
            report = Tune(
                model=stage.path("model"),
                dev=world / "dev.zh",
                refs=references["dev"],
                tuner=name,
                output=run,
                tokenized=True,
                iterations=ITERATIONS,
                kbest=100,
                seed=stage.seed,
                **more,
            ).run(_Silent())
            seconds = time.monotonic() - began
            after = test.statistics(Weights.load(run / "weights.tsv"))
            outcome = paired_bootstrap(bleu, [after], [before])
            start = _start_score(run)
            found[name] = {
                "dev": report["dev_bleu"],
                "test": float(bleu.shown(after.sum(axis=0))),
                "p_value": outcome.p_value,
                "seconds": round(seconds, 1),
                "iterations": report["iterations"],
            }
            step.advance()
    before_test = float(bleu.shown(before.sum(axis=0)))
    return {"start": {"dev": start, "test": before_test}, "tuners": found}


def tell_tuning(report: Mapping[str, Any], console: Console) -> None:
    """The table, and how to read it."""
    text = (
        "How much is a fluent sentence worth against a faithful one? The weights say. They are "
        "learned on a development set: translate it, compare many translations with the "
        "references, change the weights so that the better ones win, and translate again. Each "
        f"method had {ITERATIONS} rounds. BLEU with four references; p is the chance that the "
        "difference to the weights at the start, on the test set, is none:"
    )
    console.print(textwrap.fill(text, 88) + "\n")
    start = report["start"]
    rows = [("(start)", f"{start['dev']:.2f}", f"{start['test']:.2f}", "", "")]
    rows += [
        (
            name,
            f"{one['dev']:.2f}",
            f"{one['test']:.2f}",
            f"{one['p_value']:.3f}",
            duration(one["seconds"]),
        )
        for name, one in report["tuners"].items()
    ]
    shown = table(rows, ("tuner", "dev", "test", "p", "time"))
    console.print(textwrap.indent(shown, "  ") + "\n")
    console.print("'hopefear inspect' shows the iterations of each run, in runs/.")


class _Silent(Console):
    def __init__(self) -> None:
        super().__init__(Display(), json=True)

    def note(self, text: str) -> None:
        pass


class _Test:
    """The test set, ready to be translated with any weights."""

    def __init__(
        self, model: Model, lines: list[str], metric: Metric, prepared: Prepared, threads: int
    ) -> None:
        self.model, self.lines, self.threads = model, lines, threads
        self.metric, self.prepared = metric, prepared

    def statistics(self, weights: Weights) -> Any:
        from hopefear.translate import TranslateOptions, Translator

        translator = Translator(
            self.model, weights=weights, options=TranslateOptions(tokenized=True)
        )
        found = translator.translate(self.lines, threads=self.threads)
        return self.prepared.statistics([one.text for one in found], threads=self.threads)


def _start_score(run: Any) -> float:
    from hopefear.tune.run import METRICS_FILE, read_metrics

    return float(read_metrics(run / METRICS_FILE)[0]["bleu"])
