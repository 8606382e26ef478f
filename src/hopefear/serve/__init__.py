"""A model as a server of other programs."""
