"""Synthesizers: a confidential file in, a released model and any number of synthetic files out."""

from tacita.synthesis.baselines import DirichletSynthesis, HistogramSynthesis, IndependentSynthesis
from tacita.synthesis.pairwise import PairwiseSynthesis
from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.pseudo import CensoredPosterior, PseudoPosterior
from tacita.synthesis.quantile import QuantileSynthesis
from tacita.synthesis.steps import StepsSynthesis
from tacita.synthesis.survey import SurveySynthesis

__all__ = [
    "CensoredPosterior",
    "DirichletSynthesis",
    "HistogramSynthesis",
    "IndependentSynthesis",
    "PairwiseSynthesis",
    "PanelSynthesis",
    "PseudoPosterior",
    "QuantileSynthesis",
    "StepsSynthesis",
    "SurveySynthesis",
]
