"""`hopefear version`: the versions of Hopefear and what it runs on, for bug reports."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import hopefear
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "version")
@dataclass(kw_only=True)
class Version(Command):
    """Show the versions of Hopefear, its engine and Python, for bug reports."""

    examples = ("hopefear version", "hopefear version --json")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear import _engine

        return {
            "hopefear": hopefear.__version__,
            "engine": _engine.build_info(),
            "python": sys.version.split()[0],
            "platform": platform.platform(),
        }
