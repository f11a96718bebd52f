"""Exact discrete Laplace noise for whole tables: P(k) proportional to exp(-|k|/scale). Proof: discrete.md.

A geometric number has independent binary digits, so a draw is a handful of coin tosses. A coin of weight p compares
random bytes with the bytes of p, most significant first, until they differ: one byte decides 255 times in 256. The
bytes of p are certified by ball arithmetic and there are always more of them to be had. Only integers are compared.

How many of N discrete Laplace draws reach a threshold, exactly, without drawing all N. Proof: binomial.md.

It lets a table with far more empty cells than rows be noised at a cost that does not follow its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, log, log1p
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, Spare, Uniform
from tacita.noise.forcing import settles
from tacita.privacy import text

LARGEST_SCALE = 1 << 40
# Noisy values stay inside this bound; the noise alone reaches it with probability below exp(-2**21).
LARGEST_VALUE = 1 << 62

_FIRST_BYTES = 16
_DONE, _NEEDS_WORDS, _NEEDS_DIGITS = 0, 1, 2


@njit(cache=True, nogil=True)
def _draw(
    out: NDArray[np.int64], start: int, random: NDArray[np.uint8], at: int, coins: NDArray[np.uint8], bits: int
) -> tuple[int, int, int]:
    """Fill `out` from `start` on; stop before a draw that runs out of random bytes or of coin bytes.

    Row i of `coins` holds the weight of binary digit i; the last row the weight of one more step of 2**bits.
    The interrupted draw is made again from its own first byte, so stopping leaves no trace in the law.
    """
    available, digits = random.size, coins.shape[1]
    most = LARGEST_VALUE >> bits
    for place in range(start, out.size):
        begin = at
        while True:
            magnitude = 0
            steps = 0
            row = 0
            while row <= bits:
                digit = 0
                while True:
                    if at >= available:
                        return place, begin, _NEEDS_WORDS
                    if digit >= digits:
                        return place, begin, _NEEDS_DIGITS
                    byte = random[at]
                    at += 1
                    if byte != coins[row, digit]:
                        break
                    digit += 1
                success = byte < coins[row, digit]
                if row < bits:
                    if success:
                        magnitude += 1 << row
                    row += 1
                elif success and steps < most - 1:
                    steps += 1
                else:
                    row += 1
            if at >= available:
                return place, begin, _NEEDS_WORDS
            negative = random[at] & 1
            at += 1
            magnitude += steps << bits
            # A zero has two signs; keeping one of them gives every integer its own probability.
            if magnitude != 0 or negative == 0:
                out[place] = -magnitude if negative else magnitude
                break
    return out.size, at, _DONE


def _bits_below(scale: Fraction) -> int:
    """How many binary digits are tossed before whole steps of 2**bits >= scale are."""
    return (ceil(scale) - 1).bit_length()


@lru_cache(maxsize=256)
def _coins(scale: Fraction, digits: int) -> NDArray[np.uint8]:
    """The first `digits` bytes of every coin's weight, certified."""
    bits = _bits_below(scale)
    rows = []
    for row in range(bits + 1):
        rate = Fraction(1 << row) / scale
        precision = 8 * digits + 64
        while True:
            with ctx.workprec(precision):
                power = (-arb(fmpq(rate.numerator, rate.denominator))).exp()
                weight = power if row == bits else power / (1 + power)
                leading = (weight * arb(2) ** (8 * digits)).floor().unique_fmpz()
            if leading is not None:
                break
            precision *= 2
        rows.append(np.frombuffer(int(leading).to_bytes(digits, "big"), dtype=np.uint8))
    table = np.array(rows)
    table.flags.writeable = False  # it is cached and shared
    return table


def _checked(scale: Fraction) -> Fraction:
    if not isinstance(scale, Fraction):
        raise UsageError("scale: give it as a Fraction; a float is not the number it prints")
    if not 0 < scale <= LARGEST_SCALE:
        raise UsageError("scale: discrete Laplace noise needs a scale above 0 and at most 2**40")
    return scale


