"""The options of scoring, apart from what does it, so that `hopefear --help` stays fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.config import argument, option
from hopefear.base.errors import OptionError
from hopefear.base.files import display_name


@dataclass(kw_only=True)
class ScoreOptions:
    """What is scored, and how systems are compared; also the options of `hopefear score`."""

    hyp: list[Path] = argument(help="translations, one per line; with --runs its N runs")
    refs: list[Path] = option(help="references, one file each, parallel to HYP")
    versus: list[Path] = option([], help="other systems to compare with; with --runs N files each")
    runs: int = option(1, min=1, help="tuning runs of each system")
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none", help="how lines are split into tokens; none: at white space, as they are"
    )
    lowercase: bool = option(False, help="ignore case in BLEU and chrF (TER always does)")
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", help="the reference length that BLEU and the length ratio use"
    )
    test: Literal["auto", "bootstrap", "randomization"] = option(
        "auto", help="the paired test; auto: bootstrap, randomization with several runs"
    )
    form: Literal["two-sided", "one-sided", "sacrebleu"] | None = option(
        None, help="how the bootstrap counts, see docs/reference/metrics.md; two-sided if not given"
    )
    coin: Literal["sentence", "run"] | None = option(
        None,
        help="what randomization swaps at once; sentence if not given; run: as MultEval, p-values "
        "too small",
    )
    samples: int | None = option(
        None, min=1, help="resamples (1000 if not given) or trials of randomization (10000)"
    )
    seed: int = option(12345, min=0, help="of the resampling")
    sentences: bool = option(False, help="report the scores of each sentence too")
    threads: int = option(1, min=1, help="threads for counting")

    def systems(self) -> list[tuple[str, list[Path]]]:
        """Name and files of each system, the first one first."""
        if len(self.hyp) != self.runs:
            files = " ".join(map(str, self.hyp))
            hint = (
                f"give --runs {len(self.hyp)} if they are runs of one system, or put the others "
                "behind --versus"
                if self.runs == 1
                else f"--runs {self.runs} needs {self.runs}"
            )
            raise OptionError(f"{len(self.hyp)} files for the first system ({files}); {hint}")
        if len(self.versus) % self.runs:
            raise OptionError(
                f"--versus: {len(self.versus)} files do not divide into systems of "
                f"--runs {self.runs}; give as many runs of each system"
            )
        every = [*self.hyp, *self.versus]
        self._check_test()
        groups = [every[i : i + self.runs] for i in range(0, len(every), self.runs)]
        return [(group_name(files), files) for files in groups]

    def _check_test(self) -> None:
        """No option without effect."""
        if not self.versus and (self.test != "auto" or self.form or self.coin):
            raise OptionError("--test, --form and --coin compare systems; name others by --versus")
        if self.form and self.randomization:
            raise OptionError(f"--form {self.form}: is for --test bootstrap; leave it out")
        if self.coin and not self.randomization:
            raise OptionError(f"--coin {self.coin}: is for --test randomization; leave it out")

    @property
    def randomization(self) -> bool:
        """Whether the test is randomization, not the bootstrap."""
        return self.test == "randomization" or (self.test == "auto" and self.runs > 1)

    @property
    def resamples(self) -> int:
        """How often the test set is drawn again."""
        trials = self.randomization and self.versus  # then --samples are of the test
        return 1000 if trials or self.samples is None else self.samples


def group_name(files: Sequence[Path]) -> str:
    """One name for the runs of a system: `out.{1,2,3}.en`."""
    names = [display_name(path) for path in files]
    if len(names) == 1:
        return names[0]
    head = common_start(names)
    rest = [name[len(head) :] for name in names]
    tail = common_start([name[::-1] for name in rest])[::-1]
    middles = [name[: len(name) - len(tail)] for name in rest]
    return f"{head}{{{','.join(middles)}}}{tail}"


def common_start(names: Sequence[str]) -> str:
    """The longest text that all names begin with."""
    first, last = min(names), max(names)
    same = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, min(len(first), len(last)))]
