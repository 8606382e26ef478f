"""The loop that runs every online tuner: learners pass over their shares, again and again.

Goes in and comes out: as `base_loop.py`. In an iteration every learner takes its sentences in
random order, a minibatch at a time: decode with its weights, update, add the step. Then the weights
are

    mixing=iterative   one vector, the mean over learners weighted by their shares, from which all
                       start the next iteration (thesis, Alg. 3: iterative parameter mixing)
    mixing=end         the learners' own; only the result is mixed (Alg. 2: parameter mixing)

[mcdonald2010, eidelman2013] and the weights of the iteration, which are judged by decoding the set
with them, are the mean (over everything since the start of the run) of

    average=updates      the weights after every sentence, of all learners (Alg. 1, w_a)
    average=iterations   the mixed weights at the end of each iteration (w_b)
    average=learners     the weights of all learners at the end of each iteration [chiang2009]
    average=none         nothing: the mixed weights themselves (w_f)

The result is the last of these means, not the one with the highest score: online learning does not
fit the set it learns from as closely as batch learning does, and between means chance decides which
scores highest there. Only if another iteration is so far ahead that chance does not explain it
(`by_chance`), that one is the result; and so it is if a held-out set judges (or the tuning set,
where another one is learned from), or without averages.

With `--min-sentences` and `top` fewer features are learned, or stay (`feature_selection.py`).

What is learned from is a training set of its own, and the tuning set only judges; or it is the
tuning set. For a tuner that `wants_gold` it is the sentence pairs that can be derived, with all of
their derivations (`training.py`).

The sentences of a minibatch are decoded with the same weights, on several threads if there are any
left by the learners [zhao2013]. A learner's share is dealt out once, by the seed; threads run
learners and change no result. A learner knows nothing of all this: it is handed sentences and gives
steps.

Differs: errata Alg. 1 l. 10: end-of-pass vectors are averaged, without the start. Errata Alg. 3
l. 10: the mean is weighted by the sizes of the shares.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hopefear._engine import Forest, count_by_template
from hopefear.base.errors import OptionError
from hopefear.base.progress import Progress
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.decode.contract import Decoded, Decoder, Request
from hopefear.forest import kbest
from hopefear.learn.loop.base import BaseLoop, is_empty
from hopefear.learn.loop.judge import Judge, TuningSet, by_chance
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import Record
from hopefear.learn.loop.training import TrainingExamples, describe, reachable, sample
from hopefear.learn.pool.feature_selection import FiredIn, fired_in, only, restricted, strongest
from hopefear.learn.pool.search_aware import check_search_aware
from hopefear.learn.pool.store import Added
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task

#: Translations of a sentence whose features count, unless the loop is told others.
COUNTED = 100


@dataclass
class Pass:
    """What a learner's pass over its share gave."""

    weights: Weights  # at the end
    mean: Weights  # of those after every sentence
    updates: int = 0
    steps: int = 0  # sentences that were looked at
    measures: dict[str, list[float]] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, dict[int, str]] = field(default_factory=dict)  # kind -> sentence -> string


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
        """`training`: what is learned from, if it is not `data`."""
        first = make_tuner()
        options: LoopOptions = more["options"]
        if options.tie:
            raise OptionError(f"--tie: {first.name} cannot tie weights; take a batch tuner")
        if options.keep_pool:
            raise OptionError(f"--keep-pool: {first.name} has no pool; leave it out")
        chosen = "--min-sentences" if options.min_sentences > 1 else "--most-frequent"
        selects = options.min_sentences > 1 or options.most_frequent > 0
        if selects and training is not None:
            raise OptionError(
                f"{chosen}: counts in the development set, from which nothing is learned "
                "with --train; leave one of them out"
            )
        super().__init__(tuner=first, **more)
        self.tuner = first
        self.training = training or self.judge.data
        self.training_options = training_options or TrainingOptions()
        # All weights share the decoder's names: what a forest has is known.
        if self.start.names is not None:
            self.decoder.names.add(self.start.names)
        self.learners = [first, *(make_tuner() for _ in range(first.learners - 1))]
        self.examples = TrainingExamples((), ())
        self.shares: list[list[int]] = []
        self.decoders: list[Decoder] = []
        self.own = np.array(sorted(map(self.decoder.names.intern, self.dense)), np.uint64)
        if not first.wants_gold:
            for name in ("prefixes", "gold_phrases", "max_states"):
                if getattr(self.training_options, name) is not None:
                    raise OptionError(
                        f"--{name.replace('_', '-')}: {first.name} does not decode by force; leave "
                        "it out"
                    )
            size = self.training_options.max_examples
            self.training = sample(self.training, size, self.options.seed)
            self._deal(TrainingExamples.of(self.training))
        else:
            remedy = "take a phrase-based model or another tuner"
            self.decoder.require("gold", first.name, remedy)
        self.current = [self._known(self.start) for _ in self.learners]  # weights of each
        self.mean: Weights | None = None
        self.counted = 0.0  # what the mean is over
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
                threads=self.threads,
                advance=step.advance,
            )
        self.tell(describe(examples.statistics))
        self._deal(examples)

    def _deal(self, examples: TrainingExamples) -> None:
        """Give every learner its share."""
        self.examples = examples
        count, sentences = len(self.learners), len(examples.sentences)
        if count > sentences:
            raise OptionError(
                f"learners: {count} for {sentences} sentences; give no more than one for each"
            )
        order = np.random.default_rng([self.options.seed]).permutation(sentences)
        self.shares = [np.sort(order[number::count]).tolist() for number in range(count)]
        self.decoders = [self.decoder.for_learner(number) for number in range(count)]
        for learner, share in zip(self.learners, self.shares, strict=True):
            learner.begin(
                Share(
                    share,
                    [examples.references[number] for number in share],
                    self.metric,
                    self.options.kbest or learner.kbest,
                    self.options.distinct,
                    frozenset(self.decoder.names.intern(n) for n in self.decoder.untranslated),
                    frozenset(self.own.tolist()),
                )
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
        same = all(weights is self.current[0] for weights in self.current)
        vectors = self.current[:1] if same else self.current
        known = [*vectors, *([] if self.mean is None else [self.mean])]
        return {
            "weights": [_arrays(weights) for weights in vectors],
            "mean": None if self.mean is None else _arrays(self.mean),
            "counted": self.counted,
            "learners": [dict(learner.state()) for learner in self.learners],
            "names": self._names(known),
        }

    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        if self.weights.names is not None:
            self.decoder.names.add(self.weights.names)
        for name in state["names"].tobytes().decode("utf-8", "surrogateescape").split("\n"):
            if name:
                self.decoder.names.intern(name)
        vectors = [self._weights(arrays) for arrays in state["weights"]]
        self.current = vectors * len(self.learners) if len(vectors) == 1 else vectors
        self.mean = None if state["mean"] is None else self._weights(state["mean"])
        self.counted = state["counted"]
        for learner, own in zip(self.learners, state["learners"], strict=True):
            learner.restore(own)
        if self.fired is not None and decodings:
            self.fired.load(self._fired_path(decodings - 1))
        if self.tuner.describe():
            self.tell(self.tuner.describe())

    def _names(self, known: Sequence[Weights]) -> Any:
        """The checkpoint's weights have ids; a resumed decoder may not meet a feature again.

        The names of nearly all are in the file of the iteration's weights.
        """
        there = self.weights.vector().ids
        ids = [weights.vector().ids for weights in known]
        missing = [one[~_contains(there, one)] for one in ids]
        found = np.unique(np.concatenate(missing)).tolist()
        names = [self.decoder.names.name(id) or "" for id in found]
        return np.frombuffer("\n".join(names).encode("utf-8", "surrogateescape"), np.uint8)

    def _weights(self, arrays: Mapping[str, Any]) -> Weights:
        vector = SparseVector(
            np.ascontiguousarray(arrays["ids"], np.uint64),
            np.ascontiguousarray(arrays["values"], np.float32),
        )
        return Weights(vector, names=self.decoder.names)

    def _known(self, weights: Weights) -> Weights:
        """A copy with the decoder's names."""
        return Weights(weights.vector(), names=self.decoder.names)

    # -- the phases --

    def _wants_collapsed(self) -> bool:
        return self.fired is None

    @property
    def _named(self) -> bool:
        # Of the features in gold forests and beams few are learned: those are named afterwards. The
        # names of all would take a quarter of the time.
        return not self.tuner.names_later

    def _take(self, decoded: Iterator[Decoded]) -> tuple[Added, Record]:
        added = Added()
        for number, (text, ids) in enumerate(in_order(self._look, decoded, self.threads)):
            added.texts.append(text)
            if self.fired is not None:
                self.fired.add(number, ids)
        if self.fired is not None:
            self.fired.save(self._fired_path(self.iteration))
            if self.iteration > 1:  # the one before may still be the checkpoint's
                self._fired_path(self.iteration - 2).unlink(missing_ok=True)
        templates = active_by_template(self.weights, self.dense)
        return added, {"active_by_template": templates}

    def _look(self, decoded: Decoded) -> tuple[str, Any]:
        """The best translation, and which features its rivals have, if they are counted."""
        if self.fired is None:
            return self._best_text(decoded), None
        k = self.options.kbest or COUNTED
        return self._best_text(decoded), fired_in(
            kbest(decoded.forest, self.weights, k, distinct=self.options.distinct)
        )

    def _fired_path(self, decoding: int) -> Path:
        return self.directory.pool / f"{decoding:02d}.fired.npz"

    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        total = sum(map(len, self.shares))
        with self._step(f"iteration {self.iteration + 1}: {self.tuner.name}", total) as step:
            advance = _Advance(step)
            learnable = None
            if self.fired is not None:
                learnable = self.fired.frequent(
                    self.options.min_sentences, self.options.most_frequent, self.own.tolist()
                )

            def one(number: int) -> Pass:
                return self._pass(number, advance, learnable)

            passes = list(in_order(one, range(len(self.learners)), self.threads))
        record = self._record(passes)
        if learnable is not None:
            record["learnable_features"] = len(learnable)
        if self.tuner.top:
            record["dropped_features"] = self._select(passes)
        mixed = self._mix(passes)
        found = mixed if self.mean is None else self.mean
        return found, record, self.restriction.fixed

    def _select(self, passes: Sequence[Pass]) -> int:
        """Keeps the strongest features, in everything that is mixed; how many were dropped."""
        always = {*self.own.tolist(), *self.restriction.fixed}
        stay = strongest([one.weights for one in passes], self.tuner.top, always)
        every = np.unique(np.concatenate([one.weights.vector().ids for one in passes]))
        for one in passes:
            one.weights, one.mean = restricted(one.weights, stay), restricted(one.mean, stay)
        if self.mean is not None:
            self.mean = restricted(self.mean, stay)
        return int(np.count_nonzero(~np.isin(every, stay)))

    def _pass(self, number: int, advance: _Advance, learnable: Any) -> Pass:
        """A learner's sentences, once."""
        learner, share = self.learners[number], self.shares[number]
        random = np.random.default_rng([self.options.seed, self.iteration, number])
        order = [share[at] for at in random.permutation(len(share))]
        threads = max(1, self.threads // len(self.learners))
        task = Task(
            random=random,
            threads=threads,
            iteration=self.iteration,
            fixed=self.restriction.fixed,
            learnable=learnable,
        )
        weights = self.current[number].copy()
        late = Weights(names=self.decoder.names)  # the sum of (sentences before) * step
        found = Pass(weights, weights)
        size = learner.minibatch
        for first in range(0, len(order), size):
            batch = [s for s in order[first : first + size] if not self._is_empty(s)]
            if batch:
                examples = self._examples(number, batch, weights, threads)
                update = learner.update(weights, examples, task)
                step = update.step if learnable is None else only(update.step, learnable)
                weights.add(step)
                late.add(step, float(found.steps))
                if learner.names_later:
                    for sentence, derivation in update.derivations:
                        text = self.examples.sentences[sentence]
                        self.decoder.name_features(text, derivation, step)
                found.steps += len(batch)
                found.updates += update.updates
                for name, count in update.counts.items():
                    found.counts[name] = found.counts.get(name, 0) + count
                for name, values in update.measures.items():
                    found.measures.setdefault(name, []).extend(values)
                for kind, texts in update.texts.items():
                    pairs = zip(update.sentences, texts, strict=True)
                    found.texts.setdefault(kind, {}).update(pairs)
            advance(min(size, len(order) - first))
        # Sum over sentences of the weights after each, by Abel's formula.
        found.mean = weights.copy()
        if found.steps:
            found.mean.add(late.vector(), -1.0 / found.steps)
        return found

    def _examples(
        self, number: int, batch: Sequence[int], weights: Weights, threads: int
    ) -> list[Example]:
        """Sentences of a learner, decoded with its weights."""
        data = self.examples
        requests = (
            Request(
                data.sentences[sentence],
                weights,
                named=self._named,
                spans=self.tuner.needs_spans,
            )
            for sentence in batch
        )
        answers = self.decoders[number].decode_all(requests, threads=min(threads, len(batch)))
        return [
            Example(
                sentence,
                decoded.forest,
                data.references[sentence],
                *self._gold(sentence),
                decoded.spans,
            )
            for sentence, decoded in zip(batch, answers, strict=True)
        ]

    def _gold(self, number: int) -> tuple[Forest | None, bool]:
        """Its gold forest, and whether it is of the whole sentence."""
        if self.examples.gold is None:
            return None, True
        return self.examples.gold[number], self.examples.complete[number]

    def _is_empty(self, sentence: int) -> bool:
        return is_empty(self.examples.sentences[sentence])

    def _mix(self, passes: Sequence[Pass]) -> Weights:
        """The learners' weights for the next iteration, and the mean; returns the mixed weights."""
        sizes = [float(len(share)) for share in self.shares]
        mixed = self._mean_of([one.weights for one in passes], sizes)
        if self.tuner.mixing == "iterative":
            self.current = [mixed] * len(passes)
        else:
            self.current = [one.weights for one in passes]
        kind = self.tuner.average
        if kind == "updates":
            parts = [(one.mean, float(one.steps)) for one in passes if one.steps]
        elif kind == "iterations":
            parts = [(mixed, 1.0)]
        elif kind == "learners":
            parts = [(one.weights, 1.0) for one in passes]
        else:
            return mixed
        if self.mean is not None:
            parts.insert(0, (self.mean, self.counted))
        if parts:
            self.mean = self._mean_of([w for w, _ in parts], [share for _, share in parts])
            self.counted = sum(share for _, share in parts)
        return mixed

    def _mean_of(self, many: Sequence[Weights], shares: Sequence[float]) -> Weights:
        """The weighted mean; what is equal in all of them, as fixed weights are, stays as it is."""
        if len(many) == 1:
            return many[0]
        mean = Weights.average(many, shares)
        for id in self.restriction.fixed:
            if id in mean:
                mean[id] = self.start[id]
        return mean

    def _record(self, passes: Sequence[Pass]) -> Record:
        """What metrics.jsonl says of a pass."""
        record: Record = {"objective": 0.0, "updates": sum(one.updates for one in passes)}
        if self.examples.statistics:
            record["examples"] = self.examples.statistics["examples"]
            record["example_words"] = self.examples.statistics["words"]
        for name in sorted({name for one in passes for name in one.counts}):
            record[name] = np.sum([one.counts.get(name, 0) for one in passes], axis=0).tolist()
        for name in sorted({name for one in passes for name in one.measures}):
            values = [value for one in passes for value in one.measures.get(name, [])]
            record[name] = float(np.mean(values)) if values else 0.0
            record[f"{name}_deviation"] = float(np.std(values)) if values else 0.0
        record["objective"] = -record.get("loss", 0.0)
        for kind in sorted({kind for one in passes for kind in one.texts}):
            texts = {n: text for one in passes for n, text in one.texts.get(kind, {}).items()}
            record[f"{kind}_score"] = self._corpus_score(texts)
        return record

    def _corpus_score(self, texts: Mapping[int, str]) -> float:
        """Of the strings that were chosen during a pass; sentences without any count as empty."""
        judge = self.judge
        if self.training is not judge.data:
            judge = Judge(self.metric, self.training, self.threads)
        every = [texts.get(number, "") for number in range(len(judge.data.sentences))]
        return float(judge.scores(every)["score"])


class _Advance:
    """Progress from several threads."""

    def __init__(self, step: Progress) -> None:
        self._step, self._lock = step, threading.Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._step.advance(count)


def active_by_template(weights: Weights, dense: Sequence[str]) -> dict[str, int]:
    """How many weights are not 0: of the model's own features, and of each template."""
    names = weights.names if weights.names is not None else FeatureNames()
    return count_by_template(weights.table, names, list(dense))


def _contains(ascending: Any, values: Any) -> Any:
    """Of each value whether it is there; without sorting millions again, as np.isin would."""
    at = np.searchsorted(ascending, values)
    found = np.zeros(len(values), np.bool_)
    inside = at < len(ascending)
    found[inside] = ascending[at[inside]] == values[inside]
    return found


def _arrays(weights: Weights) -> dict[str, Any]:
    vector = weights.vector()
    return {"ids": vector.ids, "values": vector.values}
