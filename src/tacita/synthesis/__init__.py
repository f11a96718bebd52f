"""Synthesizers: a confidential file in, a released model and any number of synthetic files out.

A new one is a folder beside these with a `Synthesizer` and its `Model` (`tacita.synthesis.base`), and one line here.
Each is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.synthesis.comparison.dirichlet import DirichletSynthesis, HistogramSynthesis
    from tacita.synthesis.comparison.independent import IndependentSynthesis
    from tacita.synthesis.comparison.pseudo import CensoredPosterior, PseudoPosterior
    from tacita.synthesis.comparison.steps import StepsSynthesis
    from tacita.synthesis.file import FileSynthesis
    from tacita.synthesis.pairwise import PairwiseSynthesis
    from tacita.synthesis.panel import PanelSynthesis, PlainPanelSynthesis
    from tacita.synthesis.quantile import QuantileSynthesis
    from tacita.synthesis.survey import SurveySynthesis

HOMES = {
    "FileSynthesis": "file",
    "PairwiseSynthesis": "pairwise",
    "PanelSynthesis": "panel.formal.plan",
    "PlainPanelSynthesis": "panel.plain",
    "QuantileSynthesis": "quantile",
    "SurveySynthesis": "survey",
    # to be compared with
    "CensoredPosterior": "comparison.pseudo",
    "DirichletSynthesis": "comparison.dirichlet",
    "HistogramSynthesis": "comparison.dirichlet",
    "IndependentSynthesis": "comparison.independent",
    "PseudoPosterior": "comparison.pseudo",
    "StepsSynthesis": "comparison.steps",
}

__all__ = [
    "CensoredPosterior",
    "DirichletSynthesis",
    "FileSynthesis",
    "HistogramSynthesis",
    "IndependentSynthesis",
    "PairwiseSynthesis",
    "PanelSynthesis",
    "PlainPanelSynthesis",
    "PseudoPosterior",
    "QuantileSynthesis",
    "StepsSynthesis",
    "SurveySynthesis",
]

__getattr__ = lazily(__name__, HOMES)
