"""Simple plans for categorical files, each with a true guarantee, to measure others against."""

from tacita.synthesis.baselines.dirichlet import DirichletFiles, DirichletSynthesis
from tacita.synthesis.baselines.histogram import HistogramSynthesis
from tacita.synthesis.baselines.independent import IndependentModel, IndependentSynthesis

__all__ = ["DirichletFiles", "DirichletSynthesis", "HistogramSynthesis", "IndependentModel", "IndependentSynthesis"]
