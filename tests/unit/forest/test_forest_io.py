"""Forests of other systems: n-best lists, search graphs, cdec's JSON, lattices."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forest_small import tiny_forest

from hopefear import forest as hf
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest.io import (
    from_json,
    read_cdec_forest,
    read_forests,
    read_json,
    read_moses_graph,
    read_moses_hypergraph,
    read_nbest,
    read_openfst,
    read_plf,
)
from hopefear.forest.io.forests import recognise

pytestmark = pytest.mark.engine

MOSES = """\
0 ||| the cat  ||| LM0= -3.5 TM0= -1 -2 rare_a~b= 1 ||| -4.25 ||| 0=0-1
0 ||| a cat ||| LM0= -3 TM0= -1 -2.5 ||| -4.5
0 |||  ||| LM0= 0 TM0= 0 0 ||| -100

12 ||| x ||| lm=-1.5 a=b=2 ||| 7
"""


def features(forest: hf.Forest, edge: int) -> dict[str, float]:
    assert forest.names is not None
    vector = forest.edge_features(edge)
    pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    return {str(forest.names.name(id)): value for id, value in pairs}


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["list.txt", "list.gz"])
def test_text_lists(tmp_path: Path, name: str) -> None:
    first, second = read_nbest(write(tmp_path / name, MOSES))
    assert (first.id, second.id) == ("0", "12")
    assert first.scores.tolist() == [-4.25, -4.5, -100]
    assert (first.forest.nodes, first.forest.edges, first.forest.goal) == (1, 3, 0)
    assert features(first.forest, 0) == {"LM0": -3.5, "TM0_1": -1, "TM0_2": -2, "rare_a~b": 1}
    assert features(first.forest, 2) == {}
    assert features(second.forest, 0) == {"lm": -1.5, "a=b": 2}
    assert first.forest.vocabulary is second.forest.vocabulary
    weights = Weights({"LM0": 1.0, "TM0_2": 0.5})
    assert [d.text for d in hf.kbest(first.forest, weights)] == ["", "a cat", "the cat"]


def test_lists_are_streamed(tmp_path: Path) -> None:
    """The first list is there although the file is bad further on."""
    path = write(tmp_path / "list", "0 ||| a ||| x=1 ||| 1\n1 ||| b ||| x=1 ||| 1\n2 ||| bad\n")
    lists = read_nbest(path)
    assert next(lists).id == "0"
    with pytest.raises(InputError, match=r"list:3: expected 'id \|\|\| words"):
        list(lists)


def test_lists_share_names_and_words(tmp_path: Path) -> None:
    names, vocabulary = FeatureNames(), hf.Vocabulary()
    path = write(tmp_path / "list", MOSES)
    for _ in range(2):
        list(read_nbest(path, "cdec", names=names, vocabulary=vocabulary))
    assert (len(names), len(vocabulary)) == (6, 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 ||| a ||| x=1y ||| 1", "value of a feature is '1y', expected a number"),
        ("0 ||| a ||| 3.5 ||| 1", "feature '3.5', expected 'NAME=VALUE'"),
        ("0 ||| a ||| X= Y= 1 ||| 1", "label 'X' has no value"),
        ("0 ||| a ||| x=nan ||| 1", "feature 'x' is nan, expected a finite number"),
        ("0 ||| a ||| x=1e400 ||| 1", "feature 'x' is inf"),
        ("0 ||| a ||| x\0=1 ||| 1", r"feature name 'x\x00' is not valid"),
        ("0 ||| a ||| x\x1b= 1 ||| 1", r"feature name 'x\x1b' is not valid"),
        ("0 ||| a ||| x=1 ||| good", "score is 'good', expected a number"),
        ("0 ||| a ||| x=1 ||| nan", "score is 'nan'"),
        ("0 ||| a ||| X= 1 2 3 ||| 1", "label 'X' has 3 values, in earlier lines it has 2"),
    ],
)
def test_bad_lists(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "list", f"0 ||| a ||| X= 1 2 ||| 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        list(read_nbest(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("place", [b"caf\xe9 ||| x=1", b"b ||| \xe9=1"])
def test_odd_bytes_in_a_list(tmp_path: Path, place: bytes) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"0 ||| a ||| x=1 ||| 1\r\n0 ||| " + place + b"\n")
    with pytest.raises(InputError, match=r"list:2: byte 0xe9 at column .* is not UTF-8"):
        list(read_nbest(path))


@pytest.mark.parametrize("word", ["a b", "", " "])
def test_blank_words_of_lattices(tmp_path: Path, word: str) -> None:
    plf = write(tmp_path / "plf", f"((('a',1,1),),)\n((('{word}',1,1),),)\n")
    with pytest.raises(InputError, match=f"plf:2: '{word}' is no word"):
        list(read_plf(plf))
    forests = [
        {"nodes": 1, "goal": 0, "edges": [{"head": 0, "target": [text]}]} for text in ("a", word)
    ]
    path = write(tmp_path / "json", "\n".join(map(json.dumps, forests)))
    with pytest.raises(InputError, match=f"json:2: not a forest .'{word}' is no word"):
        list(read_json(path))


def test_words_of_plf_are_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="plf:1: 5 is no word"):
        list(read_plf(write(tmp_path / "plf", "(((5,1,1),),)\n")))


@pytest.mark.parametrize("format", [None, "moses-graph"])
@pytest.mark.parametrize("id", ["0 12", "0 12->7"])
def test_a_search_graph_of_chart_decoding(tmp_path: Path, id: str, format: str | None) -> None:
    line = f"{id} S => the [X] : 0-1 : c=-1.2 core=(-1,0) [0..3] 4 9 [total=-2.5] core=(-3,0)\n"
    with pytest.raises(InputError, match=r"osg:1: .*-output-search-graph-hypergraph"):
        list(read_forests(write(tmp_path / "osg", line), format))


@pytest.mark.parametrize("features", [b"caf\xe9=1", b"caf\xe9= 1", b"caf\xe9= 1 2"])
def test_lists_that_are_not_utf8(tmp_path: Path, features: bytes) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"0 ||| a ||| b=1 ||| 1\n0 ||| a ||| " + features + b" ||| 1\n")
    with pytest.raises(InputError, match=r"list:2: byte 0xe9 at column 16 is not UTF-8"):
        list(read_nbest(path))


@pytest.mark.parametrize("name", ["\\ud800", "a\\tb", "\\u001b", ""])
def test_names_in_json_that_are_not_valid(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "l.jsonl", f'{{"id": 1, "text": "a", "features": {{"{name}": 1}}}}\n')
    with pytest.raises(InputError, match=r"l\.jsonl:1: feature name '.*' is not valid"):
        list(read_nbest(path))


def test_json_lists(tmp_path: Path) -> None:
    lines = [
        {"id": 3, "text": "a  b", "features": {"x": 1, "y": 2.5}, "score": 0.5},
        {"id": 3, "text": "", "features": {}},
        {"id": "s", "text": "c"},
    ]
    path = write(tmp_path / "list.jsonl.gz", "\n".join(map(json.dumps, lines)) + "\n\n")
    first, second = read_nbest(path)
    assert (first.id, second.id, first.forest.id) == ("3", "s", "3")
    assert first.scores[0] == 0.5
    assert math.isnan(first.scores[1])
    assert features(first.forest, 0) == {"x": 1, "y": 2.5}
    assert [d.words for d in hf.kbest(first.forest, Weights({"x": 1.0}))] == [["a", "b"], []]


def test_words_are_those_of_the_text(tmp_path: Path) -> None:
    """Both formats cut at blanks; a no-break space of the system's stays where it is."""
    text = "Bonjour\u00a0! Ça  va"
    line = json.dumps({"id": 0, "text": text})
    for path in (
        write(tmp_path / "list.jsonl", f"{line}\n"),
        write(tmp_path / "list", f"0 ||| {text} ||| a= 1 ||| 0\n"),
    ):
        (found,) = read_nbest(path)
        best = hf.viterbi(found.forest, Weights())
        assert best is not None
        assert best.text == "Bonjour\u00a0! Ça va"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "the line is [1], expected an object"),
        ("{", "not a JSON object"),
        ('{"id": true, "text": "a"}', '"id" is true'),
        ('{"id": 1}', '"text" is null, expected a string'),
        ('{"id": 1, "text": "a", "features": [1]}', '"features" is [1]'),
        ('{"id": 1, "text": "a", "features": {"x": NaN}}', "feature 'x' is NaN"),
        ('{"id": 1, "text": "a", "features": {"x": 1e39}}', "feature 'x' is 1e+39"),
        ('{"id": 1, "text": "a", "features": {"": 1}}', "name"),
        ('{"id": 1, "text": "a", "score": "high"}', '"score" is "high"'),
    ],
)
def test_bad_json_lists(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "list.jsonl", '{"id": 1, "text": "a"}\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read_nbest(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


# Four hypotheses after the empty one; 3 lost against 4, both cover 0 and 1.
GRAPH = """\
0 hyp=0 stack=0 forward=1 fscore=-2
0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=4 fscore=-1 covered=0-0{s1} out={o1}
0 hyp=2 stack=1 back=0 score=-2 transition=-2 forward=3 fscore=-1 covered=1-1{s2} out={o2}
0 hyp=4 stack=2 back=1 score=-2 transition=-1 forward=-1 fscore=0 covered=1-1{s4} out={o4}
0 hyp=3 stack=2 back=2 score=-5 transition=-3 recombined=4 forward=-1 fscore=0 covered=0-0{s3} \
out={o3}
"""


def test_moses_graph(tmp_path: Path) -> None:
    plain = GRAPH.format(
        s1="", s2="", s3="", s4="", o1="the cat", o2="sleeps", o3="the cat", o4="sleeps "
    )
    (forest,) = read_moses_graph(write(tmp_path / "osg", plain))
    assert forest.id == "0"
    assert hf.count(forest) == 2
    found = hf.kbest(forest, Weights({"transition": 1.0}))
    assert [(d.text, d.score) for d in found] == [("the cat sleeps", -2), ("sleeps the cat", -5)]
    assert forest.covered.tolist() == [0, 1, 1, 2, 2]
    assert forest.coverage.tolist() == [1, 2, 3]


def test_moses_extended_graph(tmp_path: Path) -> None:
    scores = ' scores="core=({},{}) {}"'
    text = GRAPH.format(
        s1=scores.format(-1, 0, "wt_a=1"),
        s2=scores.format(-2, 0, ""),
        s3=scores.format(-1, -1, "wt_a=1 wt_b=-0.5"),
        s4=scores.format(0.5, -0.25, ""),
        o1='"le chat|the cat "',
        o2='"dort|sleeps "',
        o3='"le chat|the cat"',
        o4='"dort|sleeps"',
    )
    path = write(tmp_path / "osgx.gz", text + text.replace("0 hyp", "1 hyp"))
    first, second = read_moses_graph(path, core_names=["LM0", "Distortion0"])
    assert (first.id, second.id) == ("0", "1")
    weights = Weights({"LM0": 1.0, "Distortion0": 2.0, "wt_b": 10.0})
    found = hf.kbest(second, weights)
    assert [(d.text, d.score) for d in found] == [("the cat sleeps", -1), ("sleeps the cat", -10)]
    (default, _) = read_moses_graph(path)
    assert features(default, 5) == {}  # into the goal
    assert features(default, 4) == {"core_1": 0.5, "core_2": -0.25}
    with pytest.raises(InputError, match=":2: 2 dense scores, but 1 names"):
        list(read_moses_graph(path, core_names=["LM0"]))


HYPERGRAPH = """\
# target ||| features ||| source-covered
4 5
# node 0
1
<s> |||  ||| 0
# node 1
2
the cat ||| TM0_1=-1 TM0_2=-0.5 LM0=-2 ||| 1
a cat ||| TM0_1=-1.5 LM0=-1 ||| 1
1
[1] and [1] ||| rule=1 ||| 2
1
[0] [2] </s> ||| LM0=-1 ||| 2
"""


def test_moses_hypergraph(tmp_path: Path) -> None:
    forest = read_moses_hypergraph(write(tmp_path / "0.gz", HYPERGRAPH), id="0")
    weights = Weights({"TM0_1": 1.0, "TM0_2": 1.0, "LM0": 0.5})
    found = hf.kbest(forest, weights)
    assert [d.text for d in found][::3] == ["a cat and a cat", "the cat and the cat"]
    assert sorted(d.score for d in found) == [-5.5, -5.0, -5.0, -4.5]
    assert forest.covered.tolist() == [0, 1, 2, 2]
    assert forest.goal == 3


CDEC = """\
{"rules":[1,"[X] ||| le chat ||| the cat ||| A=1",2,"[X] ||| [X,1] et [X,2] ||| [2] and [X,1]"],
"features":["Glue","LM"],
"edges":[{"tail":[],"spans":[0,2,-1,-1],"feats":[1,-1.5,"Extra",2],"rule":1},
{"tail":null,"feats":null,"rule":"[X] ||| chien ||| dog"}],"node":{"in_edges":[0,1],"cat":"X"},
"edges":[{"tail":[0,0],"spans":[0,4,-1,-1],"feats":[0,1],"rule":2}],"node":{"in_edges":[2],"cat":"S"},
"is_sorted":true}
"""


def test_cdec_forest(tmp_path: Path) -> None:
    forest = read_cdec_forest(write(tmp_path / "0.json.gz", CDEC), id="0")
    assert features(forest, 0) == {"LM": -1.5, "Extra": 2}
    assert features(forest, 2) == {"Glue": 1}
    assert [forest.vocabulary.word(s) for s in forest.symbols] == ["X", "S"]
    assert forest.spans.tolist() == [0, 2, 0, 4]
    assert forest.rules.tolist() == [1, -1, 2]
    assert [d.text for d in hf.kbest(forest, Weights({"LM": 1.0}))] == [
        "dog and dog",
        "the cat and dog",
        "dog and the cat",
        "the cat and the cat",
    ]


def test_plf(tmp_path: Path) -> None:
    text = (
        "((('einen',1.0,1),),(('l\\'x',0.5,2),('wett',0.25,1),('no',0,1),),(('*EPS*',1.0,1),),)\n\n"
    )
    (forest,) = read_plf(write(tmp_path / "in.plf", text))
    found = hf.kbest(forest, Weights({"lattice": 1.0}))
    assert [d.text for d in found] == ["einen l'x", "einen wett"]
    assert [d.score for d in found] == pytest.approx([math.log(0.5), math.log(0.25)])
    (logs,) = read_plf(write(tmp_path / "in.plf", "((('a',-2.5),('b',-3)),)\n"), weights="log")
    assert [d.score for d in hf.kbest(logs, Weights({"lattice": 1.0}))] == [-2.5, -3]


def test_openfst(tmp_path: Path) -> None:
    acceptor = "0 2 the 0.5\n2 1 cat 1\n2 1 <eps>\n0 1 cats 3\n1 0.25\n"
    forest = read_openfst(write(tmp_path / "a.txt", acceptor))
    found = hf.kbest(forest, Weights({"lattice": 1.0}))
    assert [(d.text, d.score) for d in found] == [
        ("the", -0.75),
        ("the cat", -1.75),
        ("cats", -3.25),
    ]
    transducer = "0 1 le the\n1 2 chat cat 0.5\n2\n"
    forest = read_openfst(write(tmp_path / "b.txt", transducer))
    assert [d.text for d in hf.kbest(forest, Weights())] == ["the cat"]
    numbers = "0\t1\t1\t2\t0\n1\t2\t0\t0\n2\n"
    forest = read_openfst(write(tmp_path / "c.txt", numbers), symbols={2: "cat"}, transducer=True)
    assert [d.text for d in hf.kbest(forest, Weights())] == ["cat"]
    empty = read_openfst(write(tmp_path / "d.txt", ""))
    assert hf.viterbi(empty, Weights()) is None
    only = read_openfst(write(tmp_path / "e.txt", "0\n"))
    assert [d.text for d in hf.kbest(only, Weights())] == [""]


def many(reader: Callable[..., Iterator[Any]]) -> Callable[[Path], Any]:
    return lambda path: list(reader(path))


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (many(read_moses_graph), "0 hyp=1 stack=1\n0 hyp=x stack=1", ":2: invalid literal"),
        (many(read_moses_graph), "0 hello", ":1: no 'hyp='"),
        (many(read_moses_graph), "0 hyp=3 stack=1 back=2 transition=1 covered=0-0", ":1: back=2"),
        (
            many(read_moses_graph),
            "0 hyp=3 stack=1 back=2 transition=1 covered=0-9999999999",
            ":1: covered=0-9999999999, expected positions below 65,536",
        ),
        (many(read_moses_graph), "0 hyp=0 stack=99999999999999999999", "expected a number up to"),
        (read_moses_hypergraph, "2 2\n1\n<s> ||| x=1\n", "ends early"),
        (read_moses_hypergraph, "1 1\n1\n[0] a ||| x=1\n", ":3: [0] is not a node before"),
        (read_moses_hypergraph, "1 1\n1\na ||| x\n", ":3: could not convert"),
        (read_moses_hypergraph, "one\n", ":1: "),
        (read_moses_hypergraph, "", "ends early"),
        (read_cdec_forest, "{", "not a JSON object"),
        (read_cdec_forest, "[1]", "not a cdec forest"),
        (read_cdec_forest, '{"nodes": 1}', "unexpected key 'nodes'"),
        (read_cdec_forest, '{"node": {"in_edges": [0]}}', "number 0"),
        (
            read_cdec_forest,
            '{"edges": [{"tail": [1], "feats": []}], "node": {"in_edges": [0]}}',
            "number 1, expected one below 1",
        ),
        (
            read_cdec_forest,
            '{"edges": [{"tail": [0], "feats": []}], "node": {"in_edges": [0]}}',
            "cycle",
        ),
        (many(read_plf), "((('a',0.5,1),),\n", ":1: not PLF"),
        (many(read_plf), "((('a',0.5,2),),)\n", ":1: an arc of node 0 leads to node 2"),
        (many(read_plf), "((('a',1.5,1),),)\n", "1.5 is not a probability"),
        (many(read_plf), "7\n", ":1: not PLF"),
        (read_openfst, "0 1 a 0 0 0\n", ":1: 6 columns"),
        (read_openfst, "0 1 a\n1 0 b\n1\n", "cycle"),
        (read_openfst, "0 1 a\n1 x\n", ":2: could not convert"),
        (many(read_json), '{"edges": [{"tails": []}]}\n', ":1: not a forest (no 'head')"),
        (many(read_json), '{"format": "x"}\n', ":1: not a forest (format 'x'"),
        (many(read_json), "[]\n", ":1: not a forest"),
        (many(read_json), "\n{\n", ":2: not a forest"),
        (many(read_json), '{"nodes": 1, "goal": 4}\n', "the goal is not a node"),
    ],
)
def test_bad_files(tmp_path: Path, reader: Callable[[Path], Any], text: str, message: str) -> None:
    path = write(tmp_path / "file", text)
    with pytest.raises(InputError) as caught:
        reader(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_optional_keys_of_json() -> None:
    forest = from_json(
        {"nodes": 2, "edges": [{"head": 0}, {"head": 1, "tails": [0, 0]}], "goal": 1}
    )
    assert hf.count(forest) == 1
    assert forest.target.tolist() == [-1, -2]
    unknown = from_json(
        {"nodes": 1, "edges": [{"head": 0, "features": {"id:00000000000000ff": 2}}]}
    )
    assert unknown.edge_features(0).ids.tolist() == [255]


def test_plf_with_several_weights(tmp_path: Path) -> None:
    text = "((('a',-1,-2,1),('*EPS*',-3,-4,2)),(('b',-5,-6,1),))\n"
    (forest,) = read_plf(write(tmp_path / "in.plf", text), weights="log", count_words=True)
    found = {
        d.text: {forest.names.name(id): d.features.get(id) for id in d.features.ids.tolist()}
        for d in hf.kbest(forest, Weights(), 10)
    }
    assert found == {
        "a b": {"lattice": -6, "lattice2": -8, "words": 2},
        "": {"lattice": -3, "lattice2": -4},
    }


def test_openfst_counts_words(tmp_path: Path) -> None:
    text = "0 1 a 1\n1 2 <eps> 2\n2 3 b\n3\n"
    forest = read_openfst(write(tmp_path / "a.txt", text), count_words=True)
    (only,) = hf.kbest(forest, Weights(), 10)
    assert (only.text, only.features.get(forest.names.intern("words"))) == ("a b", 2)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (MOSES, "nbest"),
        ('{"id": 0, "text": "a", "features": {"x": 1}}\n', "nbest-jsonl"),
        ("0 hyp=0 stack=0 forward=1 fscore=-2\n", "moses-graph"),
        (HYPERGRAPH, "moses-hypergraph"),
        (CDEC, "cdec"),
        ("((('a',0.5,1),),)\n", "plf"),
        ("()\n((('a',0.5,1),),)\n", "plf"),
        ("\n0 1 a\n1\n", "openfst"),
        ('{"format": "hopefear-forest", "version": 1, "nodes": 0, "edges": []}\n', "json"),
    ],
)
def test_formats_are_recognised(tmp_path: Path, text: str, format: str) -> None:
    path = write(tmp_path / "some", text)
    assert recognise(path) == format
    if format != "moses-graph":
        assert all(isinstance(forest, hf.Forest) for forest in read_forests(path))


