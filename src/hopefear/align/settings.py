"""Options of alignment training, in a module of their own to keep `hopefear --help` fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hopefear.base.config import changed, option
from hopefear.base.errors import OptionError

_OF_HMM = ("hmm_iterations", "uniform", "jump_prior", "jump_width", "window")
_OF_FERTILITY = ("fertility_prior",)
_WITHOUT_EFFECT = {"model1": (*_OF_HMM, *_OF_FERTILITY), "hmm": _OF_FERTILITY, "fertility": ()}


@dataclass(kw_only=True)
class Settings:
    """Settings of alignment training; also options of `hopefear align`."""

    aligner: Literal["model1", "hmm", "fertility"] = option(
        "fertility",
        help="model: Model 1; the HMM after it; the HMM with fertilities, the most accurate one",
    )
    model1_iterations: int = option(4, min=0, max=1000, help="number of iterations of Model 1")
    hmm_iterations: int = option(2, min=1, max=1000, help="number of iterations of the HMM")
    alpha: float = option(
        0.001, min=1e-6, max=100, help="parameter of the lexical Dirichlet priors"
    )
    similar: float = option(
        1.0,
        min=0,
        max=1000,
        help="strength of the prior for equal words, equal numbers and similar spellings, in "
        "pseudo-links per word pair; 0: none",
    )
    p0: float = option(
        0.05, min=1e-6, max=0.999, help="probability that the empty word generates a word"
    )
    uniform: float = option(
        0.1, min=0, max=0.999, help="weight of the uniform distribution over jumps"
    )
    jump_prior: float = option(
        0.01,
        min=1e-6,
        max=1e6,
        help="strength of the jump prior, centred on one step forward, in pseudo-counts per word",
    )
    jump_width: float = option(2.0, min=0.1, max=1000, help="spread of the jump prior, in words")
    fertility_prior: float = option(
        5.0,
        min=1e-3,
        max=1e6,
        help="strength of the prior that a word has the fertilities of all words, in "
        "pseudo-observations",
    )
    window: int = option(
        100, min=1, max=5000, help="jump length in words beyond which jumps share one probability"
    )

    def __post_init__(self) -> None:
        useless = changed(self, _WITHOUT_EFFECT[self.aligner])
        if useless is not None:
            raise OptionError(
                f"--aligner {self.aligner}: {useless.flag} has no effect on this model; remove it"
            )
        if self.aligner == "model1" and self.model1_iterations == 0:
            raise OptionError("--model1-iterations 0: --aligner model1 has nothing else to train")

    @property
    def passes(self) -> int:
        """The number of iterations of training."""
        return self.model1_iterations + (self.hmm_iterations if self.aligner != "model1" else 0)
