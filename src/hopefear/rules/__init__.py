"""Rules: phrase pairs (and hierarchical rules), their scores, and the table that holds them.

`extract` makes a table from an aligned bitext, `table` reads it, `moses` exchanges it with Moses.
"""
