"""Learning with latent derivations: losses and gradients, limits, and runs on toy problems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forest_small import tiny_forest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base.errors import OptionError
from hopefear.base.weights import SparseVector, Weights
from hopefear.decode.contract import Decoded, Request, Sentence
from hopefear.forest import (
    Forest,
    ForestBuilder,
    Objective,
    augment,
    derivation_sum,
    gain_scorer,
    hope_fear,
    intersect,
    kbest,
    string_sums,
    viterbi,
)
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.large_margin import LargeMargin
from hopefear.learn.online.latent import Latent, posterior_scale
from hopefear.learn.online.mira import Mira, Rm
from hopefear.learn.online.selection import Hypotheses
from hopefear.learn.tuner import Example, Share, Task
from hopefear.metrics import create

REFERENCES = ["the cats sleep", "cats and the cats"]
START = {"tm": 0.5, "swap": -0.25, "copy": 0.125, "len": 0.375}
STEP = 2.0**-12  # of finite differences; weights have single precision
LOSSES = ("lmm", "lsmm", "hcrf", "lsvm")
pytestmark = pytest.mark.engine


def begun(**options: Any) -> Latent:
    """A learner that has its share: one sentence, whose cost is BLEU+1."""
    tuner = Latent(scale=2.0, **options)
    tuner.begin(Share([0], [REFERENCES], create("bleu+1"), 100))
    return tuner


def found(tuner: Latent, weights: Weights, forest: Forest | None = None) -> Hypotheses:
    example = Example(0, forest or tiny_forest(), REFERENCES)
    (hypotheses,) = tuner._find(weights, [(example, None)], task())
    return hypotheses


def task(seed: int = 1, **more: Any) -> Task:
    return Task(random=np.random.default_rng(seed), **more)


def hinge(hypotheses: Hypotheses) -> float:
    assert hypotheses.pair is not None
    t, a = hypotheses.pair
    scores, gains = hypotheses.scores, hypotheses.gains
    return float(gains[t] - gains[a] - (scores[t] - scores[a]))


def gradient(hypotheses: Hypotheses) -> dict[int, float]:
    """The gradient of the loss: E[f] of the second term minus E[f] of y+."""
    assert hypotheses.pair is not None
    begin, ids, values = hypotheses.rows([*hypotheses.pair])
    signs = np.repeat([-1.0, 1.0], np.diff(begin))
    total: dict[int, float] = {}
    for id, value in zip(ids.tolist(), (signs * values).tolist(), strict=True):
        total[id] = total.get(id, 0.0) + value
    return total


def list_forest() -> Forest:
    """Derivations that are single edges, so that gains of edges are exact."""
    builder, random = ForestBuilder(), np.random.default_rng(3)
    node = builder.node(coverage=[0], span=(0, 1))
    for text in ("the cats sleep", "cats sleep", "the cats sleep", "sleep the cats", "cats sleep"):
        values = np.round(random.normal(size=4) * 8) / 8
        builder.edge(node, (), text.split(), features=dict(zip(START, values, strict=True)))
    return builder.finish(node)


@pytest.mark.parametrize("make", [tiny_forest, list_forest])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("choose", ["derivation", "sampling"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_equal_finite_differences(
    loss: Any, choose: Any, scale: float, make: Any
) -> None:
    options: dict[str, Any] = {"beam": 0} if loss == "lsmm" or choose == "sampling" else {}
    if loss != "lsvm" or choose == "sampling":
        options["posterior_scale"] = scale
    tuner, forest = begun(loss=loss, choose=choose, **options), make()
    names = forest.names
    here = found(tuner, Weights(START), forest)
    analytic = gradient(here)
    for name, value in START.items():
        near = [
            hinge(found(tuner, Weights({**START, name: value + sign * STEP}), forest))
            for sign in (1, -1)
        ]
        numeric = (near[0] - near[1]) / (2 * STEP)
        assert analytic.get(names.intern(name), 0.0) == pytest.approx(numeric, abs=1e-6)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_equal_the_formulas(loss: Any, scale: float) -> None:
    """Eq. 6.16-6.19 by enumeration, on a forest where the gains of edges are exact."""
    forest, weights = list_forest(), Weights(START)
    more: dict[str, Any] = {} if loss == "lsvm" else {"posterior_scale": scale}
    if loss == "lsmm":
        more["beam"] = 0
    tuner = begun(loss=loss, **more)
    here = found(tuner, weights, forest)
    assert here.pair is not None
    listed = kbest(forest, weights, 100)
    scores = np.array([derivation.score for derivation in listed])
    texts = np.array([derivation.text for derivation in listed])
    gains = tuner._cost.gains(texts.tolist(), 0)
    plus = here.derivations[here.pair[0]].text

    def log_sum(values: Any) -> float:
        largest = values.max()
        if loss == "lsvm":
            return float(largest)
        return float(largest + math.log(np.exp(scale * (values - largest)).sum()) / scale)

    good = gains[texts == plus][0]
    if loss == "hcrf":
        expected = log_sum(scores) - log_sum(scores[texts == plus])
    elif loss == "lsmm":
        expected = log_sum(scores - gains) - log_sum(scores[texts == plus]) + good
    else:
        minus = here.derivations[here.pair[1]].text
        expected = (
            log_sum(scores[texts == minus]) - gains[texts == minus][0]
            - log_sum(scores[texts == plus]) + good
        )  # fmt: skip
    assert hinge(here) == pytest.approx(expected, abs=1e-5)


def test_sampling_finds_the_maximum_over_strings() -> None:
    """All strings of the small forest are drawn, so hope and fear are those of eq. 6.20."""
    forest, weights = tiny_forest(), Weights(START)
    tuner = begun(choose="sampling", samples=2000, posterior_scale=1.0)
    here = found(tuner, weights, forest)
    assert here.pair is not None
    texts = sorted({derivation.text for derivation in kbest(forest, weights, 100)})
    sums = np.array([total.log_sum for total in string_sums(forest, texts, weights)])
    gains = tuner._cost.gains(texts, 0)
    assert here.derivations[here.pair[0]].text == texts[int(np.argmax(sums + gains))]
    assert here.derivations[here.pair[1]].text == texts[int(np.argmax(sums - gains))]
    assert here.derivations[here.best].text == texts[int(np.argmax(sums))]


def test_a_large_scale_makes_the_latent_svm() -> None:
    limit = found(begun(loss="lsvm"), Weights(START))
    near = found(begun(posterior_scale=500.0), Weights(START))
    assert [d.text for d in near.derivations] == [d.text for d in limit.derivations]
    np.testing.assert_allclose(near.scores, limit.scores, atol=1e-6)
    for at in range(len(limit)):
        one, other = (SparseVector(*h.rows([at])[1:]) for h in (limit, near))
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_allclose(one.values, other.values, atol=1e-6)


def test_the_scale_makes_the_weight_of_the_language_model_one() -> None:
    assert posterior_scale(None, 0.25) == 4.0
    assert posterior_scale(None, 0.0) == posterior_scale(None, -1.0) == 1.0
    assert posterior_scale(3.0, 0.25) == 3.0


# -- cost-augmented forests --


def objective() -> Objective:
    metric = create("bleu+1")
    return Objective.of(metric, metric.prepare([REFERENCES]), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [2.0, -2.0])
def test_augmented_scores_are_score_and_gain(scale: float) -> None:
    forest, weights, aim = list_forest(), Weights(START), objective()
    split = augment(forest, weights, objective=aim, scale=scale, beam=0)
    for derivation in kbest(split.forest, k=100, scores=split.scores):
        rows = aim.prepared.statistics([derivation.text], np.zeros(1, np.int32))
        gain = float(aim.gains(rows)[0])
        model = weights.dot(derivation.features)
        assert derivation.score == pytest.approx(model + scale * gain, abs=1e-5)
    total = derivation_sum(split.forest, scores=split.scores)
    assert total.derivations == 5


def test_the_best_of_augmented_forests_are_hope_and_fear() -> None:
    forest, weights, aim = tiny_forest(), Weights(START), objective()
    pair = hope_fear(forest, weights, aim, scale=2.0)
    assert pair is not None
    for choice, scale in zip(pair, (2.0, -2.0), strict=True):
        split = augment(forest, weights, objective=aim, scale=scale, beam=0)
        best = viterbi(split.forest, scores=split.scores)
        assert best is not None
        assert best.text == choice.derivation.text


def test_a_cost_without_ngrams_is_refused() -> None:
    metric = create("ter")
    aim = Objective(metric.prepare([REFERENCES]), 0, None, metric.sentence_scores)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a metric of n-grams"):
        gain_scorer(tiny_forest(), aim)


# -- in the loop --


class AmbiguousDecoder(ToyDecoder):
    """Every translation of a word has two derivations; the grammar has a third."""

    def answer(self, request: Request) -> Decoded:
        builder = ForestBuilder(vocabulary=self.vocabulary, names=self.names)
        node = builder.node(covered=0)
        builder.edge(node, (), [], features={"always": 1.0})
        for place, word in enumerate(Sentence.of(request.sentence).words):
            after = builder.node(covered=place + 1)
            kinds = 2 if request.target is None else 3
            for kind in range(kinds):
                right = {"right": 1.0, "likely": -1.0, f"way{kind}:R{word}": 1.0}
                likely = {"likely": 0.5, f"way{kind}:L{word}": 1.0}
                builder.edge(after, [node], [0, f"R{word}"], features=right)
                builder.edge(after, [node], [0, f"L{word}"], features=likely)
            node = after
        forest = builder.finish(node)
        if request.target is not None:
            forest = intersect(forest, request.target).forest
        return Decoded(forest)


def run(
    directory: Path,
    tuner: type[LargeMargin],
    decoder: type[ToyDecoder] = ToyDecoder,
    *,
    threads: int = 1,
    seed: int = 1,
    **options: Any,
) -> Path:
    def loop(place: RunDirectory, chosen: LoopOptions) -> OnlineLoop:
        return OnlineLoop(
            make_tuner=lambda: tuner(**options),
            decoder=decoder(sparse=True),
            metric=create("bleu"),
            data=toy_set(12),
            start=Weights(NEAR),
            directory=place,
            options=chosen,
            threads=threads,
            tell=lambda text: None,
        )

    settings = LoopOptions(iterations=3, patience=0, tolerance=0, kbest=30, seed=seed)
    tune(loop, directory, {"tuner": {}}, settings)
    return directory / "iterations" / "03.tsv"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"space": "forest"},
        {"step": "cutting-plane"},
        {"step": "kbest", "rate": "adagrad"},
        {"learners": 3, "rate": "arow"},
        {"minibatch": 4},
    ],
)
def test_with_one_derivation_of_each_string_it_is_mira(options: Any, tmp_path: Path) -> None:
    ours = run(tmp_path / "latent", Latent, posterior_scale=0.7, **options)
    theirs = run(tmp_path / "mira", Mira, **options)
    assert ours.read_bytes() == theirs.read_bytes()


def test_relative_margin_with_one_derivation_of_each_string(tmp_path: Path) -> None:
    ours = run(tmp_path / "latent", Latent, step="rm-cp")
    theirs = run(tmp_path / "rm", Rm, step="rm-cp")
    assert ours.read_bytes() == theirs.read_bytes()


def test_the_latent_svm_is_mira_and_sums_are_not(tmp_path: Path) -> None:
    mira = run(tmp_path / "mira", Mira, AmbiguousDecoder).read_bytes()
    assert run(tmp_path / "lsvm", Latent, AmbiguousDecoder, loss="lsvm").read_bytes() == mira
    assert run(tmp_path / "lmm", Latent, AmbiguousDecoder).read_bytes() != mira


@pytest.mark.parametrize(
    "options",
    [
        *({"loss": loss} for loss in LOSSES),
        *({"loss": loss, "choose": "sampling"} for loss in LOSSES),
        {"constrain": "grammar"},
        {"choose": "sampling", "step": "rm-pa", "samples": 30},
        {"loss": "lsmm", "step": "cutting-plane"},
        {"loss": "hcrf", "step": "rm-cp", "space": "forest"},
    ],
)
def test_every_choice_learns_the_toy(options: Any, tmp_path: Path) -> None:
    weights = run(tmp_path / "run", Latent, AmbiguousDecoder, C=0.1, **options)
    learned = Weights.load(weights)
    assert learned["right"] - learned["likely"] > NEAR["right"] - NEAR["likely"]


def test_threads_do_not_change_the_result(tmp_path: Path) -> None:
    options: dict[str, Any] = {"choose": "sampling", "minibatch": 4, "learners": 2}
    one, three = (
        run(tmp_path / str(n), Latent, AmbiguousDecoder, threads=n, **options) for n in (1, 3)
    )
    assert one.read_bytes() == three.read_bytes()


def test_the_grammar_has_derivations_that_the_forest_lacks(tmp_path: Path) -> None:
    """Features of derivations that the search never had are learned."""
    forest = run(tmp_path / "forest", Latent, AmbiguousDecoder).read_text(encoding="utf-8")
    grammar = run(tmp_path / "grammar", Latent, AmbiguousDecoder, constrain="grammar")
    assert "way2" not in forest
    assert "way2" in grammar.read_text(encoding="utf-8")


def test_the_log_has_the_number_of_derivations(tmp_path: Path) -> None:
    run(tmp_path / "run", Latent, AmbiguousDecoder)
    record = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert '"derivations"' in record
    assert '"best_share"' in record


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 5}, "samples: applies to choose sampling"),
        ({"choose": "sampling", "space": "forest"}, "space: applies to choose derivation"),
        ({"loss": "lsvm", "posterior_scale": 2.0}, "posterior_scale: applies to loss lmm"),
        ({"posterior_scale": 0.0}, "posterior_scale: 0 is out of range"),
        ({"beam": 5}, "beam: applies to space forest, choose sampling or loss lsmm"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Latent(**options)


def test_a_cost_that_cannot_be_searched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="loss lsmm: supports a single cost that can be searched"):
        run(tmp_path / "run", Latent, loss="lsmm", cost=["ter"])


def test_a_decoder_without_targets_is_refused(tmp_path: Path) -> None:
    class Plain(ToyDecoder):
        can = frozenset()

    with pytest.raises(OptionError, match="latent: needs all derivations of a given"):
        run(tmp_path / "run", Latent, Plain, constrain="grammar")


def test_a_sentence_without_translation() -> None:
    empty = ForestBuilder().finish()
    for choose in ("derivation", "sampling"):
        tuner = begun(choose=choose)
        update = tuner.update(Weights(START), [Example(0, empty, REFERENCES)], task())
        assert len(update.step) == 0
