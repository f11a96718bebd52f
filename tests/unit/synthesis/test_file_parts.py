"""The parts of FileSynthesis by themselves: budgets, bins, the field, and records that agree with tables."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.data.schema import Schema
from tacita.data.schema.rulebook import Bar, impossible, possible
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis import FileSynthesis
from tacita.synthesis.file.bins import number_of
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.division import division, off_anyway
from tacita.synthesis.file.field import Field, Wanted
from tacita.synthesis.file.graph import Graph, tabulate
from tacita.synthesis.file.likely import listed_counts
from tacita.synthesis.file.numbers import measure_number, round_values, thresholds_for
from tacita.synthesis.file.records import Goal, agree, unrelated
from tacita.synthesis.file.sweeps import STRIDE, mend
from tacita.synthesis.file.targets import nearest
from tacita.synthesis.file.values import units_of

BUDGETS = [Budget(Fraction(1), pure, replace) for pure in (False, True) for replace in (False, True)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_tables_cost_what_they_were_given_and_hardly_less(budget: Budget) -> None:
    asked = budget.tables([(0,), (1,), (0, 1), (1, 2)], (2, 5, 40), Fraction(1, 3))
    assert Fraction(1, 3) * Fraction(999, 1000) < sum(one.cost for one in asked) <= Fraction(1, 3)
    for one in asked:
        moved = {(False, False): 1, (False, True): 2, (True, False): 1, (True, True): 4}[one.contrast, budget.replace]
        if budget.pure:
            assert one.cost == (2 if budget.replace else 1) / one.noise
        else:
            assert one.cost == Fraction(moved, 2) / one.noise


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_levels_and_choices_cost_no_more_than_they_were_given(budget: Budget) -> None:
    amount, steps = Fraction(1, 7), 2 if budget.replace else 1
    epsilon, rate = budget.threshold(amount), budget.rate(amount)
    cost = [steps * epsilon, 2 * rate * steps]
    if not budget.pure:
        cost = [one**2 / 8 for one in cost]
    assert all(amount * Fraction(99, 100) < one <= amount for one in cost)


@pytest.mark.parametrize("rows", [50, 2_000, 15_000])
def test_of_few_columns_all_pairs_are_measured(rows: int) -> None:
    """Also where pairs with a weight go first: an answer was independent of its region in a file of these three."""
    spent = division((13, 3, 16), rows, Budget(Fraction(1, 50), False, True), Fraction(1, 100))
    assert (spent.number, spent.choosing) == (3, 0)
    many = division((13, 3, *[16] * 10), rows, Budget(Fraction(1, 50), False, True), Fraction(1, 100))
    assert 24 <= many.number < 66


def test_more_noise_means_fewer_pairs_and_more_for_single_columns() -> None:
    levels = (8,) * 12
    spent = [
        division(levels, records, Budget(Fraction(1, 50), False, False), Fraction(1)) for records in (10**6, 2000, 50)
    ]
    assert spent[0].number == 66
    assert [one.number for one in spent] == sorted((one.number for one in spent), reverse=True)
    assert [one.ones for one in spent] == sorted(one.ones for one in spent)
    assert all(one.ones + one.choosing + one.pairs == 1 for one in spent)


def test_thresholds_are_finer_where_there_is_more_to_see_and_reach_into_the_ends() -> None:
    few, _ = thresholds_for(6000, BUDGETS[0], Fraction(1, 1000))
    many, epsilon = thresholds_for(100_000, BUDGETS[0], Fraction(1, 100))
    assert 15 <= len(few) < len(many)
    assert len(many) > 60
    assert thresholds_for(2000, BUDGETS[0], Fraction(1, 1000))[0] == (), "sizes say more"
    assert float(1 - many[-1]) < 1 / 500
    assert epsilon > 0


def test_a_point_mass_is_found_and_bins_have_about_equal_shares() -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([np.zeros(4000), np.round(random.lognormal(9, 1.5, 6000))])
    grid = Grid(-1000, 10**9, 1.0)
    shape = measure_number(
        values, grid, 10_000, Budget(Fraction(1), False, False), Fraction(1, 10), SeededEntropy(1), "x"
    )
    assert shape.values == (0,)
    number = number_of("x", grid, False, shape, 8)
    codes = number.code(values)
    assert (codes[values == 0] == number.size - 1).all()
    held = np.bincount(codes[values != 0], minlength=number.size - 1)[: len(number.cuts) + 1]
    assert held.max() < 6000 / 5
    back = units_of(number, codes, np.random.default_rng(2))
    assert (number.code(back.astype(np.float64)) == codes).mean() > 0.999


def test_a_number_that_few_records_have_does_not_run_to_its_bounds() -> None:
    """Sixty of two thousand have one; thresholds of all records would fall where nobody is, as bounds are wide."""
    random = np.random.default_rng(1)
    values = np.concatenate([np.zeros(1940), np.round(random.lognormal(8, 1, 60))])
    grid, budget = Grid(-(10**9), 10**9, 1.0), Budget(Fraction(1, 80), False, True)
    means = []
    for seed in range(12):
        shape = measure_number(values, grid, 2000, budget, Fraction(1, 1000), SeededEntropy(seed), "trade")
        assert not shape.thresholds
        number = number_of("trade", grid, False, shape, 8)
        means.append(float(units_of(number, number.code(values), np.random.default_rng(2)).mean()))
    assert max(abs(one) for one in means) < 30 * values.mean()


@pytest.mark.parametrize("median", [2, 3, 999_999, 1_000_000])
def test_a_threshold_at_a_bound_leaves_no_bin_without_values(median: int) -> None:
    """With few records the only threshold may be the first or the last value, whose quartiles round to the bound."""
    grid = Grid(1, 10**6, 1.0)
    habits = tuple((0,) * 32 for _ in range(18))
    shape = Shape(1000, (), (), (Fraction(1, 2),), (median,), (500, 500), habits, noise=100.0)
    number = number_of("weight", grid, False, shape, 8)
    assert all(first <= last for first, last in number.spans)
    drawn = units_of(number, np.arange(1000) % number.size, np.random.default_rng(1))
    assert drawn.min() >= grid.first
    assert drawn.max() <= grid.last


def test_point_masses_that_are_not_round_are_closed_in_on() -> None:
    """Such as a limit of insured pay in cents, in bounds that are far wider: thresholds alone never hit one value."""
    random = np.random.default_rng(1)
    values = np.concatenate([np.full(2000, 25_243.55), np.full(700, 8_113.29), random.lognormal(9, 0.8, 7300).round(2)])
    grid, budget = Grid(0, 10**9, 100.0), Budget(Fraction(1), False, True)
    shape = measure_number(values, grid, 10_000, budget, Fraction(1, 10), SeededEntropy(1), "pay")
    assert shape.values == (811_329, 2_524_355)
    assert shape.counts == pytest.approx((700, 2000), abs=60)
    assert sum(shape.between) == pytest.approx(7300, abs=300), "they are no longer among the others"
    number = number_of("pay", grid, False, shape, 8)
    units = units_of(number, number.code(values), np.random.default_rng(2))
    assert np.count_nonzero(units == 2_524_355) == 2000


def test_amounts_that_are_middles_of_bands_are_all_point_masses() -> None:
    """Nine values that are not round, each of a ninth: bins of none of them would hold what a bin holds."""
    values = np.repeat([3_000, 11_500, 17_500, 22_500, 27_500, 32_500, 37_500, 67_500, 112_500], 600).astype(float)
    grid, budget = Grid(0, 10**7, 1.0), Budget(Fraction(1), False, False)
    shape = measure_number(values, grid, values.size, budget, Fraction(1, 20), SeededEntropy(1), "income")
    assert shape.values == tuple(np.unique(values).astype(int).tolist())


def test_numbers_get_no_more_than_half_however_many_they_are() -> None:
    kinds = {f"x{k}": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**6} for k in range(4)}
    schema = Schema.from_dict({"dataset": {"identity": "file", "unit": "person"}, "variables": kinds})
    plan = FileSynthesis(list(kinds), "1", delta="1e-9")
    each, total, rest = plan._amounts(schema, 100_000)
    assert sum(each.values()) <= plan.budget.total / 2
    assert rest >= plan.budget.total / 4
    assert sum(each.values()) + 4 * total + rest == plan.budget.total


def test_a_smooth_number_has_no_point_masses() -> None:
    values = np.random.default_rng(1).lognormal(9, 0.8, 10_000).round(2)
    for budget in BUDGETS:
        shape = measure_number(values, Grid(0, 10**9, 100.0), 10_000, budget, Fraction(1, 10), SeededEntropy(1), "pay")
        assert shape.values == ()


def test_noise_on_values_that_nobody_has_does_not_add_up() -> None:
    """Bounds that are four times as wide as a number must not move its mean."""
    values = np.random.default_rng(1).integers(0, 50, 5000).astype(np.float64)
    grid, budget = Grid(0, 199, 1.0), Budget(Fraction(1), False, True)
    shape = measure_number(values, grid, 5000, budget, Fraction(1, 35), SeededEntropy(1), "years")
    assert len(shape.counts) == 200, "each value was counted"
    number = number_of("years", grid, False, shape, 8)
    units = units_of(number, number.code(values), np.random.default_rng(2))
    assert np.count_nonzero(units > 60) < 50, "of which noise alone would make hundreds"
    assert units.mean() == pytest.approx(values.mean(), rel=0.02)


def test_round_values_are_those_of_two_digits() -> None:
    held = set(round_values(Grid(0, 10**6, 1.0)).tolist())
    assert {0, 7, 99, 500, 1500, 40_000, 10**6} <= held
    assert not {123, 1234, 40_500} & held


def test_a_number_of_few_values_has_each_as_a_state() -> None:
    number = number_of("x", Grid(3, 6, 1.0), True, Shape(10), 8)
    values = np.array([3.0, 6.0, np.nan, 4.0])
    codes = number.code(values)
    assert codes.tolist() == [0, 3, 4, 1]
    assert units_of(number, codes, np.random.default_rng(1)).tolist() == [3, 6, 2, 4], "missing stands below all"


def test_the_field_follows_pairs_and_leaves_the_rest_unrelated() -> None:
    """A chain: the first and the third column are related through the second alone."""
    random = np.random.default_rng(1)
    step = np.array([[0.8, 0.2], [0.3, 0.7]])
    joint = 0.5 * step[:, :, None] * step[None, :, :]
    levels, rows = (2, 2, 2), 20_000
    margins = [joint.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    wanted = [Wanted((0, 1), joint.sum(axis=2) * rows, 25.0, 4), Wanted((1, 2), joint.sum(axis=0) * rows, 25.0, 4)]
    field = Field(levels, margins, (), unrelated(margins, (), rows, random))
    field.fit(wanted, rows, 60, random)
    (whole,) = field.expected([(0, 1, 2)], 1.0, 10, random)
    assert np.abs(whole - joint).max() < 0.01


def test_a_table_of_noise_alone_teaches_the_field_nothing() -> None:
    random = np.random.default_rng(2)
    margins = [np.full(5, 0.2), np.full(5, 0.2)]
    noisy = 40.0 + random.normal(0, 30, (5, 5))
    field = Field((5, 5), margins, (), unrelated(margins, (), 5000, random))
    field.fit([Wanted((0, 1), noisy, 900.0, 25)], 1000, 60, random)
    (mean,) = field.expected([(0, 1)], 1000, 20, random)
    assert np.abs(mean - 40).mean() < 0.5 * np.abs(noisy - 40).mean()


def test_records_come_to_agree_with_tables_and_keep_off_what_is_impossible() -> None:
    random = np.random.default_rng(3)
    levels = (2, 3, 4)
    bars = [Bar.of(levels, {0: [0], 1: [0], 2: [0]})]
    truth = unrelated([np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5]), np.full(4, 0.25)], bars, 3000, random)
    truth[:, 2] = np.where(truth[:, 1] == 2, 3, truth[:, 2])
    records = unrelated([np.full(size, 1 / size) for size in levels], bars, 3000, random)
    goals = [Goal(some, tabulate(truth, levels, some).astype(float), 1.0) for some in ((0, 1), (1, 2), (0, 1, 2))]
    ones = [Goal((a,), tabulate(truth, levels, (a,)).astype(float), 1.0) for a in range(3)]
    agree(records, levels, ones, goals, bars, 30, random)
    assert np.abs(tabulate(records, levels, (0, 1, 2)) - goals[2].counts).sum() < 60
    assert not impossible(records, bars).any()


def test_what_mending_keeps_of_each_cell_is_what_the_records_say() -> None:
    random = np.random.default_rng(4)
    levels, tables = (2, 3, 4, 17), [(0, 1), (1, 3), (0, 2, 3), (2,)]
    records = np.column_stack([random.integers(0, size, 3_000) for size in levels])
    wanted = [random.gamma(1.0, 1.0, tuple(levels[a] for a in some)) for some in (*((a,) for a in range(4)), *tables)]
    goals = [3_000 * one / one.sum() for one in wanted]
    weight, graph = np.array([1.0, 0.5, 0.25, 1.0], dtype=np.float32), Graph(levels, tables, ())

    def off() -> tuple[np.ndarray, np.ndarray]:
        all_off = [tabulate(records, levels, some) - goal for some, goal in zip([*ones, *tables], goals, strict=True)]
        flat = graph.flat([one * w for one, w in zip(all_off[4:], weight, strict=True)])
        return np.concatenate([*all_off[:4], more]).astype(np.float32), np.concatenate([flat, more]).astype(np.float32)

    ones, more = [(a,) for a in range(4)], np.zeros(STRIDE)
    slopes, flat = off()
    laid = (graph.first, graph.views, flat, weight, graph.bars, graph.owner, graph.kin)
    even = np.ones(4, dtype=np.float32)
    changed = [mend(records, 1, random.permutation(3_000), graph.starts, slopes, even, *laid) for _ in range(2)]
    assert changed[0] > 1_000 > changed[1] > 0
    for kept, said in zip((slopes, flat), off(), strict=True):
        assert np.abs(kept - said).max() < 0.01


def test_zeros_that_leave_one_record_are_kept() -> None:
    bars = [Bar.of((2, 2), {0: [0], 1: [0, 1]}), Bar.of((2, 2), {0: [1], 1: [0]})]
    assert possible([2, 2], bars) == [1, 1]
    assert possible([2, 2], [*bars, Bar.of((2, 2), {0: [1], 1: [1]})]) is None
    records = unrelated([np.array([1.0, 0.0]), np.array([1.0, 0.0])], bars, 20, np.random.default_rng(1))
    assert (records == 1).all()


def test_the_nearest_counts_are_not_negative_and_add_up() -> None:
    near = nearest(np.array([-5.0, 3.0, 10.0, 0.5]), 9.0)
    assert near.sum() == pytest.approx(9)
    assert (near >= 0).all()
    assert near[2] - near[1] == pytest.approx(7)


@pytest.mark.parametrize("seed", range(5))
def test_many_records_at_a_bound_stay_there_and_wide_bounds_move_no_mean(seed: int) -> None:
    """Noise on values that nobody has, and the mirror beyond a bound, must not push records up the scale."""
    random = np.random.default_rng(seed)
    values, noise = np.arange(301), 15.0
    truth = np.bincount(np.where(random.random(4000) < 0.6, 0, random.exponential(20, 4000).astype(int)), minlength=301)
    noisy = np.rint(truth + random.normal(0, noise, 301)).astype(int)
    counts = listed_counts(Shape(4000, tuple(values.tolist()), tuple(noisy.tolist()), noise=noise**2))
    assert abs(counts[0] / counts.sum() - truth[0] / truth.sum()) < 0.1
    deviation = np.sqrt(np.average((values - np.average(values, weights=truth)) ** 2, weights=truth))
    assert abs(np.average(values, weights=counts) - np.average(values, weights=truth)) < 0.8 * deviation


def test_what_a_table_is_off_by_anyway_is_noise_but_for_empty_cells_and_less_where_states_stand_in_order() -> None:
    levels = (16, 16)
    (one,) = BUDGETS[0].tables([(0, 1)], levels, Fraction(1, 1000))
    full = np.full(levels, 2.0 * one.error(levels) / 256)
    whole = off_anyway(one, levels, (0, 0), full)
    assert whole == pytest.approx(0.3 * one.error(levels), rel=0.01)
    half = np.where(np.arange(16) < 8, full, 0.0)
    assert off_anyway(one, levels, (0, 0), half) == pytest.approx(whole / 2, abs=1)
    assert 0 < off_anyway(one, levels, (16, 16), full) < 0.5 * whole


@pytest.mark.parametrize("budget", BUDGETS)
def test_tables_leaning_less_to_large_ones_have_noise_more_alike_for_the_same_amount(budget: Budget) -> None:
    levels, sets, amount = (3, 40, 40), [(0, 1), (1, 2)], Fraction(1, 50)
    ratios = []
    for leaning in (1.0, 0.5, 0.0):
        small, large = budget.tables(sets, levels, amount, leaning)
        assert Fraction(99, 100) * amount < small.cost + large.cost <= amount
        ratios.append(small.variance / large.variance)
    assert ratios[0] > ratios[1] > ratios[2]
    assert ratios[2] == pytest.approx(1, rel=1e-3)
