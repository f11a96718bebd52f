"""The measures of general utility, in the order a report shows them."""

from __future__ import annotations

from tacita.evaluation.marginals import (
    full_table_distance,
    k_marginal,
    k_marginal_six_bins,
    total_variation,
    worst_total_variation,
)
from tacita.evaluation.metric import Metric
from tacita.evaluation.propensity import pmse, pmse_ratio, specks
from tacita.evaluation.wasserstein import wasserstein_ratio


def general_metrics(*, seed: int = 2018) -> tuple[Metric, ...]:
    """Every measure of general utility; `seed` fixes the permutations, so that a report can be made again.

    >>> import pandas as pd
    >>> from tacita.evaluation import compare
    >>> frame = pd.DataFrame({"sex": ["F", "M"] * 50, "pay": range(100)})
    >>> [metric(compare(frame, frame)).value for metric in general_metrics()][:4]
    [0.0, 0.0, 0.0, 0.0]
    """
    return (
        pmse(),
        pmse(interactions=True),
        pmse("lasso", interactions=True),
        pmse("cart"),
        pmse_ratio(),
        pmse_ratio(interactions=True),
        pmse_ratio("cart", seed=seed),
        specks(),
        wasserstein_ratio(seed=seed),
        k_marginal_six_bins(),
        k_marginal(3, seed=seed),
        *(total_variation(k, seed=seed) for k in (1, 2, 3)),
        *(worst_total_variation(k, seed=seed) for k in (1, 2, 3)),
        full_table_distance(),
    )
