"""Batch tuners: all candidates of a tuning set in, new weights out."""
