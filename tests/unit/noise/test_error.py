"""Intervals a reader may trust: checked against brute force over what the true count could have been."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student_t

from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.error import FixedError, HiddenScaleError, LogError, _invert, margin_of
from tacita.noise.laws import Laplace, QuarticCauchy, Student
from tacita.noise.power import PowerLaw

F = Fraction


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_margins_of_known_laws(confidence: float) -> None:
    assert margin_of(Laplace(), confidence) == pytest.approx(-np.log(1 - confidence), rel=1e-9)
    assert margin_of(Student(F(3)), confidence) == pytest.approx(student_t(3).ppf((1 + confidence) / 2), rel=1e-9)
    law = PowerLaw(F(3), F(2))
    assert margin_of(law, confidence) == pytest.approx(law.margin(confidence), rel=1e-9)


@pytest.mark.parametrize("law", [Laplace(), Student(F(3)), QuarticCauchy()], ids=lambda one: one.name)
@pytest.mark.parametrize("blur", [F(1, 100), F(1, 4), F(1)])
def test_a_blurred_size_widens_the_margin_as_far_as_needed(law: Laplace, blur: Fraction) -> None:
    """P(|Z| ≤ m·e^η) by simulation."""
    m = margin_of(law, 0.9, blur)
    assert m > margin_of(law, 0.9)
    rng = np.random.default_rng(1)
    eta = rng.laplace(scale=float(blur), size=400_000)
    covered = float((law.cdf(m * np.exp(eta)) - law.cdf(-m * np.exp(eta))).mean())
    assert covered == pytest.approx(0.9, abs=0.002)


@given(st.integers(-400, 400), st.floats(0.01, 0.95), st.floats(0.1, 60), st.sampled_from([0.5, 1.5, 4.0]))
def test_the_inverted_interval_holds_every_count_that_could_be_true(
    value: int, share: float, least: float, rounding: float
) -> None:
    lower, upper = (float(end[0]) for end in _invert(np.array([float(value)]), share, least, rounding))
    n = np.arange(0, 12_000)
    possible = n[np.abs(value - n) <= np.maximum(share * n, least) + rounding]
    if possible.size:
        assert lower <= possible[0] + 1e-9
        assert upper >= possible[-1] - 1e-9
        # And no longer than it must be: one count further is impossible.
        assert lower > possible[0] - 1 - 1e-9
        if possible[-1] < n[-1] and value >= 0:
            assert upper < possible[-1] + 1 + 1e-9


def test_noise_as_large_as_the_count_leaves_no_upper_end() -> None:
    lower, upper = _invert(np.array([5.0]), 1.0, 2.0, 0.5)
    assert np.isinf(upper[0])
    assert np.isfinite(lower[0])


def test_a_value_no_count_could_lead_to_still_gets_an_interval() -> None:
    lower, upper = _invert(np.array([-1000.0]), 0.2, 3.0, 0.5)
    assert (lower[0], upper[0]) == (0.0, 3.5)


def test_what_bounds_the_scale_bounds_the_interval() -> None:
    values = np.array([[100.0, 20.0]])

    def error(bounded_by: str, blur: Fraction | None = None) -> HiddenScaleError:
        return HiddenScaleError(Student(F(3)), F(1, 2), F(1, 10), F(1), bounded_by, blur)

    own, row = error("value").interval(values, 0.9), error("row").interval(values, 0.9)
    assert (row[1] - row[0] > own[1] - own[0]).all()
    assert (row[1] - row[0]).max() == pytest.approx((row[1] - row[0]).min())  # one scale for the whole row
    for end in error("nothing").interval(values, 0.9):
        assert np.isinf(end).all()
    paid = error("nothing", F(1, 50)).interval(values, 0.9, np.array([[50.0]]))
    assert (paid[1] - paid[0] < own[1] - own[0])[0, 0]
    assert "confidential" in error("value").describe()["scale_is"]


@given(st.integers(0, 100_000), st.floats(0.001, 0.999), st.floats(-1, 1), st.sampled_from([F(1, 50), F(1, 3), F(2)]))
def test_log_noise_is_inverted_exactly(count: int, confidence: float, share: float, lam: Fraction) -> None:
    """Any draw within the stated part of the noise leads to an interval that holds the count."""
    error = LogError(lam, F(10), 1 - lam**2 if lam < 1 else F(1))
    eta = -np.log(1 - confidence) * share
    value = np.floor((count + 10) * np.exp(float(lam) * eta) * float(error.factor) - 10 + 0.5)
    lower, upper = error.interval(np.array([[value]]), confidence)
    assert lower[0, 0] <= count * (1 + 1e-12) + 1e-9
    assert upper[0, 0] >= count * (1 - 1e-12) - 1e-9


def test_fixed_noise_has_one_margin() -> None:
    law = DiscreteLaplace(F(2))
    lower, upper = FixedError(law).interval(np.array([[0.0, 7.0]]), 0.95)
    assert (upper - lower == 2 * law.margin(0.95)).all()
    assert FixedError(law).describe() == law.describe()


def test_a_paid_size_never_leaves_an_empty_interval() -> None:
    """A value far below zero with a small paid size: the two intervals have nothing in common."""
    error = HiddenScaleError(Student(F(3)), F(1, 2), F(1, 10), F(1), "value", F(1, 50))
    values = np.array([[-500.0], [-20.0], [-1.0], [0.0], [40.0]])
    lower, upper = error.interval(values, 0.9, np.full((5, 1), 12.0))
    assert (lower <= upper).all()
    assert upper[0, 0] > 0