def test_pools_are_recognised_and_stdin_is_not(tmp_path: Path) -> None:
    hf.save_pool(tmp_path / "p", [tiny_forest()])
    (forest,) = read_forests(tmp_path / "p")
    assert forest.edges == tiny_forest().edges
    for format in (None, "plf"):
        with pytest.raises(InputError, match="give a real file"):
            list(read_forests("-", format))
        with pytest.raises(InputError, match="/dev/null: lattices cannot be read from a stream"):
            list(read_forests("/dev/null", format))


def test_names_of_scores_of_a_search_graph(tmp_path: Path) -> None:
    lines = [
        "0 hyp=0 stack=0 forward=1 fscore=-1",
        "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-1 covered=0-0 "
        'scores="core=(-1,2)" out="a|x"',
    ]
    path = write(tmp_path / "osgx", "\n".join(lines) + "\n")
    (forest,) = read_forests(path, core_names=["LM0", "WordPenalty0"])
    assert [d.score for d in hf.kbest(forest, Weights({"LM0": 1.0, "WordPenalty0": 0.5}))] == [0.0]
    with pytest.raises(InputError, match=r"osgx:2: 2 dense scores, but 1 names"):
        list(read_forests(path, core_names=["LM0"]))
    with pytest.raises(OptionError, match=r"plf: names of scores .* the file is plf"):
        list(read_forests(write(tmp_path / "plf", "((('a',1,1),),)\n"), core_names=["LM0"]))


@pytest.mark.parametrize("name", ["0.bin", "0.bin.gz"])
def test_binary_forests_of_cdec_are_named(tmp_path: Path, name: str) -> None:
    """cdec since 2014 writes an archive of Boost, whatever format is asked for."""
    content = (22).to_bytes(8, "little") + b"serialization::archive\x12\x00\x04\x08\x04\x08\xff"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    for format in (None, "cdec"):
        with pytest.raises(InputError, match=r"0\.bin.*cdec's binary format .* --stream-decoder"):
            list(read_forests(path, format))
