"""Methods kept for comparison: use them to see what another method gains, not to publish with.

`StepsSynthesis` (bowen2018), `HistogramSynthesis`, `IndependentSynthesis` and `DirichletSynthesis` for files of
categories; `PseudoPosterior` and `CensoredPosterior` (hu2024) for weighted surveys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.synthesis import (
        CensoredPosterior,
        DirichletSynthesis,
        HistogramSynthesis,
        IndependentSynthesis,
        PseudoPosterior,
        StepsSynthesis,
    )

__all__ = [
    "CensoredPosterior",
    "DirichletSynthesis",
    "HistogramSynthesis",
    "IndependentSynthesis",
    "PseudoPosterior",
    "StepsSynthesis",
]

__getattr__ = lazily("tacita", dict.fromkeys(__all__, "synthesis"))
