"""The contract of systems (decode/systems/base.py), for every registered one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopefear.base import config, registry
from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.base.registry import load_plugin
from hopefear.cli.extract import Extract
from hopefear.cli.train import Train
from hopefear.decode import force
from hopefear.decode.system_options import SystemExtractOptions, own_fields
from hopefear.decode.systems.base import System, get_system, names_with
from hopefear.forest import kbest, viterbi
from hopefear.model.directory import Model
from hopefear.model.train import TrainOptions, train
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.rules.extract import SharedOptions, TextExport
from hopefear.rules.table import RuleTable

pytestmark = pytest.mark.engine
Run = Callable[..., subprocess.CompletedProcess[str]]

# Without the toy systems of other tests.
SYSTEMS = [name for name in registry.names("system") if not name.startswith("toy")]
SOURCE = ("la maison bleue", "la maison", "une fleur bleue", "la fleur", "une maison")
TARGET = ("the blue house", "the house", "a blue flower", "the flower", "a house")
ALIGN = ("0-0 1-2 2-1", "0-0 1-1", "0-0 1-2 2-1", "0-0 1-1", "0-0 1-1")
# The lines of the `parallel_inputs` of systems, by option name.
PARALLEL: dict[str, Sequence[str]] = {
    "trees": (
        "(NP (DT the) (JJ blue) (NN house))",
        "(NP (DT the) (NN house))",
        "(NP (DT a) (JJ blue) (NN flower))",
        "()",
        "(NP (DT a) (NN house))",
    )
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("texts")
    files = {"a.fr": SOURCE, "a.en": TARGET, "a.align": ALIGN, **PARALLEL}
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return [folder / name for name in ("a.fr", "a.en", "a.align")]


@pytest.fixture(params=SYSTEMS, scope="module")
def system(request: pytest.FixtureRequest) -> System:
    return get_system(request.param)


@pytest.fixture(scope="module")
def model(system: System, texts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Model:
    options = TrainOptions(
        system=system.name,
        tokenized=True,
        order=2,
        threads=1,
        align=texts[2],
        **parallel(system, texts),
    )
    directory = tmp_path_factory.mktemp(system.name) / "model"
    train(texts[0], texts[1], directory, options)
    return Model.load(directory)


def parallel(system: System, texts: list[Path]) -> dict[str, Path]:
    return {name: texts[0].parent / name for name in system.parallel_inputs}


def make_translator(model: Model, **options: Any) -> Translator:
    return Translator(model, options=TranslateOptions(tokenized=True, **options))


# -- description and options --


def test_it_is_described(system: System) -> None:
    assert system.name in SYSTEMS
    for text in (system.description, system.noun):
        assert text
        assert text == text.strip(" .")


@pytest.mark.parametrize("command", [Extract, Train])
def test_its_options_are_options_of_commands(system: System, command: type) -> None:
    fields = {field.name: field for field in config.fields_of(command)}
    for name in own_fields(system.name):
        systems, _, text = fields[name].option.help.partition(": ")
        assert system.name in systems.split(", ")
        assert text
    own = {field.name for field in config.fields_of(system.extract_options)}
    assert own <= fields.keys()
    assert own >= {field.name for field in config.fields_of(SharedOptions)}
    assert set(system.parallel_inputs) <= own


def test_options_of_other_systems_are_refused(system: System) -> None:
    theirs = own_fields(system.name)
    for other in SYSTEMS:
        for name in own_fields(other).keys() - theirs.keys():
            (field,) = (f for f in config.fields_of(SystemExtractOptions) if f.name == name)
            if not isinstance(field.default, int | float):
                continue
            value = not field.default if isinstance(field.default, bool) else field.default + 1
            with pytest.raises(OptionError, match=f"{field.flag} is an option of [a-z]+ rules"):
                SystemExtractOptions(system=system.name, **{name: value})


def test_options_of_the_system(system: System) -> None:
    chosen = SystemExtractOptions(system=system.name, limit=3).extract_options()
    assert type(chosen) is system.extract_options
    assert chosen.limit == 3
    content = chosen.content()
    assert content["system"] == system.name
    assert content == json.loads(json.dumps(content))
    assert content == replace(chosen, memory=Size(1 << 20), threads=2).content()
    assert content != replace(chosen, limit=4).content()


# -- extraction --


def test_extraction(system: System, texts: list[Path], tmp_path: Path) -> None:
    tables = []
    for threads in (1, 2):
        options = system.extract_options(threads=threads, **parallel(system, texts))
        report = system.extract(*texts, tmp_path / "rules.bin", options)
        tables.append((tmp_path / "rules.bin").read_bytes())
    assert tables[0] == tables[1]
    table = RuleTable.open(tmp_path / "rules.bin")
    assert report["sentences"] == len(SOURCE)
    assert report["pairs"] >= report["rules"] == len(table) > 0
    assert report["source_sides"] > 0
    assert table.info["system"] == system.name


def test_exports(system: System, texts: list[Path], tmp_path: Path) -> None:
    options = system.extract_options(threads=1, **parallel(system, texts))
    for format, names in system.exports(options).items():
        export = TextExport(**{kind: tmp_path / name for kind, name in names.items()})
        system.extract(*texts, tmp_path / "rules.bin", options, export=export)
        assert names, format
        assert all((tmp_path / name).stat().st_size > 20 for name in names.values()), format


# -- weights, translating, tracing --


def test_default_weights_are_those_of_the_decoder(system: System, model: Model) -> None:
    weights = system.default_weights(model.rules.columns, ["lm"])
    assert weights.keys() == set(model.decoder().dense)
    assert dict(model.weights().items()) == pytest.approx(weights)
    assert weights["lm"] == sum(
        system.default_weights(model.rules.columns, ["a", "b"])[name] for name in ("a", "b")
    )


def test_it_translates(model: Model) -> None:
    translator = make_translator(model)
    texts = [line.text for line in translator.translate(SOURCE, threads=1)]
    assert texts == [line.text for line in translator.translate(SOURCE, threads=2)]
    assert texts[1] == "the house"
    assert not any(line.warning for line in translator.translate(SOURCE))
    (unknown,) = translator.translate(["la chaise"])
    assert "chaise" in unknown.text.split()


def test_derivations_are_traced(system: System, model: Model) -> None:
    translator = make_translator(model)
    for line in (*SOURCE, "la chaise bleue", "fleur"):
        words = tuple(line.split())
        sentence = translator.read(line).sentence
        forest = translator.decoder.forest(sentence, translator.weights)
        for best in kbest(forest, translator.weights, 20):
            uses = system.uses(best)
            covered = sorted(position for use in uses for position in use.source)
            assert covered == list(range(len(words)))
            placed = {
                place: word
                for use in uses
                for place, word in zip(use.places, _words(use.target), strict=True)
            }
            assert [placed[place] for place in range(len(placed))] == best.words
            links = alignment_of(translator, uses, sentence)
            assert all(i < len(words) and j < len(best.words) for i, j in links)
            assert links
            shown = system.show(uses)
            assert shown
            assert len(shown.splitlines()) == 1


def _words(target: Sequence[str | int]) -> list[str]:
    return [symbol for symbol in target if isinstance(symbol, str)]


def alignment_of(translator: Translator, uses: Any, sentence: Any) -> list[tuple[int, int]]:
    from hopefear.decode.trace import word_alignment

    return word_alignment(uses, translator.links(sentence))


def test_n_best_lists_have_the_trace_columns(model: Model) -> None:
    translator = make_translator(model, nbest=2, trace=True, trace_alignment=True)
    (translation,) = translator.translate([SOURCE[0]])
    assert len(translation.nbest) == 2
    assert all(entry.count(" ||| ") == 5 for entry in translation.nbest)


# -- input --


def test_markup_is_used_or_refused(system: System, model: Model) -> None:
    line = 'la <n translation="castle">maison</n>'
    for markup in ("exclusive", "inclusive"):
        translator = make_translator(model, markup=markup)
        if not system.can("markup"):
            able = names_with("markup")
            message = f"x:1: translations given by markup are for {able} models; put them into"
            with pytest.raises(InputError, match=message):
                translator.read(line, "x:1")
            assert translator.read("la maison").sentence.words == ("la", "maison")
            continue
        sentence = translator.read(line).sentence
        assert sentence.words == ("la", "maison")
        forest = translator.decoder.forest(sentence, translator.weights)
        words = {text for entry in kbest(forest, translator.weights, 50) for text in entry.words}
        assert "castle" in words
        assert ("house" in words) == (markup == "inclusive")


def test_segments_are_parsed_or_are_words(system: System, model: Model, tmp_path: Path) -> None:
    translator = make_translator(model)
    line = '<seg id="7"> la maison </seg> ||| the house'
    sentence, target = translator.read(line)
    if not system.can("grammar"):
        assert (" ".join(sentence.words), target) == (line, None)
        return
    assert (sentence.id, sentence.words, target) == ("7", ("la", "maison"), ("the", "house"))
    (tmp_path / "g").write_text("[X] ||| chaise ||| chair ||| a=1\n")
    segment = f'<seg grammar="{tmp_path / "g"}"> chaise </seg>'
    with pytest.raises(InputError, match=r"x:1: the grammar .* is outside of .*--grammars DIR"):
        translator.read(segment, "x:1")
    (translation,) = make_translator(model, grammars=[tmp_path]).translate([segment])
    assert translation.text == "chair"
    with pytest.raises(InputError, match="x:1: no grammar 'none'"):
        translator.read('<seg grammar="none"> chaise </seg>', "x:1")


def test_forced_decoding_is_as_declared(
    system: System, model: Model, texts: list[Path], hopefear: Run
) -> None:
    done = hopefear("forced", "--model", model.directory, *texts[:2], "--tokenized", "--json")
    if not system.can("gold"):
        assert done.returncode == 2
        able = names_with("gold")
        assert f"a {system.name} model; forced decoding is for {able} models" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reachable_sentences"] == len(SOURCE)
    decoder: Any = model.decoder()
    gold = force(decoder, SOURCE[0], TARGET[0])
    best = viterbi(gold.forest, model.weights())
    assert gold.reachable
    assert best is not None
    assert best.text == TARGET[0]


# -- a system of a plugin --

PLUGIN = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.decode.systems.hiero import Hiero
from hopefear.rules.hiero import HieroExtractOptions


@dataclass(kw_only=True)
class Options(HieroExtractOptions):
    system: ClassVar[str] = "toylabels"
    labels: Path | None = option(None, help="file with a line of labels for each sentence pair")
    least: int = option(1, help="smallest number of labels in a line")

    def content(self):
        return {key: value for key, value in super().content().items() if key != "labels"}


@register("system", "toylabels")
class Labels(Hiero):
    description = "rules with labels"
    extract_options = Options
    parallel_inputs = ("labels",)

    def extract(self, source, target, alignment, table, options, **others):
        report = super().extract(source, target, alignment, table, options, **others)
        Path(table).with_name("seen").write_text(options.labels.read_text() + str(options.least))
        return report
"""


