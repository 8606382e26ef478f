"""Readers and writers for the forests, lattices and n-best lists of other systems.

| format | reader | writer | tunable |
| --- | --- | --- | --- |
| n-best lists: Moses, cdec/Joshua, JSON lines | `read_nbest` | `NbestWriter` (Moses) | yes |
| Moses search graphs (`-osg`, `-osgx`) | `read_moses_graph` | | only `-osgx` |
| Moses hypergraphs (`-output-search-graph-hypergraph`) | `read_moses_hypergraph` | | yes |
| cdec JSON forests (cdec until 2014) | `read_cdec_forest` | | yes |
| PLF and OpenFst text lattices | `read_plf`, `read_openfst` | | with `count_words` |
| Hopefear's JSON | `read_json` | `write_json` | yes |
| Graphviz | | `to_graphviz` | |

`read_forests` reads all of them and recognises the format by the beginning of the file.

"Tunable" forests have named features. The others have one number per edge, the feature `lattice` or
`transition`: with weight 1 on it they can be decoded, sampled and reranked, but not tuned. Feature
names and units are those of the file.
"""

from __future__ import annotations

from hopefear.forest.io.cdec import read_cdec_forest
from hopefear.forest.io.forests import read_forests
from hopefear.forest.io.graphviz import to_graphviz
from hopefear.forest.io.json import from_json, read_json, to_json, write_json
from hopefear.forest.io.lattice import read_openfst, read_plf
from hopefear.forest.io.moses import read_moses_graph, read_moses_hypergraph
from hopefear.forest.io.nbest import NbestList, read_nbest
from hopefear.forest.io.nbest_text import NbestWriter

__all__ = [
    "NbestList",
    "NbestWriter",
    "from_json",
    "read_cdec_forest",
    "read_forests",
    "read_json",
    "read_moses_graph",
    "read_moses_hypergraph",
    "read_nbest",
    "read_openfst",
    "read_plf",
    "to_graphviz",
    "to_json",
    "write_json",
]
