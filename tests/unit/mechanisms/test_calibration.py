"""The scales keep what they promise, and not much more: checked against sums and grids written from scratch."""

import time
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.errors import UsageError
from tacita.mechanisms.eree import calibration, staircase_design, vector_design
from tacita.mechanisms.eree.calibration import (
    best_student,
    laplace_delta,
    laplace_paper_scale,
    laplace_scale,
    log_laplace_scale,
    quartic_paper_scale,
    quartic_scale,
    quartic_true_epsilon,
    smallest_epsilon,
    student_mean_absolute,
    student_scale,
    student_true_epsilon,
)

F = Fraction
NegativeLog = Callable[[np.ndarray], np.ndarray]
OUTPUTS = np.concatenate([np.linspace(-12, 12, 6001), np.sinh(np.linspace(-30, 30, 6000))])
# Corners, edges and the inside of the set K of calibration.md, as (s, (r − 1)/(α·s)).
SHIFTS = ((0.25, 0.0), (0.25, 1.0), (0.7, 0.5), (1.0, 0.0), (1.0, 0.1), (1.0, 0.5), (1.0, 0.9), (1.0, 1.0))
PAIRS = [("0.1", "2"), ("0.1", "1"), ("0.1", "0.5"), ("0.2", "2"), ("0.01", "0.25"), ("0.05", "4"), ("1", "4")]


def student(nu: Fraction) -> NegativeLog:
    v = float(nu)
    return lambda z: (v + 1) / 2 * np.log1p(z * z / v)


def quartic(z: np.ndarray) -> np.ndarray:
    return np.log1p(z**4)


def grid_loss(g: NegativeLog, alpha: Fraction, k: Fraction) -> float:
    """The largest |log density ratio| on a grid of outputs, shifts and dilations: a lower bound of the supremum."""
    largest = 0.0
    for s, part in SHIFTS:
        r = 1 + float(alpha) * s * part
        loss = np.log(r) + g((OUTPUTS - s / float(k)) / r) - g(OUTPUTS)
        largest = max(largest, float(np.abs(loss).max()))
    return largest


def mean_absolute(nu: Fraction) -> float:
    return float(student_mean_absolute(nu))


@pytest.mark.parametrize(
    ("alpha", "epsilon", "bar"),
    [("0.1", "2", 0.63), ("0.1", "1", 1.38), ("0.1", "0.5", 3.5), ("0.2", "2", 0.65), ("0.01", "0.25", 5.31)],
)
def test_student_error_is_below_its_bar(alpha: str, epsilon: str, bar: float) -> None:
    nu, k = best_student(F(alpha), F(epsilon))
    assert float(k) * mean_absolute(nu) <= bar


@pytest.mark.parametrize(
    ("alpha", "epsilon", "bar"),
    [("0.1", "2", 0.83), ("0.1", "1", 1.95), ("0.1", "0.5", 5.55), ("0.2", "2", 0.875), ("0.01", "0.25", 7.0)],
)
def test_quartic_error_is_below_its_bar(alpha: str, epsilon: str, bar: float) -> None:
    assert float(quartic_scale(F(alpha), F(epsilon))) / np.sqrt(2) <= bar


