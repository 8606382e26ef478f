"""Learning weights: one file per tuner; the loops in `loop/` run them."""
