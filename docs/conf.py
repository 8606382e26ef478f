"""Sphinx configuration: `make docs`."""

import hopefear

project = "Hopefear"
author = "The Hopefear authors"
release = hopefear.__version__
extensions = ["myst_parser", "sphinxcontrib.bibtex"]
bibtex_bibfiles = ["references.bib"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Hopefear {release}"
myst_heading_anchors = 3
