"""Corpora: reading, tokenising, documents, and the built-in world."""
