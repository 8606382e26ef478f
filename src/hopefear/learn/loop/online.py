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
from hopefear.learn.loop.base import BaseLoop, is_empty, word_count
from hopefear.learn.loop.judge import Judge, TuningSet, by_chance
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import Record
from hopefear.learn.loop.training import (
    GOLD_FILES,
    TrainingExamples,
    describe,
    reachable,
    sample,
)
from hopefear.learn.pool.feature_selection import FiredIn, fired_in, only, restricted, strongest
from hopefear.learn.pool.search_aware import check_search_aware
from hopefear.learn.pool.store import Added
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task

#: Default number of translations of a sentence whose features are counted.
COUNTED = 100


@dataclass
class Pass:
    """The result of a learner's pass over its share."""

    weights: Weights  # at the end
    mean: Weights  # of the weights after every sentence
    updates: int = 0
    steps: int = 0  # number of sentences
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
        self.learners = [first, *(make_tuner() for _ in range(first.learners - 1))]
        self.examples = TrainingExamples((), ())
        self.shares: list[list[int]] = []
        self.decoders: list[Decoder] = []
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
        self.current = [self._known(self.start) for _ in self.learners]  # weights of each
        self.mean: Weights | None = None
        self.counted = 0.0  # total weight of the vectors in the mean
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
        """Divide the examples among the learners."""
        self.examples = examples
        count, sentences = len(self.learners), len(examples.sentences)
        if count > sentences:
            raise OptionError(
                f"learners: {count} for {sentences} sentences; give at most one per sentence"
            )
        order = np.random.default_rng([self.options.seed]).permutation(sentences)
        self.shares = [np.sort(order[number::count]).tolist() for number in range(count)]
        self.decoders = [self.decoder.for_learner(number) for number in range(count)]
        lengths = [word_count(sentence) for sentence in examples.sentences]
        for learner, share in zip(self.learners, self.shares, strict=True):
            source_lengths = [lengths[number] for number in share]
            learner.begin(
                Share(
                    share,
                    [examples.references[number] for number in share],
                    self.metric,
                    self.options.kbest or learner.kbest,
                    self.options.distinct,
                    frozenset(self.decoder.names.intern(n) for n in self.decoder.untranslated),
                    frozenset(self.own.tolist()),
                    source_lengths,
                    (sentences - len(share), float(sum(lengths) - sum(source_lengths))),
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

    def _pool_files(self, decodings: int) -> list[Path]:
        gold = [self.directory.pool / name for name in GOLD_FILES if self.tuner.wants_gold]
        fired = self.fired is not None and decodings > 0
        return [*gold, *([self._fired_path(decodings - 1)] if fired else [])]

    def _names(self, known: Sequence[Weights]) -> Any:
        """Return the names of features that the file of the iteration's weights lacks.

        The checkpoint has weights by id, and a resumed decoder may not see a feature again.
        """
        stored = self.weights.vector().ids
        missing = [ids[~_contains(stored, ids)] for ids in (w.vector().ids for w in known)]
        names = [
            self.decoder.names.name(id) or "" for id in np.unique(np.concatenate(missing)).tolist()
        ]
        return np.frombuffer("\n".join(names).encode("utf-8", "surrogateescape"), np.uint8)

    def _weights(self, arrays: Mapping[str, Any]) -> Weights:
        vector = SparseVector(
            np.ascontiguousarray(arrays["ids"], np.uint64),
            np.ascontiguousarray(arrays["values"], np.float32),
        )
        return Weights(vector, names=self.decoder.names)

    def _known(self, weights: Weights) -> Weights:
        """Return a copy that uses the decoder's table of names."""
        return Weights(weights.vector(), names=self.decoder.names)

    # -- the phases --

    def _wants_collapsed(self) -> bool:
        return self.fired is None

    @property
    def _named(self) -> bool:
        # Few of the features in gold forests and beams are learned, and only these are named, after
        # the update. Naming all would take a quarter of the time.
        return not self.tuner.names_later

    def _take(self, decoded: Iterator[Decoded]) -> tuple[Added, Record]:
        added = Added()
        for number, (text, ids) in enumerate(in_order(self._look, decoded, self.threads)):
            added.texts.append(text)
            if self.fired is not None:
                self.fired.add(number, ids)
        if self.fired is not None:
            self.fired.save(self._fired_path(self.iteration))
            if self.iteration > 1:  # the previous file may still belong to the checkpoint
                self._fired_path(self.iteration - 2).unlink(missing_ok=True)
        templates = active_by_template(self.weights, self.dense)
        return added, {"active_by_template": templates}

    def _look(self, decoded: Decoded) -> tuple[str, Any]:
        """Return the best translation, and the features of the k-best list if they are counted."""
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

            def make_pass(number: int) -> Pass:
                return self._pass(number, advance, learnable)

            passes = list(in_order(make_pass, range(len(self.learners)), self.threads))
        self._exchange()
        record = self._record(passes)
        if learnable is not None:
            record["learnable_features"] = len(learnable)
        if self.tuner.top:
            record["dropped_features"] = self._select(passes)
        mixed = self._mix(passes)
        weights = mixed if self.mean is None else self.mean
        return weights, record, self.restriction.fixed

    def _exchange(self) -> None:
        """Give each learner what the others recorded in the pass."""
        if len(self.learners) == 1:
            return
        recorded = [learner.recorded() for learner in self.learners]
        totals = [np.sum(rows, axis=0) for rows in zip(*recorded, strict=True)]
        for learner, own in zip(self.learners, recorded, strict=True):
            learner.receive([total - rows for total, rows in zip(totals, own, strict=True)])

    def _select(self, passes: Sequence[Pass]) -> int:
        """Keep only the strongest features of all weights; return the number of dropped ones."""
        always = {*self.own.tolist(), *self.restriction.fixed}
        kept = strongest([p.weights for p in passes], self.tuner.top, always)
        every = np.unique(np.concatenate([p.weights.vector().ids for p in passes]))
        for p in passes:
            p.weights, p.mean = restricted(p.weights, kept), restricted(p.mean, kept)
        if self.mean is not None:
            self.mean = restricted(self.mean, kept)
        return int(np.count_nonzero(~np.isin(every, kept)))

    def _pass(self, number: int, advance: _Advance, learnable: Any) -> Pass:
        """Make a pass of a learner over its sentences and return the result."""
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
        result = Pass(weights, weights)
        size = learner.minibatch
        for first in range(0, len(order), size):
            batch = [s for s in order[first : first + size] if not self._is_empty(s)]
            if batch:
                examples = self._examples(number, batch, weights, threads)
                update = learner.update(weights, examples, task)
                step = update.step if learnable is None else only(update.step, learnable)
                weights.add(step)
                late.add(step, float(result.steps))
                if learner.names_later:
                    for sentence, derivation in update.derivations:
                        text = self.examples.sentences[sentence]
                        self.decoder.name_features(text, derivation, step)
                result.steps += len(batch)
                result.updates += update.updates
                for name, count in update.counts.items():
                    result.counts[name] = result.counts.get(name, 0) + count
                for name, values in update.measures.items():
                    result.measures.setdefault(name, []).extend(values)
                for kind, texts in update.texts.items():
                    pairs = zip(update.sentences, texts, strict=True)
                    result.texts.setdefault(kind, {}).update(pairs)
            advance(min(size, len(order) - first))
        # The mean of the weights after each sentence, by Abel's summation formula.
        result.mean = weights.copy()
        if result.steps:
            result.mean.add(late.vector(), -1.0 / result.steps)
        return result

    def _examples(
        self, number: int, batch: Sequence[int], weights: Weights, threads: int
    ) -> list[Example]:
        """Decode a minibatch of a learner with its weights and return the examples."""
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
        """Return a sentence's gold forest, and whether it covers the complete sentence."""
        if self.examples.gold is None:
            return None, True
        return self.examples.gold[number], self.examples.complete[number]

    def _is_empty(self, sentence: int) -> bool:
        return is_empty(self.examples.sentences[sentence])

    def _mix(self, passes: Sequence[Pass]) -> Weights:
        """Set the learners' next weights and the mean; return the mixed weights."""
        sizes = [float(len(share)) for share in self.shares]
        mixed = self._mean_of([p.weights for p in passes], sizes)
        if self.tuner.mixing == "iterative":
            self.current = [mixed] * len(passes)
        else:
            self.current = [p.weights for p in passes]
        kind = self.tuner.average
        if kind == "updates":
            parts = [(p.mean, float(p.steps)) for p in passes if p.steps]
        elif kind == "iterations":
            parts = [(mixed, 1.0)]
        elif kind == "learners":
            parts = [(p.weights, 1.0) for p in passes]
        else:
            return mixed
        if self.mean is not None:
            parts.insert(0, (self.mean, self.counted))
        if parts:
            self.mean = self._mean_of([w for w, _ in parts], [share for _, share in parts])
            self.counted = sum(share for _, share in parts)
        return mixed

    def _mean_of(self, vectors: Sequence[Weights], shares: Sequence[float]) -> Weights:
        """Return the weighted mean of weight vectors; fixed weights are exactly unchanged."""
        if len(vectors) == 1:
            return vectors[0]
        mean = Weights.average(vectors, shares)
        for id in self.restriction.fixed:
            if id in mean:
                mean[id] = self.start[id]
        return mean

    def _record(self, passes: Sequence[Pass]) -> Record:
        """Return the record of the passes of an iteration for metrics.jsonl."""
        record: Record = {"objective": 0.0, "updates": sum(p.updates for p in passes)}
        if self.examples.statistics:
            record["examples"] = self.examples.statistics["examples"]
            record["example_words"] = self.examples.statistics["words"]
        for name in sorted({name for p in passes for name in p.counts}):
            record[name] = np.sum([p.counts.get(name, 0) for p in passes], axis=0).tolist()
        for name in sorted({name for p in passes for name in p.measures}):
            values = [value for p in passes for value in p.measures.get(name, [])]
            record[name] = float(np.mean(values)) if values else 0.0
            record[f"{name}_deviation"] = float(np.std(values)) if values else 0.0
        record["objective"] = -record.get("loss", 0.0)
        for kind in sorted({kind for p in passes for kind in p.texts}):
            texts = {n: text for p in passes for n, text in p.texts.get(kind, {}).items()}
            record[f"{kind}_score"] = self._corpus_score(texts)
        return record

    def _corpus_score(self, texts: Mapping[int, str]) -> float:
        """Return the corpus score of strings by sentence; missing ones count as empty."""
        judge = self.judge
        if self.training is not judge.data:
            judge = Judge(self.metric, self.training, self.threads)
        translations = [texts.get(number, "") for number in range(len(judge.data.sentences))]
        return float(judge.scores(translations)["score"])


class _Advance:
    """Progress from several threads."""

    def __init__(self, step: Progress) -> None:
        self._step, self._lock = step, threading.Lock()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._step.advance(count)


def active_by_template(weights: Weights, dense: Sequence[str]) -> dict[str, int]:
    """Return the number of nonzero weights of dense features and of each template."""
    names = weights.names if weights.names is not None else FeatureNames()
    return count_by_template(weights.table, names, list(dense))


def _contains(ascending: Any, values: Any) -> Any:
    """Return a mask of values that are in a sorted array; unlike np.isin it does not sort."""
    at = np.searchsorted(ascending, values)
    mask = np.zeros(len(values), np.bool_)
    inside = at < len(ascending)
    mask[inside] = ascending[at[inside]] == values[inside]
    return mask


def _arrays(weights: Weights) -> dict[str, Any]:
    vector = weights.vector()
    return {"ids": vector.ids, "values": vector.values}
