"""`hopefear lm perplexity`: the perplexity of a text under a language model."""

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
    """Compute the perplexity of a text under a language model.

    Tokens are the words and one </s> per line, as in KenLM. The perplexity without unknown words
    excludes them from both the sum and the number of tokens; compare it only between models with
    the same vocabulary.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear lm perplexity lm.bin test.en",
        "hopefear lm perplexity lm.arpa.gz test.en.gz --threads 4 --json",
    )

    lm: Path = argument(help="language model, ARPA or binary", metavar="LM")
    text: Path = argument(
        Path("-"), help="tokenised text, one sentence per line ('-': stdin)", metavar="TEXT"
    )
    bos: bool = option(True, help="do not use <s> as the context of the first word")
    eos: bool = option(True, help="do not score </s> after the last word")
    threads: int = option(1, min=1, max=1024, help="number of threads; does not change the result")

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
            missing = "no sentences" if total.sentences == 0 else "no words"
            raise InputError(f"{name}: {missing} to score; give a text with one sentence per line")
        known = total.tokens > total.oov
        return {
            "sentences": total.sentences,
            "tokens": total.tokens,
            "oov": total.oov,
            "log10_prob": total.log10_prob,
            "perplexity": total.perplexity,
            "perplexity_without_oov": total.perplexity_without_oov if known else None,
        }
