"""`hopefear lm perplexity`: how well a language model predicts a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "lm perplexity")
@dataclass(kw_only=True)
class LmPerplexity(Command):
    """Measure how well a language model predicts a text.

    Tokens are the words and one </s> per line, as KenLM counts them. The perplexity without unknown
    words leaves them out of the sum and of the tokens; it is comparable only between models that
    know the same words.
    """

    section = "Use and look"
    examples = (
        "hopefear lm perplexity lm.bin test.en",
        "hopefear lm perplexity lm.arpa.gz test.en.gz --threads 4 --json",
    )

    lm: Path = argument(help="language model, ARPA or compiled", metavar="LM")
    text: Path = argument(Path("-"), help="one sentence per line (default stdin)", metavar="TEXT")
    bos: bool = option(True, help="do not start after <s>")
    eos: bool = option(True, help="do not score </s>")
    threads: int = option(1, min=1, max=1024, help="threads; the result is the same")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.errors import InputError
        from hopefear.base.files import check_one_stdin, display_name
        from hopefear.lm import LanguageModel

        check_one_stdin(self.lm, self.text)
        with console.step("load", unit="n-grams") as step:
            lm = LanguageModel.load(self.lm, progress=step.update)
            step.update(sum(lm.ngrams))
        with console.step("score", unit="sentences") as step:
            total = lm.score_text(
                self.text, bos=self.bos, eos=self.eos, threads=self.threads, progress=step.update
            )
        if total.tokens == 0:
            name = display_name(self.text)
            what = "no sentences" if total.sentences == 0 else "no words"
            raise InputError(f"{name}: {what} to score; give a text with one sentence per line")
        known = total.tokens > total.oov
        return {
            "sentences": total.sentences,
            "tokens": total.tokens,
            "oov": total.oov,
            "log10_prob": total.log10_prob,
            "perplexity": total.perplexity,
            "perplexity_without_oov": total.perplexity_without_oov if known else None,
        }
