"""HTML and SVG from elements: whatever is not markup already is escaped.

Goes in: names, attributes, children. Comes out: `Markup`, text that is safe to put into a page. A
plain string can become markup by no other way than being escaped, so no text of a user can break
out of its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = {"meta", "br", "input"}
# What HTML has no way to write: controls, and halves of characters.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]


def escape(text: str) -> Markup:
    """As it is read, in an element or an attribute."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_UNWRITABLE.sub("\ufffd", text), quote=True))


def element(name: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """`element("td", "a < b", class_="number")`; attributes: `_` stands for `-`, a last one is cut.

    None and False leave an attribute out, True gives its name alone.
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
    """Markup of children, one after the other; None is nothing."""
    if children is None:
        return Markup("")
    if isinstance(children, str):
        return escape(children)
    if isinstance(children, int):
        return escape(str(children))
    return Markup("".join(together(child) for child in children))