def discrete_laplace(count: int, scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws with P(k) proportional to exp(-|k|/scale), exactly.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> discrete_laplace(8, Fraction(5, 2), SeededEntropy(1)).shape
    (8,)
    """
    bits = _bits_below(_checked(scale))
    out = np.empty(count, dtype=np.int64)
    digits, done, at = _FIRST_BYTES, 0, 0
    random = np.empty(0, dtype=np.uint8)
    draw = _draw.of(count)
    while done < count:
        done, at, status = draw(out, done, random, at, _coins(scale, digits), bits)
        if status == _NEEDS_WORDS:
            # About 1.004 bytes per coin, one to two steps, a sign, and (-, 0) drawn again.
            # The bytes of a draw that stopped midway are kept; where they are many, at least as many more are drawn.
            wanted = int((count - done) * (bits + 3.5) / 8) + 16 + (random.size - at) // 8
            random = np.concatenate((random[at:], entropy.words(wanted).view(np.uint8)))
            at = 0
        elif status == _NEEDS_DIGITS:
            digits *= 2
    return out


@settles("values")
def add_discrete_laplace(values: NDArray[np.int64], scale: Fraction, entropy: Entropy, label: str) -> NDArray[np.int64]:
    """The values with independent discrete Laplace noise of one public scale.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> add_discrete_laplace(np.array([[5, 0], [7, 1]]), Fraction(1, 100), SeededEntropy(1), "jobs").tolist()
    [[5, 0], [7, 1]]
    """
    law = DiscreteLaplace(scale)
    true = np.asarray(values)
    if true.dtype.kind not in "iu":
        raise UsageError(f"{label}: discrete noise needs whole numbers; give integer counts")
    entropy.announce(Request(label, str(law), true, np.broadcast_to(np.float64(float(scale)), true.shape)))
    # Clipping is 1-Lipschitz: it cannot widen the distance between two files' values, and nothing can wrap around.
    if true.dtype == np.uint64:
        true = np.minimum(true, np.uint64(LARGEST_VALUE))
    held = np.clip(true.astype(np.int64), -(LARGEST_VALUE - 1), LARGEST_VALUE - 1)
    return held + discrete_laplace(true.size, scale, entropy).reshape(true.shape)


@dataclass(frozen=True)
class DiscreteLaplace:
    """The error law of discrete Laplace noise.

    >>> law = DiscreteLaplace(Fraction(2))
    >>> print(law)
    discrete-laplace scale=2
    >>> round(law.mean_abs(), 4), round(law.variance(), 4), law.margin(0.95), law.quantile(0.5)
    (1.919, 7.8354, 6, 0)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        _checked(self.scale)

    def __str__(self) -> str:
        return f"discrete-laplace scale={text(self.scale)}"

    def describe(self) -> dict[str, str]:
        return {"law": "discrete-laplace", "scale": text(self.scale)}

    def mean_abs(self) -> float:
        """E|noise| = 2q/(1 - q²) with q = exp(-1/scale)."""
        x = 1 / float(self.scale)
        return -2 * exp(-x) / expm1(-2 * x)

    def variance(self) -> float:
        """Var(noise) = 2q/(1 - q)²."""
        x = 1 / float(self.scale)
        return 2 * exp(-x) / expm1(-x) ** 2

    def pmf(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(noise = k)."""
        s = float(self.scale)
        return np.asarray(np.tanh(0.5 / s) * np.exp(-np.abs(k) / s), dtype=np.float64)

    def quantile(self, p: float | Fraction) -> int:
        """The smallest k with P(noise <= k) >= p."""
        share = _share(p, "p")
        # P(noise <= -m) = P(noise >= m) on the left, P(noise <= m) = 1 - P(noise >= m + 1) on the right.
        if 2 * share <= 1:
            return -self._last_with_tail_above(share)
        return self._last_with_tail_above(1 - share)

    def margin(self, confidence: float | Fraction) -> int:
        """The smallest m with P(|noise| <= m) >= confidence."""
        return self._last_with_tail_above((1 - _share(confidence, "confidence")) / 2)

    def _tail_exceeds(self, m: int, share: Fraction) -> bool:
        """Whether P(noise >= m) = q^m / (1 + q) > share, for m >= 0 and q = exp(-1/scale); certified.

        Both sides are never equal, q being transcendental, so the precision loop ends.
        """
        precision = 64
        while True:
            with ctx.workprec(precision):
                q = (-1 / arb(fmpq(self.scale.numerator, self.scale.denominator))).exp()
                gap = q**m / (1 + q) - arb(fmpq(share.numerator, share.denominator))
            if gap > 0:
                return True
            if gap < 0:
                return False
            precision *= 2

    def _last_with_tail_above(self, share: Fraction) -> int:
        """The largest m >= 0 with P(noise >= m) > share, for share <= 1/2, which P(noise >= 0) always exceeds."""
        rate = 1 / float(self.scale)
        m = max(0, floor((log(share.denominator) - log(share.numerator) - log1p(exp(-rate))) / rate))
        while m > 0 and not self._tail_exceeds(m, share):
            m -= 1
        while self._tail_exceeds(m + 1, share):
            m += 1
        return m


def _share(value: float | Fraction, name: str) -> Fraction:
    share = Fraction(value)
    if not 0 < share < 1:
        raise UsageError(f"{name}: must lie strictly between 0 and 1")
    return share


_MOST = 1 << 62
_GUARD = 128  # bits lost to logarithms of factorials of numbers below 2^62, and some


def reaching(count: int, threshold: int, scale: Fraction, spare: Spare) -> int:
    """A draw of the number of i <= count with X_i >= threshold, X_i independent, P(X = k) ∝ exp(-|k|/scale).

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> 8_500 < reaching(10**12, 20, Fraction(11, 10), reserve(64, SeededEntropy(1))) < 9_600
    True
    >>> reaching(0, 1, Fraction(1), reserve(64, SeededEntropy(1)))
    0
    """
    if not 0 <= count <= _MOST or threshold < 1 or scale <= 0:
        raise UsageError("reaching: needs a count from 0 to 2^62, a threshold of at least 1 and a scale above 0")
    if count == 0:
        return 0
    uniform = Uniform(spare.take(), spare)
    cdf = _distribution(count, threshold, scale)
    rough = exp(-threshold / float(scale)) / (1 + exp(-1 / float(scale)))
    from scipy.stats import binom  # slow to load, and few plans draw this

    start = int(binom.ppf(min(max(uniform.leading * 2.0**-64, 1e-300), 1 - 1e-16), count, rough))
    start = min(max(start, 0), count)

    def above(k: int) -> bool:
        """Whether the draw exceeds k."""
        return k < count and uniform.at_least(lambda precision: cdf(k, precision))

    # The double-precision guess is nearly always right; the search settles it for certain from wherever it starts.
    low, high, step = start - 1, start, 1
    while above(high):
        low, high, step = high, min(high + step, count), 2 * step
    step = 1
    while low >= 0 and not above(low):
        low, high, step = max(low - step, -1), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


def _distribution(count: int, threshold: int, scale: Fraction) -> Callable[[int, int], Any]:
    """Enclosures of P(draw <= k), by precision."""

    def cdf(k: int, precision: int) -> Any:
        with ctx.workprec(precision + _GUARD):
            q = (-1 / arb(fmpq(scale.numerator, scale.denominator))).exp()
            p = q**threshold / (1 + q)
            mean = float(p.mid()) * count
            if k <= mean:
                return _tail(count, k, p, precision, downwards=True)
            return 1 - _tail(count, k + 1, p, precision, downwards=False)

    return cdf


def _tail(count: int, k: int, p: Any, precision: int, *, downwards: bool) -> Any:
    """P(draw <= k) for k at most the mean, or P(draw >= k) for k above it: terms shrink away from the mean."""
    odds = p / (1 - p)
    term = (
        arb(count + 1).lgamma()
        - arb(k + 1).lgamma()
        - arb(count - k + 1).lgamma()
        + k * p.log()
        + (count - k) * (1 - p).log()
    ).exp()
    total, small = arb(0), 2.0 ** -min(precision, 900)
    while True:
        total += term
        if k == (0 if downwards else count):
            return total
        ratio = k / ((count - k + 1) * odds) if downwards else (count - k) * odds / (k + 1)
        after = term * ratio
        if ratio < 1 and float(after.upper()) < small * float((1 - ratio).lower()) * max(float(total.lower()), small):
            # Ratios only shrink from here on, so the rest is at most a geometric series.
            rest = (after / (1 - ratio)).upper()
            return total + arb(rest / 2, rest / 2)
        term = after
        k += -1 if downwards else 1
