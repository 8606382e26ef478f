"""`hopefear lm query`: the score of every line of a text under a language model."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "lm query")
@dataclass(kw_only=True)
class LmQuery(Command):
    """Score every line of a text with a language model.

    Prints 'Total: LOG10 OOV: COUNT' for each line. With --words, 'WORD=NUMBER LENGTH LOG10' for
    every word and </s> comes before it, where LENGTH is the length of the longest matching n-gram.
    Values and format are KenLM's. Lines from a pipe are answered as they arrive. Words are
    separated by spaces, tabs, CR or NUL; <s>, </s> and <unk> in the text are looked up like other
    words.
    """

    section = "Apply and evaluate"
    reports = False  # the result is a stream of lines
    examples = (
        "hopefear lm query lm.bin test.en",
        "echo 'a small house' | hopefear lm query lm.arpa.gz --words",
    )

    lm: Path = argument(help="language model, ARPA or binary", metavar="LM")
    text: Path = argument(
        Path("-"), help="tokenised text, one sentence per line ('-': stdin)", metavar="TEXT"
    )
    words: bool = option(False, help="also print the score of every word")
    bos: bool = option(True, help="do not use <s> as the context of the first word")
    eos: bool = option(True, help="do not score </s> after the last word")

    def run(self, console: Console) -> None:
        from hopefear.base.files import check_one_stdin
        from hopefear.lm import LanguageModel

        check_one_stdin(self.lm, self.text)
        with console.step("load", unit="n-grams") as step:
            lm = LanguageModel.load(self.lm, progress=step.update)
            step.update(sum(lm.ngrams))
        sys.stdout.flush()
        lm.query(self.text, sys.stdout.buffer, bos=self.bos, eos=self.eos, words=self.words)
