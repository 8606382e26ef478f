"""Features of the candidates of n-best lists that need no neural model, one file each.

`base.py` is the contract; `length.py` is made to be copied. `hopefear rerank features` adds them.
"""
