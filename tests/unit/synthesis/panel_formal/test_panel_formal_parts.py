"""Public bins, and what is made of noisy tables."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.panels import YEARS, plan, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel.formal.lattice import Bins, Steps, coarse_steps
from tacita.synthesis.panel.formal.ratios import MOVES, Range
from tacita.synthesis.panel.formal.released import Measurement, Noisy, size_cap, step_laws, usual_steps
from tacita.synthesis.panel.formal.sensitivities import each_scale
from tacita.synthesis.panel.formal.smoothing import (
    balanced_cap,
    counts_of,
    joint,
    law_of,
    pick_from,
    smoothed,
    towards,
    varied,
    with_tail,
)
from tacita.synthesis.panel.formal.steps import Odds
from tacita.synthesis.panel.formal.targets import Targets, above_all, not_negative


@given(st.integers(1, 10**7), st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_size_lies_in_its_bin_and_one_drawn_from_a_bin_does_too(most: int, shares: list[float], seed: int) -> None:
    bins = Bins.sizes(most)
    values = np.floor(np.array(shares) * most).astype(np.int64)
    place = bins.of(values)
    assert ((bins.lower[place] <= values) & (values <= bins.upper[place])).all()
    assert (bins.of(bins.drawn(place, np.random.default_rng(seed))) == place).all()


@given(st.integers(0, 3000), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_step_drawn_from_a_bin_lies_in_it_where_it_can(before: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    exact = Bins(np.array([before, before + 1]), 10**6)
    possible = Steps.possible(exact)[0]
    bins = np.flatnonzero(possible & (np.arange(Steps.count) != Steps.same))
    after = Steps.drawn(np.full(len(bins), before), bins, 10**6, random)
    assert (Steps.of(np.full(len(bins), before), after) == bins).all()
    every = np.flatnonzero(np.arange(Steps.count) != Steps.same)
    after = Steps.drawn(np.full(len(every), before), every, 10**6, random)
    assert ((after >= 0) & ((after < before) == (every < Steps.same)) | (before == 0)).all()


def test_kinds_of_steps_keep_their_direction() -> None:
    kinds, logs = coarse_steps(), Steps.logs()
    assert (np.sign(kinds - 3) == np.sign(logs)).all()
    assert (np.diff(logs) > 0).all()
    assert (np.diff(kinds) >= 0).all()


def test_bins_are_joined_where_shares_lie_below() -> None:
    bins = Bins.sizes(100)
    counts = np.ones(bins.count)
    joined = bins.coarser(counts, np.array([0.5, 0.9]))
    assert joined.count == 3
    assert set(joined.lower) <= set(bins.lower)
    assert bins.coarser(np.zeros(bins.count), np.array([0.5])).count <= 2


def test_moves_fall_back_into_their_bins() -> None:
    within = Range(0.0, 4.0)
    bins = np.repeat(np.arange(MOVES), 50)
    assert (within.move(within.moves(bins, np.random.default_rng(1))) == bins).all()


def test_a_range_is_not_led_astray_by_a_single_noisy_bin() -> None:
    public = Range.public(1000, 10**6)
    noisy = np.zeros(public.bins, dtype=np.int64)
    noisy[60:66], noisy[3] = [400, 3000, 8000, 7000, 2500, 500], 300
    found = public.narrowed(noisy, 20.0, 22_000)
    assert public.of(np.array([found.low, found.high])).tolist() == [59, 67]


def test_a_range_is_found_where_no_bin_stands_out() -> None:
    """900 units over some six octaves, each bin with noise as large as the fullest."""
    public, random = Range.public(1000, 10**6), np.random.default_rng(6)
    logs = random.normal(4.0, 0.7, 900)
    counts = np.bincount(public.of(logs), minlength=public.bins)
    for _ in range(10):
        noisy = counts + np.rint(random.laplace(0, 40, public.bins)).astype(np.int64)
        within = public.narrowed(noisy, 40 * 2**0.5, 900)
        assert ((logs > within.low) & (logs < within.high)).mean() > 0.8
        assert within.width < 0.8 * public.width


def test_a_series_is_smoothed_as_far_as_its_noise_asks_for() -> None:
    random = np.random.default_rng(3)
    truth = 100 + np.cumsum(random.normal(0, 1, 40))
    noisy = truth + random.normal(0, 8, 40)
    found, open_ = smoothed(noisy, np.full(40, 8.0))
    assert np.abs(found - truth).mean() < 0.6 * np.abs(noisy - truth).mean()
    assert (open_ < 8).all()
    sure, _ = smoothed(truth, np.full(40, 1e-6))
    assert np.allclose(sure, truth, atol=1e-3)


def test_drawn_series_spread_as_what_smoothing_leaves_open() -> None:
    random = np.random.default_rng(5)
    noisy = 100 + np.cumsum(random.normal(0, 1, 30)) + random.normal(0, 5, 30)
    middle, open_ = smoothed(noisy, np.full(30, 5.0))
    drawn = np.array([smoothed(noisy, np.full(30, 5.0), random=random)[0] for _ in range(400)])
    assert np.abs(drawn.mean(axis=0) - middle).max() < 0.5
    assert drawn.std(axis=0) == pytest.approx(open_, rel=0.2)
    # Years next to each other move together: they are not drawn one by one.
    assert np.diff(drawn, axis=1).std() < 0.7 * open_.mean() * 2**0.5


def test_a_series_that_grows_is_smoothed_around_its_line() -> None:
    """Growth is not taken for wandering: the ends of a series that rises evenly are found as well as its middle."""
    random = np.random.default_rng(6)
    truth = 100 + 4.0 * np.arange(26)
    found = [smoothed(truth + random.normal(0, 15, 26), np.full(26, 15.0))[0] - truth for _ in range(60)]
    assert np.abs(np.mean(found, axis=0)).max() < 4
    assert np.sqrt(np.mean(np.square(found))) < 7


def test_two_estimates_count_by_what_is_known_of_each() -> None:
    assert joint(10.0, 1.0, 20.0, 1.0) == pytest.approx((15.0, 0.5**0.5))
    assert joint(10.0, 0.0, 20.0, 3.0) == pytest.approx((10.0, 0.0))
    assert joint(10.0, 1e6, 20.0, 1.0) == pytest.approx((20.0, 1.0))


def _released(far: int, far_flows: tuple[int, int], scale: Fraction = Fraction(1, 10**6)) -> Measurement:
    """Ten years with 1000 jobs below a clamp, 100 above it, and steps of 60 up and 50 down."""
    tables = {
        "levels": np.full(10, 1000),
        "tops": np.full(10, 100),
        "tops of all years": np.array([far]),
        "entrants": np.full(11, 10),
        "flows": np.tile([60, 50], (9, 1)),
        "flows of all years": np.array(far_flows),
    }
    caps = {"levels": 20, "tops": 50, "tops of all years": 400, "flows": 5, "flows of all years": 30}
    return Measurement({name: Noisy(values.astype(np.int64), scale) for name, values in tables.items()}, caps)


def test_sums_of_all_years_are_shared_out_among_years() -> None:
    targets = Targets.of(_released(500, (90, 45)), np.ones(10), 9000, lambda low, high: (0.0, 1e9), None)
    assert [(layer.low, layer.high) for layer in targets.layers] == [(0, 20), (20, 50), (50, 400), (400, 9000)]
    assert targets.layers[2].sums == pytest.approx(np.full(10, 50.0), rel=1e-3)
    assert targets.far_flows == pytest.approx(np.tile([10.0, 5.0], (9, 1)), rel=1e-3)
    assert sum(float(layer.part(np.array([70])).sum()) for layer in targets.layers) == 70


def test_first_sizes_tell_the_first_year_and_less_so_those_after_it() -> None:
    known = {20: (1200.0, 1e-9), 50: (100.0, 1e-9), 400: (100.0, 1e-9)}
    found = Targets.of(_released(500, (90, 45), Fraction(50)), np.ones(10), 9000, lambda low, high: known[high], None)
    assert found.layers[0].sums[0] == pytest.approx(1200, rel=0.02)
    far = found.layers[2].sums
    assert far[0] == pytest.approx(100, rel=0.02)
    assert (np.diff(far[:6]) < 0).all()


@pytest.mark.parametrize(("middle", "width"), [(2.0, 1.3), (2.2, 1.6), (3.2, 1.3)])
def test_what_lies_above_all_clamps_is_that_of_a_normal_law(middle: float, width: float) -> None:
    """Sizes whose logarithms are normal: 4 million of them, their layers counted."""
    sizes = np.exp(np.random.default_rng(5).normal(middle, width, 4_000_000))
    ends = (70, 160, 600)
    held = [float(np.clip(sizes - low, 0, high - low).sum()) for low, high in pairwise((0, *ends, 20_000))]
    assert above_all((held[0], held[1], held[2]), ends, 20_000) == pytest.approx(held[3] / held[2], rel=0.15)


def test_nothing_lies_above_a_clamp_that_is_the_bound() -> None:
    targets = Targets.of(_released(500, (90, 45)), np.ones(10), 400, lambda low, high: (0.0, 1e9), None)
    assert targets.layers[3].part(np.array([400, 399])).tolist() == [0.0, 0.0]
    assert targets.layers[3].sums == pytest.approx(np.zeros(10))


def test_drawn_sums_are_not_negative_and_keep_their_mean() -> None:
    random, noisy = np.random.default_rng(3), Noisy(np.array([100, -5]), Fraction(40))
    found = np.array([not_negative(noisy, random) for _ in range(4000)])
    assert (found >= 0).all()
    assert found[:, 0].mean() == pytest.approx(100, rel=0.05)
    assert not_negative(noisy, None).tolist() == [100.0, 1.0]


def test_steps_that_noise_hides_are_as_usual_and_others_as_counted() -> None:
    """Of each size 200 weights of a count, half of them far up: noise of 20 does not hide that, noise of 2,000 does."""
    rows, random = Bins.sizes(10_000).coarser(np.ones(Bins.sizes(10_000).count), np.linspace(0.2, 0.9, 8)), 0
    far, counts = Steps.count - 3, np.zeros((9, Steps.count), dtype=np.int64)
    counts[:, Steps.same], counts[:, far] = 12_000, 12_000
    usual = law_of(usual_steps(rows))[-1, far]
    for scale, low, high in ((20, 0.4, 0.6), (20_000, 0.0, 10 * usual + 0.02)):
        noise = np.random.default_rng(random).laplace(0, scale, counts.shape)
        law = step_laws(Noisy(counts + np.rint(noise).astype(np.int64), Fraction(scale)), rows)
        assert low <= np.median(law[:, far]) <= high


def test_a_clamp_weighs_noise_on_a_cube_against_plain_noise() -> None:
    """A cube asks for changes of a tenth of its cells' ε at least: below it, noise is as many times larger."""
    scale = each_scale(50, Fraction(60), cube=True)
    low, high = scale(np.array([10.0, 1000.0])).tolist()
    assert low == pytest.approx(10 * 50 / 60)
    assert high < 1000 * 25 / 60
    bins = Bins.sizes(10_000)
    few = np.where(bins.upper <= 20, 1000.0, 0.0)
    assert size_cap(few, bins, scale) < 100  # where nothing is larger, no cube makes it so


