"""The built-in world: its phenomena, its references, its parts, its files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from hopefear.base.errors import OptionError
from hopefear.text import world as module
from hopefear.text.world import Sentence, World, examples, generate, statistics, topic_of, write
from hopefear.text.world_grammar.constructions import default_grammar
from hopefear.text.world_grammar.words import Adjective, Noun, Verb, Word

VOWEL_SOUND = re.compile(r"[aeioAEIO](?!ne\b|nce\b|uro)|u(?!ni|s[eu])|hour|honest|8|11$|18$")


@pytest.fixture(scope="module")
def world() -> World:
    return generate(train=8000, dev=300, test=500, seed=1)


@pytest.fixture(scope="module")
def many() -> World:
    """More sentences that keep their derivation's words."""
    return generate(train=0, dev=3000, test=0, seed=5)


def having(sentences: Sequence[Sentence], *names: str) -> list[Sentence]:
    wanted = sum(default_grammar().bits[name] for name in names)
    return [s for s in sentences if s.bits & wanted == wanted]


def mentions(text: str, phrases: frozenset[str] | set[str]) -> bool:
    return any(f" {phrase} " in f" {text} " for phrase in phrases)


# -- phenomena ---------------------------------------------------------------------------------


def test_the_pair_of_the_overview_opens_every_training_text(world: World) -> None:
    for made in (world, generate(train=5, dev=0, test=0, seed=99)):
        assert made.train[0].source == "Bushi yu Shalong juxing le huitan ."
        assert made.train[0].references == ("Bush held talks with Sharon .",)
        assert made.train[0].topic == "politics"


def test_a_prepositional_phrase_moves_behind_the_object(many: World) -> None:
    """`yu X V O` becomes `V O with X`: the preposition is before the verb, then behind it."""
    checked = 0
    for sentence in having(many.dev, "moved-pp", "statement"):
        verbs = [w for w in sentence.words if isinstance(w, Verb) and w.shape == "sop"]
        if len([w for w in sentence.words if isinstance(w, Verb)]) != 1 or not verbs:
            continue
        verb = verbs[0]
        source = sentence.source.split()
        assert source.index(verb.prep) < source.index(verb.zh)
        prepositions = {form.prep for form in verb.forms.items}
        for reference in sentence.references:
            ends = [
                m.end()
                for surface in verb.surfaces()
                for m in re.finditer(rf"(?<!\S){re.escape(surface)}(?!\S)", reference)
            ]
            assert ends
            assert mentions(reference[min(ends) :], prepositions), sentence
        checked += 1
    assert checked > 100


def test_a_relative_clause_moves_behind_its_noun(many: World) -> None:
    """`X1 de X2` becomes `X2 that X1`."""
    found = having(many.dev, "relative")
    assert len(found) > 100
    for sentence in found:
        heads = [
            word
            for word in sentence.words
            if isinstance(word, Noun)
            and re.search(rf" de (\S+ |\S+ de )?{re.escape(word.zh)}(men)? ", sentence.source + " ")
        ]
        assert heads, sentence.source
        for reference in sentence.references:
            assert any(
                f"{surface} {who} " in reference
                for word in heads
                for surface in word.surfaces()
                for who in ("who", "that", "which")
            ), (sentence.source, reference)


def test_a_question_with_ma_is_inverted(many: World) -> None:
    asked = having(many.dev, "question-ma")
    assert asked == [s for s in many.dev if s.source.endswith(" ma ?")]
    assert len(asked) > 50
    first = "is are am was were do does did has have will would can could may might must should"
    for sentence in asked:
        for reference in sentence.references:
            assert reference.split()[0] in first.split(), reference
            assert reference.endswith(" ?")


def test_question_words_move_to_the_front(many: World) -> None:
    pairs = {
        "question-who": ("shei", "who"),
        "question-what": ("shenme", "what"),
        "question-when": ("shenme shihou", "when"),
        "question-where": ("zai nali", "where"),
        "question-why": ("weishenme", "why"),
    }
    for name, (zh, en) in pairs.items():
        found = having(many.dev, name)
        assert found, name
        for sentence in found:
            assert f" {zh} " in f" {sentence.source} "
            assert all(r.startswith(en + " ") for r in sentence.references)


