"""Servers that answer other programs with a model."""
