"""Do the draws have the law they claim? Fresh system entropy every time, one declared failure rate.

Each test accepts the right law and rejects laws 20 percent off with the same statistic and the same number of
draws: a test that cannot fail would show nothing.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from support.goodness_of_fit import WRONG, cells_p_value, counts_p_value, fits
from tacita.noise.discrete import DiscreteLaplace, discrete_laplace
from tacita.noise.entropy import SystemEntropy
from tacita.noise.laws import Laplace, QuarticCauchy, Student
from tacita.noise.rounding import noisy_log, noisy_on_grid

pytestmark = pytest.mark.fresh
DRAWS = 200_000


def exact_chances(edge_cdf: Any, lowest: int, highest: int) -> NDArray[np.float64]:
    """Cell probabilities from a distribution function at the lower edges of cells, with open ends."""
    edges = [0.0, *(float(edge_cdf(g).mid()) for g in range(lowest, highest + 2)), 1.0]
    return np.diff(np.array(edges))


# ---------------------------------------------------------------- discrete Laplace


def discrete_p_value(draws: NDArray[np.int64], scale: Fraction) -> float:
    """Cells as wide as the scale needs, so that large scales are tested as well: floor(k / width)."""
    width = max(1, round(float(scale) / 8))
    s = float(scale)

    def below(k: int) -> float:  # P(noise < k)
        tail = np.exp(-abs(k if k > 0 else 1 - k) / s) / (1 + np.exp(-1 / s))
        return float(1 - tail if k > 0 else tail)

    edges = [0.0, *(below(g * width) for g in range(-60, 62)), 1.0]
    return cells_p_value(draws // width, -60, np.diff(np.array(edges)))


DISCRETE = [Fraction(1, 3), Fraction(1), Fraction(2), Fraction(17, 5), Fraction(10), Fraction(333, 2), Fraction(10**7)]


@pytest.mark.parametrize("scale", DISCRETE)
def test_discrete_laplace_has_its_law(scale: Fraction) -> None:
    assert fits(discrete_p_value(discrete_laplace(DRAWS, scale, SystemEntropy()), scale))


@pytest.mark.parametrize("scale", DISCRETE)
@pytest.mark.parametrize("factor", WRONG)
def test_discrete_laplace_of_a_wrong_scale_is_rejected(scale: Fraction, factor: Fraction) -> None:
    draws = discrete_laplace(DRAWS, scale * factor, SystemEntropy())
    assert not fits(discrete_p_value(draws, scale))


def test_one_draw_in_twenty_rounded_towards_zero_is_rejected() -> None:
    """A subtler fault than a wrong scale."""
    draws = discrete_laplace(DRAWS, Fraction(1), SystemEntropy())
    draws[: DRAWS // 20] -= np.sign(draws[: DRAWS // 20])
    assert not fits(discrete_p_value(draws, Fraction(1)))


def test_the_smallest_scale_leaves_every_value_alone() -> None:
    """P(noise ≠ 0) is about 7·10⁻⁴⁴ at scale 1/100."""
    assert not discrete_laplace(DRAWS, Fraction(1, 100), SystemEntropy()).any()


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10)])
def test_successive_draws_are_independent(scale: Fraction) -> None:
    draws = discrete_laplace(DRAWS, scale, SystemEntropy())
    margin = DiscreteLaplace(scale).margin(0.9)
    chances = DiscreteLaplace(scale).pmf(np.arange(-margin, margin + 1))
    chances[[0, -1]] += (1 - chances.sum()) / 2
    a, b = (np.clip(part, -margin, margin) + margin for part in (draws[0::2], draws[1::2]))
    table = np.zeros((2 * margin + 1, 2 * margin + 1), dtype=np.int64)
    np.add.at(table, (a, b), 1)
    assert fits(counts_p_value(table, np.outer(chances, chances)))


def opendp_draws(scale: float, count: int) -> NDArray[np.int64]:
    prelude = pytest.importorskip("opendp.prelude", reason="OpenDP is a development dependency")
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T=int)), prelude.l1_distance(T=int)
    return np.array(prelude.m.make_laplace(*space, scale=scale)([0] * count))


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(10)])
def test_the_law_tested_here_is_opendp_s_too(scale: Fraction) -> None:
    theirs = opendp_draws(float(scale), 30_000)
    assert fits(discrete_p_value(theirs, scale))
    for factor in WRONG:
        assert not fits(discrete_p_value(theirs, scale * factor))


# ---------------------------------------------------------------- rounded continuous laws

LAWS = [Laplace(), Student(Fraction(3)), Student(Fraction(8, 5)), QuarticCauchy()]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def rounded_p_value(draws: NDArray[np.int64], law: Any, centre: int, scale: Fraction, grid: Fraction) -> float:
    def edge_cdf(g: int) -> Any:
        z = (Fraction(2 * g - 1, 2) * grid - centre) / scale
        with ctx.workprec(100):
            return law.cdf_arb(arb(z.numerator) / arb(z.denominator), 100)

    middle, reach = int(centre / grid), int(12 * scale / grid)
    return cells_p_value(draws, middle - reach, exact_chances(edge_cdf, middle - reach, middle + reach))


def rounded(law: Any, centre: int, scale: Fraction, grid: Fraction) -> NDArray[np.int64]:
    cells = np.full(DRAWS, centre)
    return noisy_on_grid(cells, np.array(scale.numerator), scale.denominator, law, SystemEntropy(), "jobs", grid=grid)


CASES = [(7, Fraction(13, 4), Fraction(1)), (-1000, Fraction(1, 3), Fraction(1, 20)), (12, Fraction(20), Fraction(5))]


@every_law
@pytest.mark.parametrize(("centre", "scale", "grid"), CASES)
def test_rounded_noise_has_its_law(law: Any, centre: int, scale: Fraction, grid: Fraction) -> None:
    draws = rounded(law, centre, scale, grid)
    assert fits(rounded_p_value(draws, law, centre, scale, grid))


@every_law
@pytest.mark.parametrize("factor", WRONG)
def test_rounded_noise_of_a_wrong_scale_is_rejected(law: Any, factor: Fraction) -> None:
    centre, scale, grid = CASES[0]
    draws = rounded(law, centre, scale * factor, grid)
    assert not fits(rounded_p_value(draws, law, centre, scale, grid))


def test_one_law_is_not_mistaken_for_another() -> None:
    centre, scale, grid = CASES[0]
    draws = rounded(Student(Fraction(3)), centre, scale, grid)
    assert not fits(rounded_p_value(draws, Student(Fraction(7, 2)), centre, scale, grid))
    # Rounding down instead of to the nearest is a shift by half a step.
    assert not fits(rounded_p_value(draws - (np.arange(DRAWS) % 2), Student(Fraction(3)), centre, scale, grid))


# ---------------------------------------------------------------- log-Laplace

GAMMA, FACTOR = Fraction(10), Fraction(99, 100)


def log_p_value(draws: NDArray[np.int64], count: int, lam: Fraction) -> float:
    def edge_cdf(g: int) -> Any:
        ratio = (Fraction(2 * g - 1, 2) + GAMMA) / ((count + GAMMA) * FACTOR)
        if ratio <= 0:
            return arb(0)
        with ctx.workprec(100):
            # P(e^(λη) < r) written as a power, the way the code under test does not.
            power = (arb(ratio.numerator) / arb(ratio.denominator)) ** (arb(lam.denominator) / arb(lam.numerator))
            return power / 2 if ratio < 1 else 1 - 1 / (2 * power)

    return cells_p_value(draws, -10, exact_chances(edge_cdf, -10, 8 * (count + 10)))


@pytest.mark.parametrize("count", [0, 40])
@pytest.mark.parametrize("lam", [Fraction(95311, 10**6), Fraction(1, 2)])
def test_log_noise_has_its_law(count: int, lam: Fraction) -> None:
    def drawn(lam: Fraction) -> NDArray[np.int64]:
        return noisy_log(np.full(DRAWS, count), GAMMA, lam, FACTOR, SystemEntropy(), "jobs")

    assert fits(log_p_value(drawn(lam), count, lam))
    for factor in WRONG:
        assert not fits(log_p_value(drawn(lam * factor), count, lam))