def test_odds_meet_the_sums_of_steps_below_and_beyond_their_clamp() -> None:
    random = np.random.default_rng(8)
    lost, gained = (random.geometric(0.1, 5000).astype(np.float64) for _ in range(2))
    odds = Odds(np.full(5000, 0.3), np.full(5000, 0.3), np.minimum(lost, 5), np.minimum(gained, 5))
    targets = Targets.of(_released(500, (90, 45)), np.ones(10), 9000, lambda low, high: (0.0, 1e9), None)
    wanted = np.array([6600.0, 5600.0]), np.array([9000.0, 7300.0])
    targets.flows[0], targets.far_flows[0] = wanted
    found = odds.with_far(lost, gained, targets, 1)
    beyond = [np.clip(one - 5, 0, 25) for one in (gained, lost)]
    assert [found.grow @ beyond[0], found.shrink @ beyond[1]] == pytest.approx(wanted[1].tolist(), rel=0.01)
    assert [found.grow @ found.gained, found.shrink @ found.lost] == pytest.approx(wanted[0].tolist(), rel=0.05)


def test_ends_of_laws_are_not_made_of_noise() -> None:
    """A heavy cell at the far end, which noise alone would fill, stays almost empty; what is clear stays as it is."""
    random = np.random.default_rng(1)
    edges = 2.0 ** np.arange(16)
    truth = 50_000 * np.exp(-0.9 * np.arange(16))
    weights = edges * 1.5
    plain, tailed = [], []
    for _ in range(200):
        noisy = truth + random.laplace(0, 10, 16)
        plain.append(np.maximum(noisy, 0) @ weights)
        tailed.append(with_tail(noisy, 10 * 2**0.5, edges) @ weights)
    goal = truth @ weights
    assert np.mean(np.abs(np.array(tailed) / goal - 1)) < 0.15
    assert np.mean(np.abs(np.array(plain) / goal - 1)) > 0.5
    assert with_tail(np.zeros(0), 1.0, np.zeros(0)).size == 0
    assert with_tail(np.full(5, -3.0), 10.0, edges[:5]).sum() == 0


