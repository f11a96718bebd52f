"""The sampler's decisions, byte by byte, and the error law's formulas. Its distribution: tests/statistical."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.errors import UsageError
from tacita.noise.discrete import DiscreteLaplace, _bits_below, _coins, _draw, add_discrete_laplace, discrete_laplace
from tacita.noise.entropy import SeededEntropy, SystemEntropy

SCALES = [
    Fraction(1, 100),
    Fraction(1, 3),
    Fraction(1),
    Fraction(2),
    Fraction(10),
    Fraction(1234567, 10),
    Fraction(10**7),
]


def weight(scale: Fraction, row: int) -> Decimal:
    """A coin's weight from the decimal module: arithmetic that shares nothing with the sampler's."""
    power = (-Decimal(1 << row) * scale.denominator / scale.numerator).exp()
    return power if row == _bits_below(scale) else power / (1 + power)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("digits", [16, 32])
def test_coin_bytes_are_the_leading_bytes_of_their_weights(scale: Fraction, digits: int) -> None:
    with localcontext() as context:
        context.prec = 150
        for row, stored in enumerate(_coins(scale, digits)):
            expected = int(weight(scale, row) * (1 << (8 * digits)))
            assert int.from_bytes(stored.tobytes(), "big") == expected


@pytest.mark.parametrize("scale", SCALES)
def test_the_steps_are_as_long_as_the_scale(scale: Fraction) -> None:
    bits = _bits_below(scale)
    assert 1 << bits >= scale
    assert bits == 0 or (1 << (bits - 1)) < ceil(scale)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(17, 2)])
def test_the_coins_multiply_to_the_geometric_law(scale: Fraction) -> None:
    coins = [int.from_bytes(row.tobytes(), "big") / 2**128 for row in _coins(scale, 16)]
    bits, q = len(coins) - 1, np.exp(-1 / float(scale))
    for k in range(60):
        chance = coins[-1] ** (k >> bits) * (1 - coins[-1])
        for row in range(bits):
            chance *= coins[row] if k >> row & 1 else 1 - coins[row]
        assert chance == pytest.approx((1 - q) * q**k, rel=1e-12)


# With scale 1 there is one coin, of weight exp(-1) = 0x5E2D58D8…, and then a sign.
def test_bytes_below_the_weight_go_on_and_bytes_above_stop(scripted: Any) -> None:
    stream = bytes([0x5D, 0x00, 0x5F, 1, 0xFF, 0, 0x00, 0x60, 0])
    assert discrete_laplace(3, Fraction(1), scripted.of_bytes(stream)).tolist() == [-2, 0, 1]


def test_a_negative_zero_is_drawn_again(scripted: Any) -> None:
    stream = bytes([0xFF, 1, 0xFF, 1, 0x00, 0xFF, 1])
    assert discrete_laplace(1, Fraction(1), scripted.of_bytes(stream)).tolist() == [-1]


def test_binary_digits_have_their_own_coins(scripted: Any) -> None:
    # Scale 4: coins for 1 and 2, then steps of 4. All succeed twice over: 1 + 2 + 4 + 4.
    stream = bytes([0x00, 0x00, 0x00, 0x00, 0xFF, 0, 0xFF, 0x00, 0xFF, 0])
    assert discrete_laplace(2, Fraction(4), scripted.of_bytes(stream)).tolist() == [11, 2]


@pytest.mark.parametrize("equal", [1, 15, 16, 17, 31, 32, 40, 64])
@pytest.mark.parametrize(("shift", "magnitude"), [(-1, 1), (1, 0)])
def test_ties_are_settled_by_further_bytes_of_the_weight(equal: int, shift: int, magnitude: int, scripted: Any) -> None:
    """The random bytes agree with the weight for `equal` bytes, then fall on one side of it."""
    with localcontext() as context:
        context.prec = 300
        digits = int(Decimal(-1).exp() * (1 << (8 * (equal + 1)))).to_bytes(equal + 1, "big")
    if not 0 < digits[-1] < 255:
        pytest.skip("the next byte of exp(-1) has no neighbour on this side")
    stream = digits[:-1] + bytes([digits[-1] + shift]) + (bytes([0xFF]) if magnitude else b"") + bytes([0])
    assert discrete_laplace(1, Fraction(1), scripted.of_bytes(stream)).tolist() == [magnitude]


def test_running_out_of_words_in_the_middle_changes_nothing(scripted: Any) -> None:
    """One long block or many short ones: the same bytes give the same draws."""

    class Dribbling:
        rehearsal = True

        def __init__(self, stream: np.ndarray) -> None:
            self._stream, self._at = stream, 0

        def words(self, count: int) -> np.ndarray:
            self._at += 1
            return self._stream[self._at - 1 : self._at]

        def announce(self, request: object) -> None: ...

    stream = SeededEntropy(4).words(2000)
    whole = discrete_laplace(500, Fraction(6), scripted(stream.tolist()))
    assert discrete_laplace(500, Fraction(6), Dribbling(stream)).tolist() == whole.tolist()


@pytest.mark.parametrize("scale", [*SCALES, Fraction(2**40)])
def test_as_it_is_written_and_compiled_the_same_bytes_give_the_same_draws(scale: Fraction, scripted: Any) -> None:
    stream = SeededEntropy(5).words(20_000).tolist()
    drawn = []
    for one in (_draw._function, _draw._compiled):
        with pytest.MonkeyPatch.context() as changed:
            changed.setattr(_draw, "of", lambda work, one=one: one)
            drawn.append(discrete_laplace(2_000, scale, scripted(stream)).tolist())
    assert drawn[0] == drawn[1]


def test_how_many_words_are_drawn_does_not_depend_on_the_values(scripted: Any) -> None:
    stream = SeededEntropy(4).words(5000).tolist()
    blocks = []
    for values in (np.zeros(1000, dtype=np.int64), np.arange(1000) * 10**6):
        source = scripted(stream)
        add_discrete_laplace(values, Fraction(7), source, "jobs")
        blocks.append(source.blocks)
    assert blocks[0] == blocks[1]


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**40 + 1)])
def test_scales_out_of_range_are_refused(scale: Fraction) -> None:
    with pytest.raises(UsageError, match="scale"):
        discrete_laplace(1, scale, SystemEntropy())


def test_a_float_scale_is_refused() -> None:
    with pytest.raises(UsageError, match="Fraction"):
        discrete_laplace(1, 0.1, SystemEntropy())  # type: ignore[arg-type]


def test_values_must_be_whole_numbers() -> None:
    with pytest.raises(UsageError, match="jobs"):
        add_discrete_laplace(np.array([1.5]), Fraction(1), SystemEntropy(), "jobs")  # type: ignore[arg-type]


def test_nothing_wraps_around_at_the_ends_of_the_integers() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    noisy = add_discrete_laplace(ends, Fraction(1, 100), SystemEntropy(), "jobs")
    assert noisy.tolist() == [-(2**62) + 1, 2**62 - 1]
    unsigned = add_discrete_laplace(np.array([2**64 - 1], dtype=np.uint64), Fraction(1, 100), SystemEntropy(), "jobs")
    assert unsigned.tolist() == [2**62 - 1]


def test_endless_success_saturates_instead_of_wrapping(scripted: Any) -> None:
    """Only a source that always says yes gets here; with the largest scale the loop is short enough to run."""
    (value,) = discrete_laplace(1, Fraction(2**40), scripted([], after=0)).tolist()
    assert value == 2**62 - 1


def test_shapes_and_small_types_are_kept() -> None:
    noisy = add_discrete_laplace(np.ones((2, 3), dtype=np.int8), Fraction(1000), SystemEntropy(), "jobs")
    assert noisy.shape == (2, 3)
    assert noisy.dtype == np.int64
    assert add_discrete_laplace(np.empty(0, dtype=np.int64), Fraction(1), SystemEntropy(), "jobs").size == 0


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(40)])
def test_the_error_law_agrees_with_its_own_probabilities(scale: Fraction) -> None:
    law = DiscreteLaplace(scale)
    k = np.arange(-3000, 3001)
    pmf = law.pmf(k)
    assert pmf.sum() == pytest.approx(1, rel=1e-12)
    assert law.mean_abs() == pytest.approx((np.abs(k) * pmf).sum(), rel=1e-9)
    assert law.variance() == pytest.approx((k * k * pmf).sum(), rel=1e-9)


@given(
    scale=st.fractions(Fraction(1, 20), 200, max_denominator=50),
    share=st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
)
def test_quantiles_and_margins_are_the_smallest_that_reach_their_share(scale: Fraction, share: Fraction) -> None:
    law = DiscreteLaplace(scale)
    k = np.arange(-6000, 6001)
    cumulative = np.cumsum(law.pmf(k))
    at = law.quantile(share) + 6000
    assert cumulative[at] >= float(share) - 1e-12
    assert cumulative[at - 1] < float(share) + 1e-12
    m = law.margin(share)
    inside = law.pmf(np.arange(-m, m + 1)).sum()
    assert inside >= float(share) - 1e-12
    if m:
        assert law.pmf(np.arange(1 - m, m)).sum() < float(share) + 1e-12


def test_large_scales_keep_their_formulas() -> None:
    law = DiscreteLaplace(Fraction(10**7))
    assert law.mean_abs() == pytest.approx(1e7, rel=1e-9)
    assert law.margin(0.95) == pytest.approx(1e7 * np.log(20), abs=2)
    assert law.quantile(Fraction(1, 4)) == -law.quantile(Fraction(3, 4))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0])
def test_a_share_lies_between_zero_and_one(share: float) -> None:
    with pytest.raises(UsageError, match="confidence"):
        DiscreteLaplace(Fraction(1)).margin(share)
    with pytest.raises(UsageError, match="p:"):
        DiscreteLaplace(Fraction(1)).quantile(share)
