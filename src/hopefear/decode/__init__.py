"""Decoders: a sentence and weights become a forest."""
