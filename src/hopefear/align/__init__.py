"""Word alignment: the links between the words of a sentence and its translation.

`Aligner` learns IBM Model 1, an HMM and fertilities in both directions and aligns text.
`symmetrise` combines the alignments of both directions. `read_alignments` and `write_alignments`
read and write alignments of Hopefear and of other tools. `align_files` does all of this for two
files. `score_files` compares alignments with gold alignments.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopefear.align.model import (
        Aligner,
        Iteration,
        Posteriors,
        Report,
        Summary,
        align_files,
        read_pairs,
    )
    from hopefear.align.pharaoh import (
        Alignment,
        format_points,
        parse_points,
        read_alignments,
        write_alignments,
    )
    from hopefear.align.score import (
        AlignmentScore,
        GoldAlignment,
        read_gold,
        score_alignments,
        score_files,
    )
    from hopefear.align.settings import Settings
    from hopefear.align.symmetrisation import METHODS, symmetrise, symmetrise_files

__all__ = [
    "METHODS",
    "Aligner",
    "Alignment",
    "AlignmentScore",
    "GoldAlignment",
    "Iteration",
    "Posteriors",
    "Report",
    "Settings",
    "Summary",
    "align_files",
    "format_points",
    "parse_points",
    "read_alignments",
    "read_gold",
    "read_pairs",
    "score_alignments",
    "score_files",
    "symmetrise",
    "symmetrise_files",
    "write_alignments",
]

# Loaded at first use: the command line imports this package only for its options.
_MODULES = {
    **dict.fromkeys(__all__, "model"),
    **dict.fromkeys(
        ("Alignment", "format_points", "parse_points", "read_alignments", "write_alignments"),
        "pharaoh",
    ),
    **dict.fromkeys(
        ("AlignmentScore", "GoldAlignment", "read_gold", "score_alignments", "score_files"),
        "score",
    ),
    "Settings": "settings",
    **dict.fromkeys(("METHODS", "symmetrise", "symmetrise_files"), "symmetrisation"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'hopefear.align' has no attribute {name!r}")
    return getattr(import_module(f"hopefear.align.{_MODULES[name]}"), name)
