"""The base class of the loops that run tuners: scoring, stopping, choosing weights, reporting.

Takes a decoder, a tuner, a metric, a tuning set, initial weights and a run directory, and writes
the weights of each iteration and the best of them to the run directory (`run.py`).

Iteration 0 has the initial weights. Decoding the set with the weights of iteration i gives their
score; then the weights of iteration i + 1 are learned, from the decoded forests (`batch.py`) or by
another pass over the sentences (`online.py`). So every weight vector, including the last one, is
scored by a search with it, and the best of all is chosen. [och2003mert, cherry2012] Alternatively
the result is the mean of the last ones (`average_last`), which is scored in the same way and
recorded as one more iteration. [cettolo2011]

Each of the two phases ends with a checkpoint. Random generators are seeded by the seed and the
number of the iteration, so that checkpoints need no random state.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hopefear.base.errors import InputError
from hopefear.base.executor import Executor, Threads
from hopefear.base.progress import Display, Progress, duration
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Sentence, Tokens
from hopefear.decode.source import DecoderSource, LocalDecoder
from hopefear.forest import ForestBuilder
from hopefear.learn.loop.decoding import DecodeJob, Looked
from hopefear.learn.loop.judge import Judge, TuningSet, by_chance
from hopefear.learn.loop.mean import FEWEST_AVERAGED, last_iterations, mean_weights
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.restrict import Restriction, check_held
from hopefear.learn.loop.run import ITERATIONS, Record, RunDirectory
from hopefear.learn.pool.arrays import damaged
from hopefear.learn.pool.look import BestText, Look
from hopefear.learn.pool.sanity import check_finite, nearly_zero
from hopefear.learn.pool.store import Added
from hopefear.learn.tuner import Tuner
from hopefear.metrics import Metric

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    records: list[Record]
    best: int  # the chosen iteration; one after the last iteration if it is the mean
    quality: float  # the score it was chosen by; higher is better
    stopped: str  # the reason to stop
    weights: Weights

    @property
    def best_record(self) -> Record:
        """The record of the chosen iteration."""
        return self.records[self.best]


class BaseLoop(ABC):
    """One tuning run."""

    def __init__(
        self,
        *,
        decoder: Decoder,
        tuner: Tuner,
        metric: Metric,
        data: TuningSet,
        start: Weights,
        directory: RunDirectory,
        options: LoopOptions,
        heldout: TuningSet | None = None,
        threads: int = 1,
        executor: Executor | None = None,
        source: DecoderSource | None = None,
        display: Display | None = None,
        tell: Tell = lambda text: None,
        warn: Tell = lambda text: None,
    ) -> None:
        """`executor`: decodes and makes the passes of learners, by default on `threads` of this
        process; `source`: of the decoder, for other processes.
        """
        self.executor = executor or Threads(threads)
        shared = source if self.executor.remote else None
        self.source: DecoderSource = shared or LocalDecoder(decoder)
        self.decoder, self.metric = decoder, metric
        self._tuner = tuner
        self.directory, self.options, self.threads = directory, options, threads
        self.display, self.tell, self.warn = display or Display(), tell, warn
        # Listing the names of millions of features is slow, so only if needed. An external decoder
        # may not know its dense features before its first answer.
        needs_names = options.fix or options.tie or not decoder.dense
        named = [name for name, _ in start.items()] if needs_names else []
        self.dense = decoder.dense or named[:1000]
        self.restriction = Restriction.parse(options.fix, options.tie, [*self.dense, *named])
        for note in self.restriction.notes:
            self.tell(note)
        self._check()
        self.start, notes = self.restriction.start(start)
        for note in notes:
            self.tell(note)
        self.judge = Judge(metric, data, threads)
        self.heldout = Judge(metric, heldout, threads) if heldout is not None else None
        self.records: list[Record] = []
        self.iteration = 0
        self.weights = self.start
        self.useless: dict[str, list[str]] = {"never_fired": [], "constant": []}
        self._warnings: list[str] = []  # of the current phase
        self._collapsed_weights: tuple[Weights, Weights] | None = None  # full and collapsed ones

    def run(self) -> Outcome:
        """Run from the beginning or from the last finished phase, and return the outcome."""
        with self.directory.locked():
            state = self.directory.read_state(resume=True)
            if state is not None and "files" not in state:
                self.tell(
                    f"{self.directory.state_path}: has no digests, an older version wrote it; the "
                    "files of the checkpoint are taken as they are"
                )
            if state is None or state["phase"] != "finished":
                self._open()
            state = state or self._begin()
            self.records = state["records"]
            self.iteration = state["iteration"]
            self.weights = self._load(self.iteration)
            self.useless = state["useless"]
            if state["phase"] == "finished":
                return self._finish(state["stopped"])
            decoded = state["phase"] == "decoded"
            self._restore_from(self.iteration + decoded)
            while True:
                if not decoded:
                    self._decode()
                stopped = self._reason_to_stop()
                if stopped:
                    self._add_mean()
                    return self._finish(stopped)
                self._optimise()
                decoded = False

    # -- differences between batch and online learning --

    @classmethod
    @abstractmethod
    def make(
        cls,
        make_tuner: Callable[[], Any],
        *,
        training: TuningSet | None,
        training_options: TrainingOptions,
        **shared: Any,
    ) -> BaseLoop:
        """Return a loop; `training` is the set to learn from if it is not `data`."""

    def _check(self) -> None:  # noqa: B027 (optional)
        """Raise an error for wrong options, before anything is printed or written."""

    def _open(self) -> None:  # noqa: B027 (optional)
        """Prepare what the first phase needs and takes long, such as gold forests."""

    def _wants_collapsed(self) -> bool:
        """Whether the loop does not need the individual sparse features of decoded forests."""
        return False

    @property
    def _named(self) -> bool:
        """Whether sparse features are named while sentences are decoded."""
        return True

    @property
    def _spans(self) -> bool:
        """Whether the tuning set is decoded with the best translations of spans."""
        return False

    @abstractmethod
    def _state(self) -> Mapping[str, Any]:
        """Return the state of tuners for the checkpoint, without the weights."""

    def _restore_from(self, decodings: int) -> None:
        state = self.directory.load_tuner_state(self.iteration)
        try:
            self._restore(state, decodings)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            path = self.directory.tuner_state_path(self.iteration)
            what = f"the state of tuner {self._tuner.name} in this run"
            raise damaged(path, what, error) from None

    @abstractmethod
    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        """Continue from a state after this number of decodings."""

    @abstractmethod
    def _pool_files(self, decodings: int) -> list[Path]:
        """Return the files of the pool that `_restore` reads after this number of decodings."""

    @abstractmethod
    def _look(self) -> Look[Any]:
        """Return what is kept of the answers for the tuning set."""

    @abstractmethod
    def _take(self, results: Iterator[Any]) -> tuple[Added, Record]:
        """Take the results of `_look`; return what was added to the pool, and a record of it."""

    @abstractmethod
    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        """Return the weights of the next iteration, a record, and the fixed features."""

    # -- the phases --

    def _begin(self) -> dict[str, Any]:
        if nearly_zero(self.start):
            self.warn(
                "all initial weights are 0, so the first translations are arbitrary; better "
                "initial weights need fewer iterations"
            )
        self.directory.save_weights(0, self.start)
        self.directory.save_tuner_state(0, self._state())
        return self._checkpoint("optimised")

    def _decode(self) -> None:
        """Decode with the weights of this iteration; add to the pool and write a record."""
        record = self.records[self.iteration] if self.iteration < len(self.records) else {}
        clock = _Clock()
        label = f"iteration {self.iteration}: decode"
        with self._step(label, len(self.judge.data.sentences)) as step:
            results = self._decoded(self.judge.data, self._look(), step, spans=self._spans)
            added, more = self._take(results)
        record = {"iteration": self.iteration, **self.judge.scores(added.texts), **record}
        record |= more
        if added.failed:
            record["without_translation"] = added.failed
        record |= self._judged(clock)
        self.records[self.iteration :] = [record]
        best = self._best()
        if best == self.iteration:
            self.directory.choose(self.weights)
        self._checkpoint("decoded")
        self._report(record)

    def _judged(self, clock: _Clock) -> Record:
        """Return the part of a record that all weights have: held-out scores, seconds, size."""
        record: Record = {}
        if self.heldout is not None:
            label = f"iteration {self.iteration}: decode the held-out set"
            scores = self._scores(self.heldout, label)
            record |= {f"heldout_{key}": value for key, value in scores.items()}
        return {**record, **clock.seconds("decode"), "active_features": self.weights.active}

    def _scores(self, judge: Judge, label: str) -> Record:
        """Decode a set with the current weights, without adding to the pool; return scores."""
        with self._step(label, len(judge.data.sentences)) as step:
            return judge.scores(list(self._decoded(judge.data, self._best_text, step)))

    @property
    def _best_text(self) -> BestText:
        return BestText(self._forest_weights)

    @cached_property
    def _sparse(self) -> Literal["full", "collapsed"]:
        """The form of sparse features in the forests of the sets."""
        collapsed = self._wants_collapsed() and "collapse" in self.decoder.can
        return "collapsed" if collapsed else "full"

    @property
    def _forest_weights(self) -> Weights:
        """The current weights in the form of the features of the sets' forests."""
        if self._sparse == "full":
            return self.weights
        known = self._collapsed_weights
        if known is None or known[0] is not self.weights:
            known = (self.weights, self.decoder.collapsed_weights(self.weights))
            self._collapsed_weights = known
        return known[1]

    def _decoded(
        self, data: TuningSet, look: Look[Any], step: Progress, *, spans: bool = False
    ) -> Iterator[Any]:
        """Yield what is kept of the answer for each sentence; empty sentences are not decoded."""
        full = [(n, text) for n, text in enumerate(data.sentences) if not is_empty(text)]
        job = DecodeJob(
            self.source, self.weights, look, sparse=self._sparse, named=self._named, spans=spans
        )
        results = self.executor.map(job, full)
        nothing = look.open(self.decoder.names)
        for number, sentence in enumerate(data.sentences):
            if is_empty(sentence):
                yield nothing(number, Decoded(ForestBuilder().finish()))
            elif (looked := next(results, None)) is not None:
                yield self._received(look, looked)
            else:
                raise InputError(
                    f"the decoder gave fewer than {len(full)} translations; check it by running it "
                    "alone on the same text"
                )
            step.advance()
        # Read to the end, where a decoder may report that no sentence had a translation.
        if next(results, None) is not None:
            raise InputError(f"the decoder gave more than {len(full)} translations")

    def _received(self, look: Look[Any], looked: Looked) -> Any:
        """Return a result; take the names that came with it from another process."""
        if not self.executor.remote:
            return looked.result
        self.decoder.names.add_lines(looked.names)
        return look.unpack(looked.result, self.decoder.names)

    def _optimise(self) -> None:
        """Learn the weights of the next iteration and write a checkpoint."""
        clock = _Clock()
        number = self.iteration + 1
        self._warnings = []
        weights, learned, held = self._learn()
        check_finite(weights, float(learned["objective"]), f"iteration {number}: {self._what}")
        weights = self.restriction.widen(weights.copy())
        check_held(held, self.weights, weights, self._tuner.name)
        record: Record = {"iteration": number, "objective": learned.pop("objective")}
        record["change"] = _change(self.weights, weights)
        record |= clock.seconds("optimise")
        if nearly_zero(weights):
            self._warn("all weights are 0 or nearly 0, so all translations score the same")
        record["warnings"] = self._warnings
        record |= learned
        self.weights = self.directory.save_weights(number, weights)
        self.directory.save_tuner_state(number, self._state())
        self.records.append(record)
        self.iteration = number
        self._checkpoint("optimised")
        self.directory.tidy(number)

    @property
    def _what(self) -> str:
        return f"tuner {self._tuner.name}"

    def _warn(self, text: str) -> None:
        self._warnings.append(text)
        self.warn(text)

    # -- the end --

    def _converged(self, record: Record) -> bool:
        """Whether the weights have changed by less than the tolerance."""
        return bool(record["change"] < self.options.tolerance)

    def _reason_to_stop(self) -> str | None:
        record = self.records[self.iteration]
        if self.iteration > 0 and nearly_zero(self.weights):  # initial weights may be 0
            return "weights are nearly 0"
        if self.iteration >= self.options.iterations:
            return "iterations"
        if self.iteration > 0:
            if record.get("new_candidates") == 0:
                return "no new candidates"
            if self._converged(record):
                return "weights no longer change"
            if without_rise(self._qualities(), self.options.patience):
                return "score no longer rises"
        return None

    def _add_mean(self) -> None:
        """Add the mean of the last iterations as one more iteration, if there are at least two.

        It needs no checkpoint: a run killed here computes the mean again.
        """
        count = self.options.average_last
        if count is None:  # in short runs one iteration is far better than the one before
            count = self._tuner.average_last if self.iteration >= FEWEST_AVERAGED else 0
        loaded = {i: self._load(i) for i in last_iterations(self.iteration, count)}
        averaged = {i: weights for i, weights in loaded.items() if not nearly_zero(weights)}
        if len(averaged) < 2:
            return
        clock = _Clock()
        intern = FeatureNames().intern
        held = frozenset(intern(name) for names in self.useless.values() for name in names)
        mean = mean_weights(list(averaged.values()), self.restriction.fixed, held)
        number = len(self.records)
        self.weights = self.directory.save_weights(number, mean)
        record: Record = {"iteration": number, "mean_of": list(averaged), "warnings": []}
        if nearly_zero(self.weights):
            record["warnings"].append(f"{name_of(record)}: all weights are nearly 0")
        record |= self._scores(self.judge, f"{name_of(record)}: decode")
        record |= self._judged(clock)
        self.records.append(record)
        self._report(record)
        if self.heldout is None and self._chosen() != number:
            record["warnings"].append(
                f"{name_of(record)}: scored {record['score']:.2f}, "
                f"iteration {self._best()} {self.records[self._best()]['score']:.2f}; "
                "the best iteration was chosen"
            )
        for text in record["warnings"]:
            self.warn(text)

    def _finish(self, stopped: str) -> Outcome:
        best = self._chosen()
        outcome = Outcome(
            self.records,
            best,
            self._qualities()[best],
            stopped,
            self._load(best),
        )
        self.directory.choose(outcome.weights)
        self._checkpoint("finished", stopped=stopped, chosen=best)
        if not self.options.keep_pool:
            self.directory.drop_pool()
        if outcome.best == 0 and self.iteration > 0:
            self.warn(
                "no iteration scored better than the start weights, which were chosen; those of "
                f"all iterations are in {self.directory.path / ITERATIONS}"
            )
        return outcome

    def _load(self, iteration: int) -> Weights:
        """Return the weights of an iteration; they share the decoder's names to save memory."""
        return self.directory.load_weights(iteration, self.decoder.names)

    def _chosen(self) -> int:
        """Return the index of the mean, if there is one, or of the best iteration.

        On the tuning set the mean usually scores lower than the iterations it averages, which are
        fitted to that set; it is chosen unless it scores lower than the start, or lower than the
        best iteration by more than chance explains. On a held-out set it competes with all
        iterations.
        """
        qualities, best = self._qualities(), self._best()
        if "mean_of" not in self.records[-1] or self.heldout is not None:
            return best
        behind = qualities[best] - qualities[-1]
        good = behind <= by_chance(len(self.judge.data.sentences)) and qualities[-1] >= qualities[0]
        return len(qualities) - 1 if good else best

    def _best(self) -> int:
        return int(np.argmax(self._qualities()))  # the first in a tie

    def _qualities(self) -> list[float]:
        """Return the score of each iteration, on the held-out set if any; higher is better."""
        key = "score" if self.heldout is None else "heldout_score"
        return [self.metric.quality(record[key]) for record in self.records if key in record]

    def _checkpoint(self, phase: str, **more: Any) -> dict[str, Any]:
        state = {"phase": phase, "iteration": self.iteration, "useless": self.useless, **more}
        self.directory.write_state(state, self.records, self._files(phase))
        return {**state, "records": self.records}

    def _files(self, phase: str) -> list[Path]:
        """Return the files that a run resumed after this phase reads."""
        if phase == "finished":
            return [self.directory.weights_path(number) for number in range(len(self.records))]
        return [
            *(self.directory.weights_path(number) for number in range(self.iteration + 1)),
            self.directory.tuner_state_path(self.iteration),
            *self._pool_files(self.iteration + (phase == "decoded")),
        ]

    # -- messages to the user --

    def _step(self, label: str, sentences: int | None) -> AbstractContextManager[Progress]:
        return self.display.step(label, total=sentences, unit="sentences" if sentences else "")

    def _report(self, record: Record) -> None:
        parts = [f"{self.metric.title} {record['score']:.2f}"]
        if self.heldout is not None:
            parts.append(f"held out {record['heldout_score']:.2f}")
        parts.append(f"length {record['length_ratio']:.3f}")
        if record.get("new_candidates") is not None:
            parts.append(f"{record['new_candidates']:,} new candidates")
        best = self._best()
        if best != record["iteration"]:
            parts.append(f"best is {best}")
        left = self.options.iterations - self.iteration
        if left > 0 and "mean_of" not in record:
            parts.append(f"at most {duration(left * self._seconds_each())} left")
        self.tell(f"{name_of(record)}: " + ", ".join(parts))

    def _seconds_each(self) -> float:
        """Return the expected seconds per iteration, from the last three, since pools grow."""
        keys = ("decode_seconds", "optimise_seconds")
        spent = [sum(r.get(key, 0.0) for key in keys) for r in self.records[-3:]]
        return float(sum(spent)) / len(spent)


