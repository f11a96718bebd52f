"""Sizes of numbers with wide bounds: negatives, few records, dates."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.file.bins import number_of, smooth_curve
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.numbers import is_listed, measure_number, round_values, thresholds_for
from tacita.synthesis.file.sizes import distribution_of, ladder
from tacita.synthesis.file.values import units_of

BUDGET = Budget(Fraction(1, 5), False, True)
SIGNED = Grid(-(10**9), 10**9, 1.0)


def some(count: int, sigma: float = 1.2) -> np.ndarray:
    return np.round(np.random.default_rng(1).lognormal(13, sigma, count))


def exact(values: np.ndarray, grid: Grid, noise: float = 1e-3) -> Shape:
    counts = np.bincount(np.searchsorted(ladder(grid), values, side="right"), minlength=len(ladder(grid)) + 1)
    return Shape(values.size, sizes=(*counts.tolist(), 0), size_noise=noise)


@pytest.mark.parametrize("grid", [SIGNED, Grid(0, 10**9, 100.0), Grid(10_957, 18_627, 1.0, days=True)])
def test_cells_are_public_and_cover_every_value_once(grid: Grid) -> None:
    cuts = ladder(grid)
    assert list(cuts) == sorted(set(cuts))
    assert grid.first < cuts[0] <= cuts[-1] <= grid.last
    assert (0 in cuts) == (grid.first < 0)


def test_without_noise_shares_are_those_that_were_counted() -> None:
    values = np.concatenate([-some(100), some(1900)])
    edges, shares = distribution_of(exact(values, SIGNED), SIGNED)
    assert 0 in edges
    assert shares == pytest.approx([(values < one).mean() for one in edges], abs=2e-3)


def test_few_negatives_survive_and_are_about_as_large_as_they_were() -> None:
    values = np.concatenate([-some(100), some(1700)])
    for seed in range(6):
        shape = measure_number(values, SIGNED, 1800, BUDGET, Fraction(1, 80), SeededEntropy(seed), "profit")
        number = number_of("profit", SIGNED, False, shape, 8)
        assert 0 in number.cuts, "no bin mixes gains and losses"
        units = units_of(number, number.code(values), np.random.default_rng(2))
        assert ((units < 0) == (values < 0)).all()
        assert 0.2 < np.median(units[units < 0]) / np.median(values[values < 0]) < 5
        assert units.mean() == pytest.approx(values.mean(), rel=0.5)


def test_a_number_that_a_quarter_has_is_not_lost_in_loud_noise() -> None:
    values = np.concatenate([np.zeros(1350), some(450)])
    grid = Grid(0, 10**9, 1.0)
    found = []
    for seed in range(8):
        shape = measure_number(values, grid, 1800, BUDGET, Fraction(1, 1100), SeededEntropy(seed), "research")
        assert not shape.thresholds
        number = number_of("research", grid, False, shape, 6)
        found.append(units_of(number, number.code(values), np.random.default_rng(2)).mean() / values.mean())
    assert 0.5 < np.median(found) < 2
    assert min(found) > 0.05
    assert max(found) < 20


def test_of_noise_alone_nothing_is_told() -> None:
    random = np.random.default_rng(3)
    for _ in range(5):
        noisy = np.rint(random.normal(0, 40, len(ladder(SIGNED)) + 1)).astype(int)
        shape = Shape(1000, (0,), (1000,), sizes=(*noisy.tolist(), 0), size_noise=1600.0, tally_noise=400.0)
        curve = smooth_curve(shape, SIGNED)
        assert np.abs(curve.values).max() < 10


def test_dates_stay_in_their_years_and_ends_of_months_are_found() -> None:
    random = np.random.default_rng(1)
    first, last = (int(np.datetime64(one, "D").astype(int)) for one in ("2012-01-01", "2016-12-31"))
    grid = Grid(10_957, 18_627, 1.0, days=True)
    end = int(np.datetime64("2014-12-31", "D").astype(int))
    values = np.concatenate([np.full(500, end), random.integers(first, last + 1, 1500)]).astype(float)
    assert end in round_values(grid)
    for seed in range(5):
        shape = measure_number(values, grid, 2000, BUDGET, Fraction(1, 80), SeededEntropy(seed), "day")
        assert end in shape.values
        assert not shape.habits, "days since 1970 are never round"
        number = number_of("day", grid, False, shape, 8)
        units = units_of(number, number.code(values), np.random.default_rng(2))
        assert ((units < first - 240) | (units > last + 240)).mean() < 0.01
        assert np.unique(units[units != end], return_counts=True)[1].max() < 60, "they do not pile up on other days"


def test_missing_numbers_are_no_sizes() -> None:
    values = np.concatenate([np.full(1000, np.nan), some(1000)])
    shape = measure_number(values, SIGNED, 2000, BUDGET, Fraction(1, 20), SeededEntropy(1), "pay")
    assert shape.sizes[-1] == pytest.approx(1000, abs=100)
    assert sum(shape.sizes[:-1]) == pytest.approx(1000, abs=400)


def counted(values: np.ndarray, grid: Grid, thresholds: list[int], noise: float = 4.0) -> Shape:
    """Counts without noise, said to have some."""
    between = np.bincount(np.searchsorted(thresholds, values, side="right"), minlength=len(thresholds) + 1)
    sizes = np.bincount(np.searchsorted(ladder(grid), values, side="right"), minlength=len(ladder(grid)) + 1)
    return Shape(
        values.size,
        thresholds=tuple(thresholds),
        between=tuple(between.tolist()),
        noise=noise,
        sizes=(*sizes.tolist(), 0),
        size_noise=2 * noise,
    )


def test_a_density_that_changes_within_an_octave_is_followed() -> None:
    """Days under observation that end when the study does: most lie within a tenth of an octave, and then nobody."""
    random, grid = np.random.default_rng(1), Grid(0, 20_000, 1.0)
    values = np.concatenate([random.integers(0, 4200, 3500), random.integers(4800, 5000, 2500)])
    thresholds = np.unique(np.quantile(values, np.linspace(0, 1, 66)[1:-1]).astype(int)).tolist()
    edges, shares = distribution_of(counted(values, grid, thresholds), grid)
    assert np.abs([(values < one).mean() for one in edges] - shares).max() < 0.004


def test_noise_far_beyond_the_thresholds_adds_no_more_than_all_records_do() -> None:
    """As votes for films are, in bounds that are a hundred times too wide: two in a thousand there add all the rest."""
    values, grid = 5 + np.floor(np.random.default_rng(1).lognormal(3, 2, 20_000)), Grid(0, 10**8, 1.0)
    budget, places = Budget(Fraction(1), False, False), (np.arange(20_000) + 0.5) / 20_000
    for seed in range(8):
        shape = measure_number(values, grid, values.size, budget, Fraction(1, 700), SeededEntropy(seed), "votes")
        others = values[~np.isin(values, shape.values)]
        assert 0.7 < smooth_curve(shape, grid)(places).mean() / others.mean() < 2


def test_a_number_that_most_do_not_have_is_cut_as_finely_as_those_allow_who_have_it() -> None:
    missing, grid = np.concatenate([some(900), np.full(9100, np.nan)]), Grid(0, 10**9, 1.0)
    amount = Fraction(1, 800)
    shape = measure_number(missing, grid, 10_000, BUDGET, amount, SeededEntropy(1), "budget")
    most, _ = thresholds_for(10_000, BUDGET, amount * Fraction(2, 9))
    assert len(shape.thresholds) < len(most)
    assert sum(shape.between or shape.sizes[:-1]) == pytest.approx(900, abs=300)


def test_values_of_one_size_are_told_apart() -> None:
    """Scores of 540 to 700, and bounds of 0 to 1,000: all are in one octave, which ends where the bounds do."""
    grid, random = Grid(0, 1000, 1.0), np.random.default_rng(1)
    values = np.append(np.rint(random.normal(615, 38, 6000)), np.full(5600, np.nan))
    for seed in range(4):
        shape = measure_number(values, grid, values.size, BUDGET, Fraction(1, 2500), SeededEntropy(seed), "score")
        assert not shape.shares
        assert sum(shape.finer) == pytest.approx(6000, abs=6 * (shape.finer_noise * len(shape.finer)) ** 0.5)
        number = number_of("score", grid, True, shape, 8)
        units = units_of(number, number.code(values), np.random.default_rng(2))
        drawn, told = units[units >= 0], values[~np.isnan(values)]
        for share in (0.1, 0.25, 0.5, 0.75, 0.9):
            assert np.quantile(drawn, share) == pytest.approx(np.quantile(told, share), abs=25)


def test_a_size_that_ends_at_a_bound_is_no_tail() -> None:
    """Shapes that were stored before finer cells were counted have none."""
    values = np.rint(np.random.default_rng(1).uniform(512, 1000, 6000))
    edges, shares = distribution_of(exact(values, Grid(0, 1000, 1.0), 3600.0), Grid(0, 1000, 1.0))
    assert shares[edges <= 512] == pytest.approx(0.0, abs=0.02)


def test_where_no_size_stands_out_sizes_are_counted_twice() -> None:
    once, amount = BUDGET.table(Fraction(1, 2500)).variance, Fraction(1, 2500)
    shape = measure_number(some(6000, 3.0), SIGNED, 6000, BUDGET, amount, SeededEntropy(1), "wealth")
    assert not shape.shares
    assert not shape.finer
    assert shape.size_noise == pytest.approx(once * 9 / 5, rel=0.01), "of five ninths of the amount, as one count"


def test_of_bounds_far_beyond_what_most_have_no_value_is_counted_alone() -> None:
    """Visits in a year: noise on 366 values, of which nearly all records have the first ten, says more than they do."""
    visits, amount = Grid(0, 365, 1.0), Fraction(1, 200)
    assert is_listed(Grid(0, 100, 1.0), 4000, BUDGET, amount)
    assert not is_listed(visits, 4000, BUDGET, amount)
    assert is_listed(visits, 400_000, BUDGET, amount)
    random = np.random.default_rng(1)
    values = np.minimum(np.floor(random.lognormal(0.8, 1.1, 4000)) * (random.random(4000) < 0.8), 150)
    for seed in range(6):
        shape = measure_number(values, visits, 4000, BUDGET, amount, SeededEntropy(seed), "visits")
        number = number_of("visits", visits, False, shape, 8)
        units = units_of(number, number.code(values), np.random.default_rng(2))
        assert units.mean() == pytest.approx(values.mean(), rel=0.25)
