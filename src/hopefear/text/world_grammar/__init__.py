"""The synchronous grammar that makes the built-in world (hopefear.text.world).

`data/` holds the words and constructions, and says how to add one. The modules, in the order of
the data flow: english (inflection), words (entries), lexicon (which go together), constructions
(templates), phrases, clauses and derive (a tree for a sentence), speak (its words).
"""
