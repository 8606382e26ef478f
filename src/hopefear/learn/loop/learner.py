"""Learners: passes over a share of the sentences, in this process or on a cluster.

    job = LearnerJob(source=…, make_tuner=…, iteration=2, weights=mixed, …)
    for p in executor.map(job, turns, place=…, refill=…):    # a `Pass` of each learner, in order

A learner's sentences and the state of its tuner stay in the process that made its last pass. A
process that lacks them (`StateLost`) gets them with the learner's next turn: its share and the
state that came back with the last pass. So a process may die at any time; its learners go on
elsewhere, with the same result.

A pass returns what it changed: the weights after the pass of the features that it touched, and
their mean over the sentences. Sentence-level values are summed here, so that a pass over more
sentences does not take more to send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest, gather_weights
from hopefear.base.executor import Folder, Job, Resources, StateLost
from hopefear.base.weights import FeatureNames, NamesToSend, Weights
from hopefear.decode.contract import Decoder, Request, Sentence, Tokens
from hopefear.decode.source import DecoderSource
from hopefear.forest import ForestFile
from hopefear.learn.loop.moments import Moments
from hopefear.learn.pool.feature_selection import only, restricted
from hopefear.learn.tuner import Collapsed, Example, OnlineTuner, Share, Task
from hopefear.metrics import Metric
from hopefear.metrics.metric import total

Ids = NDArray[np.uint64]


@dataclass(frozen=True)
class ShareExamples:
    """The part of the training set that a learner learns from."""

    share: Share
    sentences: Sequence[Sentence | Tokens]
    complete: Sequence[bool] = ()  # of each sentence; empty: without gold forests


@dataclass(frozen=True)
class Entry:
    """What a process needs to take over a learner."""

    examples: ShareExamples
    state: Mapping[str, Any] | None  # of the tuner after the last pass; None before the first
    weights: Weights | None  # the learner's own, if learners are mixed only at the end


@dataclass(frozen=True)
class Turn:
    """A learner's turn to make a pass."""

    learner: int
    received: Sequence[NDArray[np.int64]] | None  # sums of the other learners in the last pass
    entry: Entry | None = None


@dataclass
class Pass:
    """The result of a learner's pass over its share."""

    learner: int
    sentences: int  # of the share
    ids: Ids  # the features that the pass changed, ascending
    weights: NDArray[np.float32]  # of these, at the end
    means: NDArray[np.float64] | None  # of these, over the weights after every sentence, if used
    steps: int  # number of sentences with words
    updates: int  # of these
    measures: dict[str, Moments]
    counts: dict[str, Any]
    texts: dict[str, NDArray[np.int64]]  # kind -> statistics of the strings, summed over the share
    no_texts: NDArray[np.int64]  # these statistics if all strings are empty
    recorded: Sequence[NDArray[np.int64]]
    state: Mapping[str, Any]
    description: str
    own: Weights | None  # all weights of the learner, if learners are mixed only at the end
    names: bytes  # of the features that it changed, unless they were sent before


@dataclass
class LearnerJob(Job[Turn, Pass]):
    """Passes of learners with the same weights, or with their own (`weights` is None)."""

    run_id: str  # of the run in this process; learners of other runs are forgotten
    source: DecoderSource
    make_tuner: Callable[[], OnlineTuner]
    metric: Metric
    iteration: int
    seed: int
    weights: Weights | None
    fixed: frozenset[int]
    learnable: Ids | None
    kept: Ids | None = None  # features that the learners' own weights are restricted to
    gold: Path | None = None  # file of gold forests
    threads: int = 1  # of a learner, on threads of this process

    def files(self) -> Iterable[Path | Folder]:
        yield from self.source.files()
        if self.gold is not None:
            yield self.gold

    def open(self, resources: Resources) -> Callable[[Turn], Pass]:
        decoder = self.source.open(resources)
        learners: dict[int, Learner] = resources.only("learners", self.run_id, dict)
        gold = None
        if self.gold is not None:
            path = resources.path(self.gold)
            gold = resources.only("gold", (self.run_id, path), lambda: ForestFile(path))

        def make_pass(turn: Turn) -> Pass:
            learner = learners.get(turn.learner)
            if turn.entry is not None:
                learner = Learner(self, turn.learner, turn.entry, decoder)
                learners[turn.learner] = learner
            elif learner is None or learner.next_iteration != self.iteration:
                raise StateLost
            return learner.make_pass(self, turn, gold, resources)

        return make_pass


