"""The source and target words of a derivation's edges: shared parts in `use`, then by system."""

from __future__ import annotations

from hopefear.decode.trace.use import LinksOf, Use, source_side, word_alignment

__all__ = ["LinksOf", "Use", "source_side", "word_alignment"]
