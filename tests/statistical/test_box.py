"""Do vectors from the box law have the joint law they claim? Fresh system entropy, one declared failure rate."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.stats import beta

from support.goodness_of_fit import WRONG, cells_p_value, counts_p_value, fits, values_p_value
from tacita.mechanisms.magnitude.together_design import least_noise
from tacita.noise import power
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.noise.power import BoxLaw

pytestmark = pytest.mark.fresh
F = Fraction
DRAWS = 100_000
LAWS = [BoxLaw(F(3), F(2), 3), BoxLaw(F(3, 2), F(1, 2), 2), least_noise(F("0.1"), F(4), 3)]
every_law = pytest.mark.parametrize("law", LAWS, ids=["a=3", "a=3/2", "designed"])


def vectors(law: BoxLaw, scale: Fraction, entropy: Any = None) -> NDArray[np.int64]:
    centre = np.full((DRAWS, law.width), 7)
    numerators = np.full(centre.shape, scale.numerator)
    return law.on_grid(centre, numerators, scale.denominator, entropy or SystemEntropy(), "pay") - 7


def fine(law: BoxLaw) -> NDArray[np.float64]:
    """Draws in units of the scale, rounded so finely that rounding does not matter."""
    return vectors(law, F(10**8)) / 1e8


def coordinate_below(law: BoxLaw, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """One coordinate, integrated from the joint density: of points with a coordinate z the others lie in cubes."""
    a, b, d = float(law.a), float(law.b), law.width
    z = np.concatenate([[0.0], np.geomspace(1e-6, 1e7, 60_000)])
    # ∫ over the other d − 1 coordinates of (b + max)^−(a+d): those within |z|, and shells beyond it.
    shells = (d - 1) * 2 ** (d - 1) * z ** (d - 2) * (b + z) ** -(a + d) if d > 1 else np.zeros_like(z)
    shells[0] = shells[1] if d == 2 else 0.0
    beyond = cumulative_trapezoid(shells[::-1], -z[::-1], initial=0)[::-1]
    density = (2 * z) ** (d - 1) * (b + z) ** -(a + d) + beyond
    half = cumulative_trapezoid(density, z, initial=0)
    within = np.interp(np.abs(x), z, half / half[-1])
    return np.where(x < 0, (1 - within) / 2, (1 + within) / 2)


def coordinate_p_value(draws: NDArray[np.int64], law: BoxLaw, scale: Fraction) -> float:
    reach = int(30 * float(scale) * law.mean_abs())
    edges = (np.arange(-reach, reach + 2) - 0.5) / float(scale)
    return cells_p_value(draws, -reach, np.diff(np.concatenate([[0.0], coordinate_below(law, edges), [1.0]])))


@every_law
def test_every_coordinate_has_its_law(law: BoxLaw) -> None:
    draws = vectors(law, F(13, 4))
    for j in range(law.width):
        assert fits(coordinate_p_value(draws[:, j], law, F(13, 4)))


@every_law
def test_the_law_that_margins_use_is_that_of_a_coordinate(law: BoxLaw) -> None:
    x = np.concatenate([-np.geomspace(1e-2, 1e4, 50), np.geomspace(1e-2, 1e4, 50)])
    assert np.abs(law.cdf(x) - coordinate_below(law, x)).max() < 1e-5


@every_law
@pytest.mark.parametrize("factor", WRONG)
def test_a_wrong_scale_is_rejected(law: BoxLaw, factor: Fraction) -> None:
    assert not fits(coordinate_p_value(vectors(law, F(13, 4) * factor)[:, 0], law, F(13, 4)))


def norm_p_value(draws: NDArray[np.float64], law: BoxLaw) -> float:
    """max |Z_i| has density ∝ t^(d−1)·(b + t)^−(a+d), so max/(b + max) is Beta(d, a)."""
    norm = np.abs(draws).max(axis=1)
    return values_p_value(norm / (float(law.b) + norm), beta(law.width, float(law.a)).cdf)


@every_law
def test_the_largest_coordinate_has_its_law(law: BoxLaw) -> None:
    assert fits(norm_p_value(fine(law), law))


def test_independent_coordinates_are_rejected() -> None:
    """Right margins and a wrong joint law: the mistake that tests of single coordinates cannot see."""
    law = LAWS[0]
    apart = np.column_stack([fine(law)[:, 0] for _ in range(3)])
    assert not fits(norm_p_value(apart, law))
    assert not fits(norm_p_value(0.8 * fine(law), law))


@every_law
def test_given_the_largest_all_else_is_uniform(law: BoxLaw) -> None:
    draws = fine(law)
    place = np.abs(draws).argmax(axis=1)
    assert fits(counts_p_value(np.bincount(place), np.full(law.width, 1 / law.width)))
    share = np.take_along_axis(draws, ((place + 1) % law.width)[:, None], 1)[:, 0] / np.abs(draws).max(axis=1)
    far = np.abs(draws).max(axis=1) > np.median(np.abs(draws).max(axis=1))
    for some in (far, ~far):
        assert fits(values_p_value((share[some] + 1) / 2, lambda u: u))


@every_law
@pytest.mark.parametrize("scale", [F(0), F(1, 1000), F(11, 10), F(10**7, 3), F(10**13)])
def test_both_ways_of_rounding_agree(law: BoxLaw, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words through doubles and through interval arithmetic."""

    def drawn() -> NDArray[np.int64]:
        centre = np.arange(300 * law.width).reshape(300, law.width)
        numerators = np.full(centre.shape, scale.numerator) * np.arange(1, law.width + 1)
        return law.on_grid(centre, numerators, scale.denominator, SeededEntropy(8), "pay")

    fast = drawn()
    monkeypatch.setattr(power, "_TINY", 2.0)
    assert np.array_equal(drawn(), fast)


@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("scale", [0, 1, 2**40, 2**60])
def test_the_outermost_words_are_safe(word: int, scale: int) -> None:
    """Uniforms at their ends: nothing fails, and sums stop at the bound."""

    class Says:
        rehearsal = True

        def announce(self, request: Any) -> None:
            pass

        def words(self, count: int) -> NDArray[np.uint64]:
            given = np.full(count, 2**63 + 12345, dtype=np.uint64)
            given[:7] = word
            return given

    noisy = LAWS[0].on_grid(np.zeros((1, 3), dtype=np.int64), np.full((1, 3), scale), 1, Says(), "pay")
    assert (np.abs(noisy) <= 2**61).all()
    if word <= 1:
        assert (noisy <= 0).all()
        assert scale < 2**40 or (noisy < -(2**40)).all()
