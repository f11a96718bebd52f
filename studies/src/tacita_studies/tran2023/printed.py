"""The numbers of tran2023's Tables 1, 2, 4 and 5, as printed."""

from __future__ import annotations

from dataclasses import dataclass

PMSE_WITHOUT = "pMSE without interactions"
PMSE_WITH = "pMSE with interactions"
WRT = "Wasserstein ratio"
K_MARGINAL = "k-marginal"
INTERCEPT = "intercept difference"
SLOPE = "slope difference"
NRMSE_X2 = "NRMSE X2"
NRMSE_X3 = "NRMSE X3"
PMSE_LASSO = "pMSE with LASSO"

GENERAL = (PMSE_WITHOUT, PMSE_WITH, WRT, K_MARGINAL)
SPECIFIC = (INTERCEPT, SLOPE, NRMSE_X2, NRMSE_X3)

_TABLE_1 = {
    "Non-private": (0.0003, 0.0004, 2.86, 952.34),
    "Stepwise - Fixed": (0.0146, 0.0167, 12.65, 743.62),
    "Stepwise - Varying": (0.0067, 0.0105, 12.36, 531.40),
    "Sandwich - Fixed": (0.0083, 0.0093, 5.15, 762.32),
    "Sandwich - Varying": (0.0077, 0.0084, 4.88, 743.99),
    "KNG": (0.1219, 0.1309, 42.18, 49.30),
    "pMSE Mechanism": (0.0374, 0.0601, 12.94, 742.81),
}
_TABLE_2 = {
    "Non-private": (2.07, 0.86, 0.317, 0.193),
    "Stepwise - Fixed": (14.76, 1.83, 0.326, 0.201),
    "Stepwise - Varying": (15.15, 5.72, 0.325, 0.203),
    "Sandwich - Fixed": (12.20, 2.05, 0.321, 0.202),
    "Sandwich - Varying": (14.95, 6.29, 0.326, 0.207),
    "KNG": (70.22, 211.50, 1.705, 1.601),
    "pMSE Mechanism": (28.53, 36.40, 0.390, 0.265),
}


@dataclass(frozen=True)
class PrintedIndustry:
    """A row of Table 4."""

    sic3: str
    name: str
    establishments: int


INDUSTRIES = (
    PrintedIndustry("178", "Water Well Drilling", 10_975),
    PrintedIndustry("239", "Miscellaneous Fabricated Textile Products", 27_396),
    PrintedIndustry("542", "Meat and Fish Markets", 39_670),
    PrintedIndustry("829", "Schools and Educational Services, NEC", 45_709),
)

# Means over five repetitions for the industries in that order: pMSE with LASSO, then k-marginal.
_TABLE_5 = {
    "Pistner et al. (2018)": ((0.0026, 0.0022, 0.0021, 0.0046), (947, 915, 929, 912)),
    "Non-private": ((0.0025, 0.0003, 0.0049, 0.0056), (929, 905, 906, 907)),
    "Stepwise - Fixed": ((0.1505, 0.1147, 0.1452, 0.1150), (808, 697, 711, 727)),
    "Stepwise - Varying": ((0.0391, 0.0410, 0.0304, 0.0501), (902, 831, 852, 833)),
    "Sandwich - Fixed": ((0.1408, 0.1367, 0.1669, 0.1093), (798, 708, 708, 726)),
    "Sandwich - Varying": ((0.0823, 0.0535, 0.0573, 0.0628), (857, 773, 750, 760)),
    "KNG": ((0.1141, 0.0052, 0.1788, 0.0201), (852, 730, 706, 717)),
}


def printed(row: str | None, metric: str) -> float | None:
    """The number of Table 1 or 2; None where the paper has no such row or column.

    >>> printed("Sandwich - Fixed", K_MARGINAL), printed("Non-private", NRMSE_X3), printed(None, WRT)
    (762.32, 0.193, None)
    """
    for table, metrics in ((_TABLE_1, GENERAL), (_TABLE_2, SPECIFIC)):
        if metric in metrics and row in table:
            return table[row][metrics.index(metric)]
    return None


def printed_panel(row: str | None, sic3: str, metric: str) -> float | None:
    """The number of Table 5.

    >>> printed_panel("Non-private", "239", K_MARGINAL)
    905.0
    """
    if row not in _TABLE_5 or metric not in (PMSE_LASSO, K_MARGINAL):
        return None
    place = [industry.sic3 for industry in INDUSTRIES].index(sic3)
    return float(_TABLE_5[row][metric == K_MARGINAL][place])