def test_counts_keep_their_totals_and_are_never_negative() -> None:
    noisy = np.array([[5, -4, 3], [-1, -2, -3]])
    found = counts_of(noisy, 2.0, None)
    assert (found >= 0).all()
    assert found.sum(axis=1).tolist() == [4.0, 0.0]
    drawn = counts_of(np.array([[500, 400, 0]]), 5.0, np.random.default_rng(1), total=900.0)
    assert drawn.sum() == pytest.approx(900)
    assert not np.array_equal(drawn, [[500.0, 400.0, 0.0]])


def test_a_draw_moves_a_count_by_its_noise_and_leaves_an_empty_cell_empty() -> None:
    random = np.random.default_rng(2)
    found = np.array([varied(np.array([10_000.0, 0.0]), 7.0, random) for _ in range(2000)])
    assert found[:, 0].std() == pytest.approx(7.0, rel=0.1)
    assert found[:, 1].max() == 0.0


def test_slices_that_differ_by_noise_only_share_a_law_and_others_keep_theirs() -> None:
    random = np.random.default_rng(4)
    law = np.array([0.5, 0.3, 0.2])
    noise = 400 * law + random.normal(0, 10, 3)
    own = np.stack([noise, np.array([10.0, 10.0, 380.0])])
    found = law_of(towards(own, law, 10.0))
    assert np.abs(found[0] - law).max() < np.abs(law_of(noise) - law).max()
    assert np.abs(found[1] - law_of(own[1])).max() < 0.01


