"""Do vectors from the power law have the joint law they claim? Fresh system entropy, one declared failure rate."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from support.goodness_of_fit import WRONG, cells_p_value, counts_p_value, fits, share_p_value, values_p_value
from tacita.mechanisms.eree.vector_design import least_noise
from tacita.noise import power
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.noise.power import PowerLaw

pytestmark = pytest.mark.fresh
F = Fraction
DRAWS = 100_000
LAWS = [PowerLaw(F(3), F(2)), PowerLaw(F(3, 2), F(1, 2)), least_noise(F("0.05"), F(4), 3)]
every_law = pytest.mark.parametrize("law", LAWS, ids=["a=3", "a=3/2", "designed"])


def vectors(law: PowerLaw, d: int, scale: Fraction, entropy: Any = None) -> NDArray[np.int64]:
    centre, num = np.full((DRAWS, d), 7), np.full(DRAWS, scale.numerator)
    return law.on_grid(centre, num, scale.denominator, entropy or SystemEntropy(), "jobs") - 7


def fine(law: PowerLaw, d: int) -> NDArray[np.float64]:
    """Draws in units of the scale, rounded so finely that rounding does not matter."""
    return vectors(law, d, F(10**8)) / 1e8


def coordinate_p_value(draws: NDArray[np.int64], law: PowerLaw, scale: Fraction) -> float:
    """One coordinate: P(|Z| > t) = (1 + t/b)^−a, whatever d is."""
    a, b, s = float(law.a), float(law.b), float(scale)
    reach = max(4, int(30 * s * b / (a - 1)))
    edges = (np.arange(-reach, reach + 2) - 0.5) / s
    tail = 0.5 * (1 + np.abs(edges) / b) ** -a
    below = np.where(edges < 0, tail, 1 - tail)
    return cells_p_value(draws, -reach, np.diff(np.concatenate([[0.0], below, [1.0]])))


@every_law
@pytest.mark.parametrize("d", [1, 3])
def test_every_coordinate_has_its_law(law: PowerLaw, d: int) -> None:
    draws = vectors(law, d, F(13, 4))
    for j in range(d):
        assert fits(coordinate_p_value(draws[:, j], law, F(13, 4)))


@every_law
@pytest.mark.parametrize("factor", WRONG)
def test_a_wrong_scale_is_rejected(law: PowerLaw, factor: Fraction) -> None:
    draws = vectors(law, 2, F(13, 4) * factor)
    for j in range(2):
        assert not fits(coordinate_p_value(draws[:, j], law, F(13, 4)))


def norm_p_value(draws: NDArray[np.float64], law: PowerLaw) -> float:
    """‖Z‖₁ has density ∝ t^(d−1)·(b + t)^−(a+d), so ‖Z‖₁/(b + ‖Z‖₁) is Beta(d, a)."""
    norm = np.abs(draws).sum(axis=1)
    return values_p_value(norm / (float(law.b) + norm), beta(draws.shape[1], float(law.a)).cdf)


@every_law
@pytest.mark.parametrize("d", [2, 8])
def test_the_norm_has_its_law(law: PowerLaw, d: int) -> None:
    assert fits(norm_p_value(fine(law, d), law))


def test_independent_coordinates_are_rejected() -> None:
    """Right margins and a wrong joint law: the mistake that tests of single coordinates cannot see."""
    law = LAWS[0]
    apart = np.column_stack([fine(law, 1)[:, 0] for _ in range(3)])
    assert not fits(norm_p_value(apart, law))
    assert not fits(norm_p_value(0.8 * fine(law, 3), law))


@every_law
def test_given_the_norm_all_directions_are_alike(law: PowerLaw) -> None:
    """On a sphere of the L1 norm the law is uniform: the order of coordinates and their shares say nothing."""
    size = np.abs(fine(law, 3))
    order = np.bincount(np.argsort(size, axis=1) @ np.array([9, 3, 1]))
    order = order[order > 0]
    assert order.size == 6
    assert fits(counts_p_value(order, np.full(6, 1 / 6)))
    share = size[:, 1] / size.sum(axis=1)
    far = size.sum(axis=1) > np.median(size.sum(axis=1))
    for some in (np.ones_like(far), far, ~far):
        assert fits(values_p_value(share[some], beta(1, 2).cdf))


def test_signs_are_fair_and_independent() -> None:
    draws = fine(LAWS[0], 3)
    pattern = np.bincount((draws > 0) @ np.array([4, 2, 1]), minlength=8)
    assert fits(counts_p_value(pattern, np.full(8, 1 / 8)))
    large = np.abs(draws[:, 2]) > np.median(np.abs(draws[:, 2]))
    for some in (large, ~large):
        assert fits(float(share_p_value((draws[some, 2] > 0).sum(), some.sum(), 0.5)))


@every_law
@pytest.mark.parametrize("scale", [F(0), F(1, 1000), F(11, 10), F(10**7, 3), F(10**13)])
def test_both_ways_of_rounding_agree(law: PowerLaw, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words through doubles and through interval arithmetic."""

    def drawn() -> NDArray[np.int64]:
        numerators = np.full(400, scale.numerator)
        centre = np.arange(1200).reshape(400, 3)
        return law.on_grid(centre, numerators, scale.denominator, SeededEntropy(8), "jobs")

    fast = drawn()
    monkeypatch.setattr(power, "_TINY", 2.0)
    assert np.array_equal(drawn(), fast)


def scripted(word: int, after: int) -> Any:
    class Says:
        rehearsal = True

        def announce(self, request: Any) -> None:
            pass

        def words(self, count: int) -> NDArray[np.uint64]:
            given = np.full(count, after, dtype=np.uint64)
            given[:2] = word
            return given

    return Says()


@pytest.mark.parametrize("word", [0, 1, 2, 3, 2**64 - 2, 2**64 - 1])
@pytest.mark.parametrize("scale", [0, 1, 2**40, 2**62])
@every_law
def test_the_outermost_words_are_safe(law: PowerLaw, word: int, scale: int) -> None:
    """A uniform of almost zero is the far tail: it stops at the bound and keeps its sign."""
    noisy = law.on_grid(np.zeros((1, 2), dtype=np.int64), np.array([scale]), 1, scripted(word, 2**63 + 12345), "jobs")
    assert (np.abs(noisy) <= 2**61).all()
    assert (noisy <= 0).all() if word & 1 else (noisy >= 0).all()
    if scale >= 2**40 and word <= 1:
        assert (np.abs(noisy) > 2**40).all()
