"""Totals and steps of sizes, held together."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tacita.synthesis.panel.formal.accounts import _stretch, held_in_all_years
from tacita.synthesis.panel.formal.pinned import OF_SIZE, YearTotals
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.panel import MISSING

YEARS, UNITS, MOST = 6, 400, 100_000
Integers = NDArray[np.int64]


def panel(seed: int, growth: float, spread: float) -> Integers:
    """Units some of which come later or leave earlier."""
    random = np.random.default_rng(seed)
    logs = 4 + random.normal(0, 1.2, UNITS) + np.cumsum(random.normal(growth, spread, (YEARS, UNITS)), axis=0)
    first, last = random.integers(-8, 3, UNITS), random.integers(3, 14, UNITS)
    year = np.arange(YEARS)[:, None]
    return np.where((year >= first) & (year <= last), np.maximum(np.rint(np.exp(logs)), 1), MISSING).astype(np.int64)


def flows(sizes: Integers) -> NDArray[np.float64]:
    """Gained and lost from each year to the next, with units that come and go."""
    moved = np.diff(np.where(sizes == MISSING, 0, sizes), axis=0)
    return np.array([np.maximum(moved, 0).sum(axis=1), np.maximum(-moved, 0).sum(axis=1)], dtype=np.float64)


def measured(sizes: Integers, scale: Fraction) -> tuple[Measurement, YearTotals]:
    there = (sizes[1:] != MISSING) & (sizes[:-1] != MISSING)
    moved = np.where(there, np.diff(sizes, axis=0), 0)
    steps = np.array([np.maximum(moved, 0).sum(axis=1), np.maximum(-moved, 0).sum(axis=1)]).T
    tables = {"flows": Noisy(steps, scale), "flows of all years": Noisy(np.zeros(2, dtype=np.int64), scale)}
    sums = np.where(sizes == MISSING, 0, sizes).sum(axis=1).astype(np.float64)
    off = np.full(YEARS, 2**0.5 * float(scale) / sums.mean() + 1e-4)
    totals = YearTotals(float(sums.sum()), float(scale), sums / sums.sum(), off)
    return Measurement(tables, {"flows": MOST, "flows of all years": MOST + 1}), totals


@pytest.mark.parametrize("seed", range(4))
def test_totals_and_steps_are_those_released_where_noise_is_small(seed: int) -> None:
    truth, drawn = panel(seed, 0.02, 0.1), panel(seed + 10, -0.05, 0.2)
    found, totals = measured(truth, Fraction(1))
    held = held_in_all_years(drawn, totals, found, MOST, np.random.default_rng(seed), middle=True)
    assert ((held == MISSING) == (drawn == MISSING)).all()
    assert (held[held != MISSING] >= 1).all()
    own = [np.where(one == MISSING, 0, one).sum(axis=1) for one in (truth, held)]
    assert own[1] / own[0] == pytest.approx(1, abs=0.01)
    # Those who come and go are drawn, so that only their difference is known exactly.
    gained, lost = flows(held)
    assert gained - lost == pytest.approx(np.diff(own[0]), abs=0.02 * own[0].mean())


def test_noise_in_totals_does_not_pass_for_steps() -> None:
    """Nobody comes or goes: each year moved to its noisy total by itself would have twice the steps of the file."""
    truth = np.where(panel(1, 0.01, 0.03) == MISSING, 50, panel(1, 0.01, 0.03))
    found, totals = measured(truth, Fraction(1))
    random = np.random.default_rng(3)
    shape = totals.shape * np.exp(0.03 * random.standard_normal(YEARS))
    noisy = YearTotals(totals.total, totals.off, shape / shape.sum(), np.full(YEARS, 0.03))
    held = held_in_all_years(truth, noisy, found, MOST, random, middle=True)
    assert flows(held).sum() == pytest.approx(flows(truth).sum(), rel=0.15)
    alone = truth * (noisy.joined(truth.sum(axis=1).astype(np.float64), OF_SIZE, None) / truth.sum(axis=1))[:, None]
    assert np.abs(np.diff(alone, axis=0)).sum() > 1.15 * flows(truth).sum()


@pytest.mark.parametrize("aim", [0.01, 0.5, 20.0, 1e4])
def test_steps_of_a_few_large_units_are_stretched_to_what_is_aimed_at(aim: float) -> None:
    """One large unit that grew a hundredfold, beside small ones that hardly did: its step rises very fast."""
    before, growth = np.array([1000.0, 5.0, 5.0]), np.array([np.log(100.0), 0.01, 0.02])
    factor = _stretch(before, growth, aim * 10)
    assert float(before @ np.expm1(factor * growth)) == pytest.approx(aim * 10, rel=0.01)
    down = _stretch(before, -growth, 100.0)
    assert -float(before @ np.expm1(-down * growth)) == pytest.approx(100.0, rel=0.01)