def test_a_system_of_a_plugin(hopefear_process: Run, texts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PLUGIN)
    (tmp_path / "labels").write_text("A\nB\nC\nD\nE\n")
    files = ["--align", texts[2], "--labels", tmp_path / "labels", "--plugin", tmp_path / "p.py"]
    words = ["train", *texts[:2], "--model", tmp_path / "m", "--tokenized", "--order", "2", *files]
    words += ["--system", "toylabels", "--folds", "2", "--max-words", "2"]
    done = hopefear_process(*words, "--least", "3", "--max-symbols", "4")
    assert done.returncode == 0, done.stderr
    # Training left out the lines of filtered sentence pairs and of folds.
    assert (tmp_path / "m" / "seen").read_text() == "B\nD\nE\n3"
    assert (tmp_path / "m" / "folds" / "1" / "seen").read_text() == "B\n\n\n3"
    info = RuleTable.open(tmp_path / "m" / "rules.bin").info
    assert (info["system"], info["max_symbols"], info["least"]) == ("toylabels", 4, 3)
    again = hopefear_process(*words, "--least", "3", "--max-symbols", "4")
    assert again.stderr.count("done before") >= 5
    (tmp_path / "labels").write_text("A\nB\nC\nD\nF\n")
    hopefear_process(*words)
    assert (tmp_path / "m" / "seen").read_text() == "B\nD\nF\n1"
    out = hopefear_process(
        "translate", "--model", tmp_path / "m", "--plugin", tmp_path / "p.py", input="la maison\n"
    )
    assert out.stdout == "the house\n", out.stderr
    other = hopefear_process(*words, "--system", "phrase")
    assert "--max-symbols" not in other.stderr
    assert "--labels is an option of toylabels rules; leave it out or give" in other.stderr
    help = hopefear_process("extract", "--help", "--plugin", tmp_path / "p.py").stdout
    assert "toylabels: smallest number of labels" in " ".join(help.split())
    assert (
        "hiero, samt, toylabels: largest number of words on either side of an initial phrase"
        in " ".join(help.split())
    )


def test_options_of_one_name_must_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hopefear.decode import system_options as options

    text = PLUGIN.replace("toylabels", "toyother").replace("labels: Path", "max_span: Path")
    (tmp_path / "other.py").write_text(text)
    monkeypatch.setattr(registry, "_components", {**registry._components})
    monkeypatch.setitem(registry._components, "system", {**registry._components["system"]})
    load_plugin(tmp_path / "other.py")
    with pytest.raises(ValueError, match="option max_span of toyother differs from that of hiero"):
        options._system_fields()