def name_of(record: Record) -> str:
    """Return a description of the weights of a record."""
    parts = record.get("mean_of")
    if parts:
        return f"mean of iterations {parts[0]} to {parts[-1]}"
    return f"iteration {record['iteration']}"


def without_rise(values: Sequence[float], patience: int) -> bool:
    """Whether none of the last `patience` values is higher than the one before them.

    They are not compared with the best value, so that a run continues that first fell far behind
    the start and improves again.
    """
    if not 0 < patience < len(values):
        return False
    return max(values[-patience:]) <= values[-patience - 1]


def word_count(sentence: Sentence | Tokens) -> int:
    """Return the number of words of an input sentence."""
    return len(Sentence.of(sentence).words)


def is_empty(sentence: Sentence | Tokens) -> bool:
    """Whether an input sentence has no words."""
    return word_count(sentence) == 0


class _Clock:
    def __init__(self) -> None:
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def seconds(self, name: str) -> dict[str, float]:
        return {
            f"{name}_seconds": round(time.monotonic() - self.wall, 3),
            f"{name}_cpu_seconds": round(time.process_time() - self.cpu, 3),
        }


def _change(before: Weights, after: Weights) -> float:
    """Return the norm of the change relative to the norm before, of changed weights only.

    Other weights may be large and have no effect, such as -100 for unknown words, which all
    translations share. The result is 1 if all changed weights were 0 before.
    """
    moved = after.vector() - before.vector()  # no names: there may be millions
    length = float(np.linalg.norm(before.table.gather(moved.ids)))
    return float(moved.norm2 / length) if length else float(len(moved) > 0)


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the report on a run, which `hopefear tune --json` prints."""
    records, best = outcome.records, outcome.best_record
    learned = [record for record in records[1:] if "mean_of" not in record]
    decoding = sum(record.get("decode_seconds", 0.0) for record in records)
    optimising = sum(record.get("optimise_seconds", 0.0) for record in records)
    report = {
        "best_iteration": outcome.best,
        "dev_bleu": best["bleu"],
        "dev_score": best["score"],
        "length_ratio": best["length_ratio"],
        "iterations": len(learned),
        "stopped": outcome.stopped,
        "seconds": round(decoding + optimising, 3),
        "decode_seconds": round(decoding, 3),
        "optimise_seconds": round(optimising, 3),
        "active_features": best["active_features"],
        "warnings": [text for record in records for text in record.get("warnings", [])],
    }
    if "decodings" in records[-1]:
        report["decodings"] = records[-1]["decodings"]
    for key in ("mean_of", "heldout_score", "heldout_bleu"):
        if key in best:
            report[key] = best[key]
    return report
