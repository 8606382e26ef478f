"""Decoders that serve a learner: a correct one, and every kind of failure."""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import ForcedOption, Sentence
from hopefear.decode.remote.stream import SentWeights, StreamDecoder, StreamOptions, restore
from hopefear.decode.remote.stream_wire import decode, encode, read_request
from hopefear.forest import kbest, viterbi

# Returns every prefix of a sentence as a translation; updates its weights. Independent of our code.
GOOD = """
import base64, re, struct, sys
weights = {}
for line in open(sys.argv[1], encoding="utf-8"):
    name, value = line.split("\\t")
    weights[name] = float(value)
for line in sys.stdin:
    print(line.rstrip(), file=open(sys.argv[2], "a", encoding="utf-8"))
    tag, text = re.fullmatch("<seg (.*?)> (.*) </seg>\\n", line).groups()
    said = dict(re.findall('(\\w+)="(.*?)"', tag))
    raw = base64.b64decode(said.get("delta", ""))
    while raw.strip(b"\\0"):
        name, raw = raw.split(b"\\0", 1)
        (value,) = struct.unpack("<d", raw[:8])
        weights[name.decode()], raw = weights.get(name.decode(), 0.0) + value, raw[8:]
    words = text.split()
    entries = []
    for n in range(len(words) + 1):
        score = weights["words"] * n + weights.get("half", 0.0) * 0.5
        raw = b"words\\0" + struct.pack("<d", n) + b"half\\0" + struct.pack("<d", 0.5)
        vector = base64.b64encode(raw).decode()
        fields = said["id"], str(len(words)), " ".join(words[:n]), vector, str(score)
        entries.append((score, " ||| ".join(fields)))
    entries = [text for _, text in sorted(entries, reverse=True)][:3]
    print(3, *(entries + ["", "", ""])[:3], sep="\\n", flush=True)
"""


