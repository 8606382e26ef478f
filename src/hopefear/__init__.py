"""Hopefear: statistical machine translation and the discriminative learning of its weights.

docs/overview.md follows one sentence pair through all of it.
"""

__version__ = "0.1.0"
