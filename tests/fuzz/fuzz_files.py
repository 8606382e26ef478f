"""Readers of single files: language models, rules, lists, forests, weights, words, lines.

Each reads the file and uses what it found, as the program would.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from fuzz_reader import Read, consume, reader

from hopefear.align.pharaoh import read_alignments
from hopefear.align.score import read_gold
from hopefear.align.symmetrisation import symmetrise_files
from hopefear.base.config import from_mapping
from hopefear.base.errors import InputError
from hopefear.base.files import open_text
from hopefear.base.weights import Weights
from hopefear.cli.main import _from_file, _settings
from hopefear.cli.tune import Tune
from hopefear.decode.markup import read_options, read_segment
from hopefear.decode.remote.stream_wire import read_count, read_entry, read_request
from hopefear.features.word_classes import WordClasses, read_lexicon
from hopefear.features.word_lists import WordLists
from hopefear.forest import Forest, ForestBuilder, ForestFile, inside, kbest, save_pool, viterbi
from hopefear.forest.io.forests import read_forests
from hopefear.forest.io.json import to_json
from hopefear.forest.io.nbest import read_nbest
from hopefear.lm import LanguageModel
from hopefear.lm.estimate import MIN_MEMORY, estimate
from hopefear.model.importing.cdec import read_cdec_ini
from hopefear.model.importing.moses import read_moses_ini
from hopefear.rules.cdec import import_grammar, read_grammar
from hopefear.rules.extract import extract
from hopefear.rules.moses import read_table
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.rules.table import RuleTable
from hopefear.text.clusters import Clusters
from hopefear.text.documents import group, read_documents
from hopefear.text.tokenizers.plain import split_words

# -- language models --

ARPA = (
    "\\data\\\nngram 1=6\nngram 2=3\nngram 3=2\n\n\\1-grams:\n-2\t<unk>\t0\n-99\t<s>\t-0.5\n"
    "-0.9\t</s>\n-0.6\ta\t-0.3\n-0.7\tb\t-0.4\n-1.2\tc\t-0.25\n\n\\2-grams:\n-0.3\t<s> a\t-0.1\n"
    "-0.2\ta b\t-0.2\n-0.45\tb a\t-0.15\n\n\\3-grams:\n-0.05\t<s> a b\n-0.15\tb a b\n\n\\end\\\n"
)


def compiled(folder: Path) -> list[bytes]:
    (folder / "lm.arpa").write_text(ARPA)
    LanguageModel.load(folder / "lm.arpa").compile(folder / "lm.bin")
    return [(folder / "lm.bin").read_bytes()]


@reader("arpa", ARPA)
@reader("arpa-gz", lambda folder: [gzip.compress(ARPA.encode(), mtime=0)], file="case.arpa.gz")
@reader("lm-binary", compiled, binary=True)
def read_lm(path: Path) -> None:
    lm = LanguageModel.load(path)
    for words in (["a", "b", "a", "b", "c"], ["x", "<s>", "b", "a", "b"], []):
        lm.score(words)
    _ = lm.order, lm.ngrams, "a" in lm


# -- rules --

PHRASES = (
    "la maison ||| the house ||| 0.5 0.25 1 0.1 ||| 0-0 1-1 ||| 2 3 2 ||| |||\n"
    "maison ||| house ||| 1 1 0.5 0.5 ||| 0-0 ||| 3 3 3\n"
    "oui ||| yes ||| 0.5 0.5 0.5 0\n"
)
REORDERING = (
    "la maison ||| the house ||| 0.6 0.2 0.2 0.2 0.2 0.6\n"
    "maison ||| house ||| 0.5 0.25 0.25 0.2 0.2 0.6\noui ||| yes ||| 0.2 0.2 0.6 0.2 0.2 0.6\n"
)
GRAMMAR = (
    "[X] ||| la [X,1] ||| the [X,1] ||| EgivenFCoherent=0.5 IsSingletonF=1 ||| 0-0\n"
    "[X] ||| maison ||| house ||| EgivenFCoherent=0.25\n"
    "[X] ||| [X,1] et [X,2] ||| [X,2] and [X,1] ||| a=-1e-3\n[S] ||| [X,1] ||| [X,1] ||| Glue=1\n"
)


def use_table(table: RuleTable) -> None:
    consume(table)
    table.lookup(["la", "maison"])
    table.lookup(["la", "[X,1]"])
    _ = table.statistics(), table.info, table.columns, table.reordering_columns


@reader("phrase-table", PHRASES)
def read_phrases(path: Path) -> None:
    read_table(path, output=path.with_name("rules.bin"), threads=1, memory=1 << 20)
    use_table(RuleTable.open(path.with_name("rules.bin")))


@reader("reordering-table", REORDERING)
def read_reordering(path: Path) -> None:
    phrases = path.with_name("phrases")
    phrases.write_text(PHRASES)
    read_table(phrases, path, output=path.with_name("rules.bin"), threads=1, memory=1 << 20)
    use_table(RuleTable.open(path.with_name("rules.bin")))


@reader("grammar", GRAMMAR)
@reader("grammar-gz", lambda folder: [gzip.compress(GRAMMAR.encode(), mtime=0)], file="case.gz")
def read_rules(path: Path) -> None:
    use_table(read_grammar(path))


@reader("grammar-import", GRAMMAR)
def import_rules(path: Path) -> None:
    import_grammar(path, output=path.with_name("rules.bin"), threads=1, memory=1 << 20)
    use_table(RuleTable.open(path.with_name("rules.bin")))


def phrase_table(folder: Path) -> list[bytes]:
    (folder / "p").write_text(PHRASES)
    read_table(folder / "p", output=folder / "p.bin", threads=1)
    return [(folder / "p.bin").read_bytes()]


def grammar_table(folder: Path) -> list[bytes]:
    (folder / "g").write_text(GRAMMAR)
    import_grammar(folder / "g", output=folder / "g.bin", threads=1)
    return [(folder / "g.bin").read_bytes()]


@reader("rules-binary", phrase_table, grammar_table, binary=True)
def read_binary_rules(path: Path) -> None:
    use_table(RuleTable.open(path))


# -- what imported models are described in --

INI = """\
[input-factors]
0
[mapping]
0 T 0
[distortion-limit]
6
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=4 path=table input-factor=0 output-factor=0
LexicalReordering name=LR num-features=6 type=wbe-msd-bidirectional-fe-allff path=reordering
Distortion
KENLM name=LM0 factor=0 path=lm.arpa order=3
[weight]
LM0= 0.5
TM= 0.25 -0.125 1 1
LR= 1 2 3 4 5 6
WordPenalty0= -1
"""


def beside(folder: Path) -> list[bytes]:
    """What an ini names."""
    for name, text in {"table": PHRASES, "reordering": REORDERING, "lm.arpa": ARPA}.items():
        (folder / name).write_text(text)
    (folder / "glue").write_text("[S] ||| [X,1] ||| [X,1] ||| Glue=1\n")
    (folder / "weights").write_text("LanguageModel 0.5\nGlue -1\n")
    return []


@reader("moses.ini", INI, beside)
def read_moses(path: Path) -> None:
    read_moses_ini(path)


CDEC_INI = (
    "formalism=scfg\nadd_pass_through_rules=true\nfeature_function=WordPenalty\n"
    "feature_function=KLanguageModel lm.arpa\ngrammar=glue\nweights=weights\n"
    "scfg_max_span_limit=15\n"
)


@reader("cdec.ini", CDEC_INI, beside)
def read_cdec(path: Path) -> None:
    read_cdec_ini(path)


# -- lists, lattices, forests --


def forest() -> Forest:
    builder = ForestBuilder()
    noun = builder.node(coverage=[0], span=(0, 1), symbol="N")
    verb = builder.node(coverage=[1], span=(1, 2), symbol="V")
    goal = builder.node(coverage=[0, 1], span=(0, 2))
    builder.node(coverage=[70])
    builder.edge(noun, (), ["cats"], row=builder.row({"tm": -0.5, "len": 1}), rule=7)
    builder.edge(noun, (), ["the", "cats"], row=builder.row({"tm": -1, "len": 2}), rule=8)
    builder.edge(verb, (), ["sleep"], row=builder.row({"tm": -0.25, "len": 1}))
    builder.edge(goal, [noun, verb], [0, 1], features={"swap": 1})
    builder.edge(goal, [noun, noun], [0, "and", 1], features={"copy": 1})
    return builder.finish(goal, id="tiny")


def use(found: Iterable[Forest]) -> None:
    """What tuners do with forests."""
    weights = Weights({"tm": 1.0, "len": 0.5, "lattice": 1.0, "LM0": 0.5})
    for one in islice(found, 50):
        viterbi(one, weights)
        for derivation in kbest(one, weights, 3):
            _ = derivation.text, derivation.features
        inside(one, weights)


MOSES_LIST = (
    "0 ||| the cat  ||| LM0= -3.5 TM0= -1 -2 rare_a~b= 1 ||| -4.25 ||| 0=0-1\n"
    "0 ||| a cat ||| LM0= -3 TM0= -1 -2.5 ||| -4.5\n\n12 ||| x ||| lm=-1.5 a=b=2 ||| 7\n"
)
CDEC_LIST = (
    "0 ||| the cat ||| LanguageModel=-3.5 Glue=1 ||| -4.25\n0 ||| a cat ||| Glue=2 ||| -4.5\n"
    "1 ||| dogs ||| Glue=-1e-3 ||| 0\n"
)
JSON_LIST = (
    '{"id": 3, "text": "a  b", "features": {"x": 1, "y": 2.5}, "score": 0.5}\n'
    '{"id": 3, "text": "", "features": {}}\n{"id": "s", "text": "c\\u00e9"}\n'
)


def lists(format: Any) -> Read:
    def read(path: Path) -> None:
        use(found.forest for found in read_nbest(path, format))

    return read


reader("nbest-moses", MOSES_LIST)(lists("moses"))
reader("nbest-cdec", CDEC_LIST)(lists("cdec"))
reader("nbest-json", JSON_LIST)(lists("jsonl"))


def forests(format: str | None) -> Read:
    return lambda path: use(read_forests(path, format))


PLF = (
    "((('einen',1.0,1),),(('l\\'x',0.5,2),('wett',0.25,1),('no',0,1),),(('*EPS*',1.0,1),),)\n\n"
    "((('a',0.5,1),('b',0.5,1),),)\n"
)
GRAPH = (
    "0 hyp=0 stack=0 forward=1 fscore=-2\n"
    "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=4 fscore=-1 covered=0-0 out=the cat\n"
    "0 hyp=2 stack=1 back=0 score=-2 transition=-2 forward=3 fscore=-1 covered=1-1 out=sleeps\n"
    "0 hyp=4 stack=2 back=1 score=-2 transition=-1 forward=-1 fscore=0 covered=1-1 out=sleeps\n"
    "0 hyp=3 stack=2 back=2 score=-5 transition=-3 recombined=4 forward=-1 fscore=0 covered=0-0 "
    'scores="core=(-1,0.5) wt_a=1" out="le|the "\n'
)
HYPERGRAPH = (
    "# target ||| features ||| source-covered\n4 5\n# node 0\n1\n<s> |||  ||| 0\n# node 1\n2\n"
    "the cat ||| TM0_1=-1 TM0_2=-0.5 LM0=-2 ||| 1\na cat ||| TM0_1=-1.5 LM0=-1 ||| 1\n1\n"
    "[1] and [1] ||| rule=1 ||| 2\n1\n[0] [2] </s> ||| LM0=-1 ||| 2\n"
)
CDEC_FOREST = (
    '{"rules":[1,"[X] ||| le chat ||| the cat ||| A=1",2,"[X] ||| [X,1] et [X,2] ||| [2] and '
    '[X,1]"],\n"features":["Glue","LM"],\n"edges":[{"tail":[],"spans":[0,2,-1,-1],"feats":[1,-1.5,'
    '"Extra",2],"rule":1},\n{"tail":null,"feats":null,"rule":"[X] ||| chien ||| dog"}],"node":'
    '{"in_edges":[0,1],"cat":"X"},\n"edges":[{"tail":[0,0],"spans":[0,4,-1,-1],"feats":[0,1],'
    '"rule":2}],"node":{"in_edges":[2],"cat":"S"},\n"is_sorted":true}\n'
)
OPENFST = (
    "0 2 the 0.5\n2 1 cat 1\n2 1 <eps>\n0 1 cats 3\n1 0.25\n",
    "0 1 le the\n1 2 a b 0.5\n2\n",
)

reader("plf", PLF)(forests("plf"))
reader("plf-log", PLF.replace("0.", "-0."))(forests("plf-log"))
reader("openfst", *OPENFST)(forests("openfst"))
reader("moses-graph", GRAPH)(forests("moses-graph"))
reader("moses-hypergraph", HYPERGRAPH)(forests("moses-hypergraph"))
reader("cdec-forest", CDEC_FOREST)(forests("cdec"))
reader("json-forest", lambda folder: [json.dumps(to_json(forest())).encode()])(forests("json"))
reader("any-forest", PLF, GRAPH, HYPERGRAPH, CDEC_FOREST, *OPENFST, MOSES_LIST, JSON_LIST)(
    forests(None)
)


def pool(folder: Path) -> list[bytes]:
    save_pool(folder / "pool", [forest(), ForestBuilder().finish(), forest()])
    return [(folder / "pool").read_bytes()]


@reader("pool", pool, binary=True)
def read_pool(path: Path) -> None:
    found = ForestFile(path)
    use(found)
    found.by_id("tiny")


# -- weights and configurations --

WEIGHTS = "lm\t0.5\np(e|f)\t-1e-3\nwords\t0\nid:0123456789abcdef\t2\nodd name é\t1e10\n"


def binary_weights(folder: Path) -> list[bytes]:
    Weights({"lm": 0.5, "words": -1.0, "odd name": 3.0}).save(folder / "w.bin")
    return [(folder / "w.bin").read_bytes()]


@reader("weights", WEIGHTS)
@reader("weights-gz", lambda folder: [gzip.compress(WEIGHTS.encode(), mtime=0)], file="case.gz")
@reader("weights-binary", binary_weights, file="case.bin", binary=True)
def read_weights(path: Path) -> None:
    found = Weights.load(path)
    _ = found["lm"], found.top(5), list(found.items())


CONFIG = """\
# A tuning run.
[tune]
tuner = "mert"
dev = "dev.fr"
refs = ["dev.en.0", "dev.en.1"]
output = "run"
model = "m"
iterations = 15
tolerance = 1e-4
fix = ["unknown"]
resume = false

