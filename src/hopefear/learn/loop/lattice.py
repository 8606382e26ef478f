"""The loop of `lattice-svm`: lattices decoded on demand, then once, never again.  [wisniewski2013]

Goes in and comes out: as `base_loop.py`. The iterations:

    0       only the sentences that the first updates draw are decoded, with the start weights
    1       the whole set is decoded with what was learned from these
    2 …     nothing is decoded: weights are judged by their best translations in the lattices

With 300 first updates and 1000 sentences that makes 1.3 decodings of the set (table 1; errata). A
held-out set is decoded in iterations 0 and 1. The best iteration is the point at which to stop
(section 5.4), the start if no other comes near it: its score is one in lattices, not one of a
search with its weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base.errors import OptionError
from hopefear.base.progress import Progress
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import Weights
from hopefear.decode.contract import Decoded
from hopefear.forest import ForestFile, save_pool, trim
from hopefear.learn.loop.base import is_empty
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.judge import Judge, TuningSet, by_chance
from hopefear.learn.loop.run import Record
from hopefear.learn.online.lattice_svm import LatticeSvm
from hopefear.learn.pool.store import Added, ForestStore
from hopefear.learn.tuner import Pool

LAST_DECODING = 1  # iteration


@register("loop", "lattice")
class LatticeLoop(Loop):
    """One run of `lattice-svm`."""

    def __init__(self, *, tuner: LatticeSvm, **more: Any) -> None:
        if more["options"].tie:
            raise OptionError(f"--tie: {tuner.name} cannot tie weights; take one with k-best lists")
        super().__init__(tuner=tuner, **more)
        count = len(self.judge.data.sentences)
        drawn = tuner.draws(np.random.default_rng([self.options.seed, 0]), count, 0)
        # Without any update the start weights are all there is to judge.
        self.drawn = np.unique(drawn) if self.options.iterations else np.arange(count)
        self._held: frozenset[int] = frozenset()
        self._held_for = 0  # files of the store

    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        super()._restore(state, min(decodings, LAST_DECODING + 1))

    # -- decoding, or not --

    def _decoded(
        self, data: TuningSet, step: Progress, *, spans: bool = False
    ) -> Iterator[Decoded]:
        tuned = data is self.judge.data
        if self.iteration > LAST_DECODING:
            for forest in self._newest if tuned else ForestFile(self._heldout_path):
                yield Decoded(forest)
                step.advance()
            return
        if tuned and self.iteration == 0:
            drawn = set(self.drawn.tolist())
            chosen = [s if i in drawn else "" for i, s in enumerate(data.sentences)]
            data = replace(data, sentences=chosen)  # what is empty is not decoded
        yield from super()._decoded(data, step, spans=spans)

    @property
    def _newest(self) -> ForestFile:
        assert isinstance(self.store, ForestStore)
        return self.store.files[-1]

    def _take(self, decoded: Iterator[Decoded]) -> tuple[Added, Record]:
        record: Record = {"judged": "search", "decodings": self._decodings()}
        if self.iteration > LAST_DECODING:
            texts = list(in_order(self._best_text, decoded, self.threads))
            return Added(texts=texts), record | {"judged": "lattices"}
        added = self.store.add(self.iteration, decoded, self.weights)
        if len(self.drawn) < len(added.texts):
            scores = self._scores_of_drawn(added.texts)
            if self.iteration == 0:
                added.failed -= len(added.texts) - len(self.drawn)
                record |= {"judged": "sample", **scores}
            else:
                record["sample_score"] = scores["score"]
        return added, record

    def _scores_of_drawn(self, texts: list[str]) -> Record:
        data = self.judge.data
        part = TuningSet(
            [data.sentences[i] for i in self.drawn], [data.references[i] for i in self.drawn]
        )
        judge = Judge(self.metric, part, self.threads)
        chosen = [texts[i] for i in self.drawn]
        return judge.scores(chosen)

    def _qualities(self) -> list[float]:
        """The start was judged by a sample: it is as far from iteration 1 as it is there.

        Not by the lattices, in which it looks better than it is: they have what the weights of
        iteration 1 found (49.5 instead of 47.6 BLEU on Multi30k fr-en).
        """
        found = super()._qualities()
        if self.heldout is None and len(found) > 1 and "sample_score" in self.records[1]:
            found[0] += found[1] - self.metric.quality(self.records[1]["sample_score"])
        return found

    def _best(self) -> int:
        """Where a sample judged the start, it must be ahead by more than chance: of 200 sentences
        it had 50.2 BLEU and iteration 1 49.4; of 1000 others it has 48.6, what is learned 49.8.
        """
        best, qualities = super()._best(), self._qualities()
        if best or len(qualities) == 1 or self.records[0].get("judged") != "sample":
            return best
        learned = int(np.argmax(qualities[1:])) + 1
        ahead = qualities[0] - qualities[learned]
        return learned if ahead <= by_chance(len(self.drawn)) and self.heldout is None else best

    def _decodings(self) -> float:
        """Of the set, so far."""
        full = np.array([not is_empty(sentence) for sentence in self.judge.data.sentences])
        decoded = int(full[self.drawn].sum()) + int(full.sum()) * (self.iteration > 0)
        return decoded / max(1, int(full.sum()))

    @property
    def _heldout_path(self) -> Path:
        return self.directory.pool / "heldout.forests"

    def _scores(self, judge: Judge, label: str) -> Record:
        """As in any loop; but the held-out set's last forests are kept."""
        if judge is not self.heldout or self.iteration != LAST_DECODING:
            return super()._scores(judge, label)
        with self._step(label, len(judge.data.sentences)) as step:
            decoded = self._decoded(judge.data, step)
            save_pool(self._heldout_path, (trim(one.forest) for one in decoded))
        kept = map(Decoded, ForestFile(self._heldout_path))
        return judge.scores(list(in_order(self._best_text, kept, self.threads)))

    # -- learning --

    def _settled(self, record: Record) -> bool:
        """Not before the whole set was learned from: the first updates saw a part of it."""
        return self.iteration > LAST_DECODING and super()._settled(record)

    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        found = super()._learn()
        if self.iteration == 0:
            self.tell(str(found[1]["notes"]["signature"]))
        return found

    def _hold(self, pool: Pool) -> frozenset[int]:
        assert isinstance(self.store, ForestStore)
        if self._held_for != len(self.store.files):  # what lattices can tell changes with them
            self._held, self._held_for = super()._hold(pool), len(self.store.files)
        return self._held
