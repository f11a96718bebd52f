"""Methods kept for comparison: use them to see what another method gains, not to publish with.

`StepsSynthesis` (bowen2018), `HistogramSynthesis`, `IndependentSynthesis` and `DirichletSynthesis` for files of
categories; `PseudoPosterior` and `CensoredPosterior` (hu2024) for weighted surveys; `SlowSums` (per-record
zero-concentrated privacy, with its relation `PerRecord`) for sums of establishments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.mechanisms.slow import SlowSums
    from tacita.privacy import PerRecord
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
    "PerRecord",
    "PseudoPosterior",
    "SlowSums",
    "StepsSynthesis",
]

_ELSEWHERE = {"PerRecord": "privacy", "SlowSums": "mechanisms.slow"}
__getattr__ = lazily("tacita", {name: _ELSEWHERE.get(name, "synthesis") for name in __all__})
