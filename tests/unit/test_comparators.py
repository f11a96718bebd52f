"""Comparators: they do what the practice does, and claim nothing."""

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound, with_secondary
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne, Guarantee, Loss

KEY = b"key of this test"


@pytest.mark.parametrize("method", [NoiseInfusion(), SuppressAndRound()])
def test_no_guarantee_is_claimed_and_none_appears_by_adding(method: NoiseInfusion | SuppressAndRound) -> None:
    assert method.guarantee.holds == "never"
    proper = Guarantee(AddRemoveOne("establishment"), Loss("1"))
    assert (proper + method.guarantee).holds == "never"


def test_factors_stay_in_the_two_bands_and_fill_them() -> None:
    factors = NoiseInfusion().factors(np.arange(20_000), key=KEY)
    away = np.abs(factors - 1)
    assert away.min() >= 0.05
    assert away.max() <= 0.15
    # 20,000 uniform draws: mean 0.10 with standard error 0.0002, and signs balanced to within 5 standard errors
    assert abs(away.mean() - 0.10) < 0.001
    assert abs((factors > 1).mean() - 0.5) < 0.018
    assert abs(np.corrcoef(away, np.sign(factors - 1))[0, 1]) < 0.036


def test_an_establishment_keeps_its_factor_whatever_else_is_in_the_file() -> None:
    infusion = NoiseInfusion()
    together = infusion.factors([5, 9, 700], key=KEY)
    assert infusion.factors([700], key=KEY)[0] == together[2]
    assert infusion.factors(["5"], key=KEY)[0] == together[0]
    assert (infusion.factors([5, 9, 700], key=b"another key") != together).all()


def test_infused_cells_are_sums_of_factor_times_count_and_zero_stays_zero() -> None:
    factors = np.array([1.1, 0.9, 1.05])
    counts = np.array([[100, 0], [50, 10], [20, 0]])
    table = NoiseInfusion().apply([0, 0, 2], counts, 4, factors, SeededEntropy(1))
    assert table == pytest.approx(np.array([[155.0, 9.0], [0, 0], [21.0, 0], [0, 0]]))


def test_small_cells_become_one_or_two_in_proportion_to_what_is_seen() -> None:
    cells = 9_000
    counts = np.where(np.arange(cells) % 3 == 0, 2, 1)[:, None]  # two thirds of the cells hold 1
    table = NoiseInfusion().apply(np.arange(cells), counts, cells, np.full(cells, 1.1), SeededEntropy(2))
    assert set(np.unique(table)) == {1.0, 2.0}
    share_of_ones = (table == 1).mean()
    assert abs(share_of_ones - 2 / 3) < 0.025  # five standard errors
    # The draw ignores the cell's own count, as a posterior predictive draw does.
    assert abs((table[counts == 2] == 1).mean() - 2 / 3) < 0.045


def test_a_count_at_or_above_the_limit_is_not_replaced() -> None:
    table = NoiseInfusion(small_cell="2.5").apply([0], [[3]], 1, [1.1], SeededEntropy(3))
    assert table[0, 0] == pytest.approx(3.3)
    untouched = NoiseInfusion(small_cell="0").apply([0], [[1]], 1, [1.1], SeededEntropy(3))
    assert untouched[0, 0] == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("contributors", "suppressed"),
    [
        ([100], True),  # alone
        ([100, 50], True),  # the second knows the first
        ([100, 50, 14], True),  # the rest, 14, is below 15% of 100
        ([100, 50, 15], False),
        ([100, 50, 10, 5], False),
        ([0, 0], False),  # nothing to protect: zero is published
    ],
)
def test_the_p_percent_rule(contributors: list[int], suppressed: bool) -> None:
    published = SuppressAndRound().apply([0] * len(contributors), [[n] for n in contributors], 1)
    assert np.isnan(published[0, 0]) == suppressed


def test_minimum_of_contributors_counts_establishments_with_workers() -> None:
    counts = [[30], [30], [0], [30]]
    cells = [0, 0, 0, 1]
    strict = SuppressAndRound(p="0", minimum=3).apply(cells, counts, 2)
    assert np.isnan(strict).all()
    loose = SuppressAndRound(p="0", minimum=2).apply(cells, counts, 2)
    assert loose[0, 0] == 60
    assert np.isnan(loose[1, 0])


def test_rounding_goes_to_the_nearest_multiple_of_the_base() -> None:
    counts = [[n] for n in (10, 1, 1, 10, 1, 2)]
    published = SuppressAndRound(p="0").apply([0, 0, 0, 1, 1, 1], counts, 2)
    assert published.ravel().tolist() == [10.0, 15.0]


def test_holes_share_the_rest_of_their_margin_by_public_weight() -> None:
    published = np.array([[20.0], [np.nan], [np.nan], [np.nan]])
    filled = SuppressAndRound().impute(published, margin=[0, 0, 0, 1], totals=[[52], [11]], weight=[9, 1, 2, 4])
    assert filled.ravel() == pytest.approx([20, 10, 20, 10])


def test_a_margin_below_its_published_parts_leaves_nothing_negative() -> None:
    published = np.array([[25.0], [np.nan]])
    filled = SuppressAndRound().impute(published, margin=[0, 0], totals=[[22]], weight=[1, 1])
    assert filled[1, 0] == 0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: NoiseInfusion(s="0.2", t="0.1"), "s, t"),
        (lambda: NoiseInfusion(s="0"), "s, t"),
        (lambda: NoiseInfusion(small_cell="-1"), "small_cell"),
        (lambda: NoiseInfusion().factors([1], key=b""), "key"),
        (lambda: SuppressAndRound(p="-0.1"), "p"),
        (lambda: SuppressAndRound(base=0), "base"),
        (lambda: SuppressAndRound().apply([0, 9], [[1], [1]], 2), "cell"),
        (lambda: SuppressAndRound().apply([0], [1], 2), "counts"),
    ],
)
def test_wrong_arguments_are_named(make: object, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        make()  # type: ignore[operator]


def test_after_secondary_suppression_no_line_with_a_total_has_a_single_hole() -> None:
    random = np.random.default_rng(5)
    shape = (6, 8)
    rows, columns = (one.ravel() for one in np.indices(shape))
    for _ in range(20):
        truth = random.integers(1, 60, 48).astype(float)
        published = np.where(truth < 5, np.nan, truth)
        shown = with_secondary(published, truth, [rows, columns])
        holes = np.isnan(shown).reshape(shape)
        assert (np.isnan(shown) >= np.isnan(published)).all()
        assert not (holes.sum(axis=0) == 1).any()
        assert not (holes.sum(axis=1) == 1).any()
        assert np.array_equal(shown[~holes.ravel()], published[~holes.ravel()])
