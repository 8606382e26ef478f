"""Options of alignment training, in a module of their own to keep `hopefear --help` fast."""

from __future__ import annotations

from dataclasses import dataclass

from hopefear.base.config import option
from hopefear.base.errors import OptionError


@dataclass(kw_only=True)
class Settings:
    """Settings of alignment training; also options of `hopefear align`."""

    model1_iterations: int = option(5, min=0, max=1000, help="number of iterations of Model 1")
    hmm_iterations: int = option(
        5, min=0, max=1000, help="number of iterations of the HMM; 0: Model 1 only"
    )
    alpha: float = option(
        0.01, min=0, max=100, help="parameter of the lexical Dirichlet prior; 0: plain EM"
    )
    p0: float = option(
        0.03, min=1e-6, max=0.999, help="probability that the empty word generates a word"
    )
    uniform: float = option(
        0.1, min=0, max=0.999, help="weight of the uniform distribution over jumps"
    )
    jump_prior: float = option(
        10.0,
        min=1e-3,
        max=1e6,
        help="strength of the jump prior, centred on one step forward, in pseudo-counts per word",
    )
    jump_width: float = option(2.0, min=0.1, max=1000, help="spread of the jump prior, in words")
    window: int = option(
        100, min=1, max=5000, help="jump length in words beyond which jumps share one probability"
    )

    def __post_init__(self) -> None:
        if self.model1_iterations + self.hmm_iterations == 0:
            raise OptionError(
                "--model1-iterations and --hmm-iterations are both 0; train at least one"
            )
