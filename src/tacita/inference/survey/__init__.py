"""Design-based estimates from survey samples, synthetic or not: the same numbers as R `survey`.

- `Design`: strata, clusters, finite populations, several stages; variances by Taylor linearisation.
- `ReplicateDesign`: BRR, Fay, jackknife, bootstrap and Preston's half-sample replicate weights; `preston_weights`
  makes the last.
- `total`, `mean`, `ratio`, `proportions`, `quantiles`: by any crossing of domains.
- `survey_table`: tables with margins and totals from m synthetic samples, of `Count`, `Mean`, `Ratio` and `Quantile`;
  `sample_table` from one sample; `noisy_table` from the noisy cells of `tacita.mechanisms.survey`.

The functions of the third line return an `Estimate` with the covariance matrix over domains, which `combine` takes:

    combine(files, lambda frame: survey.mean(frame, "pay", Design(weights="w"), by="region"))
"""

from tacita.inference.survey.estimators import Quantiles, mean, proportions, quantiles, ratio, total
from tacita.inference.survey.replicates import ReplicateDesign, preston_weights
from tacita.inference.survey.tables import (
    Count,
    Mean,
    Quantile,
    Ratio,
    Statistic,
    noisy_table,
    sample_table,
    survey_table,
)
from tacita.inference.survey.taylor import Design

__all__ = [
    "Count",
    "Design",
    "Mean",
    "Quantile",
    "Quantiles",
    "Ratio",
    "ReplicateDesign",
    "Statistic",
    "mean",
    "noisy_table",
    "preston_weights",
    "proportions",
    "quantiles",
    "ratio",
    "sample_table",
    "survey_table",
    "total",
]
