"""How much noise the smooth mechanisms need: the smallest scale whose guarantee is certified.

A cell with count q, whose largest establishment has x workers in it, is released as q + k·S·Z with
S = max(α·x, 1). These functions find k. Each scale is an exact decimal of nine significant digits, rounded
up (towards more noise); one unit less in the last place is no longer certified. `calibration_supremum`
evaluates the worst privacy loss in ball arithmetic; `calibration.md` and the proof file of each law say why
that is the worst loss over all neighbouring files.

>>> a, e = Fraction("0.1"), Fraction(2)
>>> float(quartic_scale(a, e)) < float(quartic_paper_scale(a, e)) / 2
True
>>> nu, k = best_student(a, e)
>>> float(student_true_epsilon(a, k, nu)) <= 2.0
True
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from flint import arb, ctx

from tacita.errors import UsageError
from tacita.mechanisms.eree import calibration_supremum as worst
from tacita.mechanisms.eree.calibration_supremum import PRECISION, Ball, ball, upper_end
from tacita.privacy import text

Law = Literal["student", "quartic", "laplace", "quartic paper", "laplace paper"]

_NAMES: dict[Law, str] = {
    "student": "SmoothStudent",
    "quartic": "SmoothGamma",
    "laplace": "SmoothLaplace",
    "quartic paper": "SmoothGamma as printed",
    "laplace paper": "SmoothLaplace as printed",
}
# Shapes the search may choose from. Public and fixed; the mean absolute error is finite only for ν > 1.
SHAPES: tuple[Fraction, ...] = tuple(Fraction(quarter, 4) for quarter in range(5, 241))
LARGEST_EPSILON = 100
_DIGITS = 9  # significant digits of a scale
_DIGITS_WHILE_CHOOSING = 5  # enough to choose a shape: that choice moves accuracy, never the guarantee


# ---------------------------------------------------------------- the search


def _smallest(certified: Callable[[Fraction], bool], digits: int) -> Fraction:
    """The smallest decimal of that many significant digits that is certified; larger ones are too."""
    top = Fraction(1)
    while not certified(top):
        top *= 10
    while certified(top / 10):
        top /= 10
    unit: Fraction = top / 10**digits
    refused: int = 10 ** (digits - 1)
    accepted: int = 10**digits
    while accepted - refused > 1:
        middle = (refused + accepted) // 2
        if certified(middle * unit):
            accepted = middle
        else:
            refused = middle
    return accepted * unit


def _rounded_up(value: Ball, digits: int) -> Fraction:
    """The smallest decimal of that many significant digits above the whole ball."""
    exact = upper_end(value)
    if exact <= 0:
        return Fraction(0)
    unit = Fraction(1)
    while exact / unit >= 10**digits:
        unit *= 10
    while exact / unit < 10 ** (digits - 1):
        unit /= 10
    return Fraction(-(-exact // unit)) * unit


def _scale(loss: Callable[[Fraction], Ball], limit: Fraction, digits: int = _DIGITS) -> Fraction:
    with ctx.workprec(PRECISION):
        bound = ball(limit)
    return _smallest(lambda k: bool(loss(k) <= bound), digits)


# ---------------------------------------------------------------- what is feasible


def check_parameters(alpha: Fraction, **positive: Fraction) -> None:
    if alpha <= 0:
        raise UsageError('alpha: must be above 0, such as "0.1" for 10 percent')
    for name, value in positive.items():
        if value <= 0:
            raise UsageError(f"{name}: must be above 0")
    if positive.get("delta", Fraction(0)) >= 1:
        raise UsageError("delta: must be below 1")
    if positive.get("epsilon", Fraction(0)) > LARGEST_EPSILON:
        raise UsageError(f"epsilon: must be at most {LARGEST_EPSILON}; far below that it already protects nobody")


@lru_cache(maxsize=4096)
def smallest_epsilon(
    law: Law, alpha: Fraction, *, nu: Fraction | None = None, delta: Fraction | None = None
) -> Fraction:
    """The smallest ε this library accepts for a law at α (four digits, rounded up from the exact limit).

    The limit itself needs infinite noise, so it is never reached. For Student noise without a given ν it
    is the limit of the heaviest tail in `SHAPES`.

    >>> text(smallest_epsilon("quartic", Fraction("0.1")))
    '0.286'
    >>> text(smallest_epsilon("quartic paper", Fraction("0.1")))
    '0.4766'
    """
    check_parameters(alpha, **{name: value for name, value in (("nu", nu), ("delta", delta)) if value is not None})
    if (delta is None) == law.startswith("laplace"):
        raise UsageError(f"delta: {_NAMES[law]} {'needs one' if delta is None else 'has none'}")
    with ctx.workprec(PRECISION):
        log_ratio = (1 + ball(alpha)).log()
        limit = log_ratio
        if law == "student":
            limit = log_ratio * ball(SHAPES[0] if nu is None else nu).max(arb(1))
        elif law == "quartic":
            limit = 3 * log_ratio
        elif law == "quartic paper":
            limit = 5 * log_ratio
        elif law == "laplace paper" and delta is not None:
            limit = -2 * ball(delta).log() * log_ratio
        elif delta is not None:
            # With infinite noise the shift no longer matters and δ is what the tails of two dilated laws leave.
            tail = ball(alpha) * (ball(alpha) / ball(delta)).log() - (1 + ball(alpha)) * log_ratio
            limit = log_ratio.max(tail)
        # A hair of room, so that the value named here always has a scale that is finite and quick to find.
        return _rounded_up(limit * (1 + arb(2) ** -16), 4)


def _require(
    law: Law, alpha: Fraction, epsilon: Fraction, *, nu: Fraction | None = None, delta: Fraction | None = None
) -> None:
    check_parameters(alpha, epsilon=epsilon)
    least = smallest_epsilon(law, alpha, nu=nu, delta=delta)
    if epsilon < least:
        instead = "use LogLaplace, which works at every ε"
        if law.endswith("paper"):
            instead = 'use calibration="proved"'
        shape = "" if nu is None else f" and ν = {text(nu)}"
        failure = "" if delta is None else f" and δ = {text(delta)}"
        raise UsageError(
            f"epsilon: {_NAMES[law]} needs ε of at least {text(least)} at α = {text(alpha)}{shape}{failure}; "
            f"raise epsilon, lower alpha, or {instead}"
        )


# ---------------------------------------------------------------- Student noise


@lru_cache(maxsize=4096)
def student_scale(alpha: Fraction, epsilon: Fraction, nu: Fraction, *, digits: int = _DIGITS) -> Fraction:
    """The smallest certified k for h ∝ (1 + z²/ν)^(−(ν+1)/2).

    >>> round(float(student_scale(Fraction("0.1"), Fraction(2), Fraction(3))), 3)
    0.559
    """
    _require("student", alpha, epsilon, nu=nu)
    return _scale(lambda k: worst.student_loss(alpha, k, nu), epsilon, digits)


def student_true_epsilon(alpha: Fraction, k: Fraction, nu: Fraction) -> Fraction:
    """The smallest ε that Student noise of scale k·S is certified to have, rounded up."""
    check_parameters(alpha, k=k, nu=nu)
    return _rounded_up(worst.student_loss(alpha, k, nu), _DIGITS)


def student_mean_absolute(nu: Fraction) -> Ball:
    """E|Z| of Student noise: 2·√ν·Γ((ν+1)/2) / (√π·(ν−1)·Γ(ν/2)), finite for ν > 1."""
    with ctx.workprec(PRECISION):
        v = ball(nu)
        return 2 * v.sqrt() * ((v + 1) / 2).gamma() / (arb.pi().sqrt() * (v - 1) * (v / 2).gamma())


@lru_cache(maxsize=1024)
def best_student(alpha: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """The shape ν in `SHAPES` with the smallest mean absolute error k·E|Z|, and its scale k.

    >>> text(best_student(Fraction("0.1"), Fraction(1))[0])
    '3'
    """
    _require("student", alpha, epsilon)
    errors = {
        nu: upper_end(student_mean_absolute(nu)) * student_scale(alpha, epsilon, nu, digits=_DIGITS_WHILE_CHOOSING)
        for nu in SHAPES
        if epsilon >= smallest_epsilon("student", alpha, nu=nu)
    }
    nu = min(errors, key=lambda shape: (errors[shape], shape))
    return nu, student_scale(alpha, epsilon, nu)


# ---------------------------------------------------------------- quartic noise (the paper's Smooth Gamma)


@lru_cache(maxsize=1024)
def quartic_scale(alpha: Fraction, epsilon: Fraction) -> Fraction:
    """The smallest certified k for h ∝ 1/(1 + z⁴)."""
    _require("quartic", alpha, epsilon)
    return _scale(lambda k: worst.quartic_loss(alpha, k), epsilon)


@lru_cache(maxsize=1024)
def quartic_paper_scale(alpha: Fraction, epsilon: Fraction) -> Fraction:
    """haney2017, algorithm 2, as printed: k = 5/(ε − 5·ln(1+α)), for 1 + α < e^(ε/5).

    >>> round(float(quartic_paper_scale(Fraction("0.1"), Fraction(2))) / 2**0.5, 2)
    2.32
    """
    _require("quartic paper", alpha, epsilon)
    with ctx.workprec(PRECISION):
        return _rounded_up(5 / (ball(epsilon) - 5 * (1 + ball(alpha)).log()), _DIGITS)


@lru_cache(maxsize=1024)
def quartic_true_epsilon(alpha: Fraction, k: Fraction) -> Fraction:
    """The smallest ε that quartic noise of scale k·S is certified to have, rounded up.

    >>> a, e = Fraction("0.1"), Fraction(2)
    >>> round(float(quartic_true_epsilon(a, quartic_paper_scale(a, e))), 2)  # what the printed scale really has
    0.86
    """
    check_parameters(alpha, k=k)
    return _rounded_up(worst.quartic_loss(alpha, k), _DIGITS)


# ---------------------------------------------------------------- Laplace noise


@lru_cache(maxsize=1024)
def laplace_delta(alpha: Fraction, epsilon: Fraction, k: Fraction) -> Fraction:
    """The smallest δ that Laplace noise of scale k·S is certified to have at ε, rounded up.

    >>> f"{float(laplace_delta(Fraction('0.1'), Fraction(2), Fraction(1))):.2g}"  # the printed scale 2/ε
    '8e-07'
    """
    check_parameters(alpha, epsilon=epsilon, k=k)
    with ctx.workprec(PRECISION):
        if not (1 + ball(alpha)).log() < ball(epsilon):
            raise UsageError(
                f"epsilon: {_NAMES['laplace']} needs ε above ln(1 + α), that is "
                f"{text(_rounded_up((1 + ball(alpha)).log(), 4))} at α = {text(alpha)}, whatever δ is"
            )
    return _rounded_up(worst.laplace_failure(alpha, epsilon, k), _DIGITS)


@lru_cache(maxsize=1024)
def laplace_scale(alpha: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The smallest certified k for Laplace noise that fails with δ at most.

    >>> round(float(laplace_scale(Fraction("0.1"), Fraction(2), Fraction("0.0005"))), 2)
    0.61
    """
    _require("laplace", alpha, epsilon, delta=delta)
    return _scale(lambda k: worst.laplace_failure(alpha, epsilon, k), delta)


def laplace_paper_scale(alpha: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """haney2017, algorithm 3, as printed: k = 2/ε, for 1 + α ≤ e^(ε/(2·ln(1/δ))).

    What it really has is `laplace_delta(alpha, epsilon, 2 / epsilon)`.

    >>> laplace_paper_scale(Fraction("0.1"), Fraction(2), Fraction("0.0005"))
    Fraction(1, 1)
    """
    _require("laplace paper", alpha, epsilon, delta=delta)
    return 2 / epsilon


# ---------------------------------------------------------------- Laplace noise on the log scale


@lru_cache(maxsize=1024)
def log_laplace_scale(alpha: Fraction, epsilon: Fraction, *, paper: bool = False) -> Fraction:
    """ln(1+α)/ε rounded up in the fifteenth digit; `paper` doubles it, as algorithm 1 prints it.

    >>> round(float(log_laplace_scale(Fraction("0.1"), Fraction(2))), 6)
    0.047655
    """
    check_parameters(alpha, epsilon=epsilon)
    with ctx.workprec(PRECISION):
        return _rounded_up((2 if paper else 1) * (1 + ball(alpha)).log() / ball(epsilon), 15)
