"""What the benchmarks share; not a benchmark itself."""
