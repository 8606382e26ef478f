"""Import of the optional package jieba (the extra `hopefear[zh]`), without its messages."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import warnings
from typing import Any

from hopefear.base.errors import OptionError


def load_jieba(module: str, user: str, alternative: str = "") -> Any:
    """Import and return a module of jieba.

    `user` (tagger, tokenizer) and `alternative`, what to use instead, appear in the error message.
    """
    try:
        with warnings.catch_warnings():  # invalid escapes, pkg_resources
            warnings.simplefilter("ignore")
            jieba = importlib.import_module("jieba")
            imported = importlib.import_module(module)
    except ImportError:
        raise OptionError(
            f"{user} 'jieba' needs the package jieba; pip install 'hopefear[zh]'{alternative}"
        ) from None
    jieba.setLogLevel(logging.WARNING)  # suppresses the message about its dictionary on stderr
    return imported


def jieba_version() -> dict[str, str]:
    """Return the version of jieba, as `versions` of a tagger or tokenizer does."""
    return {"jieba": importlib.metadata.version("jieba")}
