"""External decoders: a correct one, and every kind of failure."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.decode.contract import ForcedOption, Sentence
from hopefear.decode.remote.external import ExternalDecoder, ExternalOptions
from hopefear.forest import kbest, viterbi

# Translates each word into upper case, or drops it; scores with the given weights.
GOOD = """
import sys
weights = dict(line.split() for line in open(sys.argv[1], encoding="utf-8"))
k = int(sys.argv[2])
lines = open(sys.argv[3], encoding="utf-8") if len(sys.argv) > 3 else sys.stdin
out = open(sys.argv[4], "w", encoding="utf-8") if len(sys.argv) > 4 else sys.stdout
for i, line in enumerate(lines):
    words = line.split()
    entries = []
    for n in range(len(words) + 1):
        score = n * float(weights["Words0"]) + 0.5 * float(weights.get("Half0", 0))
        features = f"Words0= {n} Half0= 0.5 Two0= {i} -1"
        entries.append((score, f"{i} ||| {' '.join(words[:n]).upper()} ||| {features} ||| {score}"))
    for score, text in sorted(entries, reverse=True)[:k]:
        print(text, file=out)
"""


def script(folder: Path, text: str) -> str:
    path = folder / "decoder.py"
    path.write_text(text, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def decoder(command: str, **options: Any) -> ExternalDecoder:
    return ExternalDecoder(ExternalOptions(command=command, **options))


@pytest.mark.parametrize("arguments", ["{weights} {k} {input} {nbest}", "{weights} {k}"])
def test_lists_become_forests(tmp_path: Path, arguments: str) -> None:
    external = decoder(f"{script(tmp_path, GOOD)} {arguments}", k=3)
    weights = Weights({"Words0": 1.0})
    forests = list(external.forests(["das haus ist klein", "é"], weights))
    assert [forest.edges for forest in forests] == [3, 2]
    assert [d.text for d in kbest(forests[0], weights, 9)] == [
        "DAS HAUS IST KLEIN",
        "DAS HAUS IST",
        "DAS HAUS",
    ]
    best = viterbi(forests[1], weights)
    assert best is not None
    assert best.text == "É"
    assert forests[1].names.name(Weights()._id("Two0_2")) == "Two0_2"
    assert viterbi(forests[0], Weights({"Words0": -1.0})).text == "DAS HAUS"  # type: ignore[union-attr]


def test_it_is_given_the_new_weights_each_time(tmp_path: Path) -> None:
    external = decoder(f"{script(tmp_path, GOOD)} {{weights}} {{k}}", k=1)
    texts = []
    for weight in (1.0, -1.0):
        weights = Weights({"Words0": weight})
        best = viterbi(external.forest("ein wort", weights), weights)
        assert best is not None
        texts.append(best.text)
    assert texts == ["EIN WORT", ""]


def test_no_sentences_no_call(tmp_path: Path) -> None:
    external = decoder("exit 3 # {weights}")
    assert list(external.forests([], Weights())) == []


def test_the_config_has_the_new_weights(tmp_path: Path) -> None:
    ini = tmp_path / "moses.ini"
    ini.write_text("[weight]\nWords0= 0.5\nTwo0= 1 2\n[threads]\n2\n", encoding="utf-8")
    good = GOOD.replace(
        'dict(line.split() for line in open(sys.argv[1], encoding="utf-8"))',
        'dict(l.split("= ") for l in open(sys.argv[1]) if l.startswith("Words0="))',
    )
    external = decoder(f"{script(tmp_path, good)} {{config}} {{k}} {{input}}", config=ini)
    assert external.dense == ["Words0", "Two0_1", "Two0_2"]
    assert dict(external.start_weights().items()) == {"Words0": 0.5, "Two0_1": 1.0, "Two0_2": 2.0}
    forest = external.forest("ein wort", Weights({"Words0": -2.0}))
    assert kbest(forest, Weights({"Words0": -2.0}), 1)[0].text == ""


def test_grammar_of_a_sentence_is_passed_as_in_cdec(tmp_path: Path) -> None:
    external = decoder(f"cat > {tmp_path}/seen; echo '0 ||| a ||| b=1 ||| 1' # {{weights}}")
    external.forest(Sentence(("x", "y"), grammar=Path("g.gz")), Weights())
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert seen == '<seg grammar="g.gz" id="0">x y</seg>\n'


def test_formats_of_cdec_and_json_lines(tmp_path: Path) -> None:
    cdec = decoder("echo '0 ||| ein haus ||| Glue=2 LM=-1.5 ||| -3' # {weights}", format="cdec")
    line = '{"id": 0, "text": "ein haus", "features": {"Glue": 2, "LM": -1.5}}'
    json = decoder(f"echo {shlex.quote(line)} # {{weights}}", format="jsonl")
    weights = Weights({"Glue": 1.0, "LM": 2.0})
    for external in (cdec, json):
        derivation = viterbi(external.forest("x", weights), weights)
        assert derivation is not None
        assert derivation.text == "ein haus"
        assert derivation.score == pytest.approx(-1.0)


def test_weights_with_a_blank(tmp_path: Path) -> None:
    copy = f"cp {{weights}} {tmp_path}/seen; echo '0 ||| a ||| b=1 ||| 1'"
    decoder(copy, weights_format="blank").forest("x", Weights({"b": 0.5}))
    assert (tmp_path / "seen").read_text(encoding="utf-8") == "b 0.5\n"


# -- failures --

BAD = [
    (
        "echo loading >&2; echo 'out of memory' >&2; exit 3",
        "exit code 3; its last line: out of mem",
    ),
    ("echo 'no such model'; exit 1", "exit code 1; its last line: no such model"),
    ("exit 9", "exit code 9; it wrote no output"),
    ("no-such-decoder-anywhere", "exit code 127; its last line: .*no-such-decoder-anywhere"),
    ("kill -SEGV $$", "was ended by SIGSEGV; it wrote no output"),
    ("true", "gave no translation at all; it wrote no output"),
    (
        "echo Segmentation fault",
        "gave a malformed answer: n-best list:1: .*last line: Segmentation fault",
    ),
    ("echo '5 ||| a ||| b=1 ||| 1'", "the id '5', expected numbers from 0 to 1"),
    ("printf '%05000d ||| a ||| b=1 ||| 1\\n' 5", "the id '0{40}', expected numbers from 0 to 1"),
    ("echo 'x ||| a ||| b=1 ||| 1'", "the id 'x', expected numbers from 0 to 1"),
    ("printf '%s ||| a ||| b=1 ||| 1\\n' 0 1 0", "sentence 0 has two lists"),
    ("echo '0 ||| a ||| b=nan ||| 1'", "gave a malformed answer: n-best list:1: .*nan"),
    ("echo '1 ||| a ||| b=1 ||| 1'", "no translation of 1 of 2 sentences .first: number 0."),
    ("printf '\\377\\376\\n'", "gave a malformed answer"),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_a_bad_decoder_is_named_with_its_last_line(command: str, message: str) -> None:
    external = decoder(f"{command} # {{weights}}")
    with pytest.raises(InputError, match=message) as caught:
        list(external.forests(["a", "b"], Weights()))
    assert repr(f"{command} # {{weights}}") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_decoder_that_forgets_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wrote no file \{nbest\}"):
        decoder("true {weights} {nbest}").forest("a", Weights())


def test_a_decoder_that_hangs_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    command = f"echo 'loading the tables' >&2; (sleep 3; touch {mark}) & sleep 60 # {{weights}}"
    start = time.monotonic()
    with pytest.raises(
        InputError, match=r"nothing for 0\.5 seconds .*last line: loading the tables"
    ):
        decoder(command, timeout=0.5).forest("a", Weights())
    waited = time.monotonic() - start
    time.sleep(max(0.0, 3.5 - waited))
    assert not mark.exists()


def test_slow_decoder_with_output_is_not_stopped() -> None:
    command = (
        "for i in 1 2 3 4 5 6 7 8; do sleep 0.25; echo $i >&2; done; echo '0 ||| a ||| b=1 ||| 1'"
    )
    forest = decoder(f"{command} # {{weights}}", timeout=1.5).forest("a", Weights())
    assert forest.edges == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_output": Size(100_000)}, r"has written [0-9,]+ bytes and .* larger max_output"),
        ({"max_seconds": 0.5}, r"has run for 0\.5 seconds and was stopped; .* larger max_seconds"),
    ],
)
@pytest.mark.parametrize("place", ["", ">&2 ", "> {nbest} "])
def test_one_that_never_stops_writing_is_stopped(
    options: dict[str, Any], message: str, place: str
) -> None:
    with pytest.raises(InputError, match=message):
        decoder(f"yes {place}# {{weights}}", **options).forest("a", Weights())


def test_missing_translations_may_be_allowed() -> None:
    external = decoder("echo '1 ||| a ||| b=1 ||| 1' # {weights}", allow_missing=True)
    forests = list(external.forests(["a", "b"], Weights()))
    assert [viterbi(forest, Weights()) is None for forest in forests] == [True, False]


def test_unsupported_requests() -> None:
    external = decoder("true {weights}")
    with pytest.raises(InputError, match="needs all derivations of a given translation"):
        external.forest("a", Weights(), "b")
    markup = Sentence(("a",), options=(ForcedOption(0, 1, ("b",)),))
    with pytest.raises(InputError, match="needs translations given by markup"):
        external.forest(markup, Weights())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "moses -i {input}"}, "neither {weights} nor {config}"),
        ({"command": "moses {wieghts}"}, "unknown {wieghts}; did you mean {weights}"),
        ({"command": "moses -f {config}"}, "needs the moses.ini"),
        ({"command": "moses {weights}", "config": Path("a.ini")}, "{config} is not in the command"),
    ],
)
def test_templates_that_cannot_work(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ExternalOptions(**options)


def test_braces_of_other_programs_stay() -> None:
    command = "awk '{print}' {weights} >&2; echo '0 ||| a ||| b=1 ||| 1'"
    assert decoder(command).forest("a", Weights()).edges == 1
