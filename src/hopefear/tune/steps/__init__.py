"""How far the weights move: one file for each step; rates are in `rates.py`."""

from __future__ import annotations

from hopefear.tune.steps.cutting_plane import CuttingPlane
from hopefear.tune.steps.kbest import KbestStep
from hopefear.tune.steps.passive_aggressive import PassiveAggressive
from hopefear.tune.steps.perceptron import Perceptron
from hopefear.tune.steps.relative_margin import RelativeMarginCp, RelativeMarginPa
from hopefear.tune.steps.step import Problem, Settings, Step

STEPS: dict[str, type[Step]] = {
    step.name: step
    for step in (
        Perceptron,
        PassiveAggressive,
        KbestStep,
        CuttingPlane,
        RelativeMarginPa,
        RelativeMarginCp,
    )
}

__all__ = ["STEPS", "Problem", "Settings", "Step"]
