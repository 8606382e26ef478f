"""The contract of decoders: equal requests get equal answers, and `can` is correct.

One case per kind: phrase, hiero, external, stream, precomputed lattices. To test a new decoder, add
a function to `CASES`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from features_small import SmallHiero
from phrase_small import SmallModel

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import SPARSE_SCORE, Weights
from hopefear.decode.chart import HieroDecoder
from hopefear.decode.contract import (
    CAPABILITIES,
    Capability,
    Decoded,
    Decoder,
    ForcedOption,
    GoldOptions,
    Request,
    Sentence,
    TrainingPair,
)
from hopefear.decode.phrase import PhraseDecoder
from hopefear.decode.precomputed import GivenForests
from hopefear.decode.remote.external import ExternalDecoder, ExternalOptions
from hopefear.decode.remote.stream import StreamDecoder, StreamOptions
from hopefear.features.sparse.rule_id import RuleId
from hopefear.forest import Forest, derivation_sum, kbest, string_sums, viterbi

pytestmark = pytest.mark.engine

HALF = (0.5,) * 10
TABLE = {
    ("d",): {("a",): HALF, ("b", "c"): (0.3,) * 10},
    ("e",): {("b",): HALF, ("c",): (0.4,) * 10},
    ("d", "e"): {("a", "b"): (0.2,) * 10},
    ("f",): {("c",): HALF},
}
# Translates words into upper case; a list has all prefixes of a line.
LISTS = """
import sys
for i, line in enumerate(sys.stdin):
    words = line.upper().split()
    for n in range(len(words), 0, -1):
        print(f"{i} ||| {' '.join(words[:n])} ||| length= {n} half= 0.5 ||| {n}")
"""
SERVER = """
import base64, re, struct, sys
for line in sys.stdin:
    id, text = re.fullmatch('<seg .*?id="(.*?)".*?> (.*) </seg>\\n', line).groups()
    words = text.split()
    lines = []
    for n in (len(words), 1):
        vector = base64.b64encode(b"length\\0" + struct.pack("<d", n)).decode()
        fields = id, str(len(words)), " ".join(words[:n]).upper(), vector, str(float(n))
        lines.append(" ||| ".join(fields))
    print(2, *lines, sep="\\n", flush=True)
