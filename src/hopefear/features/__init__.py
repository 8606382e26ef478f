"""Feature templates, one file each; the contract is in `feature.py`."""
