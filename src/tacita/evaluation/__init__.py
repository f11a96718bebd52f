"""What a release is worth and what it risks, measured against confidential rows: internal by nature.

`compare` encodes the files once; a `Metric` called with the comparison gives a `Score`. `general_metrics()` lists the
measures of general utility: propensity scores (`propensity`), tables (`marginals`) and distances (`wasserstein`).
"""

from tacita.evaluation.encoding import Column, Comparison, Encoded, Pair, compare
from tacita.evaluation.general import general_metrics
from tacita.evaluation.metric import Metric, Outcome, Score, averaged

__all__ = [
    "Column",
    "Comparison",
    "Encoded",
    "Metric",
    "Outcome",
    "Pair",
    "Score",
    "averaged",
    "compare",
    "general_metrics",
]