[tune.mert]
restarts = 20
"""


@reader("config", CONFIG)
def read_config(path: Path) -> None:
    values, tables = _from_file(path, "tune", Tune)
    _settings(Tune, values, tables, [])
    from_mapping(Tune, values)


# -- alignments and words --

PHARAOH = "0-0 1-2\n\n2-1 0-0\n"
GIZA = (
    "# Sentence pair (1) source length 2 target length 3 alignment score : 0.01\na b c\n"
    "NULL ({ 2 }) x ({ 1 }) y ({ 3 })\n# Sentence pair (2) source length 1 target length 2 "
    "alignment score : 0.5\na b\nNULL ({ }) x ({ 1 2 })\n"
)


@reader("alignments", PHARAOH, GIZA)
def read_links(path: Path) -> None:
    consume(read_alignments(path))
    consume(read_alignments(path, direction="reverse"))


@reader("gold alignments", "0-0 1p1\n\n2-1 0p0\n")
def read_gold_links(path: Path) -> None:
    consume(read_gold(path))


@reader("symmetrise", PHARAOH)
def symmetrise(path: Path) -> None:
    other = path.with_name("reverse")
    other.write_text(PHARAOH)
    symmetrise_files(path, other, path.with_name("out"))


@reader("clusters", "0110\tthe\t25\n0111\ta\t12\n10\thouse\t3\n10\té\t1\n")
def read_clusters(path: Path) -> None:
    found = Clusters.load(path)
    _ = len(found), list(found.members())


@reader("word-lists", "limit\t5\npairs\t3\tla\tthe\nsource\t3\tla\ntarget\t2\tthe\ndeleted\t1\tx\n")
def read_word_lists(path: Path) -> None:
    found = WordLists.load(path)
    _ = found.words("source", 1, "x"), found.pairs(1, "x")


@reader("word-classes", "source\tla\t0110\tDET\nsource\tmaison\t10\t\ntarget\tthe\t\tDT\n")
def read_word_classes(path: Path) -> None:
    found = WordClasses.load(path)
    _ = found.source.rows(), found.target.rows()


@reader("documents", "a.sgm\na.sgm\nb 1\n\u00e9\n")
def read_document_names(path: Path) -> None:
    group(read_documents(path), str(path))


SOURCE, TARGET = "la maison\noui , la fleur\n", "the house\nyes , the flower\n"
LINKS = "0-0 1-1\n0-0 1-1 2-2 3-3\n"


def aligned_text(folder: Path) -> list[bytes]:
    for name, text in (("source", SOURCE), ("target", TARGET), ("links", LINKS)):
        (folder / name).write_text(text)
    return []


@reader("extract/source", SOURCE, aligned_text, file="source")
@reader("extract/links", LINKS, aligned_text, file="links")
def extract_rules(path: Path) -> None:
    source, target, links, table = (
        path.with_name(name) for name in ("source", "target", "links", "rules.bin")
    )
    extract(source, target, links, table, PhraseExtractOptions(threads=1))


@reader("lm-text", TARGET)
def estimate_lm(path: Path) -> None:
    output = path.with_name("out.arpa")
    estimate(path, output, order=2, discount_fallback=True, threads=1, memory=MIN_MEMORY)


@reader("lexicon", "la\tDET\nmaison\tNOUN\n")
def read_tags(path: Path) -> None:
    read_lexicon(path)


# -- lines on standard input --

MARKUP = (
    'un <np translation="a man||the man" prob="0.5||0.5">homme</np> dort\n'
    'a b <x translation="c">d</x> &lt; &#124;\n'
)
SEGMENTS = (
    '<seg grammar="case" id="0"> un homme </seg> ||| a man\n<seg id="1">x</seg>\nplain words\n'
)


@reader("markup", MARKUP)
def read_markup(path: Path) -> None:
    with open_text(path) as lines:
        for number, line in enumerate(islice(lines, 100), 1):
            read_options(line, f"{path}:{number}")


@reader("segments", SEGMENTS)
def read_segments(path: Path) -> None:
    with open_text(path) as lines:
        for number, line in enumerate(islice(lines, 100), 1):
            read_segment(line, f"{path}:{number}", [path.parent], source_words=split_words)


STREAM = (
    '<seg delta="TGFuZ3VhZ2VNb2RlbAAA4XoUtrN4vwAA" id="1"> un homme </seg>\n2\n'
    "7 ||| 2 ||| target words ||| d29yZHMAAAAAAAAA8D8A ||| -18.0225\n\n"
)


@reader("stream", STREAM)
def read_stream(path: Path) -> None:
    """Each side of the protocol reads all lines, also the other's, which it refuses in one line."""
    reads: Sequence[Callable[[str], Any]]
    reads = (lambda line: read_request(line, str(path)), read_entry, read_count)
    with open_text(path) as lines:
        for line in islice(lines, 100):
            for read in reads:
                try:
                    read(line)
                except (ValueError, InputError) as error:
                    if "\n" in str(error):
                        raise RuntimeError("a message of several lines") from error
