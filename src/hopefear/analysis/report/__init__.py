"""A comparison of runs of `hopefear tune` as one self-contained HTML file.

`runs` reads run directories, `outputs` translates a text with each of them and compares the
results, `charts` and `derivations` draw, `tables`, `learning` and `examples` write the sections of
the page, `page` assembles them and `write` writes the file. See docs/guides/report.md.
"""
