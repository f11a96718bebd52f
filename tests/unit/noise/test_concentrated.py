"""From (ε, δ) to ρ: never too much, nearly as much as possible, and against other people's arithmetic."""

from fractions import Fraction
from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr

from tacita.errors import UsageError
from tacita.noise import concentrated
from tacita.noise.concentrated import rho_for

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
