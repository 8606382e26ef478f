"""Systems, one file each: what a kind of rules is. `base` is the contract."""
