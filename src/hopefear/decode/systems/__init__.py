"""Systems (kinds of rules with their decoders), one file each. `base` has the contract."""
