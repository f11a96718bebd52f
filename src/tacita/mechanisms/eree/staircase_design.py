"""Find the least noise that a smooth sensitivity needs, and certify it.

The density is constant on plateaus, so "the privacy loss never exceeds ε" is a finite list of inequalities
between heights. A linear programme picks the heights with the smallest mean absolute error among unbiased
laws; the same list is then checked again in rational arithmetic, and only a law that passes is returned.
The geometry (which plateau can face which, under which dilation) and the proof are in `staircase.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.lazy import later
from tacita.mechanisms.eree.calibration import check_parameters
from tacita.noise.plateau import RATIO_BITS, WEIGHT_BITS, PlateauLaw
from tacita.privacy import text

optimize, sparse = later("scipy.optimize"), later("scipy.sparse")

_CORE_PLATEAUS = 512  # in all; more of them bring the law closer to the optimum and cost seconds
_FINEST = 48  # plateaus per unit of sensitivity, at most
# What the programme is asked to stay below ε, so that rounding to integers and solver tolerance do not matter.
_MARGINS = (1e-6, 1e-5, 1e-4, 1e-3)
# Below this ε a law of so fine a grid would take minutes to find. Above these its tails would need weights below
# 2^-62; a law for a smaller ε then serves, with noise of about a hundredth of S. Beyond α = 1 "10 percent" becomes
# "twice as large", which nobody asks for and which takes minutes too.
_LEAST_EPSILON = Fraction(1, 25)
_ENOUGH_EPSILON = (Fraction(12), Fraction(10), Fraction(8), Fraction(6))
_LARGEST_ALPHA = 1
_CLEARLY = 1e-7  # a float ratio this far below the bound needs no rational check: floats are good to 1e-12


def smallest_epsilon(alpha: Fraction) -> Fraction:
    """The law has a finite mean, and exists, when ε > 2·ln(1+α); rounded up to three digits."""
    return max(_LEAST_EPSILON, Fraction(math.ceil(2000 * math.log1p(float(alpha)) + 1), 1000))


@dataclass(frozen=True)
class _Cells:
    """Every plateau that takes part in an inequality: two tail periods on each side and the core."""

    edges: NDArray[np.float64]
    exact_edges: tuple[Fraction, ...]
    variable: NDArray[np.int64]  # which height of the programme
    period: NDArray[np.int64]
    tail: int
    left: NDArray[np.bool_]  # in the left tail


def _lay_out(alpha: Fraction, epsilon: Fraction) -> tuple[_Cells, list[Fraction]]:
    """Edges: a uniform core whose step divides the pure shift 1/(1+α), then one stretched period per side."""
    reach = max(2, math.ceil(5 / float(epsilon)))
    per_unit = max(6, min(_FINEST, _CORE_PLATEAUS // (2 * reach)))
    step = 1 / ((1 + alpha) * per_unit)
    half = reach * per_unit
    core = [step * k for k in range(-half, half + 1)]
    pivot, last = 1 / alpha, core[-1]
    period_length = alpha * (last + pivot)
    tail = max(8, math.ceil(period_length / step))
    right = [(last + pivot) * (1 + alpha * Fraction(k, tail)) - pivot for k in range(tail + 1)]
    once = [-e for e in right[:0:-1]] + core + right[1:]
    beyond = [(e + pivot) * (1 + alpha) - pivot for e in right[1:]]
    exact_edges = tuple([-e for e in beyond[::-1]] + once + beyond)
    n = len(once) - 1
    variable = np.concatenate([np.arange(tail), np.arange(n), np.arange(n - tail, n)])
    period = np.concatenate([np.ones(tail), np.zeros(n), np.ones(tail)]).astype(np.int64)
    left = np.arange(variable.size) < 2 * tail
    return _Cells(np.array([float(e) for e in exact_edges]), exact_edges, variable, period, tail, left), once


def _facing(cells: _Cells, alpha: float, slack: float) -> tuple[NDArray[np.int64], ...]:
    """Pairs (i, j) such that a point of plateau i for D can lie on plateau j for D', with the range of r.

    u' = (u − s)/r with r in [1, 1+α] and s in [0, r/(1+α)]. Between two plateaus of the left tail s may go
    down to −(r−1)/α: that makes the set of pairs self-similar, so that two periods stand for all. A positive
    `slack` finds more pairs than there are, a negative one leaves out those that floats cannot tell from touching.
    """
    lo_edge, hi_edge = cells.edges[:-1], cells.edges[1:]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []
    reached = hi_edge + 1 / (1 + alpha)
    for i in range(lo_edge.size):
        low = np.ones(lo_edge.size)
        high = np.full(lo_edge.size, 1 + alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            # r·(b_j + 1/(1+α)) > a_i
            ratio = lo_edge[i] / reached
            low = np.where(reached > 0, np.maximum(low, ratio), low)
            high = np.where(reached < 0, np.minimum(high, ratio), high)
            high = np.where((reached == 0) & (lo_edge[i] >= 0), 0, high)
            # r·a_j < b_i, or the same seen from the pivot 1/α within the left tail
            pivot = np.where(cells.left & cells.left[i], -1 / alpha, 0.0)
            far, near = lo_edge + pivot, hi_edge[i] + pivot
            ratio = near / far
            high = np.where(far > 0, np.minimum(high, ratio), high)
            low = np.where(far < 0, np.maximum(low, ratio), low)
            high = np.where((far == 0) & (near <= 0), 0, high)
        j = np.flatnonzero(low < high + slack)
        found.append((np.full(j.size, i), j, low[j], high[j]))
    i_all, j_all, low_all, high_all = (np.concatenate(part) for part in zip(*found, strict=True))
    different = i_all != j_all
    return i_all[different], j_all[different], low_all[different], high_all[different]


def _moments(once: list[Fraction], tail: int, alpha: float, ratio: float) -> tuple[NDArray[np.float64], ...]:
    """Mass, mean and mean absolute value that one unit of height adds, all periods of a tail included."""
    edge = np.array([float(e) for e in once])
    a, b = edge[:-1], edge[1:]
    mass, first = b - a, (b**2 - a**2) / 2
    all_periods = 1 / (1 - ratio)
    stretched = 1 / (1 - ratio * (1 + alpha))
    for side, sign in ((slice(0, tail), -1.0), (slice(a.size - tail, None), 1.0)):
        width = mass[side]
        from_pivot = first[side] + sign * width / alpha
        first[side] = from_pivot * stretched - sign * width * all_periods / alpha
        mass[side] = width * all_periods
    return mass, first, np.where(a + b >= 0, first, -first)


def _solve(
    cells: _Cells, once: list[Fraction], alpha: float, epsilon: float
) -> tuple[NDArray[np.float64], Fraction] | None:
    """Heights of the least noisy unbiased law for a loss of at most epsilon, and the tail ratio."""
    i, j, low, high = _facing(cells, alpha, -1e-12)
    right_edges = cells.edges[-2 * cells.tail - 1 : -cells.tail]
    shortest = right_edges[1:] + 1 / (1 + alpha)
    # Where a plateau can face its own copy one period further out, no other height can make up for the drop.
    itself = (cells.variable[i] == cells.variable[j]) & (cells.period[i] < cells.period[j])
    slowest = max(min(1.0, float(np.max(shortest / right_edges[:-1])) / (1 + alpha)), *high[itself], 0.0)
    drop = slowest * math.exp(-epsilon)
    ratio = Fraction(math.ceil(drop * (1 + alpha) * 2**RATIO_BITS), 2**RATIO_BITS)
    if float(ratio) * (1 + alpha) >= 1:
        return None
    lighter = float(ratio) / (1 + alpha)
    # Heights are solved relative to exp(-ε|u|): then all of them are of order one and tolerances mean the same.
    middle = np.abs(cells.edges[:-1] + cells.edges[1:]) / 2
    first_period = cells.period == 0
    base = np.zeros(int(cells.variable.max()) + 1)
    base[cells.variable[first_period]] = np.exp(-epsilon * middle[first_period] * (1 if alpha < 1 else 0.5))
    level = base[cells.variable] * np.where(cells.period == 1, lighter, 1.0)
    bound = math.exp(epsilon)
    count, rows = i.size, np.arange(i.size)
    top = np.maximum(level[i] * high, level[j] * bound)
    falls = sparse.csr_matrix(
        (
            np.concatenate([level[i] * high / top, -bound * level[j] / top]),
            (np.concatenate([rows, rows]), np.concatenate([cells.variable[i], cells.variable[j]])),
        ),
        shape=(count, base.size),
    )
    top = np.maximum(level[j], level[i] * low * bound)
    rises = sparse.csr_matrix(
        (
            np.concatenate([level[j] / top, -bound * low * level[i] / top]),
            (np.concatenate([rows, rows]), np.concatenate([cells.variable[j], cells.variable[i]])),
        ),
        shape=(count, base.size),
    )
    side = cells.edges[:-1] + cells.edges[1:] > 0
    falling = _binding(i, side[j], -middle[j], high >= 1 + alpha, middle[j] > middle[i])
    rising = _binding(i, side[j], middle[j], low <= 1, middle[j] < middle[i])
    matrix = sparse.vstack([falls[falling], rises[rising], _one_peak(base)])
    mass, first, absolute = _moments(once, cells.tail, alpha, float(ratio))
    answer = optimize.linprog(
        absolute * base,
        A_ub=matrix,
        b_ub=np.zeros(matrix.shape[0]),
        A_eq=np.vstack([mass * base, first * base]),
        b_eq=[1.0, 0.0],
        bounds=(0, None),
        method="highs",
    )
    if answer.status != 0:
        return None
    return answer.x * base * mass, ratio


def _binding(
    i: NDArray[np.int64],
    side: NDArray[np.bool_],
    order: NDArray[np.float64],
    extreme: NDArray[np.bool_],
    relevant: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Rows that can bind when heights have one peak: of those with the extreme r only the first in `order`."""
    rows = np.flatnonzero(relevant & extreme)
    rows = rows[np.lexsort((order[rows], side[rows], i[rows]))]
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (i[rows][1:] != i[rows][:-1]) | (side[rows][1:] != side[rows][:-1])
    return np.concatenate([rows[first], np.flatnonzero(relevant & ~extreme)])


