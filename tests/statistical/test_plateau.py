"""Do draws from plateau laws have the law they claim? Fresh system entropy, one declared failure rate."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.goodness_of_fit import WRONG, cells_p_value, counts_p_value, fits
from support.laws_by_hand import plateau_masses
from tacita.data.workforce import Workforce
from tacita.mechanisms.eree import SmoothStaircase
from tacita.mechanisms.eree.staircase_design import least_noise
from tacita.noise import plateau
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.noise.plateau import WEIGHT_BITS, PlateauLaw

pytestmark = pytest.mark.fresh
F = Fraction
DRAWS = 200_000
LAWS = {
    "α = 0.1, ε = 2": least_noise(F("0.1"), F(2)),
    "α = 0.1, ε = 0.5": least_noise(F("0.1"), F("0.5")),
    # Lopsided on purpose, with a zero weight and tails that hold three quarters of all mass.
    "lopsided": PlateauLaw(
        (F(-5, 2), F(-1), F(-1, 3), F(1), F(2), F(4)), (2**60, 2**58, 0, 2**58, 5 * 2**59), 1, F(3, 2), F(2), F(1, 4)
    ),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def rounded(law: PlateauLaw, centre: int, scale: Fraction, entropy: Any = None) -> NDArray[np.int64]:
    cells, num = np.full(DRAWS, centre), np.full(DRAWS, scale.numerator)
    return law.on_grid(cells, num, scale.denominator, entropy or SystemEntropy(), "jobs")


def rounded_chances(law: PlateauLaw, scale: Fraction, reach: int) -> NDArray[np.float64]:
    """Everything below −reach, each whole number up to reach, everything above."""
    edges = (np.arange(-reach, reach + 2) - 0.5) / float(scale)
    below, above = float(law.cdf(edges[:1])[0]), float(1 - law.cdf(edges[-1:])[0])
    return np.concatenate([[below], plateau_masses(law, edges), [above]])


def rounded_p_value(draws: NDArray[np.int64], law: PlateauLaw, centre: int, scale: Fraction) -> float:
    reach = max(4, int(12 * scale * Fraction(law.mean_abs())))
    return cells_p_value(draws, centre - reach, rounded_chances(law, scale, reach))


@every_law
@pytest.mark.parametrize("scale", [F(11, 10), F(13, 4), F(40)])
def test_rounded_noise_has_its_law(law: PlateauLaw, scale: Fraction) -> None:
    assert fits(rounded_p_value(rounded(law, 7, scale), law, 7, scale))


@every_law
@pytest.mark.parametrize("factor", WRONG)
def test_noise_of_a_wrong_scale_is_rejected(law: PlateauLaw, factor: Fraction) -> None:
    scale = F(13, 4)
    assert not fits(rounded_p_value(rounded(law, 7, scale * factor), law, 7, scale))


@every_law
def test_noise_rounded_down_is_rejected(law: PlateauLaw) -> None:
    scale = F(13, 4)
    draws = rounded(law, 7, scale) - (np.arange(DRAWS) % 2)
    assert not fits(rounded_p_value(draws, law, 7, scale))


def test_a_mirrored_law_is_rejected() -> None:
    """The lopsided law the other way round: left and right tails are not mixed up."""
    law = LAWS["lopsided"]
    assert not fits(rounded_p_value(-rounded(law, 0, F(40)), law, 0, F(40)))


def periods_p_value(drawn: Any, in_tail: NDArray[np.bool_], ratio: float) -> float:
    """Geometric; everything from the sixtieth period on is one cell."""
    chances = (1 - ratio) * ratio ** np.arange(61)
    chances[60] = ratio**60
    return counts_p_value(np.bincount(np.minimum(drawn.period[in_tail], 60), minlength=61), chances)


@every_law
def test_plateaus_and_periods_are_drawn_by_weight(law: PlateauLaw) -> None:
    drawn = law.draw(DRAWS, SystemEntropy())
    weights = np.array(law.weights) / 2.0**WEIGHT_BITS
    seen = np.bincount(drawn.column, minlength=weights.size)
    assert not seen[weights == 0].any()
    assert fits(counts_p_value(seen, weights))
    in_tail = (drawn.column < law.tail) | (drawn.column >= weights.size - law.tail)
    assert not drawn.period[~in_tail].any()
    assert fits(periods_p_value(drawn, in_tail, float(law.ratio)))


def test_a_wrong_tail_ratio_is_rejected() -> None:
    law = LAWS["lopsided"]
    drawn = law.draw(DRAWS, SystemEntropy())
    for factor in (0.9, 1.1):
        in_tail = (drawn.column == 0) | (drawn.column == 4)
        assert not fits(periods_p_value(drawn, in_tail, factor * float(law.ratio)))


def test_successive_draws_are_independent() -> None:
    law = LAWS["α = 0.1, ε = 2"]
    draws, chances = rounded(law, 0, F(5)), rounded_chances(law, F(5), 3)
    a, b = (np.clip(part, -4, 4) + 4 for part in (draws[0::2], draws[1::2]))
    table = np.zeros((9, 9), dtype=np.int64)
    np.add.at(table, (a, b), 1)
    assert fits(counts_p_value(table, np.outer(chances, chances)))


@every_law
@pytest.mark.parametrize("scale", [F(0), F(1, 1000), F(11, 10), F(10**7, 3), F(10**15)])
def test_both_ways_of_rounding_agree(law: PlateauLaw, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words through doubles and through rational arithmetic."""

    def drawn() -> NDArray[np.int64]:
        numerators = np.full(3000, scale.numerator)
        return law.on_grid(np.arange(3000), numerators, scale.denominator, SeededEntropy(4), "jobs")

    fast = drawn()
    monkeypatch.setattr(plateau, "_SLACK", 1e30)
    assert np.array_equal(drawn(), fast)


