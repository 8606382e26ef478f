"""`hopefear rerank apply`: the best candidate of each n-best list, or the best path of lattices."""

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


@register("command", "rerank apply")
@dataclass(kw_only=True)
class RerankApply(Command):
    """Write the best candidate of each n-best list, by weights of rerank tune.

    One line for each list, in their order, while the file is read. Where ids are numbers the
    line of a sentence is its number, from 0: lists that come before their turn wait, and a sentence
    that has no list gets an empty line. With --ids every line begins with the list's id and a tab,
    and none waits. Of candidates with equal scores the first is taken.
    With --lattices the best translations of lattices are written, by weights of 'hopefear tune
    --lattices'.
    """

    section = "Use and look"
    examples = (
        "hopefear rerank apply --nbest test.nbest --weights weights.tsv -o test.out",
        "decode | hopefear rerank apply --nbest - --format jsonl --weights w.tsv -o - --ids",
        "hopefear rerank apply --lattices test.plf --weights run/weights.tsv -o test.out",
    )

    nbest: Path | None = option(None, help="n-best lists; .gz is unpacked")
    lattices: list[Path] = option(
        [], metavar="FILE", help="forests or lattices of any system, instead of lists"
    )
    lattice_format: str | None = option(
        None, metavar="NAME", help="their format; if not given, by how the files begin"
    )
    weights: Path = option(help="name<TAB>value lines, or a .bin file")
    output: Path = option(flags=("-o",), metavar="OUT", help="where the translations go")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None, help="of the lists; if not given, by the name: .jsonl and .json, else moses or cdec"
    )
    ids: bool = option(False, help="write the id and a tab before each translation")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.weights import Weights

        if (self.nbest is None) == (not self.lattices):
            raise OptionError("give n-best lists (--nbest FILE) or lattices (--lattices FILE …)")
        if self.lattice_format is not None and not self.lattices:
            raise OptionError("--lattice-format: belongs to --lattices FILE; leave it out")
        if self.lattices and (self.ids or self.format):
            raise OptionError("--ids and --format are for n-best lists; leave them out")
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: stdout belongs to the report with --json; name a file")
        lists = self.lattices if self.nbest is None else [self.nbest]
        check_one_stdin(self.weights, *lists)
        weights = Weights.load(self.weights)
        if weights.active == 0:
            console.warn(f"{display_name(self.weights)}: all weights are 0: first candidates win")
        if self.nbest is None:
            return self._search(weights, console)
        return self._rerank(self.nbest, weights, console)

    def _search(self, weights: Weights, console: Console) -> Mapping[str, Any]:
        """The best translation of each lattice."""
        from hopefear.forest import viterbi
        from hopefear.forest.io.forests import read_forests

        lattices = missing = 0
        known = False
        with console.step("search", unit="lattices") as step, write_text(self.output) as out:
            for path in self.lattices:
                for forest in read_forests(path, self.lattice_format):
                    best = viterbi(forest, weights)
                    lattices, missing = lattices + 1, missing + (best is None)
                    known = known or any(id in weights for id in forest.feature_ids.tolist())
                    out.write(("" if best is None else best.text) + "\n")
                    step.advance()
        if lattices > missing and not known:
            console.warn(
                f"no feature of the lattices has a weight in {display_name(self.weights)}; "
                "are these its lattices?"
            )
        if missing:
            console.warn(f"{missing:,} lattices without a path are empty lines")
        return {"lattices": lattices, "missing": missing}

    def _rerank(self, nbest: Path, weights: Weights, console: Console) -> Mapping[str, Any]:
        from hopefear.learn.rerank import Choice

        choice = Choice(nbest, weights, self.format, self.ids)
        with console.step("rerank", unit="lists") as step, write_text(self.output) as out:
            out.writelines(f"{text}\n" for text in choice.texts(step.advance))
        for text in choice.remarks(display_name(self.weights)):
            console.warn(text)
        return {
            "lists": choice.lists,
            "candidates": choice.candidates,
            "changed": choice.changed,
            "missing": choice.missing,
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        if "lattices" in report:
            console.note(f"{report['lattices']:,} lattices")
            return
        console.note(
            f"{report['lists']:,} lists, {report['changed']:,} times not the first candidate"
        )
