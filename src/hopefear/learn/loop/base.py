"""What the loops of batch and online tuners share: judging weights, stopping, choosing, reporting.

Goes in: a decoder, a tuner, a metric, a tuning set, weights to start from, a run directory. Comes
out: the weights of each iteration and the best of them, in the run directory (`run.py`).

Iteration 0 has the start weights. The set is decoded with the weights of iteration i, which gives
their score; then the weights of iteration i + 1 are learned, from what was decoded (`loop.py`) or
by another pass over the sentences (`online.py`). So every weight vector is judged by a search with
it, the last one too, and the best is chosen among them all. [och2003mert, cherry2012] Or the mean
of the last ones is the result (`average_last`), judged in the same way and recorded as one more
iteration. [cettolo2011]

Each of the two phases ends with a checkpoint. All chance comes from generators seeded by the seed
and the number of the iteration, so nothing random has to be remembered.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from hopefear.base.errors import InputError
from hopefear.base.progress import Display, Progress, duration
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Request, Sentence, Tokens
from hopefear.forest import ForestBuilder, viterbi
from hopefear.learn.loop.judge import Judge, TuningSet
from hopefear.learn.loop.mean import last_iterations, mean_weights
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.restrict import Restriction, check_held
from hopefear.learn.loop.run import Record, RunDirectory
from hopefear.learn.pool.sanity import check_finite, nearly_zero
from hopefear.learn.pool.store import Added
from hopefear.learn.tuner import Tuner
from hopefear.metrics import Metric

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came out of a run."""

    records: list[Record]
    best: int  # the iteration whose weights were chosen; one after the last if it is the mean
    quality: float  # what it was chosen by; higher is better
    stopped: str  # why
    weights: Weights

    @property
    def best_record(self) -> Record:
        return self.records[self.best]


