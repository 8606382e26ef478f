"""The loop of online tuners: learners make several passes over their shares of the sentences.

Takes and returns the same as the loop in `base.py`. In an iteration every learner processes its
sentences in random order, one minibatch at a time: decode with its weights, update, add the step.
Then the weights are

    mixing=iterative   one vector, the mean over learners weighted by their shares, from which all
                       start the next iteration (thesis, Alg. 3: iterative parameter mixing)
    mixing=end         the learners' own; only the result is mixed (Alg. 2: parameter mixing)

[mcdonald2010, eidelman2013] and the weights of the iteration, which are scored by decoding the set
with them, are the mean (over everything since the start of the run) of

    average=updates      the weights after every sentence, of all learners (Alg. 1, w_a)
    average=iterations   the mixed weights at the end of each iteration (w_b)
    average=learners     the weights of all learners at the end of each iteration [chiang2009]
    average=none         no mean: the mixed weights themselves (w_f)

The result is the last of these means, not the one with the highest score: online learning fits its
training set less closely than batch learning, and differences between the scores of means there are
mostly due to chance. The iteration with the highest score is the result only if chance does not
explain its lead (`by_chance`), if the scores are those of a held-out set (or of the tuning set, if
there is a separate training set), or without averages.

`--min-sentences` and `top` limit the features that are learned or kept (`feature_selection.py`).

Learners use a separate training set, if there is one, or the tuning set. A tuner that `wants_gold`
uses the sentence pairs that can be derived, with all of their derivations (`training.py`).

The sentences of a minibatch are decoded with the same weights, on the threads that the learners
leave free [zhao2013]. The shares of the learners are determined once, by the seed; the number of
threads does not change the result. Learners only take sentences and return steps.

Differs: errata Alg. 1 l. 10: end-of-pass vectors are averaged, without the start. Errata Alg. 3
l. 10: the mean is weighted by the sizes of the shares.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hopefear._engine import count_by_template
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.learn.loop.base import BaseLoop, word_count
from hopefear.learn.loop.judge import TuningSet, by_chance
from hopefear.learn.loop.learner import Entry, LearnerJob, Pass, ShareExamples, Turn
from hopefear.learn.loop.mixing import Mixture
from hopefear.learn.loop.moments import Moments
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import Record
from hopefear.learn.loop.training import (
    FORESTS,
    GOLD_FILES,
    TrainingExamples,
    describe,
    reachable,
    sample,
)
from hopefear.learn.pool.feature_selection import FiredIn, restricted
from hopefear.learn.pool.look import BestAndFired, Look
from hopefear.learn.pool.search_aware import check_search_aware
from hopefear.learn.pool.store import Added
from hopefear.learn.tuner import OnlineTuner, Share

#: Default number of translations of a sentence whose features are counted.
COUNTED = 100


@register("loop", "online")
class OnlineLoop(BaseLoop):
    """One run of an online tuner; `make_tuner` makes a learner."""

    @classmethod
    def make(cls, make_tuner: Callable[[], Any], **more: Any) -> OnlineLoop:
        return cls(make_tuner=make_tuner, **more)

    def __init__(
        self,
        *,
        make_tuner: Callable[[], OnlineTuner],
        training: TuningSet | None = None,
        training_options: TrainingOptions | None = None,
        **more: Any,
    ) -> None:
        """`training`: the set to learn from, if it is not `data`."""
        first = make_tuner()
        options: LoopOptions = more["options"]
        if options.tie:
            raise OptionError(f"--tie: {first.name} cannot tie weights; use a batch tuner")
        if options.keep_pool:
            raise OptionError(f"--keep-pool: {first.name} has no pool; omit the option")
        chosen = "--min-sentences" if options.min_sentences > 1 else "--most-frequent"
        selects = options.min_sentences > 1 or options.most_frequent > 0
        if selects and training is not None:
            raise OptionError(
                f"{chosen}: counts features in the development set, which --train replaces for "
                "learning; omit one of them"
            )
        super().__init__(tuner=first, **more)
        self.tuner = first
        self.training = training or self.judge.data
        self.training_options = training_options or TrainingOptions()
        # All weights share the decoder's names, which include those of all forests.
        if self.start.names is not None:
            self.decoder.names.add(self.start.names)
        self.make_tuner = make_tuner
        self.run_id = uuid.uuid4().hex
        self.examples = TrainingExamples((), ())
        self.shares: list[list[int]] = []
        self.own = np.array(sorted(map(self.decoder.names.intern, self.dense)), np.uint64)
        if not first.wants_gold:
            for name in ("prefixes", "gold_phrases", "max_states"):
                if getattr(self.training_options, name) is not None:
                    raise OptionError(
                        f"--{name.replace('_', '-')}: {first.name} does not use forced decoding; "
                        "omit the option"
                    )
            size = self.training_options.max_examples
            self.training = sample(self.training, size, self.options.seed)
            self._deal(TrainingExamples.of(self.training))
        else:
            remedy = "use a phrase-based model or another tuner"
            self.decoder.require("gold", first.name, remedy)
        if first.needs_target:
            self.decoder.require("target", first.name, "change its options or the decoder")
        self.current = self.start.copy(self.decoder.names)  # the mixed weights
        self.mean: Weights | None = None
        self.counted = 0.0  # total weight of the vectors in the mean
        self.kept: Any = None  # features that `top` left in the learners' own weights
        self.received: list[Any] = []  # for each learner: sums of the others in the last pass
        self._described = False
        judged = len(self.judge.data.sentences)
        self.fired = FiredIn(judged) if selects else None

    def _open(self) -> None:
        if not self.tuner.wants_gold:
            return
        count = sum(map(len, self.training.references))
        with self._step("forced decoding", count) as step:
            examples = reachable(
                self.decoder,
                self.training,
                self.directory.pool,
                self.training_options,
                self.start,
                seed=self.options.seed,
                named=self._named,
                executor=self.executor,
                source=self.source,
                advance=step.advance,
            )
        self.tell(describe(examples.statistics))
        self._deal(examples)

    def _deal(self, examples: TrainingExamples) -> None:
        """Divide the examples among the learners."""
        self.examples = examples
        count, sentences = self.tuner.learners, len(examples.sentences)
        if count > sentences:
            raise OptionError(
                f"learners: {count} for {sentences} sentences; give at most one per sentence"
            )
        order = np.random.default_rng([self.options.seed]).permutation(sentences)
        self.shares = [np.sort(order[number::count]).tolist() for number in range(count)]
        self._lengths = [word_count(sentence) for sentence in examples.sentences]

    def _share(self, number: int) -> ShareExamples:
        """Return the examples of a learner."""
        examples, share = self.examples, self.shares[number]
        lengths = [self._lengths[number] for number in share]
        names = self.decoder.names
        return ShareExamples(
            Share(
                share,
                [examples.references[number] for number in share],
                self.metric,
                self.options.kbest or self.tuner.kbest,
                self.options.distinct,
                frozenset(names.intern(name) for name in self.decoder.untranslated),
                frozenset(self.own.tolist()),
                lengths,
                (len(self._lengths) - len(share), float(sum(self._lengths) - sum(lengths))),
            ),
            [examples.sentences[number] for number in share],
            [] if examples.gold is None else [examples.complete[number] for number in share],
        )

    def _best(self) -> int:
        best, qualities = super()._best(), self._qualities()
        judges_only = self.heldout is not None or self.training is not self.judge.data
        if judges_only or self.tuner.average == "none" or not self.iteration:
            return best
        last = len(qualities) - 1
        ahead = qualities[best] - qualities[last]
        return last if ahead <= by_chance(len(self.judge.data.sentences)) else best

    def _check(self) -> None:
        check_search_aware(self._tuner, self.decoder, self.metric)

    # -- the state --

    def _state(self) -> Mapping[str, Any]:
        known = [self.current, *([] if self.mean is None else [self.mean])]
        return {
            "weights": _arrays(self.current),
            "mean": _arrays(self.mean),
            "counted": self.counted,
            "kept": self.kept,
            "received": self.received,
            "names": self._names(known),
        }

    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        if self.weights.names is not None:
            self.decoder.names.add(self.weights.names)
        self.decoder.names.add_lines(state["names"].tobytes())
        self.current = self._weights(state["weights"])
        self.mean = None if state["mean"] is None else self._weights(state["mean"])
        self.counted = state["counted"]
        self.kept = state["kept"]
        self.received = state["received"]
        if self.fired is not None and decodings:
            self.fired.load(self._fired_path(decodings - 1))

    def _pool_files(self, decodings: int) -> list[Path]:
        gold = [self.directory.pool / name for name in GOLD_FILES if self.tuner.wants_gold]
        fired = self.fired is not None and decodings > 0
        learners = [
            self.directory.learner_path(self.iteration, number)
            for number in range(self.tuner.learners if self.iteration else 0)
        ]
        return [*gold, *([self._fired_path(decodings - 1)] if fired else []), *learners]

    def _names(self, known: Sequence[Weights]) -> Any:
        """Return the names of features that the file of the iteration's weights lacks.

        The checkpoint has weights by id, and a resumed decoder may not see a feature again.
        """
        stored = self.weights.vector().ids
        missing = [ids[~_contains(stored, ids)] for ids in (w.vector().ids for w in known)]
        lines = self.decoder.names.lines(np.unique(np.concatenate(missing)))
        return np.frombuffer(lines, np.uint8)

    def _weights(self, arrays: Mapping[str, Any]) -> Weights:
        vector = SparseVector(
            np.ascontiguousarray(arrays["ids"], np.uint64),
            np.ascontiguousarray(arrays["values"], np.float32),
        )
        return Weights(vector, names=self.decoder.names)

    # -- the phases --

    def _wants_collapsed(self) -> bool:
        return self.fired is None

    @property
    def _named(self) -> bool:
        # Few of the features in gold forests and beams are learned, and only these are named, after
        # the update. Naming all would take a quarter of the time.
        return not self.tuner.names_later

    def _look(self) -> Look[Any]:
        if self.fired is None:
            return self._best_text
        return BestAndFired(self.weights, self.options.kbest or COUNTED, self.options.distinct)

    def _take(self, results: Iterator[Any]) -> tuple[Added, Record]:
        added = Added()
        for number, result in enumerate(results):
            if self.fired is None:
                added.texts.append(result)
            else:
                added.texts.append(result[0])
                self.fired.add(number, result[1])
        if self.fired is not None:
            self.fired.save(self._fired_path(self.iteration))
            if self.iteration > 1:  # the previous file may still belong to the checkpoint
                self._fired_path(self.iteration - 2).unlink(missing_ok=True)
        templates = active_by_template(self.weights, self.dense)
        return added, {"active_by_template": templates}

    def _fired_path(self, decoding: int) -> Path:
        return self.directory.pool / f"{decoding:02d}.fired.npz"

    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        learnable = None
        if self.fired is not None:
            learnable = self.fired.frequent(
                self.options.min_sentences, self.options.most_frequent, self.own.tolist()
            )
        log = _Log()
        mixture = Mixture(
            self.current if self.tuner.mixing == "iterative" else Weights(names=self.decoder.names),
            average=self.tuner.average,
            squares=self.tuner.top > 0,
        )
        recorded: list[Any] = []
        for p in self._passes(learnable):
            self.decoder.names.add_lines(p.names)
            state = {"tuner": dict(p.state), "weights": _arrays(p.own)}
            self.directory.save_learner(self.iteration + 1, p.learner, state)
            mixture.add(p)
            log.add(p)
            recorded.append(p.recorded)
        self._exchange(recorded)
        record = self._record(log)
        if learnable is not None:
            record["learnable_features"] = len(learnable)
        if self.tuner.top:
            always = {*self.own.tolist(), *self.restriction.fixed}
            self.kept, record["dropped_features"] = mixture.strongest(self.tuner.top, always)
        weights = self._mix(mixture)
        return weights, record, self.restriction.fixed

    def _passes(self, learnable: Any) -> Iterator[Pass]:
        """Yield the passes of the iteration, in the order of the learners."""
        count, iterative = len(self.shares), self.tuner.mixing == "iterative"
        job = LearnerJob(
            run_id=self.run_id,
            source=self.source,
            make_tuner=self.make_tuner,
            metric=self.metric,
            iteration=self.iteration,
            seed=self.options.seed,
            weights=self.current if iterative else None,
            fixed=self.restriction.fixed,
            learnable=learnable,
            kept=self.kept,
            gold=self.directory.pool / FORESTS if self.tuner.wants_gold else None,
            threads=1 if self.executor.remote else max(1, self.threads // count),
        )
        turns = [
            Turn(number, self.received[number] if self.received else None)
            for number in range(count)
        ]
        label = f"iteration {self.iteration + 1}: {self.tuner.name}"
        with self._step(label, sum(map(len, self.shares))) as step:
            for p in self.executor.map(
                job,
                turns,
                place=lambda turn: turn.learner,
                refill=self._with_entry,
                advance=step.advance,
            ):
                if p.description and not self._described:
                    self.tell(p.description)
                    self._described = True
                yield p

    def _with_entry(self, turn: Turn) -> Turn:
        """Return a turn with what another process needs to take over the learner."""
        state, weights = None, None
        if self.iteration:
            saved = self.directory.load_learner(self.iteration, turn.learner)
            state, arrays = saved["tuner"], saved["weights"]
            weights = None if arrays is None else self._weights(arrays)
        elif self.tuner.mixing == "end":
            weights = self.current
        return replace(turn, entry=Entry(self._share(turn.learner), state, weights))

    def _exchange(self, recorded: Sequence[Any]) -> None:
        """Prepare for each learner what the others recorded in the pass."""
        if len(recorded) > 1:
            totals = [np.sum(rows, axis=0) for rows in zip(*recorded, strict=True)]
            self.received = [
                [total - rows for total, rows in zip(totals, own, strict=True)] for own in recorded
            ]

    def _mix(self, mixture: Mixture) -> Weights:
        """Set the mixed weights and the mean; return the weights of the iteration."""
        self.current, mean, count = mixture.finish(self.kept)
        if self.tuner.average == "none":
            return self.current
        if self.mean is not None and self.kept is not None:
            self.mean = restricted(self.mean, self.kept)
        if self.mean is None:
            self.mean = mean if count else None
        elif count:
            self.mean = self._mean_of([self.mean, mean], [self.counted, count])
        self.counted += count
        return self.current if self.mean is None else self.mean

    def _mean_of(self, vectors: Sequence[Weights], shares: Sequence[float]) -> Weights:
        """Return the weighted mean of weight vectors; fixed weights are exactly unchanged."""
        if len(vectors) == 1:
            return vectors[0]
        mean = Weights.average(vectors, shares)
        for id in self.restriction.fixed:
            if id in mean:
                mean[id] = self.start[id]
        return mean

    def _record(self, log: _Log) -> Record:
        """Return the record of the passes of an iteration for metrics.jsonl."""
        record: Record = {"objective": 0.0, "updates": log.updates}
        if self.examples.statistics:
            record["examples"] = self.examples.statistics["examples"]
            record["example_words"] = self.examples.statistics["words"]
        for name, count in sorted(log.counts.items()):
            record[name] = np.asarray(count).tolist()
        for name, moments in sorted(log.measures.items()):
            record[name], record[f"{name}_deviation"] = moments.mean, moments.deviation
        record["objective"] = -record.get("loss", 0.0)
        for kind, statistics in sorted(log.texts.items()):
            record[f"{kind}_score"] = float(self.metric.shown(statistics))
        return record


class _Log:
    """What the passes of an iteration report, summed over learners."""

    def __init__(self) -> None:
        self.updates = 0
        self.counts: dict[str, Any] = {}
        self.measures: dict[str, Moments] = {}
        self.texts: dict[str, Any] = {}  # kind -> statistics of the strings of all learners
        self._no_texts: Any = 0

    def add(self, p: Pass) -> None:
        """Add the pass of the next learner."""
        self.updates += p.updates
        for name, count in p.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        for name, moments in p.measures.items():
            self.measures[name] = self.measures.get(name, Moments()).plus(moments)
        for kind in {*self.texts, *p.texts}:
            before = self.texts.get(kind, self._no_texts)
            self.texts[kind] = before + p.texts.get(kind, p.no_texts)
        self._no_texts = self._no_texts + p.no_texts


def active_by_template(weights: Weights, dense: Sequence[str]) -> dict[str, int]:
    """Return the number of nonzero weights of dense features and of each template."""
    names = weights.names if weights.names is not None else FeatureNames()
    return dict(count_by_template(weights.table, names, list(dense)))


def _contains(ascending: Any, values: Any) -> Any:
    """Return a mask of values that are in a sorted array; unlike np.isin it does not sort."""
    at = np.searchsorted(ascending, values)
    mask = np.zeros(len(values), np.bool_)
    inside = at < len(ascending)
    mask[inside] = ascending[at[inside]] == values[inside]
    return mask


def _arrays(weights: Weights | None) -> Any:
    if weights is None:
        return None
    vector = weights.vector()
    return {"ids": vector.ids, "values": vector.values}
