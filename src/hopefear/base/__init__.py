"""What everything stands on: errors, files, options, registry, progress, threads, weights."""