@pytest.mark.parametrize("word", [0, 2**63, 2**64 - 1])
@pytest.mark.parametrize("scale", [0, 1, 2**40, 2**62])
def test_the_outermost_words_are_safe(word: int, scale: int) -> None:
    """Nothing wraps around, whatever the words; the tail coin comes down in the end."""

    class Says:
        rehearsal = True
        asked = 0

        def announce(self, request: Any) -> None:
            pass

        def words(self, count: int) -> NDArray[np.uint64]:
            self.asked += 1
            # After the plateau, the position and forty outward steps the coin lands on its other side.
            return np.full(count, word if self.asked <= 42 else 2**64 - 1, dtype=np.uint64)

    law = LAWS["lopsided"]
    for centre in (0, 2**61, -(2**61)):
        noisy = int(law.on_grid(np.array([centre]), np.array([scale]), 1, Says(), "jobs")[0])
        assert abs(noisy) <= 2**61  # the sum stops there, not the noise
        assert noisy - centre <= 0 if word == 0 else noisy - centre >= 0


def test_draws_that_reach_the_bound_stop_there() -> None:
    law = LAWS["lopsided"]
    draws = law.on_grid(np.zeros(2000, dtype=np.int64), np.full(2000, 2**62), 1, SeededEntropy(1), "jobs")
    assert set(np.unique(np.abs(draws[np.abs(draws) >= 2**61])).tolist()) == {2**61}


@pytest.mark.parametrize("size", [1, 40, 1000])
def test_the_staircase_is_unbiased(size: int) -> None:
    """The mean of many draws is the true count, to within what rounding to whole jobs moves it."""
    plan = SmoothStaircase("0.1", "2", by=["place"])
    counts = np.full((DRAWS, 1), size)
    cells = Workforce({}, counts, counts, counts[:, 0], counts[:, 0])
    error = plan.measure(cells, SystemEntropy())[:, 0] - size
    # Seven standard errors of a mean of 200,000 draws with light tails: crossed less than once in 10¹¹ runs.
    assert abs(error.mean()) < ROUNDING_BIAS + 7 * error.std() / np.sqrt(DRAWS)


# The law has mean zero but is not symmetric, so rounding it to whole numbers can move its mean, by this many jobs at
# most, up or down with the scale.
ROUNDING_BIAS = 0.03


@pytest.mark.parametrize(("alpha", "epsilon"), [("0.1", "2"), ("0.1", "1"), ("0.1", "0.5"), ("0.2", "2")])
def test_rounding_hardly_moves_the_mean(alpha: str, epsilon: str) -> None:
    law, floor = least_noise(F(alpha), F(epsilon)), float(1 + F(alpha))
    assert abs(law.mean()) < 1e-12
    for scale in np.geomspace(floor, 10 * floor, 9):
        reach = int(50 * scale * law.mean_abs()) + 20
        whole = np.arange(-reach, reach + 1)
        masses = plateau_masses(law, (np.append(whole, reach + 1) - 0.5) / scale)
        assert abs(float(masses @ whole)) < ROUNDING_BIAS
