"""The options of training, apart from what does it, so that `hopefear --help` stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.decode.system_options import SystemExtractOptions
from hopefear.text.clean import CleanRules
from hopefear.text.clusters import MOST_CLUSTERS


@dataclass(kw_only=True)
class TrainOptions(CleanRules, SystemExtractOptions):
    """How a model is trained; also the options of `hopefear train`."""

    tokenized: bool = option(False, help="the texts are words between blanks: take them so")
    source_language: str | None = option(
        None, metavar="CODE", help="such as fr or zh; by default what the file's name ends in"
    )
    target_language: str | None = option(None, metavar="CODE", help="likewise")
    casing: Literal["none", "lower", "truecase"] = option(
        "truecase", help="how upper and lower case are treated"
    )
    align: Path | None = option(None, help="word alignment of the texts, made elsewhere")
    lm_text: Path | None = option(
        None, help="text for the language model; by default the target side"
    )
    order: int = option(5, min=1, max=6, help="words in the longest n-grams")
    list_size: int = option(
        1000,
        min=1,
        max=1_000_000,
        help="entries of each word list: the most frequent words, aligned pairs and unaligned "
        "words, which feature templates tell apart",
    )
    clusters: int = option(
        0,
        min=0,
        max=MOST_CLUSTERS,
        help="Brown clusters of each side's words, for feature templates that back off to them "
        "(word-edges takes 200); 0: none",
    )
    source_clusters: Path | None = option(
        None, help="a file of paths made elsewhere, instead of clusters of the source text"
    )
    target_clusters: Path | None = option(None, help="likewise")
    source_tags: Path | None = option(
        None, help="parts of speech, a line 'word<TAB>tag' for each word, for the same templates"
    )
    target_tags: Path | None = option(None, help="likewise")
    source_tagger: str | None = option(
        None,
        metavar="NAME",
        help="what tags the words of source sentences while decoding, for the same templates: "
        "jieba (Chinese; pip install 'hopefear[zh]'), lexicon (--source-tags and guesses for other "
        "words), or one of --plugin",
    )
    folds: int = option(
        0,
        min=0,
        max=100,  # as model.MOST_FOLDS
        help="also make so many rule tables and language models that leave a part of the text out "
        "each, for learning on the training text (with --lm-text rule tables only); 0: none",
    )
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")

    def __post_init__(self) -> None:
        CleanRules.__post_init__(self)
        SystemExtractOptions.__post_init__(self)
        if self.folds == 1:
            raise OptionError("--folds 1 would leave all of the text out; give 2 or more")
