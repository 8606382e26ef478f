"""A small forest with a repeated tail and a string that has two derivations."""

from __future__ import annotations

from hopefear.base.weights import Weights
from hopefear.forest import Forest, ForestBuilder

WEIGHTS = {"tm": 1.0, "swap": -1.25, "copy": -0.75, "len": 0.25}


def tiny_forest(id: str = "tiny") -> Forest:
    """Nodes 0 (noun), 1 (verb), 2 (clause), 3 (goal); nine derivations of the goal."""
    builder = ForestBuilder()
    noun = builder.node(coverage=[0], span=(0, 1), symbol="N")
    verb = builder.node(coverage=[1], span=(1, 2), symbol="V")
    clause = builder.node(coverage=[0, 1], span=(0, 2), symbol="S")
    goal = builder.node(coverage=[0, 1], span=(0, 2))
    builder.node(coverage=[70])  # reaches nothing
    builder.edge(noun, (), ["cats"], row=builder.row({"tm": -0.5, "len": 1}), rule=7)
    builder.edge(noun, (), ["the", "cats"], row=builder.row({"tm": -1, "len": 2}), rule=8)
    builder.edge(verb, (), ["sleep"], row=builder.row({"tm": -0.25, "len": 1}))
    builder.edge(clause, [noun, verb], [0, 1])
    builder.edge(clause, [noun, verb], [1, 0], features={"swap": 1})
    builder.edge(clause, (), ["cats", "sleep"], row=builder.row({"tm": -1.5, "len": 2}))
    builder.edge(goal, [clause])
    builder.edge(goal, [noun, noun], [0, "and", 1], features={"copy": 1, "len": 1})
    return builder.finish(goal, id=id)


def tiny_weights() -> Weights:
    return Weights(WEIGHTS)
