"""Two files at a time, from the definition: small cells, every neighbour, every output on a grid.

Nothing here knows of the set K or of the reductions in the proof files. Cells are lists of establishment sizes;
neighbours are made as haney2017's definitions 7.1 and 7.3 make them; the density of the released value is
written down for both files and compared.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tacita.mechanisms.eree.calibration import (
    best_student,
    laplace_scale,
    log_laplace_scale,
    quartic_scale,
    smallest_epsilon,
)

F = Fraction
Cell = tuple[int, ...]
Density = Callable[[np.ndarray], np.ndarray]  # log density, up to a constant
SIZES = (0, 1, 2, 7, 9, 10, 11, 20, 21, 100, 110)
REACH = np.concatenate([np.linspace(-9, 9, 1201), np.sinh(np.linspace(-25, 25, 1200))])
SETTINGS = [("0.1", "2"), ("0.1", "1"), ("0.25", "1"), ("0.5", "2"), ("0.03", "0.5")]


def grown(cell: Cell, alpha: Fraction) -> Iterator[Cell]:
    """Every cell in which one establishment gained between 1 and max(α·size, 1) workers."""
    for i, size in enumerate(cell):
        for gain in {1, int(alpha * size) // 2, int(alpha * size)} - {0}:
            yield (*cell[:i], size + gain, *cell[i + 1 :])


def neighbours(alpha: Fraction) -> list[tuple[Cell, Cell]]:
    cells = [(x,) for x in SIZES] + list(combinations_with_replacement(SIZES, 2))
    return [(cell, other) for cell in cells for other in grown(cell, alpha)]


def sensitivity(cell: Cell, alpha: Fraction) -> Fraction:
    return max(alpha * max(cell), F(1))


def worst_loss(log_density: Density, k: float, alpha: Fraction, floor: bool = True) -> float:
    """Largest |ln density ratio| of q + k·S·Z between any two neighbouring cells; `floor=False` drops max(·, 1)."""
    worst = 0.0
    for cell, other in neighbours(alpha):
        if not floor and (max(cell) == 0 or max(other) == 0):
            continue
        scales = [float(sensitivity(c, alpha) if floor else alpha * max(c)) * k for c in (cell, other)]
        centres = [float(sum(c)) for c in (cell, other)]
        outputs = np.concatenate([m + b * REACH for m, b in zip(centres, scales, strict=True)])
        one, two = (log_density((outputs - m) / b) - np.log(b) for m, b in zip(centres, scales, strict=True))
        worst = max(worst, float(np.abs(one - two).max()))
    return worst


def student(nu: Fraction) -> Density:
    v = float(nu)
    return lambda z: -(v + 1) / 2 * np.log1p(z * z / v)


def quartic(z: np.ndarray) -> np.ndarray:
    return -np.log1p(z**4)


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_student_noise_on_every_small_pair(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    nu, k = best_student(a, e)
    assert worst_loss(student(nu), float(k), a) <= float(e) + 1e-9


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_quartic_noise_on_every_small_pair(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    if e < smallest_epsilon("quartic", a):
        pytest.skip("the quartic law has no scale at this α and ε")
    assert worst_loss(quartic, float(quartic_scale(a, e)), a) <= float(e) + 1e-9


def test_the_audit_sees_too_little_noise() -> None:
    a, e = F("0.1"), F(2)
    nu, k = best_student(a, e)
    assert worst_loss(student(nu), 0.8 * float(k), a) > 1.05 * float(e)
    assert worst_loss(quartic, 0.8 * float(quartic_scale(a, e)), a) > 1.05 * float(e)


def test_the_audit_sees_a_sensitivity_without_its_floor() -> None:
    a, e = F("0.1"), F(2)
    nu, k = best_student(a, e)
    assert worst_loss(student(nu), float(k), a, floor=False) > 1.5 * float(e)


def test_the_audit_comes_close_to_epsilon() -> None:
    """The scale is not loose on real cells either: some small pair spends nearly all of ε."""
    a, e = F("0.1"), F(1)
    nu, k = best_student(a, e)
    assert worst_loss(student(nu), float(k), a) > 0.99 * float(e)
    assert worst_loss(quartic, float(quartic_scale(a, e)), a) > 0.99 * float(e)


def worst_delta(k: float, alpha: Fraction, epsilon: float) -> float:
    """Largest hockey-stick divergence of Laplace noise between neighbouring cells, by summation."""
    worst = 0.0
    bound = np.exp(epsilon)
    for cell, other in neighbours(alpha):
        (m, b), (n, d) = ((float(sum(c)), float(sensitivity(c, alpha)) * k) for c in (cell, other))
        o = np.linspace(min(m - 40 * b, n - 40 * d), max(m + 40 * b, n + 40 * d), 20001)
        p, q = np.exp(-np.abs(o - m) / b) / (2 * b), np.exp(-np.abs(o - n) / d) / (2 * d)
        for one, two in ((p, q), (q, p)):
            worst = max(worst, float(np.trapezoid(np.maximum(one - bound * two, 0), o)))
    return worst


@pytest.mark.parametrize(
    ("alpha", "epsilon", "delta"), [("0.1", "2", "5e-4"), ("0.1", "1", "0.05"), ("0.5", "1", "0.05")]
)
def test_laplace_noise_on_every_small_pair(alpha: str, epsilon: str, delta: str) -> None:
    a, e, d = F(alpha), F(epsilon), F(delta)
    k = float(laplace_scale(a, e, d))
    assert worst_delta(k, a, float(e)) <= float(d) * 1.001
    assert worst_delta(0.8 * k, a, float(e)) > float(d) * 1.2


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_log_laplace_noise_on_every_small_pair(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    proved, printed = (float(log_laplace_scale(a, e, paper=paper)) for paper in (False, True))
    steps = [abs(np.log(float((sum(two) + 1 / a) / (sum(one) + 1 / a)))) for one, two in neighbours(a)]
    # The log density ratio of two Laplace laws of one scale is at most, and reaches, distance / scale.
    assert 0.99 * float(e) < max(steps) / proved <= float(e) + 1e-9
    # As printed the noise is twice as large: the guarantee it has is ε/2.
    assert max(steps) / printed <= float(e) / 2 + 1e-9
