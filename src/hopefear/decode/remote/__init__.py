"""Decoders in other processes: any command line, and learners' stream protocol."""
