"""Options of scoring, in a module of their own to keep `hopefear --help` fast."""

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
    """Translations to score and how to compare them; also the options of `hopefear score`."""

    hyp: list[Path] = argument(
        help="translations of the first system, one per line; with --runs N, N files"
    )
    refs: list[Path] = option(help="reference files, parallel to HYP")
    versus: list[Path] = option(
        [], help="translations of other systems to compare with; with --runs N, N files each"
    )
    runs: int = option(1, min=1, help="number of tuning runs of each system")
    metric: list[str] = option(
        ["bleu", "chrf", "ter", "length"],
        metavar="NAME",
        help="metrics to report, such as wer and cer for speech recognition",
    )
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none", help="tokenisation of the lines; none: split at white space only"
    )
    lowercase: bool = option(False, help="ignore case in BLEU and chrF (TER always does)")
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", help="reference length of BLEU and of the length ratio"
    )
    test: Literal["auto", "bootstrap", "randomization"] = option(
        "auto", help="paired test; auto: bootstrap, or randomization if there are several runs"
    )
    form: Literal["two-sided", "one-sided", "sacrebleu"] | None = option(
        None, help="form of the bootstrap test, see docs/reference/metrics.md (default two-sided)"
    )
    coin: Literal["sentence", "run"] | None = option(
        None,
        help="unit that randomization swaps (default sentence); run: as in MultEval, with "
        "p-values that are too small",
    )
    samples: int | None = option(
        None,
        min=1,
        help="number of resamples (default 1000) or of randomization trials (default 10000)",
    )
    seed: int = option(12345, min=0, help="random seed of the test and of resampling")
    sentences: bool = option(False, help="also report the scores of each sentence")
    threads: int = option(1, min=1, max=256, help="number of threads for counting")

    def systems(self) -> list[tuple[str, list[Path]]]:
        """Return the name and the files of each system, in order; checks the options."""
        if len(self.hyp) != self.runs:
            files = " ".join(map(str, self.hyp))
            hint = (
                f"give --runs {len(self.hyp)} if they are runs of one system, or put the others "
                "after --versus"
                if self.runs == 1
                else f"--runs {self.runs} needs {self.runs}"
            )
            raise OptionError(f"{len(self.hyp)} files for the first system ({files}); {hint}")
        if not self.metric or len(set(self.metric)) != len(self.metric):
            raise OptionError(f"--metric {' '.join(self.metric)}: name each metric once")
        if len(self.versus) % self.runs:
            raise OptionError(
                f"--versus: {len(self.versus)} files do not divide into systems of "
                f"--runs {self.runs}; give {self.runs} runs of each system"
            )
        hypotheses = [*self.hyp, *self.versus]
        self._check_test()
        groups = [hypotheses[i : i + self.runs] for i in range(0, len(hypotheses), self.runs)]
        return [(group_name(files), files) for files in groups]

    def _check_test(self) -> None:
        """Raise `OptionError` if an option of the test has no effect."""
        if not self.versus and (self.test != "auto" or self.form or self.coin):
            raise OptionError(
                "--test, --form and --coin compare systems; give other systems with --versus"
            )
        if self.form and self.randomization:
            raise OptionError(f"--form {self.form}: is for --test bootstrap; leave it out")
        if self.coin and not self.randomization:
            raise OptionError(f"--coin {self.coin}: is for --test randomization; leave it out")

    @property
    def randomization(self) -> bool:
        """Whether the test is randomization (otherwise the bootstrap)."""
        return self.test == "randomization" or (self.test == "auto" and self.runs > 1)

    @property
    def resamples(self) -> int:
        """Number of bootstrap resamples of the test set."""
        is_trials = self.randomization and self.versus  # --samples is the number of trials
        return 1000 if is_trials or self.samples is None else self.samples


def group_name(files: Sequence[Path]) -> str:
    """Take the files of a system's runs and return one name for them: `out.{1,2,3}.en`."""
    names = [display_name(path) for path in files]
    if len(names) == 1:
        return names[0]
    head = common_start(names)
    rest = [name[len(head) :] for name in names]
    tail = common_start([name[::-1] for name in rest])[::-1]
    middles = [name[: len(name) - len(tail)] for name in rest]
    return f"{head}{{{','.join(middles)}}}{tail}"


def common_start(names: Sequence[str]) -> str:
    """Return the longest common prefix of the names."""
    first, last = min(names), max(names)
    same = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, min(len(first), len(last)))]
