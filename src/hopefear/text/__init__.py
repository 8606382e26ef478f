"""Text processing: reading corpora, tokenising, cleaning, splitting, and the built-in world.

`bitext` and `lines` read files; `pipeline` turns raw text into words and back; `clean`, `split` and
`documents` prepare corpora; `world` generates one.
"""
