"""What batch tuners learn from: candidates and forests of all iterations."""
