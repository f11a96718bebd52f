"""Employer-employee tables under (α, ε)-ER-EE privacy (haney2017), with corrected calibration.

Which one? `SmoothStaircase` for tables by workplace attributes (pure ε, least noise). `SmoothVector` to cross
worker attributes in under the strong definition. `LogLaplace` where ε is too small for the others. The rest are
there to compare, and to replicate the paper with calibration="paper".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily
from tacita.mechanisms.eree.requirements import TABLE_1, Answer, requirements

if TYPE_CHECKING:
    from tacita.mechanisms.eree.log_laplace import LogLaplace
    from tacita.mechanisms.eree.plain import EdgeLaplace, TruncatedLaplace
    from tacita.mechanisms.eree.smooth import SmoothGamma, SmoothLaplace, SmoothStaircase, SmoothStudent, SmoothVector

PLANS = {
    "EdgeLaplace": "plain",
    "LogLaplace": "log_laplace",
    "SmoothGamma": "smooth",
    "SmoothLaplace": "smooth",
    "SmoothStaircase": "smooth",
    "SmoothStudent": "smooth",
    "SmoothVector": "smooth",
    "TruncatedLaplace": "plain",
}

__all__ = [
    "TABLE_1",
    "Answer",
    "EdgeLaplace",
    "LogLaplace",
    "SmoothGamma",
    "SmoothLaplace",
    "SmoothStaircase",
    "SmoothStudent",
    "SmoothVector",
    "TruncatedLaplace",
    "requirements",
]

__getattr__ = lazily(__name__, PLANS)
