"""Synthetic person files from a tree of noisy counts (bowen2018, STEPS, with a tree that is paid for)."""

from tacita.synthesis.comparison.steps.model import StepsModel
from tacita.synthesis.comparison.steps.plan import StepsSynthesis

__all__ = ["StepsModel", "StepsSynthesis"]
