"""Rules: phrase pairs and hierarchical rules, their scores, and the rule table.

`extract` creates a table from an aligned bitext, `table` reads it, `moses` and `cdec` convert from
and to their text formats.
"""