class Learner:
    """A learner in the process that makes its passes."""

    def __init__(self, job: LearnerJob, number: int, entry: Entry, decoder: Decoder) -> None:
        self.examples, self.number = entry.examples, number
        self.decoder = decoder.for_learner(number)
        self.next_iteration = job.iteration
        self.tuner = job.make_tuner()
        self.tuner.begin(entry.examples.share)
        if entry.state is not None:
            self.tuner.restore(entry.state)
        self.weights = entry.weights  # its own
        self._places = {n: at for at, n in enumerate(entry.examples.share.sentences)}
        self._to_send: NamesToSend | None = None
        self._prepared = job.metric.prepare(entry.examples.share.references)

    def make_pass(
        self,
        job: LearnerJob,
        turn: Turn,
        gold: Sequence[Forest] | None,
        resources: Resources,
    ) -> Pass:
        """Make a pass over the share in random order, and return the result."""
        tuner, names = self.tuner, self.decoder.names
        if turn.received is not None:
            tuner.receive(turn.received)
        base = job.weights if job.weights is not None else self.weights
        assert base is not None, "a learner has weights of its own or those of the job"
        weights = base.copy(names)
        if job.weights is None and job.kept is not None:
            weights = restricted(weights, job.kept)
        late = Weights(names=names)  # the sum of (sentences before) * step
        random = np.random.default_rng([job.seed, job.iteration, self.number])
        share = self.examples.share.sentences
        order = [share[at] for at in random.permutation(len(share))]
        task = Task(
            random=random,
            threads=job.threads,
            iteration=job.iteration,
            fixed=job.fixed,
            learnable=job.learnable,
        )
        steps = updates = 0
        counts: dict[str, Any] = {}
        measures: dict[str, list[float]] = {}
        texts: dict[str, dict[int, str]] = {}
        for first in range(0, len(order), tuner.minibatch):
            part = order[first : first + tuner.minibatch]
            batch = [s for s in part if Sentence.of(self._sentence(s)).words]
            if batch:
                examples = self._examples(batch, weights, gold, job.threads)
                update = tuner.update(weights, examples, task)
                step = update.step if job.learnable is None else only(update.step, job.learnable)
                weights.add(step)
                late.add(step, float(steps))
                if tuner.names_later and len(step):
                    for sentence, derivation in update.derivations:
                        self.decoder.name_features(self._sentence(sentence), derivation, step)
                steps += len(batch)
                updates += update.updates
                for name, count in update.counts.items():
                    counts[name] = counts.get(name, 0) + count
                for name, values in update.measures.items():
                    measures.setdefault(name, []).extend(values)
                for kind, strings in update.texts.items():
                    texts.setdefault(kind, {}).update(zip(update.sentences, strings, strict=True))
            resources.advance(len(part))
        self.next_iteration = job.iteration + 1
        if job.weights is None:
            self.weights = weights
            ids = weights.vector().ids
        else:
            ids = late.vector().ids
        at_end = gather_weights(weights.table, ids)
        means = None
        if tuner.average == "updates" and steps:
            # The mean of the weights after each sentence, by Abel's summation formula.
            means = at_end - gather_weights(late.table, ids) / steps
        return Pass(
            learner=self.number,
            sentences=len(share),
            ids=ids,
            weights=at_end.astype(np.float32),
            means=means,
            steps=steps,
            updates=updates,
            measures={name: Moments.of(values) for name, values in measures.items()},
            counts=counts,
            texts={kind: self._statistics(found) for kind, found in texts.items()},
            no_texts=self._statistics({}),
            recorded=tuner.recorded(),
            state=tuner.state(),
            description=tuner.describe(),
            own=None if job.weights is not None else weights,
            names=self._names(ids, resources, names),
        )

    def _names(self, ids: Ids, resources: Resources, names: FeatureNames) -> bytes:
        """Return the names to send to the process that mixes the weights."""
        if not resources.remote:
            return b""  # it shares the decoder's names
        if self._to_send is None:
            self._to_send = NamesToSend(names)
        return self._to_send.lines(ids)

    def _sentence(self, number: int) -> Sentence | Tokens:
        return self.examples.sentences[self._places[number]]

    def _examples(
        self,
        batch: Sequence[int],
        weights: Weights,
        gold: Sequence[Forest] | None,
        threads: int,
    ) -> list[Example]:
        """Decode a minibatch with the learner's weights and return the examples."""
        tuner, data, decoder = self.tuner, self.examples, self.decoder
        # Only the derivations of an update need their sparse features, which are found by replay.
        collapses = tuner.takes_collapsed and "collapse" in decoder.can
        form = decoder.collapsed_weights(weights) if collapses else None
        requests = (
            Request(
                self._sentence(number),
                weights,
                sparse="collapsed" if collapses else "full",
                named=not tuner.names_later,
                spans=tuner.needs_spans,
            )
            for number in batch
        )
        answers = decoder.decode_all(requests, threads=min(threads, len(batch)))
        language_weight = decoder.language_weight(weights)
        return [
            Example(
                number,
                decoded.forest,
                data.share.references[self._places[number]],
                None if gold is None else gold[number],
                gold is None or data.complete[self._places[number]],
                decoded.spans,
                self._derive(number, weights) if tuner.needs_target else None,
                language_weight,
                None
                if form is None
                else Collapsed(form, partial(decoder.full_features, self._sentence(number))),
            )
            for number, decoded in zip(batch, answers, strict=True)
        ]

    def _derive(self, number: int, weights: Weights) -> Callable[[Sequence[str]], Forest]:
        """Return the function that decodes a sentence into a given translation."""
        decoder, sentence = self.decoder, self._sentence(number)
        return lambda target: decoder.decode(Request(sentence, weights, target)).forest

    def _statistics(self, texts: Mapping[int, str]) -> NDArray[np.int64]:
        """Return the summed statistics of strings by sentence; missing ones count as empty."""
        strings = [texts.get(number, "") for number in self.examples.share.sentences]
        return total(self._prepared.statistics(strings))
