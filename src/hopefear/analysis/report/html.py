"""HTML and SVG from elements, with escaping of plain text.

Takes element names, attributes and children, and returns `Markup`, text that is safe to put into a
page. A plain string becomes markup only by escaping, so that no user text can inject markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = {"meta", "br", "input"}
# Characters that HTML cannot represent: controls, surrogates and noncharacters.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


class Markup(str):
    """Text that is valid HTML and is not escaped again."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]


def escape(text: str) -> Markup:
    """Escape text for an element or an attribute; markup is returned unchanged."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_UNWRITABLE.sub("\ufffd", text), quote=True))


def element(name: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Make an element, as in `element("td", "a < b", class_="number")`.

    In the names of attributes `_` stands for `-`, and a final `_` is removed. None and False omit
    an attribute, True writes its name without a value.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(f" {label}")
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            parts.append(f' {label}="{escape(shown)}"')
    parts.append(">")
    if name not in VOID:
        parts += [together(children), f"</{name}>"]
    return Markup("".join(parts))


def together(children: Child) -> Markup:
    """Concatenate the markup of children; None is empty."""
    if children is None:
        return Markup("")
    if isinstance(children, str):
        return escape(children)
    if isinstance(children, int):
        return escape(str(children))
    return Markup("".join(together(child) for child in children))
