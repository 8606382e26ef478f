"""`hopefear lm query`: the score of every sentence."""

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

    Prints 'Total: LOG10 OOV: COUNT' for each line, with --words preceded by 'WORD=NUMBER LENGTH
    LOG10' for every word and </s>, where LENGTH is that of the longest n-gram found; these are
    KenLM's numbers and format. Lines of a pipe are answered as they arrive. Words are separated by
    blanks, tabs, CR or NUL; <s>, </s> and <unk> in the text are looked up like other words.
    """

    section = "Use and look"
    reports = False  # the result is a stream of lines
    examples = (
        "hopefear lm query lm.bin test.en",
        "echo 'a small house' | hopefear lm query lm.arpa.gz --words",
    )

    lm: Path = argument(help="language model, ARPA or compiled", metavar="LM")
    text: Path = argument(Path("-"), help="one sentence per line (default stdin)", metavar="TEXT")
    words: bool = option(False, help="show every word")
    bos: bool = option(True, help="do not start after <s>")
    eos: bool = option(True, help="do not score </s>")

    def run(self, console: Console) -> None:
        from hopefear.base.files import check_one_stdin
        from hopefear.lm import LanguageModel

        check_one_stdin(self.lm, self.text)
        with console.step("load", unit="n-grams") as step:
            lm = LanguageModel.load(self.lm, progress=step.update)
            step.update(sum(lm.ngrams))
        sys.stdout.flush()
        lm.query(self.text, sys.stdout.buffer, bos=self.bos, eos=self.eos, words=self.words)
