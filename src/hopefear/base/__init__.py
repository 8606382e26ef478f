"""The foundations of all other packages: errors, files, options, registry, progress, weights."""