class BaseLoop(ABC):
    """One run."""

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
        display: Display | None = None,
        tell: Tell = lambda text: None,
        warn: Tell = lambda text: None,
    ) -> None:
        self.decoder, self.metric = decoder, metric
        self._tuner = tuner
        self.directory, self.options, self.threads = directory, options, threads
        self.display, self.tell, self.warn = display or Display(), tell, warn
        # Names of millions of features take a while. An external decoder may not know its own
        # before it has answered.
        asked = options.fix or options.tie or not decoder.dense
        named = [name for name, _ in start.items()] if asked else []
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
        self._warnings: list[str] = []  # of the phase that runs
        self._collapsed_weights: tuple[Weights, Weights] | None = None  # of which weights, they

    def run(self) -> Outcome:
        """Run to the end, from the beginning or from the last finished phase."""
        with self.directory.locked():
            state = self.directory.read_state()
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
            self._restore(self.directory.load_tuner_state(self.iteration), self.iteration + decoded)
            while True:
                if not decoded:
                    self._decode()
                stopped = self._reason_to_stop()
                if stopped:
                    self._add_mean()
                    return self._finish(stopped)
                self._optimise()
                decoded = False

    # -- what differs between batch and online learning --

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
        """The loop of tuners like this one; `training`: what is learned from, if not `data`."""

    def _check(self) -> None:  # noqa: B027 (may be left as it is)
        """Refuse what cannot be, before anything is said or written."""

    def _open(self) -> None:  # noqa: B027 (may be left as it is)
        """What takes long and must be there before the first phase."""

    def _wants_collapsed(self) -> bool:
        """Whether nobody looks at the sparse features of the sets' forests one by one."""
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
        """What the checkpoint keeps of tuners, beside the weights."""

    @abstractmethod
    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        """Take up a state, after so many decodings."""

    @abstractmethod
    def _take(self, decoded: Iterator[Decoded]) -> tuple[Added, Record]:
        """What a decoding gave, and what there is to say about it."""

    @abstractmethod
    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        """The weights of the next iteration, what there is to say, and which had to stay."""

    # -- the phases --

    def _begin(self) -> dict[str, Any]:
        if nearly_zero(self.start):
            self.warn(
                "all weights to start from are 0, so the first translations are chosen by nothing; "
                "better ones shorten the way"
            )
        self.directory.save_weights(0, self.start)
        self.directory.save_tuner_state(0, self._state())
        return self._checkpoint("optimised")

    def _decode(self) -> None:
        """Decode with the weights of this iteration: a record, and what is learned from."""
        record = self.records[self.iteration] if self.iteration < len(self.records) else {}
        clock = _Clock()
        label = f"iteration {self.iteration}: decode"
        with self._step(label, len(self.judge.data.sentences)) as step:
            added, more = self._take(self._decoded(self.judge.data, step, spans=self._spans))
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
        """What a record has of all weights: scores on the held-out set, seconds, how many."""
        record: Record = {}
        if self.heldout is not None:
            label = f"iteration {self.iteration}: decode the held-out set"
            scores = self._scores(self.heldout, label)
            record |= {f"heldout_{key}": value for key, value in scores.items()}
        return {**record, **clock.seconds("decode"), "active_features": self.weights.active}

    def _scores(self, judge: Judge, label: str) -> Record:
        """Of a search with the present weights that adds nothing to what is learned from."""
        with self._step(label, len(judge.data.sentences)) as step:
            decoded = self._decoded(judge.data, step)
            return judge.scores(list(in_order(self._best_text, decoded, self.threads)))

    def _best_text(self, decoded: Decoded) -> str:
        best = viterbi(decoded.forest, self._forest_weights)
        return "" if best is None else best.text

    @cached_property
    def _sparse(self) -> Literal["full", "collapsed"]:
        """How the forests of the sets have sparse features."""
        collapsed = self._wants_collapsed() and "collapse" in self.decoder.can
        return "collapsed" if collapsed else "full"

    @property
    def _forest_weights(self) -> Weights:
        """The weights for the features of the sets' forests."""
        if self._sparse == "full":
            return self.weights
        known = self._collapsed_weights
        if known is None or known[0] is not self.weights:
            known = (self.weights, self.decoder.collapsed_weights(self.weights))
            self._collapsed_weights = known
        return known[1]

    def _decoded(
        self, data: TuningSet, step: Progress, *, spans: bool = False
    ) -> Iterator[Decoded]:
        """An answer for each sentence; those without words are not decoded."""
        full = [sentence for sentence in data.sentences if not is_empty(sentence)]
        requests = (
            Request(s, self.weights, sparse=self._sparse, named=self._named, spans=spans)
            for s in full
        )
        answers = self.decoder.decode_all(requests, threads=self.threads)
        for sentence in data.sentences:
            empty = is_empty(sentence)
            decoded = Decoded(ForestBuilder().finish()) if empty else next(answers, None)
            if decoded is None:
                raise InputError(
                    f"the decoder gave fewer than {len(full)} translations; run it by itself on "
                    "the same text"
                )
            yield decoded
            step.advance()
        # To its end, where a decoder says that nothing had a translation.
        if next(answers, None) is not None:
            raise InputError(f"the decoder gave more than {len(full)} translations")

    def _optimise(self) -> None:
        """Weights of the next iteration."""
        clock = _Clock()
        number = self.iteration + 1
        self._warnings = []
        weights, said, held = self._learn()
        check_finite(weights, float(said["objective"]), f"iteration {number}: {self._what}")
        weights = self.restriction.widen(weights.copy())
        check_held(held, self.weights, weights, self._tuner.name)
        record: Record = {"iteration": number, "objective": said.pop("objective")}
        record["change"] = _change(self.weights, weights)
        record |= clock.seconds("optimise")
        if nearly_zero(weights):
            self._warn("all weights are 0 or nearly so: they decide nothing")
        record["warnings"] = self._warnings
        record |= said
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

    def _settled(self, record: Record) -> bool:
        return bool(record["change"] < self.options.tolerance)

    def _reason_to_stop(self) -> str | None:
        record = self.records[self.iteration]
        if self.iteration > 0 and nearly_zero(self.weights):  # from 0 there is a way up
            return "weights are nearly 0"
        if self.iteration >= self.options.iterations:
            return "iterations"
        if self.iteration > 0:
            if record.get("new_candidates") == 0:
                return "no new candidates"
            if self._settled(record):
                return "weights no longer change"
            if without_rise(self._qualities(), self.options.patience):
                return "score no longer rises"
        return None

    def _add_mean(self) -> None:
        """The mean of the last iterations as one more; nothing if it would be one of them.

        It has no checkpoint of its own: whoever is killed here finds all of them and comes again.
        """
        wanted = self.options.average_last
        wanted = self._tuner.average_last if wanted is None else wanted
        numbers = last_iterations(self.iteration, wanted)
        found = {number: self._load(number) for number in numbers}
        found = {number: weights for number, weights in found.items() if not nearly_zero(weights)}
        if len(found) < 2:
            return
        clock = _Clock()
        intern = FeatureNames().intern
        held = frozenset(intern(name) for names in self.useless.values() for name in names)
        mean = mean_weights(list(found.values()), self.restriction.fixed, held)
        number = len(self.records)
        self.weights = self.directory.save_weights(number, mean)
        record: Record = {"iteration": number, "mean_of": list(found), "warnings": []}
        if nearly_zero(self.weights):
            record["warnings"].append(f"{name_of(record)}: all weights are nearly 0")
        record |= self._scores(self.judge, f"{name_of(record)}: decode")
        record |= self._judged(clock)
        self.records.append(record)
        self._report(record)
        if self.heldout is None and self._chosen() != number:
            record["warnings"].append(
                f"{name_of(record)}: scored lower than the start; the best iteration was chosen"
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
            self.warn("no iteration scored better than the start weights, which were chosen")
        return outcome

    def _load(self, iteration: int) -> Weights:
        """Weights of an iteration. Of millions the names are the most: all share the decoder's."""
        return self.directory.load_weights(iteration, self.decoder.names)

    def _chosen(self) -> int:
        """The mean, where there is one; without it, or if it failed, the best iteration.

        It failed if it is worse than the start. On the set that was learned from it is worse than
        what it is the mean of, as a rule, and says nothing so; on a held-out set it does, and the
        mean is one among others.
        """
        qualities = self._qualities()
        has_mean = "mean_of" in self.records[-1] and self.heldout is None
        return len(qualities) - 1 if has_mean and qualities[-1] >= qualities[0] else self._best()

    def _best(self) -> int:
        return int(np.argmax(self._qualities()))  # the first of equal ones

    def _qualities(self) -> list[float]:
        """The score of each iteration, on the held-out set if there is one; higher is better."""
        key = "score" if self.heldout is None else "heldout_score"
        return [self.metric.quality(record[key]) for record in self.records if key in record]

    def _checkpoint(self, phase: str, **more: Any) -> dict[str, Any]:
        state = {"phase": phase, "iteration": self.iteration, "useless": self.useless, **more}
        self.directory.write_state(state, self.records)
        return {**state, "records": self.records}

    # -- what the person at the terminal sees --

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
        """Of the iterations to come; the last ones tell, since pools grow."""
        keys = ("decode_seconds", "optimise_seconds")
        spent = [sum(r.get(key, 0.0) for key in keys) for r in self.records[-3:]]
        return float(sum(spent)) / len(spent)


def name_of(record: Record) -> str:
    """What a line of the metrics is about."""
    parts = record.get("mean_of")
    if parts:
        return f"mean of iterations {parts[0]} to {parts[-1]}"
    return f"iteration {record['iteration']}"


def without_rise(values: Sequence[float], patience: int) -> bool:
    """Whether none of the last `patience` values is higher than the one before them.

    Not than the best: a run that first fell far behind the start and climbs again goes on.
    """
    if not 0 < patience < len(values):
        return False
    return max(values[-patience:]) <= values[-patience - 1]


def word_count(sentence: Sentence | Tokens) -> int:
    return len(Sentence.of(sentence).words)


def is_empty(sentence: Sentence | Tokens) -> bool:
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
    """How far weights moved, as a share of their length before; of those only that moved at all.

    Others may be long and decide nothing: -100 of unknown words, which all translations share.
    Where there were none before, all of them: 1.
    """
    moved = after.vector() - before.vector()  # no names: there may be millions
    length = float(np.linalg.norm(before.table.gather(moved.ids)))
    return float(moved.norm2 / length) if length else float(len(moved) > 0)


def summary(outcome: Outcome) -> dict[str, Any]:
    """What `hopefear tune --json` says about a run."""
    records, best = outcome.records, outcome.best_record
    learned = [record for record in records[1:] if "mean_of" not in record]
    decoding = sum(record.get("decode_seconds", 0.0) for record in records)
    optimising = sum(record.get("optimise_seconds", 0.0) for record in records)
    found = {
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
        found["decodings"] = records[-1]["decodings"]
    for key in ("mean_of", "heldout_score", "heldout_bleu"):
        if key in best:
            found[key] = best[key]
    return found
