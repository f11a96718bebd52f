"""Continuous noise rounded to a grid, with exactly the distribution of the rounded real number. Proof: rounding.md.

A draw is F⁻¹(U) for a uniform U with infinitely many random bits, of which only as many are drawn as the answer
needs. Intervals in double precision settle nearly every cell from one 64-bit word. Where an interval holds a point
halfway between two multiples of the grid, U is compared with certified balls around F at such points, with more bits
and more precision until the balls let go.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, Spare, Uniform, Words, drawn
from tacita.noise.forcing import settles
from tacita.noise.laws import FLOAT_ERROR, Floats, Laplace, Law, ball
from tacita.privacy import text

Integers = NDArray[np.int64]

# Results are clamped to [-SATURATION, SATURATION - 1]; clamping a draw is post-processing.
SATURATION = 1 << 62

# What a handful of correctly rounded double-precision operations can lose, with room to spare.
_ARITHMETIC = 2.0**-48

# The certified distribution function at the lower edge of grid cell g, with so many bits of precision.
_EdgeCdf = Callable[[int, int], Any]


def _cell_of(u: Uniform, edge_cdf: _EdgeCdf, guess: int) -> int:
    """The last grid cell whose lower edge U has passed, searched outwards from any guess."""

    def passed(g: int) -> bool:
        if abs(g) >= SATURATION:
            return g < 0
        return u.at_least(lambda precision: edge_cdf(g, precision))

    step = 1
    if passed(guess):
        low, high = guess, guess + 1
        while passed(high):
            low, step = high, 2 * step
            high = min(high + step, SATURATION)
    else:
        low, high = guess - 1, guess
        while not passed(low):
            high, step = low, 2 * step
            low = max(low - step, -SATURATION)
    while high - low > 1:
        middle = (low + high) // 2
        if passed(middle):
            low = middle
        else:
            high = middle
    return low


def _settle(low: Floats, high: Floats, words: Words, spare: Spare, edge_cdf: Callable[[int], _EdgeCdf]) -> Integers:
    """Grid cells from the enclosures [low, high] of the draws in grid units; undecided ones through `edge_cdf(i)`."""
    first, last = np.floor(low + 0.5), np.floor(high + 0.5)
    decided = (first == last) & (np.abs(first) < 2.0**52)
    result = np.where(decided, first, 0.0).astype(np.int64)
    for i in np.flatnonzero(~decided).tolist():
        finite = [end for end in (float(first[i]), float(last[i])) if np.isfinite(end)]
        guess = int(max(-SATURATION + 1, min(SATURATION - 1, finite[0]))) if finite else 0
        result[i] = _cell_of(Uniform(int(words[i]), spare), edge_cdf(i), guess)
    return result


def _law_text(parameters: dict[str, str], grid: Fraction) -> str:
    return " ".join(f"{key}={value}" for key, value in {**parameters, "grid": text(grid)}.items())


@settles("centre", "scale_num")
def noisy_on_grid(
    centre: Integers,
    scale_num: Integers,
    scale_den: int,
    law: Law,
    entropy: Entropy,
    label: str,
    *,
    grid: Fraction = Fraction(1),
) -> Integers:
    """The multiple of `grid` nearest to centre + scale·Z, halves up, per cell; the result counts grid steps.

    The scale of each cell is the exact rational scale_num/scale_den. A scale of zero adds nothing. Results are
    clamped to [-2^62, 2^62 - 1] grid steps.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> from tacita.noise.laws import Student
    >>> noisy_on_grid(
    ...     np.array([100, 200]), np.array([1, 1]), 10**6, Student(Fraction(3)), SeededEntropy(1), "jobs",
    ...     grid=Fraction(1, 2)
    ... ).tolist()
    [200, 400]
    """
    centre = np.asarray(centre, dtype=np.int64)
    numerators = np.broadcast_to(np.asarray(scale_num, dtype=np.int64), centre.shape)
    if grid <= 0 or scale_den <= 0:
        raise UsageError(f"{label}: the grid and the denominator of the scale must be above 0")
    if bool((numerators < 0).any()):
        raise UsageError(f"{label}: a scale must not be negative")
    # Plain division, not the exact pair: a request is for looking at, the draw below keeps the exact numbers.
    entropy.announce(Request(label, _law_text(law.describe(), grid), centre, numerators / scale_den))

    centres, flat = centre.ravel(), numerators.ravel()
    words, spare = drawn(centres.size, entropy)
    z_low, z_high = law.enclose(words)
    step = Fraction(1, scale_den) / grid
    a = centres.astype(np.float64) * float(1 / grid)
    b = flat.astype(np.float64) * float(step)
    with np.errstate(invalid="ignore"):  # 0 · ∞: left undecided, and settled exactly below
        lost = _ARITHMETIC * (np.abs(a) + b * np.maximum(np.abs(z_low), np.abs(z_high)) + 1)
        low, high = a + b * z_low - lost, a + b * z_high + lost

    def edge_cdf(i: int) -> _EdgeCdf:
        middle, scale = int(centres[i]) / grid, int(flat[i]) * step

        def cdf(g: int, precision: int) -> Any:
            beyond = Fraction(2 * g - 1, 2) - middle
            if scale == 0:
                return arb(0) if beyond <= 0 else arb(2)  # passed for certain, or not passed for certain
            with ctx.workprec(precision):
                z = ball(beyond / scale)
            return law.cdf_arb(z, precision)

        return cdf

    return _settle(low, high, words, spare, edge_cdf).reshape(centre.shape)


@settles("count")
def noisy_log(
    count: Integers,
    gamma: Fraction,
    lam: Fraction,
    factor: Fraction,
    entropy: Entropy,
    label: str,
    *,
    grid: Fraction = Fraction(1),
) -> Integers:
    """The multiple of `grid` nearest to (n + γ)·e^(λη)·factor − γ, η of the Laplace law; the result counts steps.

    All four parameters are public and exact: where λ is meant to be irrational, give a rational number above it.
    A count below zero is taken as zero.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> noisy_log(
    ...     np.array([100, 0]), Fraction(10), Fraction(1, 10**6), Fraction(1), SeededEntropy(1), "jobs"
    ... ).tolist()
    [100, 0]
    """
    if min(gamma, lam, factor, grid) <= 0:
        raise UsageError(f"{label}: gamma, lambda, factor and grid must all be above 0")
    count = np.asarray(count, dtype=np.int64)
    parameters = {"law": "log-laplace", "gamma": text(gamma), "lambda": text(lam), "factor": text(factor)}
    scale = np.broadcast_to(np.float64(float(lam)), count.shape)
    entropy.announce(Request(label, _law_text(parameters, grid), count, scale))

    counts = np.maximum(count.ravel(), 0)
    words, spare = drawn(counts.size, entropy)
    law = Laplace()
    eta_low, eta_high = law.enclose(words)
    base = (counts.astype(np.float64) + float(gamma)) * float(factor / grid)
    shift = float(gamma / grid)
    with np.errstate(over="ignore", invalid="ignore"):  # past the doubles' range: undecided, settled exactly below
        small = base * np.exp(float(lam) * eta_low) * (1 - 4 * FLOAT_ERROR)
        large = base * np.exp(float(lam) * eta_high) * (1 + 4 * FLOAT_ERROR)
        low = small - shift - _ARITHMETIC * (small + shift + 1)
        high = large - shift + _ARITHMETIC * (large + shift + 1)

    def edge_cdf(i: int) -> _EdgeCdf:
        start = (int(counts[i]) + gamma) * factor

        def cdf(g: int, precision: int) -> Any:
            ratio = (Fraction(2 * g - 1, 2) * grid + gamma) / start
            if ratio <= 0:
                return arb(0)  # below −γ, where no draw falls
            with ctx.workprec(precision):
                eta = ball(ratio).log() / ball(lam)
            return law.cdf_arb(eta, precision)

        return cdf

    return _settle(low, high, words, spare, edge_cdf).reshape(count.shape)
