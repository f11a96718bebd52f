"""The methods of section 5: quantile regressions without privacy, and bisection with the paper's division of ε."""

from __future__ import annotations

from functools import partial

import pandas as pd

from tacita_studies.tran2023.methods import MIDPOINTS_250, NO_PRIVACY
from tacita_studies.tran2023.panel_models import Fit, non_private
from tacita_studies.tran2023.panel_private import over_the_years, year_by_year
from tacita_studies.tran2023.section5 import PanelMethod

PROMISE = (
    "ε = 1 per industry when the employment history of one establishment is added or removed (2 when it is replaced by "
    "another history); first and last years are public and not protected: {because}"
)
# "20 quantiles, ranging from the 5th to the 95th"
TWENTY = tuple(0.05 + 0.9 * place / 19 for place in range(20))


def section5() -> tuple[PanelMethod, ...]:
    """The reference first."""
    return (
        _non_private(250, MIDPOINTS_250, "Pistner et al. (2018)"),
        _non_private(20, TWENTY, "Non-private"),
        PanelMethod(
            "Bisection, ε = 1, ε divided over the years as in the paper",
            "bisection-years",
            guarantee=PROMISE.format(because="0.04 a year, and an establishment is in at most 25 years"),
            fit=year_by_year,
        ),
        PanelMethod(
            "Bisection, ε = 1, births in parallel, one law of growth",
            "bisection-pooled",
            guarantee=PROMISE.format(because="it is born once, at 0.25, and goes on at most 24 times, at 0.75 in all"),
            fit=over_the_years,
        ),
    )


def _non_private(count: int, quantiles: tuple[float, ...], printed: str) -> PanelMethod:
    name, file, fit = (
        f"Non-private, {count} quantiles",
        f"non-private-{count}",
        partial(_without_noise, quantiles=quantiles),
    )
    return PanelMethod(name, file, "none", printed=printed, guarantee=NO_PRIVACY, fit=fit, noisy=False)


def _without_noise(frame: pd.DataFrame, seed: int, *, quantiles: tuple[float, ...]) -> Fit:
    return non_private(quantiles)
