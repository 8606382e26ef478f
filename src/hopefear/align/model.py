"""The aligner: Model 1, HMM, fertilities.  [brown1993, vogel1996, liang2006agreement, ostling2016]

Takes two parallel files with words separated by blanks; returns an `Aligner`, and alignments in
Pharaoh format. Words are compared as bytes, so text need not be UTF-8. The forward direction
generates target words from source words, the reverse direction source words from target words. Both
are trained together: the links that are counted are those on which they agree, and the counts that
a sentence pair meets are those of all others, so rare words cannot explain whole sentences by links
of their own making ("garbage collectors").

The engine (cpp/align) uses all cores; the number of cores does not change the result.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import tomli_w

from hopefear import _engine
from hopefear.align.pharaoh import BLANKS, Alignment, parse_points
from hopefear.align.settings import Settings
from hopefear.align.symmetrisation import DEFAULT, Method, check_method
from hopefear.base.config import from_mapping, load_toml, to_mapping
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, atomic_directory, display_name, open_input, open_output
from hopefear.base.threads import all_cores

Pairs = _engine.AlignBitext  # sentence pairs in the engine
Direction = Literal["forward", "reverse", "both"]
Treatment = Literal["skip", "error"]


@dataclass(frozen=True)
class Iteration:
    """Statistics of a training iteration, by direction, of the models its sentences met."""

    model: Literal["model1", "hmm"]
    number: int
    log_likelihood: dict[str, float]
    per_word: dict[str, float]  # log-likelihood per generated word


@dataclass(frozen=True)
class Report:
    """Counts that describe the alignment of a text."""

    pairs: int
    links: int
    source_words: int
    target_words: int
    unaligned_source: int
    unaligned_target: int
    unknown_source: int
    unknown_target: int


@dataclass(frozen=True)
class Posteriors:
    """Link probabilities of one sentence pair with I source and J target words."""

    forward: npt.NDArray[np.float32]  # (I + 1, J): i generates target word j; row I: the empty word
    reverse: npt.NDArray[np.float32]  # (I, J + 1): j generates source word i; column J: empty word
    log_likelihood: tuple[float, float]  # forward, reverse


def read_pairs(
    source: PathLike,
    target: PathLike,
    *,
    max_length: int = 1000,
    empty: Treatment = "skip",
    long: Treatment = "error",
) -> Pairs:
    """Take two parallel files and return their sentence pairs.

    `empty` and `long` decide about lines with an empty side, or a side of more than `max_length`
    words: "skip" gives them an empty alignment (`Pairs.skipped` lists them); "error" raises an
    `InputError`.
    """
    if display_name(source) == display_name(target) == "<stdin>":
        raise OptionError("SRC and TGT are both '-'; only one can be read from stdin")
    with open_input(source) as f, open_input(target) as e:
        return Pairs.read(
            f,
            display_name(source),
            e,
            display_name(target),
            max_length,
            empty == "error",
            long == "error",
        )


def check_trainable(pairs: Pairs, source: PathLike, target: PathLike) -> None:
    """Raise `InputError` if there is no sentence pair to learn from."""
    if pairs.pairs == 0:
        reason = f"all {pairs.lines:,} lines are skipped" if pairs.lines else "the files are empty"
        raise InputError(
            f"{display_name(source)}, {display_name(target)}: {reason}; learning needs at least "
            "one pair of sentences"
        )


class Aligner:
    """A trained alignment model."""

    FILES = ("align.toml", "align.bin")

    def __init__(
        self, engine: _engine.AlignModel, settings: Settings, iterations: Sequence[Iteration]
    ) -> None:
        self._engine = engine
        self.settings = settings
        self.iterations = list(iterations)  # of training; empty for a loaded model

    @classmethod
    def train(
        cls,
        pairs: Pairs,
        settings: Settings | None = None,
        *,
        threads: int = 0,
        on_iteration: Callable[[Iteration], None] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Aligner:
        """Take sentence pairs and return the trained aligner.

        `threads`: number of threads (0: all cores). `progress` is called with the number of pairs
        processed so far, over all iterations.
        """
        settings = settings if settings is not None else Settings()
        words = {"forward": pairs.target_words, "reverse": pairs.source_words}
        iterations: list[Iteration] = []

        def note(model: Any, number: int, forward: float, reverse: float) -> None:
            likelihood = {"forward": forward, "reverse": reverse}
            per_word = {d: value / words[d] for d, value in likelihood.items()}
            iterations.append(Iteration(model, number, likelihood, per_word))
            if on_iteration is not None:
                on_iteration(iterations[-1])

        engine = _engine.AlignModel.train(
            pairs,
            settings.aligner,
            settings.model1_iterations,
            settings.hmm_iterations,
            settings.alpha,
            settings.similar,
            settings.p0,
            settings.uniform,
            settings.jump_prior,
            settings.jump_width,
            settings.fertility_prior,
            settings.window,
            threads or all_cores(),
            note,
            progress,
        )
        return cls(engine, settings, iterations)

    def write(
        self,
        pairs: Pairs,
        output: PathLike,
        *,
        symmetrise: Method = DEFAULT,
        direction: Direction = "both",
        posterior: float | None = None,
        threads: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> Report:
        """Align sentence pairs, write a line each to `output`, and return a report.

        Skipped lines get an empty line. With `direction` "forward" or "reverse", that direction's
        alignment is written without symmetrisation. In each direction, every generated word gets
        the link of the highest posterior probability, unless the empty word's is higher; with
        `posterior`, all links of at least that probability.
        """
        with open_output(output) as out:
            return self._write(pairs, out, symmetrise, direction, posterior, threads, progress)

    def _write(
        self,
        pairs: Pairs,
        out: Any,
        symmetrise: str,
        direction: Direction,
        posterior: float | None,
        threads: int,
        progress: Callable[[int], None] | None,
    ) -> Report:
        if posterior is not None and not 0 < posterior <= 1:
            raise OptionError(f"posterior: {posterior} is out of range; give above 0 and up to 1")
        report = self._engine.align(
            pairs,
            out,
            check_method(symmetrise) if direction == "both" else "",
            direction,
            posterior or 0.0,
            threads or all_cores(),
            progress,
        )
        return Report(**report)

    def align(
        self,
        source: Sequence[str],
        target: Sequence[str],
        *,
        symmetrise: Method = DEFAULT,
        direction: Direction = "both",
        posterior: float | None = None,
    ) -> Alignment:
        """Take the words of one sentence pair and return their alignment."""
        if not source or not target:
            return []
        out = io.BytesIO()
        self._write(_one_pair(source, target), out, symmetrise, direction, posterior, 1, None)
        return parse_points(out.getvalue().decode())

    def posteriors(self, source: Sequence[str], target: Sequence[str]) -> Posteriors:
        """Take the words of one sentence pair; return the link probabilities in each direction."""
        if not source or not target:
            raise InputError("posteriors: a sentence is empty; give at least one word per side")
        forward, reverse, p, q = self._engine.posteriors(_one_pair(source, target), 0)
        return Posteriors(p, q, (forward, reverse))

    def translations(self, word: str) -> dict[str, tuple[float, float]]:
        """Take a source word and return its translations.

        They are mapped to t(target | source), t(source | target).
        """
        row = self._engine.row(word.encode("utf-8", "surrogateescape"))
        return {t.decode("utf-8", "surrogateescape"): (f, r) for t, f, r in row}

    def save(self, directory: PathLike) -> None:
        """Write the model to a directory, which appears only when it is complete."""
        check_model_directory(directory)
        with atomic_directory(directory) as temporary:
            self._engine.save(str(temporary / "align.bin"))
            description = {
                "format": 2,
                "source_types": self._engine.source_types,
                "target_types": self._engine.target_types,
                "training": to_mapping(self.settings),
            }
            (temporary / "align.toml").write_text(tomli_w.dumps(description), encoding="utf-8")

    @classmethod
    def load(cls, directory: PathLike) -> Aligner:
        """Take the directory of a saved model and return the aligner.

        Raises `InputError` if the model is damaged, incomplete or of another version.
        """
        folder = Path(directory)
        for name in cls.FILES:
            if folder.exists() and not (folder / name).is_file():
                raise InputError(
                    f"{folder}: not an alignment model, {name} is missing; make one with "
                    "'hopefear align --save-model'"
                )
        description = load_toml(folder / "align.toml")
        place = str(folder / "align.toml")
        if description.get("format") != 2 or not isinstance(description.get("training"), dict):
            raise InputError(
                f"{place}: not the description of an alignment model of this version; recreate it "
                "with 'hopefear align --save-model'"
            )
        settings = from_mapping(Settings, description["training"], place)
        engine = _engine.AlignModel.load(str(folder / "align.bin"))
        aligner = cls(engine, settings, ())
        if (
            description.get("source_types") != engine.source_types
            or description.get("target_types") != engine.target_types
        ):
            raise InputError(
                f"{place}: does not describe the align.bin in the same directory; "
                "save the model again"
            )
        return aligner


def check_model_directory(directory: PathLike) -> None:
    """Raise `OptionError` for an existing directory that contains files of no alignment model."""
    folder = Path(directory)
    if folder.is_dir():
        foreign = sorted({entry.name for entry in folder.iterdir()} - set(Aligner.FILES))
        if foreign:
            raise OptionError(
                f"{folder}: contains {foreign[0]!r} and is not an alignment model, so it is not "
                "replaced; give a new directory"
            )


def _one_pair(source: Sequence[str], target: Sequence[str]) -> Pairs:
    lines = []
    for words in (source, target):
        for word in words:
            if not word or any(c in word for c in BLANKS + "\n"):
                raise InputError(f"{word!r} is not one word; give words without blanks")
        lines.append(io.BytesIO(" ".join(words).encode("utf-8", "surrogateescape") + b"\n"))
    return Pairs.read(lines[0], "source", lines[1], "target", 5000, True, True)


@dataclass
class Summary:
    """The results of an alignment run, as printed by `--json`."""

    report: Report
    lines: int
    skipped: dict[str, int]
    iterations: list[Iteration] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def to_mapping(self) -> dict[str, Any]:
        """Return the results as a mapping for JSON."""
        return {
            **asdict(self.report),
            "lines": self.lines,
            "skipped": self.skipped,
            "iterations": [asdict(iteration) for iteration in self.iterations],
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
        }


def skipped_by_reason(pairs: Pairs) -> dict[str, int]:
    """Return the number of skipped lines by reason."""
    counts: dict[str, int] = {}
    for _, reason in pairs.skipped:
        counts[reason] = counts.get(reason, 0) + 1
    return counts


def align_files(
    source: PathLike,
    target: PathLike,
    output: PathLike,
    settings: Settings | None = None,
    *,
    symmetrise: Method = DEFAULT,
    direction: Direction = "both",
    posterior: float | None = None,
    max_length: int = 1000,
    empty: Treatment = "skip",
    long: Treatment = "error",
    threads: int = 0,
) -> Summary:
    """Train on two parallel files, write their alignment and return a summary.

    The same as `hopefear align SRC TGT -o FILE`.
    """
    started, cpu = time.monotonic(), time.process_time()
    pairs = read_pairs(source, target, max_length=max_length, empty=empty, long=long)
    check_trainable(pairs, source, target)
    aligner = Aligner.train(pairs, settings, threads=threads)
    report = aligner.write(
        pairs,
        output,
        symmetrise=symmetrise,
        direction=direction,
        posterior=posterior,
        threads=threads,
    )
    return Summary(
        report,
        pairs.lines,
        skipped_by_reason(pairs),
        aligner.iterations,
        time.monotonic() - started,
        time.process_time() - cpu,
    )
