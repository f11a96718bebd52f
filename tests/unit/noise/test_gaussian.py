"""Discrete Gaussian noise and from (ε, δ) to ρ: law, privacy, the certain path behind the fast one, margins."""

from fractions import Fraction
from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm

from support.goodness_of_fit import counts_p_value, fits, values_p_value
from tacita.errors import UsageError
from tacita.noise import concentrated, gaussian
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.noise.gaussian import DiscreteGaussian, add_discrete_gaussian, discrete_gaussian
from tacita.noise.replay import Recording

DRAWS = 100_000

VARIANCES = [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(9, 2), Fraction(99), Fraction(100), Fraction(12345)]


def shares(variance: Fraction, most: int) -> np.ndarray:
    """P(−most), …, P(most), by a plain sum over far more numbers than are asked for."""
    every = np.arange(-8 * most, 8 * most + 1)
    logs = -(every.astype(float) ** 2) / (2 * float(variance))
    return np.exp(logs[7 * most : 9 * most + 1] - logsumexp(logs))


def p_value(found: np.ndarray, variance: Fraction) -> float:
    most = int(np.abs(found).max()) + 5 * int(np.sqrt(float(variance))) + 5
    return counts_p_value(np.bincount(found + most, minlength=2 * most + 1), shares(variance, most))


@pytest.mark.fresh
@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_follow_the_law(variance: Fraction) -> None:
    found = discrete_gaussian(DRAWS, variance, SystemEntropy())
    assert found.shape == (DRAWS,)
    assert fits(p_value(found, variance))
    if variance >= Fraction(1, 3):
        assert not fits(p_value(found, variance * Fraction(6, 5))), "20 percent too little noise is not seen"
        assert not fits(p_value(found, variance * Fraction(5, 6)))


@pytest.mark.parametrize("variance", [Fraction(1, 1 << 60), Fraction(1, 10**4)])
def test_hardly_any_variance_is_hardly_any_noise(variance: Fraction) -> None:
    assert not discrete_gaussian(1000, variance, SystemEntropy()).any()


@pytest.mark.fresh
def test_huge_variance_keeps_its_size() -> None:
    found = discrete_gaussian(DRAWS, Fraction(1 << 60), SystemEntropy()) / 2.0**30
    assert fits(values_p_value(found, norm.cdf))
    assert not fits(values_p_value(0.8 * found, norm.cdf))


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(1 << 60)], ids=str)
def test_the_certain_path_says_the_same_word_for_word(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = discrete_gaussian(300, variance, SeededEntropy(5))
    monkeypatch.setattr(gaussian, "_DOUBT", 2.0)
    certain = discrete_gaussian(300, variance, SeededEntropy(5))
    assert fast.tolist() == certain.tolist()


@settings(max_examples=300, deadline=None)
@given(
    st.fractions(Fraction(1, 1 << 60), 1 << 60, max_denominator=1 << 60).filter(lambda v: v >= Fraction(1, 1 << 60)),
    st.floats(0, 40),
    st.sampled_from([-1, 1]),
)
def test_double_precision_errs_less_than_the_doubt(variance: Fraction, away: float, sign: int) -> None:
    """The chance of keeping a number, with all its rounding, beside an enclosure of it."""
    scale = Fraction(int(float(variance) ** 0.5) + 1)
    proposed = sign * round(away * float(variance) ** 0.5)
    centre = variance / scale
    (found,) = gaussian._chance(np.array([proposed]), centre, variance).tolist()
    x = (abs(proposed) - centre) ** 2 / (2 * variance)
    with ctx.workprec(300):
        off = abs((-arb(fmpq(x.numerator, x.denominator))).exp() - arb(found))
        assert off <= arb(2) ** -45
    assert gaussian._DOUBT >= 2.0**-45 + 2.0**-52


# ---------------------------------------------------------------- privacy


def renyi(variance: Fraction, shift: int, order: float) -> float:
    """Rényi divergence of noise from shifted noise, summed over every number that matters."""
    most = int((abs(shift) * (order + 2) + 45) * max(1.0, float(variance) ** 0.5)) + 5
    k = np.arange(-most, most + 1, dtype=float)
    here = -(k**2) / (2 * float(variance))
    there = -((k - shift) ** 2) / (2 * float(variance))
    total = logsumexp(here)
    return float((logsumexp(order * here + (1 - order) * there) - total) / (order - 1))


@pytest.mark.parametrize("variance", [Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(40)], ids=str)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_divergence_is_as_claimed(variance: Fraction, shift: int) -> None:
    for order in (1.01, 1.5, 2.0, 2.7, 3.0, 8.0, 20.0):
        claimed = order * shift**2 / (2 * float(variance))
        found = renyi(variance, shift, order)
        assert found <= claimed * (1 + 1e-9) + 1e-9
        if order * shift == int(order * shift):
            assert found == pytest.approx(claimed, rel=1e-9), "whole shifts reach the bound"
        less = renyi(variance * Fraction(4, 5), shift, 2.0)
        assert less > 2 * shift**2 / (2 * float(variance)) * 1.2, "20 percent too little noise is not seen"


def test_the_noise_is_announced_with_its_law_and_added() -> None:
    listening = Recording(SeededEntropy(1))
    values = np.array([[5, 0], [7, 1]])
    noisy = add_discrete_gaussian(values, Fraction(9, 2), listening, "jobs")
    (request,) = listening.requests
    assert (request.label, request.law) == ("jobs", "discrete-gaussian variance=4.5")
    assert np.array_equal(request.true, values)
    assert noisy.shape == values.shape
    assert noisy.dtype == np.int64
    expected = values + discrete_gaussian(4, Fraction(9, 2), SeededEntropy(1)).reshape(2, 2)
    assert np.array_equal(noisy, expected)
    assert add_discrete_gaussian(np.array(3), Fraction(1, 10**6), listening, "contrast").shape == ()
    assert add_discrete_gaussian(np.zeros(0, dtype=np.int64), Fraction(1), listening, "nothing").shape == (0,)


def test_nothing_wraps_around() -> None:
    most = np.iinfo(np.int64).max
    assert (add_discrete_gaussian(np.full(50, most), Fraction(1 << 60), SeededEntropy(1), "x") > 1 << 61).all()
    assert (add_discrete_gaussian(np.full(50, -most), Fraction(1 << 60), SeededEntropy(1), "x") < -(1 << 61)).all()
    unsigned = np.full(50, np.iinfo(np.uint64).max, dtype=np.uint64)
    assert (add_discrete_gaussian(unsigned, Fraction(1), SeededEntropy(1), "x") > 1 << 61).all()


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction((1 << 60) + 1), Fraction(1, 10**400), 4.0])
def test_a_variance_that_cannot_be_drawn_is_refused(variance: Fraction) -> None:
    for use in (
        lambda: discrete_gaussian(1, variance, SeededEntropy(1)),
        lambda: add_discrete_gaussian(np.array([1]), variance, SeededEntropy(1), "x"),
        lambda: DiscreteGaussian(variance),
    ):
        with pytest.raises(UsageError, match="variance"):
            use()


