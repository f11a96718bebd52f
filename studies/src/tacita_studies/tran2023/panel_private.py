"""The methods of section 5: quantile regressions without privacy, and bisection for the panel, with two ways to divide
ε = 1 of an industry over its years.

Neighbours differ in the employment history of one establishment, which is there or not; exchanging it for another
history is two such steps. First and last years are public, so the list of establishments itself is not protected.

- `year_by_year`: the paper's division. Every year has 0.04, three quarters of it for continuers; an establishment can
  be in all 25 years, so the budgets add up to 1.
- `over_the_years`: an establishment is born once, so births of different years are different establishments and each
  year's births may be measured with the same 0.25. It goes on at most 24 times, so one model of growth for the
  transitions of all years, measured with 0.75/24 per transition, costs at most 0.75.

Employment is a whole number, so a record is first spread evenly over the unit around it, by its own random number.
Growth is modelled in logs, cut at a public factor of ten a year.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.quantile.design import Design
from tacita.synthesis.quantile.fitting import fit_conditional, fit_marginal
from tacita.synthesis.quantile.numeric import NumericModel
from tacita.synthesis.quantile.variables import Range
from tacita_studies.tran2023.methods import MIDPOINTS_250, NO_PRIVACY
from tacita_studies.tran2023.panel import (
    COLUMNS,
    MOST_EMPLOYEES,
    YEARS,
    Conditional,
    Fit,
    Kind,
    Numbers,
    continuers_in,
    non_private,
)
from tacita_studies.tran2023.section5 import PanelMethod

MOST_GROWTH = 10.0  # within a year, up or down; further is cut

_SIZES = Range(math.log(0.5), math.log(MOST_EMPLOYEES + 0.5))
_GROWTHS = Range(-math.log(MOST_GROWTH), math.log(MOST_GROWTH), "exponential")


@dataclass(frozen=True, eq=False)
class Sizes:
    """Employment of births, from quantiles of its logarithm."""

    model: NumericModel

    def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
        return np.asarray(np.exp(self.model.draw(random.random(len(before)), before)))


@dataclass(frozen=True, eq=False)
class Growth:
    """Employment of continuers: last year's times a factor, whose law depends on last year's."""

    model: NumericModel

    def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
        logs = np.log(before)
        step = self.model.draw(random.random(len(before)), logs)
        return np.asarray(np.exp(logs[:, 0] + np.clip(step, _GROWTHS.lower, _GROWTHS.upper)))


def year_by_year(frame: pd.DataFrame, seed: int) -> Fit:
    """The paper's division: 0.01 for the births and 0.03 for the continuers of each year."""
    entropy, random = SeededEntropy(seed), np.random.default_rng(seed)

    def fit(year: int, kind: Kind, before: Numbers, now: Numbers, released: Numbers) -> Conditional:
        own = entropy.child(f"{year} {kind}")
        if kind == "births":
            return Sizes(fit_marginal(_log_spread(now, random), _SIZES, _parts("0.01", 2), own, kind))
        return _growth(before, now, released, Fraction("0.03"), random, own)

    return fit


def over_the_years(frame: pd.DataFrame, seed: int) -> Fit:
    """Births in parallel with 0.25 each year, continuers of all years together with 0.75."""
    entropy, random = SeededEntropy(seed), np.random.default_rng(seed)
    known: list[Growth] = []

    def fit(year: int, kind: Kind, before: Numbers, now: Numbers, released: Numbers) -> Conditional:
        if kind == "births":
            own = entropy.child(f"{year} {kind}")
            return Sizes(fit_marginal(_log_spread(now, random), _SIZES, _parts("0.25", 5), own, kind))
        if not known:
            every_before, every_now = _transitions(frame)
            budget = Fraction("0.75") / (len(YEARS) - 1)
            known.append(_growth(every_before, every_now, released, budget, random, entropy.child("continuers")))
        return known[0]

    return fit


def _growth(
    before: Numbers,
    now: Numbers,
    released: Numbers,
    epsilon: Fraction,
    random: np.random.Generator,
    entropy: SeededEntropy,
) -> Growth:
    step = _log_spread(now, random) - np.log(before[:, 0])
    step = np.clip(step, _GROWTHS.lower, _GROWTHS.upper)
    plane, scale, rest = epsilon * 2 / 5, epsilon / 5, _parts(epsilon * 2 / 5, 2)
    design = Design.of(np.log(released))
    return Growth(
        fit_conditional(step, np.log(before), design, _GROWTHS, plane, scale, rest, entropy, "growth of continuers")
    )


def _transitions(frame: pd.DataFrame) -> tuple[Numbers, Numbers]:
    """Employment in one year and in the next, of every establishment in every year it goes on."""
    before, now = [], []
    for year in YEARS[1:]:
        who = continuers_in(frame, year)
        before.append(frame[COLUMNS[year - 1]].to_numpy(dtype=np.float64)[who])
        now.append(frame[COLUMNS[year]].to_numpy(dtype=np.float64)[who])
    return np.concatenate(before)[:, None], np.concatenate(now)


def _log_spread(whole: Numbers, random: np.random.Generator) -> Numbers:
    return np.asarray(np.log(np.maximum(whole, 1.0) + random.random(len(whole)) - 0.5))


def _parts(epsilon: str | Fraction, levels: int) -> Sequence[Fraction]:
    return [Fraction(epsilon) / levels] * levels


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
