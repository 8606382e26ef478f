"""The sparse templates of the thesis, which tables and timings take all together."""

from __future__ import annotations

TEMPLATES = (
    "word-pairs",
    "word-context",
    "target-bigrams",
    "insertion",
    "deletion",
    "rule-id",
    "rule-shape",
    "structural-distortion",
    "count-discount",
)
