"""`hopefear rerank apply`: the best candidate of each n-best list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.cli.command import Command, Console
from hopefear.config import option
from hopefear.errors import InputError, OptionError
from hopefear.files import check_one_stdin, display_name, write_text
from hopefear.registry import register

if TYPE_CHECKING:
    from hopefear.forest.io.nbest import NbestList


@register("command", "rerank apply")
@dataclass(kw_only=True)
class RerankApply(Command):
    """Write the best candidate of each n-best list, by weights of rerank tune.

    One line for each list, in their order, while the file is read. Where ids are numbers the
    line of a sentence is its number: they must ascend, and a sentence that has no list gets an
    empty line. With --ids every line begins with the list's id and a tab, and lists may come in
    any order. Of candidates with equal scores the first is taken.
    """

    section = "Use and look"
    examples = (
        "hopefear rerank apply --nbest test.nbest --weights weights.tsv -o test.out",
        "decode | hopefear rerank apply --nbest - --format jsonl --weights w.tsv -o - --ids",
    )

    nbest: Path = option(help="n-best lists; .gz is unpacked")
    weights: Path = option(help="name<TAB>value lines, or a .bin file")
    output: Path = option(flags=("-o",), metavar="OUT", help="where the translations go")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None, help="of the lists; if not given, by the name: .jsonl and .json, else moses or cdec"
    )
    ids: bool = option(False, help="write the id and a tab before each translation")

    def run(self, console: Console) -> Mapping[str, Any]:
        import numpy as np

        from hopefear.forest import edge_scores
        from hopefear.forest.io.nbest import read_nbest
        from hopefear.tune.candidate_builder import entry
        from hopefear.weights import Weights

        check_one_stdin(self.nbest, self.weights)
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: stdout belongs to the report with --json; name a file")
        weights = Weights.load(self.weights)
        if weights.active == 0:
            console.warn(f"{display_name(self.weights)}: all weights are 0: first candidates win")
        changed = candidates = matched = 0
        place = Places(self.nbest, self.ids)
        with console.step("rerank", unit="lists") as step, write_text(self.output) as out:
            for list_ in read_nbest(self.nbest, self.format):
                best = int(np.argmax(edge_scores(list_.forest, weights)))
                changed += best != 0
                candidates += list_.forest.edges
                if not matched:
                    matched = any(int(id) in weights for id in list_.forest.feature_ids)
                for line in place.before(list_):
                    out.write(line)
                out.write(entry(list_.forest, best).text + "\n")
                step.advance()
        if place.lists and not matched:
            console.warn(
                f"no feature of the lists has a weight in {display_name(self.weights)}; "
                "are these its lists?"
            )
        if place.missing:
            console.warn(f"{place.missing:,} sentences without candidates are empty lines")
        return {
            "lists": place.lists,
            "candidates": candidates,
            "changed": changed,
            "missing": place.missing,
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.note(
            f"{report['lists']:,} lists, {report['changed']:,} times not the first candidate"
        )


class Places:
    """Keeps the output parallel to the input of the system that made the lists."""

    def __init__(self, nbest: Path, ids: bool) -> None:
        self.nbest, self.ids = nbest, ids
        self.lists = self.missing = 0
        self._next = 0
        self._seen: set[str] = set()

    def before(self, list_: NbestList) -> Iterator[str]:
        """What stands before the translation of a list: empty lines, or its id."""
        id = list_.id
        numbered = id.isascii() and id.isdigit()
        if numbered and not self.ids:
            number = int(id)
            if number < self._next:
                raise InputError(
                    f"{display_name(self.nbest)}: the list of id {id} comes after that of id "
                    f"{self._next - 1}; sort the lists by id, or give --ids"
                )
            if number - self._next > 10_000_000:
                raise InputError(
                    f"{display_name(self.nbest)}: id {id} after {self.lists:,} lists; expected the "
                    "numbers of sentences, give --ids"
                )
            for _ in range(number - self._next):
                self.missing += 1
                yield "\n"
            self._next = number + 1
        else:
            if id in self._seen:
                raise InputError(
                    f"{display_name(self.nbest)}: a second list of id {id!r}; put the candidates "
                    "of one id together"
                )
            self._seen.add(id)
        self.lists += 1
        if self.ids:
            yield f"{id}\t"
