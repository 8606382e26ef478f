"""The synchronous grammar that generates the built-in world (hopefear.text.world).

`data/` has the words and constructions, and explains how to add some. The modules, in the order of
the data flow: english (inflection), words (entries), lexicon (which words fit together),
constructions (templates), phrases, clauses and derive (the tree of a sentence), speak (its words).
"""
