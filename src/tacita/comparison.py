"""Methods kept for comparison: use them to see what another method gains, not to publish with.

`StepsSynthesis` (bowen2018), `HistogramSynthesis`, `IndependentSynthesis` and `DirichletSynthesis` for files of
categories; `PseudoPosterior` and `CensoredPosterior` (hu2024) for weighted surveys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacita import synthesis

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tacita.comparison' has no attribute {name!r}")
    return getattr(synthesis, name)