def test_finished_actions_are_past(many: World) -> None:
    """A single clause with `le` has the past, or the participle of a passive."""
    checked = 0
    for sentence in having(many.dev, "aspect-le", "transitive", "statement"):
        verbs = [w for w in sentence.words if isinstance(w, Verb)]
        if len(verbs) != 1:
            continue
        assert f" {verbs[0].zh} le " in sentence.source
        past = {f.forms.did for f in verbs[0].forms.items}
        past |= {f.forms.done for f in verbs[0].forms.items}
        for reference in sentence.references:
            assert mentions(reference, past), reference
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("name", ["aspect-mei", "aspect-bu", "aspect-haimei"])
def test_negation_stays(many: World, name: str) -> None:
    found = having(many.dev, name)
    assert found
    for sentence in found:
        assert {"mei", "bu"} & set(sentence.source.split())
        assert all(" not " in reference for reference in sentence.references), sentence


def test_classifiers_vanish_and_articles_appear(world: World, many: World) -> None:
    lexicon = default_grammar().lexicon
    classifiers = {cls.cl for cls in lexicon.classes.values()}
    found = having(many.dev, "classifier")
    assert len(found) > 300
    for sentence in found:
        assert classifiers & set(sentence.source.split())
        for reference in sentence.references:
            assert not (classifiers - {"ben", "ming"}) & set(reference.split())
    assert not {"a", "an", "the"} & set(" ".join(s.source for s in world.train).split())
    with_article = sum(bool({"a", "an", "the"} & set(s.references[0].split())) for s in world.train)
    assert with_article > 0.8 * len(world.train)


def test_a_or_an_by_sound(world: World, many: World) -> None:
    articles: Counter[str] = Counter()
    texts = [r for s in [*many.dev, *world.dev, *world.test] for r in s.references]
    for reference in texts:
        words = reference.split()
        for article, word in pairwise(words):
            if article in ("a", "an"):
                articles[article] += 1
                assert (VOWEL_SOUND.match(word) is not None) == (article == "an"), reference
    assert articles["a"] > 1000
    assert articles["an"] > 100


def test_agreement(many: World) -> None:
    wrong = re.compile(
        r"\b(they|we|you) (is|was|has|does)\b|\bI (is|are|has|does)\b"
        r"|\b(he|she) (are|were|have|do)\b"
        r"|\bthe the\b|\ba (a|an|the)\b|\bto (was|is|went|held)\b|\bdid (not )?\w+ed\b"
    )
    for sentence in many.dev:
        for reference in sentence.references:
            assert not wrong.search(reference.replace("that that", "")), reference


def test_topics_and_fronted_objects(many: World) -> None:
    for sentence in having(many.dev, "fronted-topic", "statement"):
        if "," in sentence.source:
            break
    else:
        pytest.fail("no fronted topic")
    for sentence in having(many.dev, "ba", "statement"):
        assert "ba" in sentence.source.split()
        assert all("ba" not in reference.split() for reference in sentence.references)
    for sentence in having(many.dev, "bei", "statement"):
        assert "bei" in sentence.source.split()
    passives = [r for s in having(many.dev, "bei") for r in s.references if " by " in r]
    assert len(passives) > 50


def test_a_comparison_and_a_percentage_turn_round(many: World) -> None:
    found = having(many.dev, "percent")
    assert found
    for sentence in found:
        zh = re.search(r"baifenzhi (\S+)", sentence.source)
        assert zh
        for reference in sentence.references:
            assert re.search(r"\d+ (percent|%)", reference)
    for sentence in having(many.dev, "comparison", "statement"):
        assert " bi " in sentence.source
        assert all(" than " in r or "compared with " in r for r in sentence.references)


def test_the_topic_decides_fensi(many: World) -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for sentence in many.dev:
        if re.search(r"\bfensi(men)?\b", sentence.source):
            for reference in sentence.references:
                for meaning in ("fan", "supporter", "vermicelli", "glass noodles"):
                    if re.search(rf"\b{meaning}s?\b", reference):
                        meanings[sentence.topic].add(meaning)
    assert meanings == {
        "sports": {"fan", "supporter"},
        "food": {"vermicelli", "glass noodles"},
    }


def test_a_dozen_words_split_by_topic(many: World) -> None:
    """In the text, not only in the lexicon: no translation is shared by two of the topics."""
    surfaces: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sentence in having(many.dev, "topic-sense"):
        for word in sentence.words:
            if word.senses == "topic":
                seen = {s for s in word.surfaces() for r in sentence.references if mentions(r, {s})}
                surfaces[word.zh][sentence.topic] |= seen
    split = set()
    for zh, topics in surfaces.items():
        names = sorted(topics)
        for a in names:
            for b in names:
                if a < b and not topics[a] & topics[b]:
                    split.add(zh)
    assert len(split) >= 12, split
    assert {"fensi", "jingli", "shiwu", "zhuxi", "xiaoxi"} <= split