def good(folder: Path) -> str:
    path = folder / "decoder.py"
    path.write_text(GOOD, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {path} {{weights}} {folder}/seen"


def stream(command: str, **options: Any) -> StreamDecoder:
    more = {key: options.pop(key) for key in ("learners", "warn") if key in options}
    return StreamDecoder(StreamOptions(command=command, **options), Weights({"words": 1.0}), **more)


def best(decoder: StreamDecoder, sentence: Any, weights: Weights) -> str:
    derivation = viterbi(decoder.forest(sentence, weights), weights)
    assert derivation is not None
    return derivation.text


def test_weights_change_with_each_sentence(tmp_path: Path) -> None:
    warnings: list[str] = []
    with stream(good(tmp_path), warn=warnings.append) as decoder:
        weights = Weights({"words": 0.1})
        assert best(decoder, "ein haus é", weights) == "ein haus é"
        weights["words"] = -0.1
        forest = decoder.forest(Sentence(("ein", "haus"), "x7", Path("g.gz")), weights)
        assert [d.text for d in kbest(forest, weights, 9)] == ["", "ein", "ein haus"]
        assert forest.id == "x7"
        weights["half"] = 2.0
        assert best(decoder, "a", weights) == ""
        assert best(decoder, "b", weights) == ""
    first, second, third, fourth = (tmp_path / "seen").read_text(encoding="utf-8").splitlines()
    assert first == '<seg id="0"> ein haus é </seg>', "it was started with these weights"
    request = read_request(second, "-")
    assert request[:3] == ("ein haus", "x7", "g.gz")
    assert request.delta is not None
    assert request.delta.values == {"words": float(np.float32(-0.1)) - float(np.float32(0.1))}
    third_delta = read_request(third, "-").delta
    assert third_delta is not None
    assert third_delta.values == {"half": 2.0}
    assert fourth == '<seg id="3"> b </seg>'
    assert warnings == []


def test_one_process_per_learner_or_one_for_all(tmp_path: Path) -> None:
    command = good(tmp_path)
    weights = Weights({"words": 1.0})
    for processes, several in ((0, 3), (1, 1), (2, 2)):
        with stream(command, learners=3, processes=processes) as decoder:
            assert len({id(decoder.for_learner(number)) for number in range(3)}) == several
            forests = list(decoder.forests(["a b", "c", "d e f", "g"], weights, threads=2))
            texts = [kbest(forest, weights, 1)[0].text for forest in forests]
            assert texts == ["a b", "c", "d e f", "g"]
            assert decoder.for_learner(2).names is decoder.names


def test_weight_changes_add_up() -> None:
    """The sum of the changes sent is the learner's weights, whatever they were before."""
    random = np.random.default_rng(3)
    names, sent, weights = FeatureNames(), SentWeights(Weights()), Weights()
    sums: dict[str, float] = {}
    for _ in range(200):
        for name in random.choice(list("abcdefgh"), 3):
            weights[str(name)] = float(random.normal() * 10.0 ** random.integers(-3, 3))
        change = sent.change(weights, names)
        assert all(value for _, value in change)
        for name, value in decode(encode(change)).values.items():
            sums[name] = sums.get(name, 0.0) + value
        assert {name: float(np.float32(value)) for name, value in sums.items()} == dict(
            weights.items()
        )
    assert sent.change(weights, names) == []
    weights["a"] = float("inf")
    with pytest.raises(InputError, match="no longer finite"):
        sent.change(weights, names)


def answering(text: str) -> str:
    """Return the command of a decoder that always gives the same answer."""
    return f"while read line; do printf {shlex.quote(text)}; done"


def having(name: str, value: float) -> str:
    """Return the command of such a decoder whose answer has one feature."""
    return answering(f"1\\n0 ||| 1 ||| a ||| {encode([(name, value)])} ||| 1\\n")


VECTOR = encode([("words", 1.0)])
RIGHT = f"0 ||| 1 ||| a ||| {VECTOR} ||| 1\\n"
BAD = [
    ("echo loading >&2; echo 'out of memory' >&2; exit 3", "code 3 .*last line: out of memory"),
    ("echo 'no such model'; exit 1", "; its last line: no such model"),
    ("exit 9", "ended with exit code 9 in the middle of the exchange; it wrote no output"),
    ("no-such-decoder-anywhere", "exit code 127 .*last line: .*no-such-decoder-anywhere"),
    ("kill -SEGV $$", "was ended by SIGSEGV"),
    ("read line; printf 5; exit 0", "ended with exit code 0 .*last line: 5"),
    ("exec >&-; sleep 30", "closed its input or output; it wrote no output"),
    (answering("five\\n"), "sentence 0: found 'five', expected the number of entries"),
    (answering("2000000\\n"), "at most 1000000"),
    (
        answering(f"1\\n7{RIGHT[1:]}"),
        "entry 1 of 1: the id is '7', expected '0'; its last line: 7 ",
    ),
    (answering("1\\n0 ||| 1 ||| a ||| ???? ||| 1\\n"), "'....' is not base64"),
    (answering("1\\n0 ||| 1 ||| a ||| ||| nan\\n"), "the score is 'nan'"),
    (having("x", float("nan")), "feature 'x' is nan"),
    (having("x", 1e200), "entry 1 of 1: .*inf"),
    (having("a\tb", 1.0), "feature name 'a"),
    (answering("\\377\\376\\n"), "bytes that are not UTF-8"),
    (answering("\\0\\1\\2\\n"), "expected the number of entries"),
    (answering("0\\n"), "gave no translation at all, of 1 sentences; its last line: 0$"),
    (answering("2\\n\\n\\n"), "gave no translation at all, of 1 sentences; its last line: 2$"),
    ("echo 'no grammar' >&2; " + answering("0\\n"), "at all, .*; its last line: no grammar$"),
    # A child process holds the other end of the pipe.
    ("sleep 60 & read line; echo oops >&2; exit 4", "exit code 4 .*; its last line: oops$"),
    ("sleep 60 & read line; printf 1; exit 0", "ended with exit code 0 .*; its last line: 1$"),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_a_bad_decoder_is_named_with_its_last_line(command: str, message: str) -> None:
    with (
        stream(command) as decoder,
        pytest.raises(InputError, match=message) as caught,
    ):
        list(decoder.forests(["a"], Weights()))
    assert repr(command) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1200


def test_output_before_the_end_of_a_decoder_is_read() -> None:
    """Also if it exceeds the size of a pipe and a child process lives on."""
    words = "a " * 200_000
    command = (
        f"sleep 60 & read line; printf '1\\n0 ||| 1 ||| {words[:20]}'; "
        f"yes a | head -n 200000 | tr '\\n' ' '; printf ' ||| {VECTOR} ||| 1\\n'"
    )
    with stream(command) as decoder:
        assert decoder.forest("a", Weights()).edges == 1
        with pytest.raises(InputError, match="ended with exit code 0 in the middle"):
            decoder.forest("a", Weights())


def test_sentences_without_translation_are_counted_once() -> None:
    warnings: list[str] = []
    command = "while read line; do case $line in *b*) printf '0\\n';; "
    command += f"*) printf '1\\n{RIGHT}';; esac; done"
    with stream(command, warn=warnings.append) as decoder:
        sentences = [Sentence((word,), id) for word, id in (("a", "0"), ("b", "7"), ("b", "9"))]
        for _ in range(2):
            edges = [forest.edges for forest in decoder.forests(sentences, Weights({"words": 1}))]
            assert edges == [1, 0, 0]
        list(decoder.for_learner(0).forests(sentences[1:2], Weights({"words": 1})))
    assert len(warnings) == 1
    assert "gave no translation of 2 of 3 sentences (first: 7)" in warnings[0]


def test_more_lines_than_announced() -> None:
    with stream(answering(f"1\\n{RIGHT}{RIGHT}")) as decoder:
        decoder.forest("a", Weights())
        time.sleep(0.2)
        with pytest.raises(InputError, match=r"wrote more than it was asked for; its last line: 0"):
            decoder.forest("a", Weights())


def test_fewer_lines_than_announced_is_too_late() -> None:
    command = answering(f"3\\n{RIGHT}")
    with (
        stream(command, start_timeout=0.5) as decoder,
        pytest.raises(InputError, match=r"not answered for 0\.5 seconds .* last line: 0 \|\|\| 1"),
    ):
        decoder.forest("a", Weights())


def test_a_line_without_end() -> None:
    command = "read line; tr '\\0' x < /dev/zero | head -c 100000000"
    with (
        stream(command) as decoder,
        pytest.raises(InputError, match=r"a line of more than 33,554,432 bytes; .* line: x{300}$"),
    ):
        decoder.forest("a", Weights())


def test_an_answer_that_never_ends() -> None:
    command = "read line; echo 1000000; yes '' # {weights}"
    with (
        stream(command, max_answer=Size(100_000)) as decoder,
        pytest.raises(InputError, match=r"an answer of more than .* set a larger max_answer"),
    ):
        decoder.forest("a", Weights())


def test_decoder_that_does_not_read() -> None:
    """The pipe to it is full."""
    with (
        stream("sleep 30", start_timeout=0.5) as decoder,
        pytest.raises(InputError, match=r"has not answered for 0\.5 seconds and was stopped"),
    ):
        decoder.forest(["word"] * 100_000, Weights())


def test_decoder_that_answers_before_reading() -> None:
    """Both sides write more than a pipe holds."""
    command = (
        "dd bs=1 count=10 of=/dev/null 2>/dev/null; printf '1\\n0 ||| 1 ||| '; "
        f"yes a | head -n 200000 | tr '\\n' ' '; printf ' ||| {VECTOR} ||| 1\\n'; cat > /dev/null"
    )
    with stream(command) as decoder:
        forest = decoder.forest(["word"] * 100_000, Weights())
    assert forest.edges == 1


def alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.parametrize("how", ["hangs", "fails", "ends", "ignores the end", "leaves a child"])
def test_processes_are_stopped(tmp_path: Path, how: str) -> None:
    pids = tmp_path / "pids"
    tail = {
        "hangs": "sleep 60",
        "fails": "echo nonsense",
        "ends": f"printf '1\\n{RIGHT}'; read line",
        "ignores the end": f"printf '1\\n{RIGHT}'; sleep 60",
        "leaves a child": f"printf '1\\n{RIGHT}'; (echo $$ >> {pids}; sleep 60) & wait",
    }[how]
    command = f"echo $$ >> {pids}; read line; {tail}"
    with stream(command, start_timeout=1.0) as decoder:
        try:
            decoder.forest("a", Weights({"words": 1.0}))
        except InputError:
            assert how in ("hangs", "fails")
    children = [int(line) for line in pids.read_text().split()]
    assert children
    assert not any(map(alive, children))
    decoder.close()  # twice is harmless


def test_all_stop_when_one_fails() -> None:
    """The error of one learner stops the others."""
    command = f"read line; echo $line >&2; printf '1\\n{RIGHT}'; sleep 60"
    with stream(command, learners=2, timeout=0.3) as decoder:
        one, other = decoder.for_learner(0), decoder.for_learner(1)
        one.forest("a", Weights())
        with pytest.raises(InputError, match="has not answered") as caught:
            one.forest("b", Weights())
        with pytest.raises(InputError) as again:
            other.forest("c", Weights())
    assert str(again.value) == str(caught.value)


def test_ctrl_c_ends_the_wait() -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), stream("sleep 60", learners=2) as decoder:
        list(decoder.forests(["a", "b"], Weights(), threads=2))
    timer.join()


def test_other_weights_than_we_think_are_noticed_once() -> None:
    warnings: list[str] = []
    with stream(answering(f"1\\n{RIGHT}"), warn=warnings.append) as decoder:
        decoder.forest(Sentence(("a",), "0"), Weights({"words": 1.0}))
        assert warnings == []
        for _ in range(2):
            decoder.forest(Sentence(("a",), "0"), Weights({"words": 3.0}))
    assert len(warnings) == 1
    assert "the score 1, but its features and the weights give 3" in warnings[0]


def test_other_names_than_we_have_weights_for_are_noticed_once() -> None:
    warnings: list[str] = []
    vector = encode([("LanguageModel", 1.0)])
    command = answering(f"1\\n0 ||| 1 ||| a ||| {vector} ||| 0\\n")
    with stream(command, warn=warnings.append) as decoder:
        decoder.forest(Sentence(("a",), "0"), Weights({"words": 0.0}))  # from 0 on purpose
        assert warnings == []
        for _ in range(2):
            decoder.forest(Sentence(("a",), "0"), Weights({"words": 1.0}))
    assert len(warnings) == 1
    assert "none of its features ('LanguageModel' …) has a weight" in warnings[0]


def test_a_truncated_value_is_restored_from_the_score() -> None:
    raw = base64.b64decode(encode([("words", 1.0), ("lm2", -13.25)])).rstrip(b"\0")
    assert len(raw) % 3 == 2
    text = base64.b64encode(raw).decode()[:-2] + "=="
    score = 1.0 * 2 + 0.5 * -13.25
    warnings: list[str] = []
    command = answering(f"1\\n0 ||| 1 ||| a ||| {text} ||| {score:.6g}\\n")
    with stream(command, warn=warnings.append) as decoder:
        sentence = Sentence(("a",), "0")
        weights = Weights({"words": 2.0, "lm2": 0.5})
        derivation = kbest(decoder.forest(sentence, weights), weights, 1)[0]
        assert derivation.score == score
        weights = Weights({"words": 2.0})  # lm2 has no weight
        derivation = kbest(decoder.forest(sentence, weights), weights, 1)[0]
        assert len(derivation.features.ids) == 1
    assert len(warnings) == 1
    assert "truncates the last byte" in warnings[0]
    cut = decode(text).cut
    assert cut is not None
    assert restore(cut, 0.5, 2.0, score) == -13.25
    assert restore(cut, 0.5, 2.0, 17.0) is None


def test_without_a_file_the_difference_to_the_initial_weights_is_sent(tmp_path: Path) -> None:
    command = f"read line; echo \"$line\" > {tmp_path}/seen; printf '1\\n{RIGHT}'; read line"
    with stream(command) as decoder:
        decoder.forest("a", Weights({"words": 1.5}))
    delta = read_request((tmp_path / "seen").read_text(), "-").delta
    assert delta is not None
    assert delta.values == {"words": 0.5}


def test_placeholders(tmp_path: Path) -> None:
    for name in ("{weights}", "{}"):
        command = f"cp {name} {tmp_path}/seen; read line; printf '1\\n{RIGHT}'; echo {{k}} >&2"
        with stream(command, k=7, weights_format="blank") as decoder:
            decoder.forest("a", Weights({"b": 0.5}))
        assert (tmp_path / "seen").read_text(encoding="utf-8") == "b 0.5\n"
    with pytest.raises(OptionError, match=r"unknown {wieghts}; did you mean {weights}"):
        StreamOptions(command="cdec {wieghts}")


def test_refused_requests() -> None:
    decoder = stream("exit 1")
    with pytest.raises(InputError, match="needs all derivations of a given translation"):
        decoder.forest("a", Weights(), "b")
    with pytest.raises(InputError, match="needs translations given by markup"):
        decoder.forest(Sentence(("a",), options=(ForcedOption(0, 1, ("b",)),)), Weights())
    decoder = stream("exit 1")
    with pytest.raises(InputError, match="sentence id 'a b'"):
        decoder.forest(Sentence(("a",), "a b"), Weights())
    assert list(decoder.forests([], Weights())) == []
