"""The loops that run tuners: decoding, stopping, averaging, checkpoints, the run directory."""
