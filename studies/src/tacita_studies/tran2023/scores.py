"""The metrics of tran2023's sections 4.2 and 4.3, as its Tables 1 and 2 use them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from tacita.evaluation import (
    Comparison,
    Metric,
    Regression,
    coefficient_difference,
    compare,
    holdout_nrmse,
    k_marginal,
    k_marginal_six_bins,
    pmse,
    specks,
    total_variation,
    wasserstein_ratio,
)
from tacita_studies.tran2023.printed import (
    INTERCEPT,
    K_MARGINAL,
    NRMSE_X2,
    NRMSE_X3,
    PMSE_WITH,
    PMSE_WITHOUT,
    SLOPE,
    WRT,
)

_ON_X1 = Regression.from_formula("x2 ~ x1")
_ON_BOTH = Regression.from_formula("x3 ~ x1 + x2")

TABLE_1: Mapping[str, Metric] = {
    PMSE_WITHOUT: pmse(),
    PMSE_WITH: pmse(interactions=True),
    WRT: wasserstein_ratio(),
    K_MARGINAL: k_marginal_six_bins(),
}
# Beyond the paper: what else could tell a synthetic file from the original.
FURTHER: Mapping[str, Metric] = {
    "pMSE with a tree": pmse("cart"),
    "SPECKS": specks(),
    "k-marginal (deciles)": k_marginal(3),
    "total variation, one variable": total_variation(1),
    "total variation, pairs": total_variation(2),
}
HIGHER_IS_BETTER = frozenset({K_MARGINAL, "k-marginal (deciles)"})


def general(training: pd.DataFrame, synthetic: pd.DataFrame, *, further: bool = False) -> dict[str, float]:
    """Table 1: how close the synthetic file is to the training file in distribution."""
    return _scored(compare(training, synthetic), {**TABLE_1, **(FURTHER if further else {})})


def general_and_specific(training: pd.DataFrame, testing: pd.DataFrame, synthetic: pd.DataFrame) -> dict[str, float]:
    """Tables 1 and 2. Coefficients are those of X2 on X1; a constant X1 leaves them undefined, which is NaN."""
    comparison = compare(training, synthetic, holdout=testing)
    scores = _scored(comparison, TABLE_1)
    terms = coefficient_difference(_ON_X1)(comparison).details["files"][0]["terms"]
    slope = terms.pop("x1", math.nan)
    scores[INTERCEPT] = next(iter(terms.values()), math.nan)
    scores[SLOPE] = slope
    scores[NRMSE_X2] = holdout_nrmse(_ON_X1)(comparison).value
    scores[NRMSE_X3] = holdout_nrmse(_ON_BOTH)(comparison).value
    return scores


def _scored(comparison: Comparison, metrics: Mapping[str, Metric]) -> dict[str, float]:
    return {name: metric(comparison).value for name, metric in metrics.items()}
