"""The package jieba, the extra `hopefear[zh]`: loaded when it is asked for, and quietly."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import warnings
from typing import Any

from hopefear.base.errors import OptionError


def load_jieba(module: str, wanted_by: str, instead: str = "") -> Any:
    """One of its modules; `instead`: what to choose without it, for the message."""
    try:
        with warnings.catch_warnings():  # its age shows: invalid escapes, pkg_resources
            warnings.simplefilter("ignore")
            jieba = importlib.import_module("jieba")
            found = importlib.import_module(module)
    except ImportError:
        raise OptionError(
            f"{wanted_by} 'jieba' needs the package jieba; pip install 'hopefear[zh]'{instead}"
        ) from None
    jieba.setLogLevel(logging.WARNING)  # it announces its dictionary on stderr
    return found


def jieba_version() -> dict[str, str]:
    return {"jieba": importlib.metadata.version("jieba")}