def test_values_that_are_no_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="jobs: discrete noise needs whole numbers"):
        add_discrete_gaussian(np.array([0.5]), Fraction(1), SeededEntropy(1), "jobs")  # type: ignore[arg-type]


# ---------------------------------------------------------------- margins


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(16384), Fraction(16385), Fraction(10**6)], ids=str)
@pytest.mark.parametrize("confidence", [0.01, 0.3, 0.6827, 0.95, 0.999, 1 - 1e-9])
def test_a_margin_covers_and_is_not_wide(variance: Fraction, confidence: float) -> None:
    m = DiscreteGaussian(variance).margin(confidence)
    half = shares(variance, 10 * int(float(variance) ** 0.5) + 10)
    half = half[half.size // 2 :]  # from 0 up

    def outside(within: int) -> float:
        return float(2 * np.sort(half[within + 1 :]).sum())

    assert outside(m) <= (1 - confidence) * (1 + 1e-6)
    slack = 1 if variance > 1 << 14 else 0
    if m > slack:
        assert outside(m - 1 - slack) > (1 - confidence) * (1 - 1e-6), "a smaller one would do"


@pytest.mark.parametrize("variance", [Fraction(1, 1 << 60), Fraction(1), Fraction(1 << 60)])
def test_margins_to_the_last(variance: Fraction) -> None:
    law = DiscreteGaussian(variance)
    nearly = 1 - Fraction(1, 10**300)
    assert law.margin(0.5) <= law.margin(0.99) <= law.margin(nearly)
    sigma = float(variance) ** 0.5
    assert law.margin(nearly) <= sigma * (2 * 301 * log(10)) ** 0.5 + 3
    assert law.margin(nearly) >= 36.9 * sigma - 1  # the normal quantile at 1 − 1e-300/2 is 37.1
    assert exp(-(law.margin(nearly) ** 2) / 2) < 1e-290 or variance < 1
    for confidence in (0, 1, 1.5, -1):
        with pytest.raises(UsageError, match="confidence"):
            law.margin(confidence)


def test_the_law_in_words() -> None:
    law = DiscreteGaussian(Fraction(7, 3))
    assert str(law) == "discrete-gaussian variance=7/3"
    assert law.describe() == {"law": "discrete-gaussian", "variance": "7/3"}


PROMISES = [
    (Fraction(epsilon), Fraction(delta))
    for epsilon in ("0.001", "0.1", "0.36787944", "1", "2.71828183", "10", "50")
    for delta in ("0.01", "1e-5", "1e-9", "1e-15")
]

ids = [f"{float(e):.3g}, {float(d):.3g}" for e, d in PROMISES]


def log_delta(rho: float, epsilon: float) -> float:
    """The least log δ over all orders, in another form of the formula and by another search."""

    def at(log_order: float) -> float:
        a = 1 + exp(log_order)
        return (a - 1) * (a * rho - epsilon + np.log1p(-1 / a)) - log(a)

    grid = np.linspace(log(1e-5), log(1e8), 400)
    near = grid[int(np.argmin([at(x) for x in grid]))]
    return float(minimize_scalar(at, bounds=(near - 0.2, near + 0.2), method="bounded", options={"xatol": 1e-9}).fun)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES, ids=ids)