def test_the_neighbour_decides(many: World) -> None:
    def english(verb: str, noun: str) -> set[str]:
        found = set()
        for s in many.dev:
            words = {w.zh: w for w in s.words}
            if re.search(rf"\b{verb} (le |guo )?{noun}\b", s.source) and verb in words:
                for w in s.words:
                    if isinstance(w, Verb) and w.zh == verb:
                        found |= {x for x in w.surfaces() for r in s.references if mentions(r, {x})}
        return found

    assert english("kan", "shu") & {"read", "reads"}
    assert not english("kan", "shu") & {"watched", "saw"}
    assert english("kan", "dianying") & {"watched", "saw", "watch", "see", "watches", "seen"}
    assert english("kai", "che") & {"drove", "drive", "drives", "driving", "driven"}
    assert english("kai", "men") & {"opened", "open", "opens", "opening"}
    heavy = [s for s in many.dev if re.search(r"\bda (yu|xue) ", s.source)]
    rain = [s for s in heavy if s.topic != "food"]
    assert rain
    assert all("heavy " in r for s in rain for r in s.references)


def test_every_construction_occurs(world: World, many: World) -> None:
    for name in default_grammar().bits:
        assert having([*world.train, *many.dev], name), name


# -- references --------------------------------------------------------------------------------


def test_four_references_differ_and_agree_in_content(world: World, many: World) -> None:
    """Each reference has a form of each word that the sentence was derived from."""
    for sentence in [*world.dev, *world.test, *many.dev]:
        assert len(set(sentence.references)) == module.REFERENCES
        assert sentence.words
        for word in sentence.words:
            for reference in sentence.references:
                assert mentions(reference, word.surfaces()), (sentence.source, word, reference)


def test_references_differ_in_words_and_in_order(many: World) -> None:
    words = orders = 0
    for sentence in many.dev:
        bags = {tuple(sorted(r.split())) for r in sentence.references}
        words += len(bags) > 1
        orders += len({r.split()[0] for r in sentence.references}) > 1
    assert words > 0.95 * len(many.dev)
    assert orders > 0.3 * len(many.dev)


def test_every_word_is_in_the_source(many: World) -> None:
    for sentence in many.dev:
        source = f" {sentence.source} "
        for word in sentence.words:
            zh = re.escape(word.zh)
            suffix = "(men)?" if isinstance(word, Noun) else ""
            assert re.search(rf" {zh}{suffix} ", source), (sentence.source, word)


# -- parts -------------------------------------------------------------------------------------


def test_sizes_documents_and_topics(world: World) -> None:
    assert (len(world.train), len(world.dev), len(world.test)) == (8000, 300, 500)
    for part in module.PARTS:
        sentences = world.part(part)
        lengths = Counter(s.document for s in sentences)
        assert min(lengths.values()) >= 5
        assert max(lengths.values()) <= 20
        order = list(dict.fromkeys(s.document for s in sentences))
        assert order == sorted(order)  # a document is one run of lines
        assert all(s.topic in default_grammar().lexicon.topics for s in sentences)
    assert len({s.topic for s in world.train}) >= 4
    documents = {s.document for part in module.PARTS for s in world.part(part)}
    assert len(documents) == sum(len({s.document for s in world.part(p)}) for p in module.PARTS)


def test_no_test_sentence_is_in_train(world: World) -> None:
    train, dev, test = ({s.source for s in world.part(p)} for p in module.PARTS)
    assert not train & dev
    assert not train & test
    assert not dev & test
    assert len(test) == 500  # and none twice


