"""N-gram language models: estimation, ARPA files, compiled models, queries.

`LanguageModel` is imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopefear.lm.model import LanguageModel

__all__ = ["LanguageModel"]

_HOME = {"LanguageModel": "hopefear.lm.model"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