def test_codes_follow_the_law_of_their_row() -> None:
    laws = np.array([[0.0, 0.25, 0.75, 0.0], [1.0, 0.0, 0.0, 0.0]])
    found = pick_from(laws, np.repeat([0, 1], 40_000), np.random.default_rng(1))
    assert np.bincount(found[:40_000], minlength=4) / 40_000 == pytest.approx(laws[0], abs=0.01)
    assert (found[40_000:] == 0).all()


def test_a_clamp_is_higher_where_noise_is_small() -> None:
    caps = np.array([1, 10, 100, 1000])
    covered = np.array([100.0, 500.0, 900.0, 1000.0])
    assert balanced_cap(caps, covered, caps * 1e-6, 0.25) == 1000
    assert balanced_cap(caps, covered, caps * 10.0, 0.25) == 10


def test_as_many_units_leave_each_year_as_were_released_and_small_ones_more_often() -> None:
    frame = wide(6000, seed=8)
    small = frame[[f"jobs{year}" for year in YEARS]].max(axis=1) < 5
    early = frame.born.clip(lower=2000) + np.random.default_rng(1).geometric(0.7, len(frame)) - 1
    frame.loc[small, "gone"] = np.minimum(frame.gone, early)[small]
    for year in YEARS:
        frame.loc[frame.gone < year, [f"jobs{year}", f"pay{year}"]] = np.nan
    frame.loc[frame.switched > frame.gone, "kind"] = "single"
    frame.loc[frame.kind != "switched", "switched"] = np.nan
    model = plan(epsilon="2000", sets=1).run(Confidential.from_frame(frame, wide_schema()), SeededEntropy(2))
    made = model.implicates.tables[0].to_pandas()
    assert (made.gone.value_counts() - frame.gone.value_counts()).abs().max() <= 2
    ratio = [_size_of_leavers(one) for one in (frame, made)]
    assert ratio[0] < 0.75
    assert ratio[1] == pytest.approx(ratio[0], abs=0.08)


def _size_of_leavers(frame: pd.DataFrame) -> float:
    """Relative to those who stay, over all years."""
    leave = pd.concat([frame.loc[frame.gone == year, f"jobs{year}"] for year in YEARS[:-1]])
    stay = pd.concat([frame.loc[frame.gone > year, f"jobs{year}"] for year in YEARS[:-1]])
    return float(leave.mean() / stay.mean())
