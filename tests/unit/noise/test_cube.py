"""Noise on a cube: its law, its remainders, what it loses, and where it is refused."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.goodness_of_fit import WRONG, counts_p_value, fits
from tacita.errors import UsageError
from tacita.noise import cube
from tacita.noise.cube import CubeLaw, _below, add_cube, cube_noise
from tacita.noise.entropy import SeededEntropy, SystemEntropy, reserve
from tacita.noise.replay import Recording

DRAWS = 3_000
LAWS = [CubeLaw(Fraction(1, 2), 2), CubeLaw(Fraction(5, 3), 6), CubeLaw(Fraction(8), 11), CubeLaw(Fraction(20), 3)]


def sides(law: CubeLaw, factor: Fraction = Fraction(1)) -> np.ndarray:
    """P(k) ∝ (2k + 1)^d exp(−k/s), from 0 on: how long half a side of the cube is."""
    scale = float(law.scale * factor)
    k = np.arange(int((law.cells + 12 * law.cells**0.5 + 40) * scale) + 2)
    logs = law.cells * np.log(2 * k + 1) - k / scale
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def largest_p_value(found: np.ndarray, law: CubeLaw, factor: Fraction = Fraction(1)) -> float:
    """Of max|z|, by a plain sum over cubes."""
    chances = sides(law, factor)
    k = np.arange(len(chances))
    below = np.array([chances @ np.minimum((2 * m + 1) / (2 * k + 1), 1) ** law.cells for m in k])
    counts = np.bincount(np.abs(found).max(axis=1), minlength=len(k))
    return counts_p_value(counts, np.diff(below, prepend=0.0) / below[-1])


def one_p_value(found: np.ndarray, law: CubeLaw, factor: Fraction = Fraction(1)) -> float:
    """Of the last value alone: a mixture of even laws."""
    chances = sides(law, factor)
    each = chances / (2 * np.arange(len(chances)) + 1)
    above = np.cumsum(each[::-1])[::-1]
    law_of_one = np.concatenate([above[:0:-1], above])
    most = len(chances) - 1
    return counts_p_value(np.bincount(found[:, -1] + most, minlength=2 * most + 1), law_of_one / law_of_one.sum())


@pytest.mark.fresh
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_follow_the_law(law: CubeLaw) -> None:
    found = cube_noise(DRAWS, law, SystemEntropy())
    assert found.shape == (DRAWS, law.cells)
    assert fits(largest_p_value(found, law))
    assert fits(one_p_value(found, law))
    for factor in WRONG:
        assert not fits(largest_p_value(found, law, factor)), "noise a fifth off is not seen"


@pytest.mark.fresh
def test_every_vector_has_its_chance() -> None:
    """Two values, each vector by itself: exp(−max|z|/s), whatever the direction."""
    law, reach = CubeLaw(Fraction(1), 2), 12
    found = cube_noise(20_000, law, SystemEntropy())
    vectors = list(product(range(-reach, reach + 1), repeat=2))
    chances = np.exp([-max(abs(a), abs(b)) / float(law.scale) for a, b in vectors])
    inside = np.abs(found).max(axis=1) <= reach
    codes = (found[inside, 0] + reach) * (2 * reach + 1) + found[inside, 1] + reach
    assert inside.mean() > 0.999
    assert fits(counts_p_value(np.bincount(codes, minlength=len(vectors)), chances / chances.sum()))
    sums = np.exp([-(abs(a) + abs(b)) / float(law.scale) for a, b in vectors])
    assert not fits(counts_p_value(np.bincount(codes, minlength=len(vectors)), sums / sums.sum()))


def test_values_spread_as_is_stated_and_do_not_go_together() -> None:
    law = CubeLaw(Fraction(40), 11)
    found = cube_noise(DRAWS, law, SeededEntropy(5)).astype(float)
    assert found.std(axis=0) == pytest.approx(law.spread, rel=0.06)
    assert np.abs(np.corrcoef(found.T) - np.eye(11)).max() < 0.08


@pytest.mark.parametrize("end", [2, 3, 2**63 + 1, 2**64, 2**64 + 1])
def test_remainders_are_even_and_reach_both_ends(end: int) -> None:
    spare = reserve(64, SeededEntropy(1))
    found = [_below(end, spare) for _ in range(300)]
    assert 0 <= min(found) <= max(found) < end
    assert max(found) >= 0.9 * (end - 1)
    assert min(found) <= 0.1 * end


def test_all_values_have_noise_together_and_it_is_announced() -> None:
    recorded = Recording(SeededEntropy(2))
    noisy = add_cube(np.array([[10**6, 0], [7, -4]]), Fraction(30), recorded, "jobs")
    assert noisy.shape == (2, 2)
    assert str(CubeLaw(Fraction(30), 4)) in [one.law for one in recorded.requests]


@pytest.mark.parametrize(
    ("scale", "cells"), [(Fraction(1, 2), 11), (Fraction(5), 1), (Fraction(2**41), 4), (Fraction(10**6), 5000)]
)
def test_what_is_not_drawn_quickly_is_refused(scale: Fraction, cells: int) -> None:
    with pytest.raises(UsageError, match="use discrete Laplace noise"):
        add_cube(np.zeros(cells, dtype=np.int64), scale, SeededEntropy(1), "jobs")
    with pytest.raises(UsageError, match="whole numbers"):
        add_cube(np.zeros(4), Fraction(9), SeededEntropy(1), "jobs")


def test_sums_are_cut_where_numbers_end_and_noise_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A noise that was cut before the value is added would tell the value."""
    monkeypatch.setattr(cube, "_cubes", lambda *given: [[2**70, -(2**70), 5, 2**62]])
    noisy = add_cube(np.array([3, 4, 2, 7]), Fraction(30), SeededEntropy(1), "jobs")
    assert noisy.tolist() == [2**63 - 1, 1 - 2**63, 7, 2**62 + 7]
