"""Synthesis of categorical person files from noisy tables of all pairs of attributes."""

from tacita.synthesis.pairwise.model import PairwiseModel
from tacita.synthesis.pairwise.plan import PairwiseSynthesis

__all__ = ["PairwiseModel", "PairwiseSynthesis"]