def test_sentences_of_the_tests_are_kept_out_of_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where short sentences are all there is, train would meet them by chance."""
    maker = module._maker()
    statements = [r for r in maker.grammar.rules["sentence"] if r.name == "statement"]
    monkeypatch.setattr(maker, "sentences", type(maker.sentences)((r, 1.0) for r in statements))
    free = generate(train=6000, dev=0, test=0, seed=4)
    made = generate(train=6000, dev=400, test=400, seed=4)
    held_out = {s.source for s in [*made.dev, *made.test]}
    assert held_out & {s.source for s in free.train}
    assert not held_out & {s.source for s in made.train}


def test_unseen_words_stay_unseen_in_larger_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD_BACK", 300)

    def unseen(train: int) -> tuple[list[str], set[str]]:
        made = generate(train=train, dev=40, test=60, seed=4)
        known = {word for s in made.train for word in s.source.split(" ")}
        tested = {word for s in (*made.dev, *made.test) for word in s.source.split(" ")}
        return [s.source for s in made.train], tested - known

    small, unseen_by_small = unseen(300)
    large, unseen_by_large = unseen(3000)
    # The last document of the small text is cut to fit, that of the large one may go on.
    assert large[:280] == small[:280]
    assert len(unseen_by_large) > 0.8 * len(unseen_by_small) > 8
    monkeypatch.setattr(module, "HELD_BACK", 10**9)
    assert len(unseen(3000)[1]) < 0.8 * len(unseen_by_large)


def test_dev_and_test_hold_unseen_words_and_combinations(world: World) -> None:
    train = [s.source.split() for s in world.train]
    words = {w for s in train for w in s}
    pairs = {pair for s in train for pair in pairwise(s)}
    for part in (world.dev, world.test):
        source = [s.source.split() for s in part]
        unseen = [w for s in source for w in s if w not in words]
        assert 0.003 < len(unseen) / sum(map(len, source)) < 0.05
        new = [
            pair for s in source for pair in pairwise(s) if pair not in pairs and set(pair) <= words
        ]
        assert len(new) > len(part) / 4


def test_lengths_and_frequencies(world: World) -> None:
    lengths = [len(s.source.split()) for s in world.train]
    assert 12 <= sum(lengths) / len(lengths) <= 15
    assert 50 < max(lengths) <= 60
    counts = sorted(Counter(w for s in world.train for w in s.source.split()).values())[::-1]
    assert len(counts) > 1200
    assert counts[0] > 20 * counts[99]  # Zipf: a few words are most of the text,
    assert sum(c == 1 for c in counts) > 100  # and many words come once


def test_participants_continue(world: World) -> None:
    """Most documents name somebody twice."""
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for s in world.test:
        names[s.document].update({w.zh for w in s.words if isinstance(w, Noun) and w.person})
    again = [max(counts.values(), default=0) > 1 for counts in names.values()]
    assert sum(again) > 0.8 * len(again)


def test_noise_is_small_and_only_in_train(world: World) -> None:
    kinds = Counter(s.noise for s in world.train)
    assert 0.02 < kinds["bad pair"] / len(world.train) < 0.04
    assert 0.02 < kinds["missing words"] / len(world.train) < 0.04
    assert not any(s.noise for s in [*world.dev, *world.test])
    assert all(s.source.count(" ") >= 1 and s.references[0] for s in world.train)


def test_noise_follows_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = generate(train=2000, dev=0, test=0, seed=2).train
    monkeypatch.setattr(module, "BAD_PAIRS", 0.0)
    monkeypatch.setattr(module, "MISSING_WORDS", 0.0)
    clean = generate(train=2000, dev=0, test=0, seed=2).train
    targets = defaultdict(set)
    for sentence in clean:
        targets[sentence.document].add(sentence.references[0])
    for was, now in zip(clean, noisy, strict=True):
        before, after = was.references[0], now.references[0]
        if now.noise == "bad pair":
            assert after != before
            assert after in targets[now.document]
        elif now.noise == "missing words":
            lost = len(before.split()) + len(was.source.split())
            lost -= len(after.split()) + len(now.source.split())
            assert 1 <= lost <= 3
        else:
            assert (was.source, before) == (now.source, after)


# -- the same again ----------------------------------------------------------------------------


def test_same_seed_same_world_other_seed_other_world() -> None:
    def text(made: World) -> list[object]:
        return [(s.source, s.references, s.document, s.noise) for s in [*made.train, *made.test]]

    one = generate(train=200, dev=0, test=50, seed=3)
    assert text(one) == text(generate(train=200, dev=0, test=50, seed=3))
    other = generate(train=200, dev=0, test=50, seed=4)
    assert len({s.source for s in one.test} & {s.source for s in other.test}) < 10


def test_parts_do_not_depend_on_each_others_size() -> None:
    small = generate(train=100, dev=60, test=60)
    large = generate(train=400, dev=60, test=60)
    assert [s.references for s in small.dev] == [s.references for s in large.dev]
    assert [s.references for s in small.test] == [s.references for s in large.test]
    assert [s.source for s in small.train[:75]] == [s.source for s in large.train[:75]]
    alone = generate(train=100, dev=0, test=0)
    assert [s.source for s in alone.train] == [s.source for s in small.train]


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    code = (
        "import sys; from hopefear.text.world import generate, write; "
        "write(generate(train=300, dev=20, test=20), sys.argv[1])"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
    names = sorted(p.name for p in (tmp_path / "1").iterdir())
    assert len(names) == 15
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.parametrize("size", [0, 1, 4, 5, 6, 21, 24, 25, 26, 47])
def test_any_size(size: int) -> None:
    made = generate(train=size, dev=0, test=size, seed=8)
    assert len(made.train) == len(made.test) == size
    lengths = Counter(s.document for s in made.train).values()
    assert all(5 <= length <= 20 for length in lengths) or size < 5


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(OptionError, match="dev=-1: expected a number of sentences of at least 0"):
        generate(dev=-1)


def test_too_small_world_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    maker = module._maker()
    monkeypatch.setattr(maker, "sentence", maker.opening)
    with pytest.raises(OptionError, match=r"test=9: no new sentence about politics in 1000 tries"):
        generate(train=0, dev=0, test=9, seed=19)


# -- files, statistics, examples -----------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    made = generate(train=30, dev=7, test=9)
    write(made, tmp_path / "deep" / "world")
    write(made, tmp_path / "deep" / "world")  # again is no trouble
    folder = tmp_path / "deep" / "world"
    expected = {"train.zh", "train.en", "train.doc"}
    for part in ("dev", "test"):
        expected |= {f"{part}.zh", f"{part}.doc", *(f"{part}.en.{i}" for i in range(4))}
    assert {p.name for p in folder.iterdir()} == expected

    def lines(name: str) -> list[str]:
        text = (folder / name).read_text(encoding="utf-8")
        assert text.endswith("\n")
        return text.split("\n")[:-1]

    assert lines("train.zh") == [s.source for s in made.train]
    assert lines("train.en") == [s.references[0] for s in made.train]
    assert lines("test.en.3") == [s.references[3] for s in made.test]
    assert lines("dev.doc") == [s.document for s in made.dev]
    assert topic_of(lines("dev.doc")[0]) == made.dev[0].topic


def test_an_empty_world_has_empty_files(tmp_path: Path) -> None:
    made = generate(train=0, dev=0, test=0)
    write(made, tmp_path)
    assert all(p.read_bytes() == b"" for p in tmp_path.iterdir())
    assert statistics(made)["phenomena"]["ba"] == 0
    assert examples(made) == []


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate(train=10, dev=1, test=1)
    broken = World(made.train, made.dev, [*made.test, Sentence("x", (), "d", 0, "", ())], 1)
    with pytest.raises(IndexError):
        write(broken, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_statistics_of_a_world_counted_by_hand() -> None:
    bits = default_grammar().bits
    train = [
        Sentence("a b b .", ("x y .",), "train-00001-food", bits["ba"], "bad pair", ()),
        Sentence("a c .", ("x .",), "train-00001-food", 0, "", ()),
    ]
    dev = [Sentence("a d d .", ("p .", "q r ."), "dev-00001-travel", bits["ba"], "", ())]
    report = statistics(World(train, dev, [], 7))
    assert json.loads(json.dumps(report)) == report
    assert report["seed"] == 7
    assert report["train"] == {
        "sentences": 2,
        "documents": 1,
        "references": 1,
        "source_words": 7,
        "source_types": 4,
        "target_words": 5,
        "target_types": 3,
        "mean_source_length": 3.5,
        "mean_target_length": 2.5,
        "longest_source": 4,
    }
    assert report["dev"]["unseen_words"] == 2
    assert report["dev"]["unseen_types"] == 1
    assert report["dev"]["unseen_share"] == 0.5
    assert report["dev"]["mean_target_length"] == 2.5
    assert report["test"]["sentences"] == report["test"]["longest_source"] == 0
    assert report["topics"]["food"] == 2
    assert report["topics"]["travel"] == 1
    assert report["noise"] == {"bad_pairs": 1, "missing_words": 0, "share": 0.5}
    assert report["phenomena"]["ba"] == 0.6667
    assert report["phenomena"]["bei"] == 0


def test_examples_are_good_to_show(world: World) -> None:
    shown = examples(world, 3)
    assert len(shown) == 3
    assert len({example.topic for example in shown}) == 3
    for source, references, phenomena, _ in shown:
        assert 6 <= len(source.split()) <= 16
        assert len(set(references)) == 4
        assert phenomena
    assert "a prepositional phrase that moves behind the object" in shown[0].phenomena
    assert "a relative clause with `de` that moves behind its noun" in shown[1].phenomena
    assert len(examples(world, 8)) == 8


def test_words_are_of_all_kinds(many: World) -> None:
    kinds = Counter(type(word) for sentence in many.dev for word in sentence.words)
    assert all(kinds[kind] > 100 for kind in (Noun, Verb, Adjective, Word))
