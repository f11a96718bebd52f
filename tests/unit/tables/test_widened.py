"""Noise and what lies above a clamp, in one margin."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.mechanisms.table.noise import prudent
from tacita.tables.estimates import widened

DRAWS, OCTAVES = 40_000, 14
CONFIDENCE = Fraction(19, 20)
SCALE = 8 / 3  # of the noise, in clamps: a sum at ε = 1 of which a record is replaced


def beyond(records: float, fall: float, random: np.random.Generator) -> np.ndarray:
    """What lies above a clamp, in clamps, where so many records are expected there and fewer in each octave."""
    found = np.zeros(DRAWS)
    for octave in range(OCTAVES):
        number = random.poisson(records * fall**octave * (1 - fall), DRAWS)
        for at in range(int(number.max())):
            found += (number > at) * (2 ** (octave + random.random(DRAWS)) - 1)
    return found


@pytest.mark.parametrize("fall", [0.15, 0.33, 0.5])
@pytest.mark.parametrize("records", [0.5, 2.7, 5])
def test_a_margin_of_noise_and_tail_holds_their_sum(records: float, fall: float) -> None:
    random = np.random.default_rng(1)
    noise, above = random.laplace(0, SCALE, DRAWS), beyond(records, fall, random)
    half, tail = np.quantile(np.abs(noise), float(prudent(CONFIDENCE))), np.quantile(above, float(CONFIDENCE))
    held = np.abs(noise + above) <= widened(np.array(half), np.array(tail))
    # The seed is fixed. A share of 0.95 is known to 0.0011 here, so twice that is a real shortfall.
    assert held.mean() > 0.95 - 2 * 0.0011


def test_noise_alone_does_not_hold_them() -> None:
    random = np.random.default_rng(1)
    noise, above = random.laplace(0, SCALE, DRAWS), beyond(2.7, 0.33, random)
    assert (np.abs(noise + above) <= np.quantile(np.abs(noise), 0.95)).mean() < 0.9


def test_an_open_tail_leaves_no_margin() -> None:
    assert widened(np.ones(1), np.array([np.inf])).tolist() == [np.inf]
