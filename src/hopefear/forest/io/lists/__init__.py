"""N-best lists of other systems as entries with the keys of JSON lines, one format per file.

`base.py` is the contract; `marian.py` is made to be copied. `hopefear rerank convert` reads them.
"""
