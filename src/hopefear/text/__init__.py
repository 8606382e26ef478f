"""Corpora: reading, tokenising, documents, and the built-in world.

`bitext` and `lines` read, `pipeline` turns raw text into words and back, `clean`, `split` and
`documents` look after the corpus.
"""
