"""Sparse feature templates, one file each."""
