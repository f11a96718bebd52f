"""Do draws from plateau laws have the law they claim? Fresh system entropy, one declared failure rate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from laws_by_hand import plateau_masses
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency
from test_noise_laws import TEST_FAILURE_RATE, WRONG, p_value

from tacita.mechanisms.eree import SmoothStaircase
from tacita.mechanisms.eree.staircase_design import least_noise
from tacita.noise import SeededEntropy, SystemEntropy, plateau
from tacita.noise.plateau import WEIGHT_BITS, PlateauLaw
from tacita.workforce import Workforce

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


def rounded_p_value(draws: NDArray[np.int64], law: PlateauLaw, centre: int, scale: Fraction) -> float:
    reach = max(4, int(12 * scale * Fraction(law.mean_abs())))
    edges = (np.arange(-reach, reach + 2) - 0.5) / float(scale)
    inside = plateau_masses(law, edges)
    below, above = float(law.cdf(edges[:1])[0]), float(1 - law.cdf(edges[-1:])[0])
    return p_value(draws, centre - reach, np.concatenate([[below], inside, [above]]))


@every_law
@pytest.mark.parametrize("scale", [F(11, 10), F(13, 4), F(40)])
def test_rounded_noise_has_its_law(law: PlateauLaw, scale: Fraction) -> None:
    assert rounded_p_value(rounded(law, 7, scale), law, 7, scale) > TEST_FAILURE_RATE


@every_law
@pytest.mark.parametrize("factor", WRONG)
def test_noise_of_a_wrong_scale_is_rejected(law: PlateauLaw, factor: Fraction) -> None:
    scale = F(13, 4)
    assert rounded_p_value(rounded(law, 7, scale * factor), law, 7, scale) < TEST_FAILURE_RATE


@every_law
def test_noise_rounded_down_is_rejected(law: PlateauLaw) -> None:
    scale = F(13, 4)
    draws = rounded(law, 7, scale) - (np.arange(DRAWS) % 2)
    assert rounded_p_value(draws, law, 7, scale) < TEST_FAILURE_RATE


def test_a_mirrored_law_is_rejected() -> None:
    """The lopsided law the other way round: left and right tails are not mixed up."""
    law = LAWS["lopsided"]
    assert rounded_p_value(-rounded(law, 0, F(40)), law, 0, F(40)) < TEST_FAILURE_RATE


def shares_p_value(seen: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Pearson's test without merging, for shares that are all expected often enough."""
    expected = chances * seen.sum()
    kept = expected >= 25
    observed, expected = np.append(seen[kept], seen[~kept].sum()), np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1]
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


@every_law
def test_plateaus_and_periods_are_drawn_by_weight(law: PlateauLaw) -> None:
    drawn = law.draw(DRAWS, SystemEntropy())
    weights = np.array(law.weights) / 2.0**WEIGHT_BITS
    seen = np.bincount(drawn.column, minlength=weights.size)
    assert not seen[weights == 0].any()
    assert shares_p_value(seen, weights) > TEST_FAILURE_RATE
    in_tail = (drawn.column < law.tail) | (drawn.column >= weights.size - law.tail)
    assert not drawn.period[~in_tail].any()
    ratio = float(law.ratio)
    periods = np.bincount(drawn.period[in_tail], minlength=60)[:60]
    assert shares_p_value(periods, (1 - ratio) * ratio ** np.arange(60)) > TEST_FAILURE_RATE


def test_a_wrong_tail_ratio_is_rejected() -> None:
    law = LAWS["lopsided"]
    drawn = law.draw(DRAWS, SystemEntropy())
    periods = np.bincount(drawn.period[(drawn.column == 0) | (drawn.column == 4)], minlength=60)[:60]
    for factor in (0.9, 1.1):
        wrong = factor * float(law.ratio)
        assert shares_p_value(periods, (1 - wrong) * wrong ** np.arange(60)) < TEST_FAILURE_RATE


def test_successive_draws_are_independent() -> None:
    draws = rounded(LAWS["α = 0.1, ε = 2"], 0, F(5))
    a, b = (np.clip(part, -4, 4) + 4 for part in (draws[0::2], draws[1::2]))
    table = np.zeros((9, 9))
    np.add.at(table, (a, b), 1)
    assert chi2_contingency(table)[1] > TEST_FAILURE_RATE


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
        assert abs(noisy - centre) <= 2**61 + 1
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
    # Five standard errors: crossed once in two million runs.
    assert abs(error.mean()) < ROUNDING_BIAS + 5 * error.std() / np.sqrt(DRAWS)


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
