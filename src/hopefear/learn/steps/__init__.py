"""Steps, the rules for changing the weights: one file each; learning rates are in `rates.py`."""

from __future__ import annotations

from hopefear.learn.steps.cutting_plane import CuttingPlane
from hopefear.learn.steps.kbest import KbestStep
from hopefear.learn.steps.passive_aggressive import PassiveAggressive
from hopefear.learn.steps.perceptron import Perceptron
from hopefear.learn.steps.relative_margin import RelativeMarginCp, RelativeMarginPa
from hopefear.learn.steps.step import MarginProblem, Settings, Step

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

__all__ = ["STEPS", "MarginProblem", "Settings", "Step"]