def test_it_is_the_largest_that_the_theorem_allows(epsilon: Fraction, delta: Fraction) -> None:
    found = rho_for(epsilon, delta)
    goal = log(delta.numerator) - log(delta.denominator)
    independent = brentq(lambda rho: log_delta(rho, float(epsilon)) - goal, 1e-15, float(epsilon) + 5, xtol=1e-18)
    assert float(found) == pytest.approx(independent, rel=1e-7)
    assert len(str(found.numerator * 10**40 // found.denominator).rstrip("0")) <= 9, "more digits than were promised"


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES, ids=ids)
def test_the_gaussian_mechanism_keeps_the_promise(epsilon: Fraction, delta: Fraction) -> None:
    """Its δ is known exactly (Balle and Wang 2018), and it uses up its ρ."""
    e, mu = float(epsilon), sqrt(2 * float(rho_for(epsilon, delta)))
    one, two = log_ndtr(mu / 2 - e / mu), e + log_ndtr(-mu / 2 - e / mu)
    spent = one + np.log1p(-np.exp(two - one))
    assert spent <= log(delta)
    mu *= 2
    one, two = log_ndtr(mu / 2 - e / mu), e + log_ndtr(-mu / 2 - e / mu)
    assert one + np.log1p(-np.exp(two - one)) > log(delta), "half the noise would keep it too: the test is blind"


def test_more_of_a_promise_is_more_rho() -> None:
    by_epsilon = [rho_for(Fraction(e, 7), Fraction(1, 10**9)) for e in range(1, 60, 2)]
    by_delta = [rho_for(Fraction(1), Fraction(1, 10**d)) for d in range(400, 0, -13)]
    for rising in (by_epsilon, by_delta):
        assert all(one < two for one, two in pairwise(rising))


def test_what_is_used_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search may be wrong, in either direction: the answer is then smaller, never larger."""
    right = rho_for(Fraction(3, 2), Fraction(1, 10**6))
    honest = concentrated._log_delta
    for off in (1e-6, -1e-6):
        monkeypatch.setattr(concentrated, "_log_delta", lambda a, r, e, off=off: honest(a, r, e) + off)
        rho_for.cache_clear()
        assert right * (1 - Fraction(1, 10**4)) < rho_for(Fraction(3, 2), Fraction(1, 10**6)) <= right
    rho_for.cache_clear()


def test_a_proof_fails_for_a_little_more() -> None:
    for epsilon, delta in PROMISES:
        rho = rho_for(epsilon, delta)
        orders = [1 + Fraction(one) for one in np.geomspace(1e-4, 1e6, 600).tolist()]
        assert not any(concentrated._proves(rho * (1 + Fraction(1, 10**7)), order, epsilon, delta) for order in orders)


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        ("0", "1e-9", "epsilon: must be above 0"),
        ("-1", "1e-9", "epsilon: must be above 0"),
        ("1e400", "1e-9", "at most 1,000,000"),
        ("1", "0", "delta: must lie between 0 and 1"),
        ("1", "1", "delta: must lie between 0 and 1"),
        ("1e-12", "1e-300", "too small"),
    ],
)
def test_what_promises_nothing_or_too_much_is_refused(epsilon: str, delta: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        rho_for(Fraction(epsilon), Fraction(delta))


def test_the_ends_of_the_range() -> None:
    assert 0 < rho_for(Fraction(1, 10**6), Fraction(1, 10**9)) < Fraction(1, 10**12)
    assert rho_for(Fraction(10**6), Fraction(1, 10**9)) > 900_000
    assert 0 < rho_for(Fraction(1), Fraction(1, 10**400)) < Fraction(1, 1000)
    assert rho_for(Fraction(1, 100), Fraction(9, 10)) > 2, "more than ε + 1 where δ is large"
