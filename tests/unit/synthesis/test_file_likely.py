"""What noisy counts of single values likely are, and values drawn by them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.file.bins import number_of, told_by
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.likely import listed_counts, with_ends
from tacita.synthesis.file.numbers import measure_number
from tacita.synthesis.file.tails import with_tails
from tacita.synthesis.file.values import Bins, units_of

NOISE = 13.0


def heaped(random: np.random.Generator) -> NDArray[np.int64]:
    """Body weights of 5,000 persons in bounds that are far wider, a third of them rounded to 5 or 10."""
    exact = np.rint(random.normal(75, 14, 5000)).astype(np.int64)
    habit = random.choice([1, 5, 10], 5000, p=[0.6, 0.2, 0.2])
    return np.bincount((exact + habit // 2) // habit * habit, minlength=301)


def shape_of(truth: NDArray[np.int64], random: np.random.Generator) -> Shape:
    noisy = np.rint(truth + random.normal(0, NOISE, truth.size)).astype(np.int64)
    return Shape(int(truth.sum()), tuple(range(truth.size)), tuple(noisy.tolist()), noise=NOISE**2)


def test_counts_that_those_around_them_foretell_are_nearer_than_measured() -> None:
    """Simply taken as measured, with nothing negative, they are off by twice as much."""
    off, plain = [], []
    for seed in range(6):
        random = np.random.default_rng(seed)
        truth = heaped(random)
        shape = shape_of(truth, random)
        off.append(np.abs(listed_counts(shape) - truth).sum())
        plain.append(np.abs(np.maximum(shape.counts, 0) - truth).sum())
    assert np.mean(off) < 0.5 * np.mean(plain)


def test_a_value_that_stands_out_is_no_empty_end_however_far_the_bounds() -> None:
    random = np.random.default_rng(1)
    truth = np.zeros(400, dtype=np.int64)
    truth[:15] = 300
    truth[20] = 200
    for _ in range(8):
        counts = listed_counts(shape_of(truth, random))
        assert counts[20] == pytest.approx(200, abs=6 * NOISE)
        assert counts[40:].sum() < 200


def test_what_an_outer_bin_lacks_stands_in_its_empty_end() -> None:
    counts = np.array([0.0] * 10 + [50.0] * 10 + [0.0] * 30)
    bins = np.array([0] * 15 + [1] * 35)
    whole = with_ends(counts, bins, np.array([250.0, 450.0]), noise=25.0)
    assert whole[:20].tolist() == counts[:20].tolist(), "the first bin lacks nothing"
    assert whole[20:].sum() == pytest.approx(200, rel=0.05)
    assert (np.diff(whole[20:]) <= 0).all(), "fewer and fewer outwards"


def test_files_differ_by_about_what_noise_leaves_open_of_counts() -> None:
    random = np.random.default_rng(1)
    truth = heaped(random)
    shape = shape_of(truth, random)
    middle = listed_counts(shape)
    error = ((middle - truth)[40:120] ** 2).mean()
    spread = np.mean([((listed_counts(shape, random) - middle)[40:120] ** 2).mean() for _ in range(20)])
    assert 0.6 < (spread / error) ** 0.5 < 1.6


def test_values_of_a_bin_are_drawn_evenly() -> None:
    """By chance each of ten values would be off by ten records or so of a hundred."""
    number = number_of("x", Grid(0, 99, 1.0), False, Shape(1000, tuple(range(100)), (100,) * 100, noise=1e-6), 10)
    codes = number.code(np.repeat(np.arange(100.0), 100))
    for state, drawn in ((k, units_of(number, codes, np.random.default_rng(2))[codes == k]) for k in range(3)):
        first, last = number.ends(state)
        counts = np.bincount(drawn - first, minlength=last - first + 1)
        assert np.abs(counts - drawn.size / counts.size).max() <= 2


def test_bins_know_what_was_counted_of_their_values() -> None:
    grid = Grid(0, 99, 1.0)
    number = number_of("x", grid, True, Shape(1000, tuple(range(100)), (10,) * 100, noise=4.0), 4)
    told = told_by(number, 3)
    assert told is not None
    widths = np.diff([0, *number.cuts, 100])
    assert told.counts.tolist() == [*(10.0 * widths), 0.0]
    assert told.precision.tolist() == pytest.approx([*(1 / (4.0 * widths)), 0.0]), "nothing is said of the missing"
    assert told_by(number_of("y", Grid(0, 9, 1.0), False, Shape(1000), 4), 0) is None


def incomes(random: np.random.Generator) -> NDArray[np.float64]:
    """Of 5,000 persons, most in hundreds, of which some are far more usual than others."""
    exact = np.rint(random.lognormal(7.3, 0.6, 5000))
    hundreds = np.arange(1, 100) * 100
    usual = np.where(hundreds % 500 == 0, 3.0, np.where(hundreds % 200 == 0, 2.0, 0.5))
    near = np.exp(-((np.log(exact[:, None] / hundreds) / 0.15) ** 2)) * usual + 1e-12
    at = (np.cumsum(near, axis=1) < random.random((5000, 1)) * near.sum(axis=1, keepdims=True)).sum(axis=1)
    return np.where(random.random(5000) < 0.85, hundreds[np.minimum(at, 98)], exact)


def test_round_amounts_are_as_usual_as_they_were_counted() -> None:
    random = np.random.default_rng(1)
    values, grid = incomes(random), Grid(0, 100_000, 1.0)
    budget = Budget(Fraction(1, 5), False, False)
    truth = np.bincount(values.astype(np.int64), minlength=10_001)[:10_001:100]
    with_tallies, without = [], []
    for seed in range(4):
        shape = measure_number(values, grid, 5000, budget, Fraction(1, 200), SeededEntropy(seed), "income")
        for some, found in ((shape, with_tallies), (replace(shape, tallies=()), without)):
            number = number_of("income", grid, False, some, 10)
            units = Bins(number).units(number.code(values), np.random.default_rng(1), None)
            found.append(np.abs(np.bincount(units, minlength=10_001)[:10_001:100] - truth).sum())
    assert np.mean(with_tallies) < 0.8 * np.mean(without)


def test_noise_on_values_that_nobody_has_hardly_moves_a_mean() -> None:
    """Children in bounds up to 100; the outer bin has 93 of 4,000 families, none of which has more than 6."""
    truth = np.zeros(101, dtype=np.int64)
    truth[:7] = 1349, 1491, 784, 283, 72, 15, 6
    bins = np.minimum(np.arange(101), 4)
    margin = np.array([1349.0, 1491.0, 784.0, 283.0, 93.0])
    for seed in range(8):
        random = np.random.default_rng(seed)
        noisy = np.rint(truth + random.normal(0, 24.0, 101))
        expected = np.where(np.arange(101) < 60, 1.0, 0.0)
        counts = with_tails(np.maximum(noisy, 0.0), expected, noisy, bins, margin, 24.0**2, None)
        assert counts[4:].sum() == pytest.approx(93.0)
        assert counts @ np.arange(101) == pytest.approx(truth @ np.arange(101), rel=0.1)
