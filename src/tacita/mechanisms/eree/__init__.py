"""Employer-employee tables under (α, ε)-ER-EE privacy (haney2017), with corrected calibration.

Which one? `SmoothStaircase` for tables by workplace attributes (pure ε, least noise). `SmoothVector` to cross
worker attributes in under the strong definition. `LogLaplace` where ε is too small for the others. The rest are
there to compare, and to replicate the paper with calibration="paper".
"""

from tacita.mechanisms.eree.log_laplace import LogLaplace
from tacita.mechanisms.eree.plain import EdgeLaplace, TruncatedLaplace
from tacita.mechanisms.eree.requirements import TABLE_1, Answer, requirements
from tacita.mechanisms.eree.smooth import SmoothGamma, SmoothLaplace, SmoothStaircase, SmoothStudent, SmoothVector

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
