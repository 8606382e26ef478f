"""Learning weights: one file per tuner; `loop.py` runs them all."""
