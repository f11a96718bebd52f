"""The goodness-of-fit helper: it raises no more false alarms than it says, and sees noise that is a fifth too small."""

from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, laplace

from support import goodness_of_fit
from support.goodness_of_fit import (
    MOST_CHECKS,
    ONE_CHECK,
    WHOLE_SUITE,
    cells_of,
    counts_p_value,
    fits,
    share_p_value,
    values_p_value,
)

NULLS = 1000
Floats = NDArray[np.float64]


def two_sided_exponential(scale: float, reach: int = 60) -> Floats:
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return np.asarray(weights / weights.sum())


LAWS = {
    "a cell that is expected 0.09 times": np.array([0.99995, 0.000005, 0.000045]),
    "forty equal cells": np.full(40, 1 / 40),
    "noise": two_sided_exponential(3),
    "falling chances": 0.5 ** np.arange(1, 20) / (1 - 0.5**19),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("draws", [30, 2000])
def test_counts_raise_no_more_false_alarms_than_they_say(name: str, draws: int) -> None:
    """Every level from 0.001 to 0.5, over 1,000 files drawn from the very law; a fixed seed."""
    rng = np.random.default_rng(20261115)
    found = np.array([counts_p_value(rng.multinomial(draws, LAWS[name]), LAWS[name]) for _ in range(NULLS)])
    for level in (0.001, 0.01, 0.05, 0.2, 0.5):
        alarms = int((found <= level).sum())
        assert binom.sf(alarms - 1, NULLS, level) > 1e-4, f"{alarms} alarms at level {level}"
    if draws == 2000 and name != "a cell that is expected 0.09 times":
        assert (found <= 0.2).mean() > 0.04  # exact is not to mean that nothing is ever noticed


def test_pearson_s_test_would_have_cried_wolf() -> None:
    """The fault this module replaces: a cell expected 0.09 times and hit twice, which happens once in 260 files."""
    seen, chances = np.array([1998, 2]), np.array([1 - 4.5e-5, 4.5e-5])
    expected = 2000 * chances
    pearson = float(chi2.sf(((seen - expected) ** 2 / expected).sum(), 1))
    assert pearson < 1e-8
    assert counts_p_value(seen, chances) == pytest.approx(2 * float(binom.sf(1, 2000, 4.5e-5)), rel=1e-6)
    assert fits(counts_p_value(seen, chances))


def test_shares_and_numbers_raise_no_more_false_alarms_than_they_say() -> None:
    rng = np.random.default_rng(20261116)
    shares = share_p_value(rng.binomial(500, 0.03, NULLS), 500, 0.03)
    numbers = np.array([values_p_value(rng.laplace(size=300), laplace.cdf) for _ in range(NULLS)])
    for found, least in ((shares, 0.1), (numbers, 0.18)):
        for level in (0.001, 0.01, 0.05, 0.2):
            assert binom.sf(int((found <= level).sum()) - 1, NULLS, level) > 1e-4
        assert least < (found <= 0.2).mean()


@pytest.mark.parametrize("draws", [5, 8])
def test_every_table_of_a_few_draws_counted(draws: int) -> None:
    """No simulation: the chance of all tables whose p-value is at most a is at most a."""
    chances = np.array([0.6, 0.3, 0.1])
    tables = [(a, b, draws - a - b) for a in range(draws + 1) for b in range(draws + 1 - a)]
    law = [comb(draws, a) * comb(draws - a, b) * float(np.prod(chances ** [a, b, c])) for a, b, c in tables]
    found = np.array([counts_p_value(table, chances) for table in tables])
    assert sum(law) == pytest.approx(1)
    for level in np.unique(found):
        assert np.sum(law, where=found <= level) <= level + 1e-12


@pytest.mark.parametrize(
    ("scale", "factor"),
    [(1.0, 0.8), (1.0, 1.2), (4.0, 1.2), (30.0, 0.8)]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in [(4.0, 0.8), (30.0, 1.2)]],
)
def test_noise_a_fifth_off_is_seen(scale: float, factor: float) -> None:
    """5,000 draws do, in 100 files of 100, and a shift by a tenth of the scale is seen in 20,000."""
    rng, reach = np.random.default_rng(20261117), int(12 * scale) + 8
    right, wrong = two_sided_exponential(scale, reach), two_sided_exponential(scale * factor, reach)
    assert max(counts_p_value(rng.multinomial(5000, wrong), right) for _ in range(100)) < ONE_CHECK
    assert min(counts_p_value(rng.multinomial(5000, right), right) for _ in range(100)) > ONE_CHECK
    numbers = rng.laplace(size=(20, 20_000))
    assert max(values_p_value(factor * one, laplace.cdf) for one in numbers) < ONE_CHECK
    assert max(values_p_value(one + 0.1, laplace.cdf) for one in numbers) < ONE_CHECK


def test_what_cannot_happen_is_never_accepted() -> None:
    assert counts_p_value([5, 1, 0], [0.5, 0.0, 0.5]) == 0
    assert counts_p_value([7], [1.0]) == 1
    with pytest.raises(AssertionError, match="chances sum"):
        counts_p_value([5, 5], [0.5, 0.4])


def test_ends_are_counted_with_their_tails() -> None:
    assert cells_of([-9, 0, 1, 1, 3, 77], lowest=0, cells=3).tolist() == [1, 1, 2, 0, 2]


def test_the_suite_has_a_number_of_checks_it_may_make(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pytest.approx(WHOLE_SUITE) == MOST_CHECKS * ONE_CHECK
    monkeypatch.setattr(goodness_of_fit, "_made", MOST_CHECKS)
    with pytest.raises(AssertionError, match="fail too often by chance"):
        fits(1.0)
    goodness_of_fit.begin_anew()  # as every run of `make statistical` does, which are many in one process
    assert fits(1.0)