"""
LATTICE = "((('a',0.4,1),('b',0.6,1),),(('c',1.0,1),),)\n"


@dataclass
class Case:
    """A decoder, sentences that it can decode, and weights for them."""

    decoder: Decoder
    sentences: Sequence[Sentence]
    weights: Weights
    target: str = ""  # a translation of the first sentence


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence(tuple(text.split()), str(number)) for number, text in enumerate(texts)]


def phrase(folder: Path, stack: ExitStack) -> Case:
    decoder = SmallModel(TABLE, templates=(RuleId(),)).decoder()
    weights = Weights(dict.fromkeys(decoder.dense, 0.1) | {"unknown": -5.0})
    for forest in decoder.forests(["d e f"], weights):
        for id in forest.feature_ids.tolist():
            if (name := decoder.names.name(id)) not in decoder.dense and name:
                weights[name] = (id % 7 - 3) / 10
    return Case(decoder, sentences("d e f", "f d", "d e neu d", "e"), weights, "a b c")


def hiero(folder: Path, stack: ExitStack) -> Case:
    small = SmallHiero()
    decoder = small.decoder([])
    return Case(decoder, sentences("d e f", "f e", "d e d", "e"), small.weights(), "a b c")


def external(folder: Path, stack: ExitStack) -> Case:
    command = f"{python(folder, LISTS)} # {{weights}}"
    decoder = ExternalDecoder(ExternalOptions(command=command))
    return Case(decoder, sentences("x y z", "z", "y y"), Weights({"length": 1.0}))


def stream(folder: Path, stack: ExitStack) -> Case:
    start = Weights({"length": 1.0})
    options = StreamOptions(command=f"{python(folder, SERVER)} # {{weights}}", processes=1)
    decoder = stack.enter_context(StreamDecoder(options, start))
    return Case(decoder, sentences("x y z", "z", "y y"), start)


def precomputed(folder: Path, stack: ExitStack) -> Case:
    path = folder / "lattices.plf"
    path.write_text(2 * LATTICE, encoding="utf-8")
    decoder = GivenForests()
    return Case(decoder, decoder.read([path]), decoder.start_weights())


def python(folder: Path, text: str) -> str:
    path = folder / "decoder.py"
    path.write_text(text, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


CASES: list[Callable[[Path, ExitStack], Case]] = [phrase, hiero, external, stream, precomputed]


@pytest.fixture(params=CASES, ids=lambda make: make.__name__)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    with ExitStack() as stack:
        yield request.param(tmp_path, stack)


def content(forest: Forest) -> list[Any]:
    """The forest as bytes of its arrays."""
    arrays = (
        "node_edges", "heads", "tail_begin", "tails", "target_begin", "target", "rules", "spans",
        "coverage", "covered", "feature_ids", "edge_dense", "edge_rows", "row_dense", "row_values",
        "own_begin", "own_features", "own_values",
    )  # fmt: skip
    return [forest.goal, *(getattr(forest, name).tobytes() for name in arrays)]


def texts(case: Case, forest: Forest, weights: Weights | None = None) -> list[tuple[str, float]]:
    return [(d.text, d.score) for d in kbest(forest, weights or case.weights, 50)]


def requests(case: Case) -> list[Request]:
    return [Request(sentence, case.weights) for sentence in case.sentences]


def test_title_capabilities_and_dense_features(case: Case) -> None:
    assert case.decoder.title != Decoder.title
    assert case.decoder.can <= set(CAPABILITIES)
    assert set(get_args(Capability)) == set(CAPABILITIES)
    assert len(set(case.decoder.dense)) == len(case.decoder.dense)


def test_every_sentence_has_a_translation(case: Case) -> None:
    for request in requests(case):
        decoded = case.decoder.decode(request)
        assert viterbi(decoded.forest, case.weights) is not None
        assert decoded == Decoded(decoded.forest), "nothing beyond the request"


def test_equal_requests_get_equal_bytes(case: Case) -> None:
    first = [content(case.decoder.decode(request).forest) for request in requests(case)]
    again = [content(case.decoder.decode(request).forest) for request in requests(case)]
    assert first == again


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_to_several_requests_are_in_order(case: Case, threads: int) -> None:
    alone = [texts(case, case.decoder.decode(request).forest) for request in requests(case)]
    answers = case.decoder.decode_all(iter(requests(case)), threads=threads)
    assert [texts(case, decoded.forest) for decoded in answers] == alone
    forests = case.decoder.forests(case.sentences, case.weights, threads=threads)
    assert [texts(case, forest) for forest in forests] == alone


def test_no_requests_get_no_answers(case: Case) -> None:
    assert list(case.decoder.decode_all([])) == []


def test_weights_are_not_changed(case: Case) -> None:
    before = dict(case.weights.items())
    for request in requests(case):
        case.decoder.decode(request)
    assert dict(case.weights.items()) == before


def test_features_are_named(case: Case) -> None:
    for request in requests(case):
        forest = case.decoder.decode(request).forest
        assert forest.names is not None
        assert all(forest.names.name(id) for id in forest.feature_ids.tolist())


def test_names_can_be_added_later(case: Case) -> None:
    for request in requests(case):
        forest = case.decoder.decode(replace(request, named=False)).forest
        best = viterbi(forest, case.weights)
        assert best is not None
        case.decoder.name_features(request.sentence, best, best.features)
        assert all(case.decoder.names.name(id) for id in best.features.ids.tolist())
        named = viterbi(case.decoder.decode(request).forest, case.weights)
        assert named is not None
        assert named.text == best.text
        np.testing.assert_array_equal(named.features.ids, best.features.ids)


def request_for(capability: Capability, case: Case) -> Request:
    """Return a request that needs one capability more than a search."""
    sentence, weights = case.sentences[0], case.weights
    plain = Request(sentence, weights)
    option = ForcedOption(0, 1, ("y",))
    return {
        "target": replace(plain, target=case.target),
        "gold": replace(plain, target=case.target, gold=GoldOptions()),
        "spans": replace(plain, spans=True),
        "collapse": replace(plain, sparse="collapsed"),
        "markup": replace(plain, sentence=replace(sentence, options=(option,))),
        "grammar": replace(plain, sentence=replace(sentence, grammar=Path("absent.gz"))),
        "leave-out": replace(
            plain, sentence=replace(sentence, leave_out=TrainingPair((case.target,)))
        ),
        "folds": replace(plain, sentence=replace(sentence, fold=0)),
    }[capability]


@pytest.mark.parametrize("capability", sorted(CAPABILITIES))
def test_requests_beyond_the_capabilities_are_refused(case: Case, capability: Capability) -> None:
    request = request_for(capability, case)
    assert list(request.needs()) == [capability]
    if capability in case.decoder.can:
        case.decoder.check(request)
        case.decoder.require(capability, "a tuner", "take another one")
        return
    message = rf"needs {CAPABILITIES[capability]}, which .* does not offer"
    with pytest.raises(InputError, match=message):
        case.decoder.decode(request)
    with pytest.raises(InputError, match=message):
        list(case.decoder.decode_all([request]))
    with pytest.raises(OptionError, match=rf"^a tuner: {message}; take another one$"):
        case.decoder.require(capability, "a tuner", "take another one")


def decoder_with(case: Case, capability: Capability) -> Decoder:
    if capability not in case.decoder.can:
        pytest.skip(f"{case.decoder.title} does not offer {capability}")
    return case.decoder


def test_a_request_with_a_target_returns_its_derivations_only(case: Case) -> None:
    decoder = decoder_with(case, "target")
    forest = decoder.decode(request_for("target", case)).forest
    assert {text for text, _ in texts(case, forest)} == {case.target}
    best = viterbi(forest, case.weights)
    derivations = kbest(decoder.forest(case.sentences[0], case.weights), case.weights, 1000)
    scores = [d.score for d in derivations if d.text == case.target]
    assert best is not None
    assert best.score == pytest.approx(max(scores), abs=1e-4)
    unreachable = decoder.decode(Request(case.sentences[0], case.weights, "unreachable words"))
    assert viterbi(unreachable.forest, case.weights) is None


def test_the_derivations_of_a_target_include_those_of_the_search(case: Case) -> None:
    decoder = decoder_with(case, "target")
    searched = decoder.forest(case.sentences[0], case.weights)
    (found,) = string_sums(searched, [case.target], case.weights)
    every = derivation_sum(decoder.decode(request_for("target", case)).forest, case.weights)
    assert 1 <= found.derivations <= every.derivations
    assert found.log_sum <= every.log_sum + 1e-4


def test_gold_pairs(case: Case) -> None:
    decoder = decoder_with(case, "gold")
    decoded = decoder.decode(request_for("gold", case))
    assert decoded.gold is not None
    assert decoded.gold.complete
    assert decoded.gold.target == case.target
    assert {text for text, _ in texts(case, decoded.forest)} == {case.target}
    request = Request(case.sentences[0], case.weights, f"{case.target} unreachable words")
    unreachable = decoder.decode(replace(request, gold=GoldOptions()))
    assert unreachable.forest.nodes == 0
    prefix = decoder.decode(replace(request, gold=GoldOptions(prefixes=1)))
    assert prefix.gold is not None
    assert not prefix.gold.complete
    assert case.target.startswith(prefix.gold.target)
    gave_up = decoder.decode(replace(request_for("gold", case), gold=GoldOptions(max_states=1)))
    assert gave_up.gold is not None
    assert gave_up.gold.gave_up


def test_spans_come_with_the_same_forest(case: Case) -> None:
    decoder = decoder_with(case, "spans")
    for request in requests(case):
        decoded = decoder.decode(replace(request, spans=True))
        assert decoded.spans is not None
        assert decoded.spans.length == len(request.sentence.words)  # type: ignore[union-attr]
        assert content(decoded.forest) == content(decoder.decode(request).forest)


def test_collapsed_forests_score_the_same(case: Case) -> None:
    decoder = decoder_with(case, "collapse")
    weights = decoder.collapsed_weights(case.weights)
    for request in requests(case):
        full = texts(case, decoder.decode(request).forest)
        forest = decoder.decode(replace(request, sparse="collapsed")).forest
        names = {decoder.names.name(id) for id in forest.feature_ids.tolist()}
        assert names == {*decoder.dense, SPARSE_SCORE}
        scores = [score for _, score in texts(case, forest, weights)]
        assert scores == pytest.approx([score for _, score in full], abs=1e-3)


def test_collapsed_derivations_have_their_features(case: Case) -> None:
    decoder = decoder_with(case, "collapse")
    weights = decoder.collapsed_weights(case.weights)
    for request in requests(case):
        collapsed = decoder.decode(replace(request, sparse="collapsed", named=False)).forest
        full = decoder.decode(request).forest
        for derivation in kbest(collapsed, weights, 10):
            features = decoder.full_features(request.sentence, derivation)
            assert case.weights.dot(features) == pytest.approx(derivation.score, abs=1e-3)
            decoder.name_features(request.sentence, derivation, features)
            assert all(decoder.names.name(id) for id in features.ids.tolist())
        best = viterbi(full, case.weights)
        also = viterbi(collapsed, weights)
        assert best is not None
        assert also is not None
        features = decoder.full_features(request.sentence, also)
        np.testing.assert_array_equal(features.ids, best.features.ids)
        np.testing.assert_allclose(features.values, best.features.values, rtol=1e-5)


def test_decoders_without_templates_or_folds_do_not_offer_them() -> None:
    plain = SmallModel(TABLE).decoder()
    assert isinstance(plain, PhraseDecoder)
    assert not {"collapse", "folds"} & plain.can
    chart = SmallHiero().decoder([])
    assert isinstance(chart, HieroDecoder)
    assert "folds" not in chart.can
