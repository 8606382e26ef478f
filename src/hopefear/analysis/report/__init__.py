"""Runs of `hopefear tune` side by side, as one HTML file that needs nothing else.

`runs` reads run directories, `outputs` translates a text with each of them and compares, `charts`
and `derivations` draw, `tables`, `learning` and `examples` write the parts of the page, `page` puts
them together. See docs/guides/report.md.
"""
