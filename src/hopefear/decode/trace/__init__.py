"""How a derivation uses the source: `use` has what systems share, `phrases` and `trees` differ."""

from __future__ import annotations

from hopefear.decode.trace.use import LinksOf, Use, source_side, word_alignment

__all__ = ["LinksOf", "Use", "source_side", "word_alignment"]
