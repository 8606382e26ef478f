"""Sphinx configuration: `make docs`."""

import re
from typing import Any

import hopefear

project = "Hopefear"
author = "The Hopefear authors"
release = hopefear.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxcontrib.bibtex"]
bibtex_bibfiles = ["references.bib"]
exclude_patterns = ["_build"]
# A type such as `bytes` is no reference to a member of the same name.
suppress_warnings = ["ref.python"]
html_theme = "furo"
html_title = f"Hopefear {release}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_heading_anchors = 3
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    name: name
    for name in ("ArrayLike", "FloatArray", "IntArray", "PathLike", "References", "Text", "Tokens")
}
add_module_names = False
python_maximum_signature_line_length = 80
python_display_short_literal_types = True


def plain_signature(
    app: object,
    what: str,
    name: str,
    value: object,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Shorten the names of types, and replace the default of fields with a factory.

    Sphinx cannot parse `<factory>`, which stands there in Python's own signature.
    """
    array = r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    array += r"~?(?:numpy\.)?dtype\[~?(?:numpy\.|typing\.)?(\w+)\]\]"

    def plain(text: str | None) -> str | None:
        if text:
            text = re.sub(array, r"NDArray[\1]", text.replace("<factory>", "..."))
            text = re.sub(r"~?[\w.]*TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        return text

    return plain(signature), plain(returns)


def plain_docstring(
    app: object, what: str, name: str, value: object, options: Any, lines: list[str]
) -> None:
    """Turn a plain docstring into reStructuredText, in place.

    An indented block becomes code, `name` becomes a literal, and no sign is markup. What Python
    itself writes about the fields of named tuples is dropped.
    """
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    text: list[str] = []
    indented = False
    for line in lines:
        code = line.startswith("    ") and (indented or not text or not text[-1].strip())
        if code and not indented:
            text += [".. code-block:: python", ""]
        if line.strip():
            indented = code
        text.append(line if code or (indented and not line.strip()) else plain_line(line))
    lines[:] = text


def plain_line(line: str) -> str:
    """One line of prose as reStructuredText."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(
        f"`{part}`"
        if part.startswith("`") and len(part) > 1
        else re.sub(r"([*|\\_])", r"\\\1", part)
        for part in parts
    )


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", plain_signature)
