"""Analysis: derivations, features that fire, reachability, plots, the HTML report."""
