"""What a release is worth and what it risks, measured against confidential rows: internal by nature.

`compare` encodes the files once; a `Metric` called with the comparison gives a `Score`.

- General utility: `general_metrics()`, or one by one `pmse`, `pmse_ratio`, `specks`, `wasserstein_ratio`, `k_marginal`,
  `k_marginal_six_bins`, `total_variation`, `worst_total_variation`, `full_table_distance`.
- Regressions: `Regression` and `difference_in_differences` say which, `regression_metrics` judges it, or one by one
  `coefficient_difference`, `interval_overlap`, `sign_agreement`, `coefficient_coverage`, `holdout_nrmse`.
- Tests: `chi_square_agreement` of all pairs of columns.
- Cells: `Tabulation` says which table, `cell_rmse_ratio` and `cell_coverage` judge it.
- Time: `Panel` or `WidePanel` says what is followed, `trend_metrics` judges it.
- Risk: `tacita.evaluation.risk`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacita.evaluation.encoding import Column, Comparison, Encoded, Pair, compare
from tacita.evaluation.metric import Metric, Outcome, Score, averaged

if TYPE_CHECKING:
    from tacita.evaluation import risk
    from tacita.evaluation.association import chi_square_agreement
    from tacita.evaluation.cellwise import Tabulation, cell_coverage, cell_rmse_ratio
    from tacita.evaluation.marginals import (
        full_table_distance,
        k_marginal,
        k_marginal_six_bins,
        total_variation,
        wasserstein_ratio,
        worst_total_variation,
    )
    from tacita.evaluation.propensity import general_metrics, pmse, pmse_ratio, specks
    from tacita.evaluation.regression import (
        coefficient_coverage,
        coefficient_difference,
        holdout_nrmse,
        interval_overlap,
        regression_metrics,
        sign_agreement,
    )
    from tacita.evaluation.regression_model import Regression, difference_in_differences
    from tacita.evaluation.trends import Panel, WidePanel, trend_metrics

# Loaded when first used: the compiled loops behind some of them take as long to load as a small comparison takes.
_HOMES = {
    "association": ("chi_square_agreement",),
    "cellwise": ("Tabulation", "cell_coverage", "cell_rmse_ratio"),
    "marginals": (
        "full_table_distance",
        "k_marginal",
        "k_marginal_six_bins",
        "total_variation",
        "worst_total_variation",
        "wasserstein_ratio",
    ),
    "propensity": ("general_metrics", "pmse", "pmse_ratio", "specks"),
    "regression": (
        "coefficient_coverage",
        "coefficient_difference",
        "holdout_nrmse",
        "interval_overlap",
        "regression_metrics",
        "sign_agreement",
    ),
    "regression_model": ("Regression", "difference_in_differences"),
    "trends": ("Panel", "WidePanel", "trend_metrics"),
}


def __getattr__(name: str) -> Any:
    if name == "risk":
        return import_module("tacita.evaluation.risk")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"tacita.evaluation.{home}"), name)
    raise AttributeError(f"module 'tacita.evaluation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Column",
    "Comparison",
    "Encoded",
    "Metric",
    "Outcome",
    "Pair",
    "Panel",
    "Regression",
    "Score",
    "Tabulation",
    "WidePanel",
    "averaged",
    "cell_coverage",
    "cell_rmse_ratio",
    "chi_square_agreement",
    "coefficient_coverage",
    "coefficient_difference",
    "compare",
    "difference_in_differences",
    "full_table_distance",
    "general_metrics",
    "holdout_nrmse",
    "interval_overlap",
    "k_marginal",
    "k_marginal_six_bins",
    "pmse",
    "pmse_ratio",
    "regression_metrics",
    "risk",
    "sign_agreement",
    "specks",
    "total_variation",
    "trend_metrics",
    "wasserstein_ratio",
    "worst_total_variation",
]
