"""Options of training, in a module without heavy imports so that `hopefear --help` is fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.decode.system_options import SystemExtractOptions
from hopefear.text.clean import CleanRules
from hopefear.text.clusters import MOST_CLUSTERS


@dataclass(kw_only=True)
class TrainOptions(CleanRules, SystemExtractOptions, ClusterOptions):
    """Options of `train`; also those of `hopefear train`."""

    tokenized: bool = option(
        False, help="the texts are already tokenised: words separated by spaces"
    )
    source_language: str | None = option(
        None,
        metavar="CODE",
        help="language of the source text, such as fr or zh (default: the suffix of its file name)",
    )
    target_language: str | None = option(
        None,
        metavar="CODE",
        help="language of the target text, such as en (default: the suffix of its file name)",
    )
    casing: Literal["none", "lower", "truecase"] = option(
        "truecase",
        help="treatment of upper and lower case: unchanged (none), lower case or truecase",
    )
    subwords: int = option(
        0,
        min=0,
        max=100_000,
        metavar="N",
        help="split rare words into subwords with N merges for each side, so that few words of a "
        "new text are unknown; 500 suit a few thousand pairs of an Arabic text; 0: whole words",
    )
    align: Path | None = option(
        None, help="existing word alignment of the texts (default: computed)"
    )
    aligner: Literal["model1", "hmm", "fertility"] = option(
        "fertility", help="model of the word alignment, as in 'hopefear align'"
    )
    lm_text: Path | None = option(
        None, help="text to train the language model on (default: the target text)"
    )
    order: int = option(
        5, min=1, max=6, help="order of the language model: words in its longest n-grams"
    )
    list_size: int = option(
        1000,
        min=1,
        max=1_000_000,
        help="size of each word list of the feature templates: the most frequent words, aligned "
        "word pairs and unaligned words",
    )
    clusters: int = option(
        0,
        min=0,
        max=MOST_CLUSTERS,
        help="number of Brown clusters of each side's words, for feature templates that back off "
        "to clusters (word-edges takes 200); 0: none",
    )
    source_clusters: Path | None = option(
        None,
        help="existing clusters of source words (a file of paths), used instead of training them",
    )
    target_clusters: Path | None = option(
        None,
        help="existing clusters of target words (a file of paths), used instead of training them",
    )
    source_tags: Path | None = option(
        None, help="parts of speech of source words for feature templates, lines 'word<TAB>tag'"
    )
    target_tags: Path | None = option(
        None, help="parts of speech of target words for feature templates, lines 'word<TAB>tag'"
    )
    source_tagger: str | None = option(
        None,
        metavar="NAME",
        help="part-of-speech tagger of source sentences while decoding: jieba (Chinese; pip "
        "install 'hopefear[zh]'), lexicon (the source tags, guessed for other words), or one of "
        "a plugin",
    )
    folds: int = option(
        0,
        min=0,
        max=100,  # as model.MOST_FOLDS
        help="number of folds of the training text, for tuning on it: each gets a rule table and "
        "language model trained without it (only a rule table if lm_text is given); 0: none",
    )
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )

    def __post_init__(self) -> None:
        CleanRules.__post_init__(self)
        SystemExtractOptions.__post_init__(self)
        if self.align is not None and self.aligner != "fertility":
            raise OptionError(
                f"--aligner {self.aligner}: has no effect on the alignment given with --align; "
                "remove one of them"
            )
        if self.folds == 1:
            raise OptionError(
                "--folds 1: the only fold would leave the whole text out; give 2 or more"
            )
