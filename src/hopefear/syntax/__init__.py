"""Phrase-structure trees: bracket files, trees as flat arrays, scores, the parser."""