@pytest.mark.parametrize(("alpha", "epsilon"), PAIRS)
def test_student_spends_epsilon_and_no_more(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    for nu in {F(2), F(3), best_student(a, e)[0]}:
        if e < smallest_epsilon("student", a, nu=nu):
            continue
        k = student_scale(a, e, nu)
        assert 0.999 * float(e) <= grid_loss(student(nu), a, k) <= float(e) + 1e-9
        assert grid_loss(student(nu), a, k * F(4, 5)) > 1.01 * float(e)


@pytest.mark.parametrize(("alpha", "epsilon"), PAIRS)
def test_quartic_spends_epsilon_and_no_more(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    k = quartic_scale(a, e)
    assert 0.999 * float(e) <= grid_loss(quartic, a, k) <= float(e) + 1e-9
    assert grid_loss(quartic, a, k * F(4, 5)) > 1.01 * float(e)


@settings(max_examples=60, deadline=None)
@given(
    alpha=st.fractions(F(1, 200), F(3), max_denominator=500),
    room=st.fractions(F(21, 20), F(20), max_denominator=50),
    nu=st.sampled_from([F(5, 4), F(2), F(3), F(11, 2), F(20)]),
)
def test_any_alpha_and_epsilon_is_tight(alpha: Fraction, room: Fraction, nu: Fraction) -> None:
    e = min(smallest_epsilon("student", alpha, nu=nu) * room, F(30))
    if e >= smallest_epsilon("student", alpha, nu=nu):
        found = grid_loss(student(nu), alpha, student_scale(alpha, e, nu))
        assert 0.99 * float(e) <= found <= float(e) + 1e-9
    e = min(smallest_epsilon("quartic", alpha) * room, F(30))
    found = grid_loss(quartic, alpha, quartic_scale(alpha, e))
    assert 0.99 * float(e) <= found <= float(e) + 1e-9


@pytest.mark.parametrize(("alpha", "epsilon"), PAIRS)
def test_scales_are_the_smallest_of_nine_digits_and_rounded_up(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    nu, k = best_student(a, e)
    assert student_true_epsilon(a, k, nu) <= e < student_true_epsilon(a, k * (1 - F(1, 10**7)), nu)
    k = quartic_scale(a, e)
    assert quartic_true_epsilon(a, k) <= e < quartic_true_epsilon(a, k * (1 - F(1, 10**7)))
    digits = str(k.numerator * 10**30 // k.denominator).rstrip("0")
    assert len(digits) <= 9


def test_best_shape_is_no_worse_than_any_other() -> None:
    a, e = F("0.1"), F(1)
    nu, k = best_student(a, e)
    best = float(k) * mean_absolute(nu)
    for other in (F(2), F(5, 2), F(3), F(4), F(6)):
        assert best <= float(student_scale(a, e, other)) * mean_absolute(other) * (1 + 1e-4)


# ---------------------------------------------------------------- Laplace noise


def hockey_stick(alpha: float, epsilon: float, k: float, s: float, part: float) -> float:
    """The larger of the two hockey-stick divergences, by summing over a fine grid."""
    r, c = 1 + alpha * s * part, s / k
    u = np.concatenate([np.linspace(-40 - 60 * alpha, -5, 40000), np.linspace(-5, 5, 100001)[1:-1]])
    u = np.concatenate([u, np.linspace(5, 60 + 80 * alpha, 60000)])
    p, q = np.exp(-np.abs(u)) / 2, np.exp(-np.abs(u - c) / r) / (2 * r)
    bound = np.exp(epsilon)
    return max(
        float(np.trapezoid(np.maximum(p - bound * q, 0), u)), float(np.trapezoid(np.maximum(q - bound * p, 0), u))
    )


@pytest.mark.parametrize(
    ("alpha", "epsilon", "k"),
    [
        ("0.1", "2", "1"),  # only the tails fail
        ("0.1", "2", "0.61"),
        ("0.1", "2", "0.4"),  # the shift alone fails
        ("0.2", "0.5", "1.6"),
        ("0.5", "0.5", "2"),  # the centre fails because the other law is wider
        ("1", "1.5", "0.3"),
        ("0.1", "1", "0.9"),
    ],
)
def test_delta_is_the_largest_hockey_stick_divergence(alpha: str, epsilon: str, k: str) -> None:
    proved = float(laplace_delta(F(alpha), F(epsilon), F(k)))
    summed = max(hockey_stick(float(F(alpha)), float(F(epsilon)), float(F(k)), s, part) for s, part in SHIFTS)
    assert summed * 0.999 <= proved <= summed * 1.001


@settings(max_examples=25, deadline=None)
@given(
    alpha=st.fractions(F(1, 50), F(1), max_denominator=100),
    room=st.fractions(F(11, 10), F(6), max_denominator=20),
    delta=st.sampled_from([F(1, 20), F(1, 1000), F(1, 10**5)]),
)
def test_laplace_scale_has_the_asked_delta(alpha: Fraction, room: Fraction, delta: Fraction) -> None:
    e = smallest_epsilon("laplace", alpha, delta=delta) * room
    k = laplace_scale(alpha, e, delta)
    assert delta * F(999, 1000) <= laplace_delta(alpha, e, k) <= delta
    assert laplace_delta(alpha, e, k * F(4, 5)) > delta
    summed = max(hockey_stick(float(alpha), float(e), float(k), s, part) for s, part in SHIFTS)
    assert summed <= float(delta) * 1.01


def test_printed_laplace_scale_fails_far_less_often_than_printed() -> None:
    a, e, delta = F("0.1"), F(2), F("0.0005")
    k = laplace_paper_scale(a, e, delta)
    assert k == 1
    assert float(laplace_delta(a, e, k)) == pytest.approx(8e-7, rel=0.01)
    assert float(laplace_scale(a, e, delta)) == pytest.approx(0.608, abs=0.001)


def test_printed_feasibility_of_laplace_matches_the_papers_table_2() -> None:
    assert float(smallest_epsilon("laplace paper", F("0.1"), delta=F("0.0005"))) == pytest.approx(1.45, abs=0.005)
    # The half of the table headed δ = .05 agrees with δ = .005.
    assert float(smallest_epsilon("laplace paper", F("0.1"), delta=F("0.005"))) == pytest.approx(1.01, abs=0.005)


# ---------------------------------------------------------------- printed scales and log-scale noise


def test_printed_quartic_scale_is_loose() -> None:
    a, e = F("0.1"), F(2)
    k = quartic_paper_scale(a, e)
    assert float(k) / np.sqrt(2) == pytest.approx(2.32, abs=0.005)
    assert 0.85 < float(quartic_true_epsilon(a, k)) < 0.87


@pytest.mark.parametrize(("alpha", "epsilon"), PAIRS)
def test_printed_quartic_scale_keeps_its_promise_where_it_exists(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    if e >= smallest_epsilon("quartic paper", a):
        assert quartic_true_epsilon(a, quartic_paper_scale(a, e)) < e


@pytest.mark.parametrize(("alpha", "epsilon"), PAIRS)
def test_log_laplace_scale_is_the_logarithm_rounded_up(alpha: str, epsilon: str) -> None:
    with localcontext(prec=50):
        exact = F((1 + Decimal(alpha)).ln() / Decimal(epsilon))
    k = log_laplace_scale(F(alpha), F(epsilon))
    assert exact <= k <= exact * (1 + F(1, 10**12))
    assert 2 * exact <= log_laplace_scale(F(alpha), F(epsilon), paper=True) <= 2 * exact * (1 + F(1, 10**12))


# ---------------------------------------------------------------- what is not feasible


@pytest.mark.parametrize("alpha", ["0.01", "0.1", "0.2", "2"])
def test_an_infeasible_epsilon_names_the_smallest_feasible_one(alpha: str) -> None:
    a, nu, delta = F(alpha), F(3), F("0.0005")
    cases: list[tuple[Fraction, Callable[[Fraction], object], str]] = [
        (smallest_epsilon("student", a, nu=nu), lambda e: student_scale(a, e, nu), "SmoothStudent"),
        (smallest_epsilon("student", a), lambda e: best_student(a, e), "SmoothStudent"),
        (smallest_epsilon("quartic", a), lambda e: quartic_scale(a, e), "SmoothGamma"),
        (smallest_epsilon("quartic paper", a), lambda e: quartic_paper_scale(a, e), "SmoothGamma as printed"),
        (smallest_epsilon("laplace", a, delta=delta), lambda e: laplace_scale(a, e, delta), "SmoothLaplace"),
        (smallest_epsilon("laplace paper", a, delta=delta), lambda e: laplace_paper_scale(a, e, delta), "as printed"),
    ]
    for least, calibrate, name in cases:
        calibrate(least)
        with pytest.raises(UsageError, match=name) as refusal:
            calibrate(least * F(99, 100))
        assert f"at least {calibration.text(least)} at α = {alpha}" in str(refusal.value)


def test_smallest_epsilon_is_the_limit_rounded_up_in_the_fourth_digit() -> None:
    for alpha in (F("0.01"), F("0.1"), F("0.5")):
        limit = 3 * np.log1p(float(alpha))
        assert limit < float(smallest_epsilon("quartic", alpha)) < limit * 1.0012
        assert limit < float(smallest_epsilon("student", alpha, nu=F(3))) < limit * 1.0012


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: student_scale(F(0), F(1), F(3)), "alpha"),
        (lambda: student_scale(F("0.1"), F(0), F(3)), "epsilon"),
        (lambda: student_scale(F("0.1"), F(1), F(-1)), "nu"),
        (lambda: quartic_scale(F("0.1"), F(101)), "epsilon"),
        (lambda: laplace_scale(F("0.1"), F(1), F(1)), "delta"),
        (lambda: laplace_scale(F("0.1"), F(1), F(0)), "delta"),
        (lambda: laplace_delta(F("0.1"), F("0.09"), F(1)), "epsilon"),
        (lambda: quartic_true_epsilon(F("0.1"), F(0)), "k"),
        (lambda: log_laplace_scale(F(-1), F(1)), "alpha"),
        (lambda: smallest_epsilon("laplace", F("0.1")), "delta"),
        (lambda: smallest_epsilon("quartic", F("0.1"), delta=F("0.1")), "delta"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], key: str) -> None:
    with pytest.raises(UsageError, match=f"^{key}: "):
        call()


def test_each_calibration_is_quick() -> None:
    a, e = F("0.1037"), F("1.91")  # not used elsewhere, so not remembered
    for calibrate in (lambda: best_student(a, e), lambda: quartic_scale(a, e), lambda: laplace_scale(a, e, F("0.001"))):
        start = time.process_time()
        calibrate()
        assert time.process_time() - start < 0.5


@pytest.mark.parametrize("epsilon", [101, 5000, 10**100])
def test_a_budget_far_beyond_use_is_refused_by_every_design(epsilon: int) -> None:
    for design in (
        lambda: staircase_design.least_noise(Fraction(1, 10), Fraction(epsilon)),
        lambda: vector_design.least_noise(Fraction(1, 10), Fraction(epsilon), 2),
        lambda: calibration.best_student(Fraction(1, 10), Fraction(epsilon)),
    ):
        with pytest.raises(UsageError, match="epsilon: must be at most 100"):
            design()
