"""Design-based estimates from survey samples, synthetic or not: the same numbers as R `survey`.

- `Design`: strata, clusters, finite populations, several stages; variances by Taylor linearisation.
- `ReplicateDesign`: BRR, Fay, jackknife, bootstrap and Preston's half-sample replicate weights; `preston_weights`
  makes the last.
- `total`, `mean`, `ratio`, `proportions`, `quantiles`: by any crossing of domains.

Each returns an `Estimate` with the covariance matrix over domains, which `combine` takes as it is:

    combine(files, lambda frame: survey.mean(frame, "pay", Design(weights="w"), by="region"))
"""

from tacita.inference.survey.estimators import mean, proportions, ratio, total
from tacita.inference.survey.quantiles import Quantiles, quantiles
from tacita.inference.survey.replicates import ReplicateDesign, preston_weights
from tacita.inference.survey.taylor import Design

__all__ = [
    "Design",
    "Quantiles",
    "ReplicateDesign",
    "mean",
    "preston_weights",
    "proportions",
    "quantiles",
    "ratio",
    "total",
]
