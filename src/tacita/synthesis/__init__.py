"""Synthesizers: a confidential file in, a released model and any number of synthetic files out."""

from tacita.synthesis.pairwise import PairwiseSynthesis
from tacita.synthesis.quantile import QuantileSynthesis

__all__ = ["PairwiseSynthesis", "QuantileSynthesis"]