def _one_peak(base: NDArray[np.float64]) -> Any:
    """Heights rise up to the middle and fall after it."""
    n = base.size
    inner = np.where(np.arange(n - 1) < n // 2, np.arange(1, n), np.arange(n - 1))
    outer = np.where(np.arange(n - 1) < n // 2, np.arange(n - 1), np.arange(1, n))
    rows = np.arange(n - 1)
    values = np.concatenate([np.ones(n - 1), -base[inner] / base[outer]])
    return sparse.csr_matrix((values, (np.concatenate([rows, rows]), np.concatenate([outer, inner]))), shape=(n - 1, n))


def _to_law(
    masses: NDArray[np.float64], once: list[Fraction], tail: int, alpha: Fraction, ratio: Fraction
) -> PlateauLaw:
    weights = [round(float(m) * 2**WEIGHT_BITS) for m in masses]
    middle = len(weights) // 2
    weights[middle] += (1 << WEIGHT_BITS) - sum(weights)
    return PlateauLaw(tuple(once), tuple(weights), tail, 1 + alpha, 1 / alpha, ratio)


def _below_exp(epsilon: Fraction) -> Fraction:
    """A rational just below e^ε."""
    with ctx.workprec(128):
        value = arb(fmpq(epsilon.numerator, epsilon.denominator)).exp()
        mantissa, exponent = value.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def certified(law: PlateauLaw, alpha: Fraction, epsilon: Fraction) -> bool:
    """Is the privacy loss of this law at most epsilon, for every pair of neighbours? In rational arithmetic.

    >>> from dataclasses import replace
    >>> law = least_noise(Fraction(1, 10), Fraction(2))
    >>> certified(law, Fraction(1, 10), Fraction(2)), certified(law, Fraction(1, 10), Fraction(19, 10))
    (True, False)
    """
    tail, n = law.tail, len(law.weights)
    pivot = law.pivot
    if law.growth != 1 + alpha or pivot != 1 / alpha:
        return False
    outer = [(e + pivot) * law.growth - pivot for e in law.edges[-tail:]]
    inner = [(e - pivot) * law.growth + pivot for e in law.edges[:tail]]
    exact_edges = tuple(inner + list(law.edges) + outer)
    variable = np.concatenate([np.arange(tail), np.arange(n), np.arange(n - tail, n)])
    period = np.concatenate([np.ones(tail), np.zeros(n), np.ones(tail)]).astype(np.int64)
    left = np.arange(variable.size) < 2 * tail
    cells = _Cells(np.array([float(e) for e in exact_edges]), exact_edges, variable, period, tail, left)
    lighter = law.ratio / law.growth
    height = [law.height(int(v)) * (lighter if p else 1) for v, p in zip(variable, period, strict=True)]
    if min(height) <= 0:
        return False
    level = np.array([float(h) for h in height])
    i, j, low, high = _facing(cells, float(alpha), 1e-9)
    bound = _below_exp(epsilon)
    excess = np.maximum(high * level[i] / level[j], level[j] / (level[i] * low)) / float(bound)
    for k in np.flatnonzero(excess > 1 - _CLEARLY):
        a, b = int(i[k]), int(j[k])
        lowest, highest = _exact_range(exact_edges, a, b, alpha, bool(left[a] and left[b]))
        if lowest < highest and (highest * height[a] > bound * height[b] or height[b] > bound * lowest * height[a]):
            return False
    return True


def _exact_range(
    edges: tuple[Fraction, ...], i: int, j: int, alpha: Fraction, both_left: bool
) -> tuple[Fraction, Fraction]:
    """The range of r of one pair in rational arithmetic; an empty range comes back as (1, 0)."""
    low, high = Fraction(1), 1 + alpha
    reached, start = edges[j + 1] + 1 / (1 + alpha), edges[i]
    pivot = -1 / alpha if both_left else Fraction(0)
    far, near = edges[j] + pivot, edges[i + 1] + pivot
    if reached > 0:
        low = max(low, start / reached)
    elif reached < 0:
        high = min(high, start / reached)
    elif start >= 0:
        return Fraction(1), Fraction(0)
    if far > 0:
        high = min(high, near / far)
    elif far < 0:
        low = max(low, near / far)
    elif near <= 0:
        return Fraction(1), Fraction(0)
    return low, high


@lru_cache(maxsize=256)
def least_noise(alpha: Fraction, epsilon: Fraction) -> PlateauLaw:
    """The certified law for smooth sensitivity S = max(α·largest, 1+α), in units of S."""
    check_parameters(alpha, epsilon=epsilon)
    if alpha > _LARGEST_ALPHA:
        raise UsageError("alpha: SmoothStaircase hides changes of at most 100 percent; use SmoothStudent or LogLaplace")
    if epsilon < smallest_epsilon(alpha):
        raise UsageError(
            f"epsilon: SmoothStaircase needs ε of at least {text(smallest_epsilon(alpha))} at α = {text(alpha)}; "
            "raise epsilon, lower alpha, or use LogLaplace, which has no such limit"
        )
    # A law for a smaller ε keeps every promise made for a larger one.
    for target in (epsilon, *(enough for enough in _ENOUGH_EPSILON if enough < epsilon)):
        law = _search(alpha, target)
        if law is not None:
            return law
    raise UsageError(
        f"epsilon: no certified staircase was found at α = {text(alpha)}, ε = {text(epsilon)}; "
        "use SmoothStudent or LogLaplace"
    )


def _search(alpha: Fraction, epsilon: Fraction) -> PlateauLaw | None:
    cells, once = _lay_out(alpha, epsilon)
    for margin in _MARGINS:
        solved = _solve(cells, once, float(alpha), float(epsilon) * (1 - margin))
        if solved is None:
            continue
        law = _to_law(solved[0], once, cells.tail, alpha, solved[1])
        if certified(law, alpha, epsilon):
            return law
    return None
