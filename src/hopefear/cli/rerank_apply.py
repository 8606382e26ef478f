"""`hopefear rerank apply`: the best candidates of n-best lists, or the best paths of lattices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import option
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin, display_name, write_text
from hopefear.base.registry import register
from hopefear.cli.command import Command

if TYPE_CHECKING:
    from hopefear.base.weights import Weights
    from hopefear.learn.rerank_choice import Chooser


@register("command", "rerank apply")
@dataclass(kw_only=True)
class RerankApply(Command):
    """Write the best candidate of each n-best list under the weights of rerank tune.

    Writes one line per list, in the order of the lists, while the file is read. If ids are numbers,
    they are line numbers from 0: translations are written in the order of ids, and an id without a
    list gives an empty line. With --ids, each line is the id, a tab and the translation, written at
    once. Among candidates of equal score, the first one is chosen. With --lattices, writes the best
    translation of each lattice under the weights of 'hopefear tune --lattices'.

    --mbr METRIC chooses the candidate that agrees most with its list (minimum Bayes risk): its mean
    metric against all candidates, weighted by softmax(scale x score) under the weights, or equally
    without --weights, as for samples. --mbr given takes the utilities from the lists: in JSON
    lines, "utilities" has a number for each candidate of the list.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear rerank apply --nbest test.nbest --weights weights.tsv -o test.out",
        "decode | hopefear rerank apply --nbest - --weights w.tsv -o - --ids",
        "hopefear rerank apply --lattices test.plf --weights run/weights.tsv -o test.out",
        "hopefear rerank apply --nbest samples.jsonl --mbr chrf -o test.out",
    )

    nbest: Path | None = option(None, help="file of n-best lists (.gz: compressed)")
    lattices: list[Path] = option(
        [], metavar="FILE", help="forests or lattices of any system, instead of n-best lists"
    )
    lattice_format: str | None = option(
        None,
        metavar="NAME",
        help="format of the lattices (default: detected from the beginning of each file)",
    )
    lattice_scores: list[str] = option(
        [],
        metavar="NAME",
        help="names of the dense scores in a search graph of Moses (-osgx), in its order "
        "(default: core_1, core_2 …)",
    )
    weights: Path | None = option(
        None, help="weights file: name<TAB>value lines, or binary (.bin); needed unless --mbr"
    )
    mbr: str | None = option(
        None, metavar="METRIC", help="choose by minimum Bayes risk: bleu, chrf …, or given"
    )
    mbr_scale: float = option(
        1.0, min=0, help="factor of the scores in the posterior of --mbr (0: all weigh the same)"
    )
    mbr_set: list[str] = option([], metavar="KEY=VALUE", help="options of the metric of --mbr")
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none", help="tokenisation of the candidates for --mbr; none: split at white space"
    )
    threads: int = option(
        0, min=0, max=256, help="number of threads for --mbr (0: all cores); same result"
    )
    output: Path = option(flags=("-o",), metavar="OUT", help="file for the translations")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None,
        help="format of the lists (default: detected from the name or the beginning of the file)",
    )
    ids: bool = option(False, help="write the id and a tab before each translation")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.weights import Weights

        if (self.nbest is None) == (not self.lattices):
            raise OptionError(
                "give either n-best lists (--nbest FILE) or lattices (--lattices FILE …)"
            )
        if self.lattice_format is not None and not self.lattices:
            raise OptionError("--lattice-format: used only with --lattices FILE; remove it")
        if self.lattice_scores and not self.lattices:
            raise OptionError("--lattice-scores: used only with --lattices FILE; remove it")
        if self.lattices and (self.ids or self.format):
            raise OptionError("--ids and --format: used only with --nbest; remove them")
        if self.mbr is not None and self.lattices:
            raise OptionError("--mbr: used only with --nbest; remove it")
        if self.mbr is None and (self.mbr_set or self.mbr_scale != 1 or self.tokenize != "none"):
            raise OptionError("--mbr-scale, --mbr-set and --tokenize: used only with --mbr")
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        lists = self.lattices if self.nbest is None else [self.nbest]
        if self.weights is None:
            if self.mbr is None or self.nbest is None:
                raise OptionError("--weights is missing: give a weights file, or --mbr METRIC")
            check_one_stdin(*lists)
            return self._rerank(self.nbest, Weights(), console)
        check_one_stdin(self.weights, *lists)
        weights = Weights.load(self.weights)
        if weights.active == 0:
            console.warn(
                f"{display_name(self.weights)}: all weights are 0, so the first candidates are "
                "chosen"
            )
        if self.nbest is None:
            return self._search(weights, console)
        return self._rerank(self.nbest, weights, console)

    def _search(self, weights: Weights, console: Console) -> Mapping[str, Any]:
        """Write the best translation of each lattice; return the report."""
        from hopefear.forest import viterbi
        from hopefear.forest.io.forests import read_forests

        lattices = missing = 0
        known = False
        with console.step("search", unit="lattices") as step, write_text(self.output) as out:
            for path in self.lattices:
                for forest in read_forests(
                    path, self.lattice_format, core_names=self.lattice_scores
                ):
                    best = viterbi(forest, weights)
                    lattices, missing = lattices + 1, missing + (best is None)
                    known = known or any(id in weights for id in forest.feature_ids.tolist())
                    out.write(("" if best is None else best.text) + "\n")
                    step.advance()
        if lattices > missing and not known:
            console.warn(
                f"no feature of the lattices has a weight in {display_name(self.weights or '')}; "
                "check that the weights were tuned for them"
            )
        if missing:
            console.warn(f"{missing:,} lattices have no path; their lines are empty")
        return {"lattices": lattices, "missing": missing}

    def _rerank(self, nbest: Path, weights: Weights, console: Console) -> Mapping[str, Any]:
        """Write the best candidate of each list; return the report."""
        from hopefear.learn.rerank_choice import Choice

        choice = Choice(nbest, weights, self.format, self.ids, chooser=self._chooser())
        with console.step("rerank", unit="lists") as step, write_text(self.output) as out:
            out.writelines(f"{text}\n" for text in choice.texts(step.advance))
        place = "" if self.weights is None else display_name(self.weights)
        for text in choice.remarks(place):
            console.warn(text)
        return {
            "lists": choice.lists,
            "candidates": choice.candidates,
            "changed": choice.changed,
            "missing": choice.missing,
        }

    def _chooser(self) -> Chooser | None:
        """The choice by minimum Bayes risk, if it is requested."""
        if self.mbr is None:
            return None
        from hopefear.base import registry
        from hopefear.base.config import parse_pairs
        from hopefear.base.threads import all_cores
        from hopefear.base.weights import Weights
        from hopefear.learn.rerank_mbr import GIVEN, ExpectedUtility

        if self.mbr == GIVEN and self.mbr_set:
            raise OptionError("--mbr-set: given utilities have no options; omit it")
        options = {}
        if self.mbr_set:
            options = parse_pairs(registry.get("metric", self.mbr), self.mbr_set, "--mbr-set")
        return ExpectedUtility(
            self.mbr,
            None if self.weights is None else Weights.load(self.weights),
            self.mbr_scale,
            self.tokenize,
            options,
            self.threads or all_cores(),
        ).choose

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        if "lattices" in report:
            console.note(f"{report['lattices']:,} lattices")
            return
        console.note(
            f"{report['lists']:,} lists; for {report['changed']:,} the best candidate is not the "
            "first"
        )
