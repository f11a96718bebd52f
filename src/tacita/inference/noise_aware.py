"""Intervals for sums, differences, shares and ratios of published cells, from the public law of their noise.

The true table is what the intervals hold: they cover the noise that was added, not the sampling of a survey.

Where noise of one public scale was added to every cell (discrete Laplace), the law of any sum or difference is computed
exactly, and shares and ratios are inverted from it (Fieller's way: all ρ for which numerator − ρ·denominator may be
noise). Elsewhere the scale of the noise is secret and only each cell's own interval is known: half-widths h of
independent cells then add up as √Σh², times an allowance for tails that are heavier than the normal law's; those of
cells drawn together (the worker cells of one workplace cell) add up as Σh.

The law of a weighted sum of independent discrete Laplace draws comes from its characteristic function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, exp, log2, pi, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measured
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.error import FixedError

Floats = NDArray[np.float64]
Weights = tuple[tuple[float, int], ...]

_LARGEST_TABLE = 1 << 20
_FAR = 15.0  # standard deviations beyond which Laplace noise has less than one part in 10⁹ left


def chance_within(law: DiscreteLaplace, weights: Floats, distance: float) -> float:
    """P(|Σ wᵢ·noiseᵢ| ≤ distance).

    With whole-number weights the sum lives on the whole numbers and its law is one Fourier transform away. Otherwise
    the noise is replaced by the continuous Laplace law of the same variance: close once several cells enter.

    >>> from fractions import Fraction
    >>> law = DiscreteLaplace(Fraction(2))
    >>> round(chance_within(law, np.array([1.0]), 6.0), 4), law.margin(0.95)
    (0.9624, 6)
    """
    grouped = _grouped(weights)
    if not grouped:
        return 1.0
    if _is_tabulated(law, grouped):
        cumulated = _on_whole_numbers(law, grouped)
        return float(cumulated[min(int(distance + 1e-9), cumulated.size - 1)])
    return _continuous(sqrt(law.variance() / 2), grouped, distance)


def margin_of_sum(law: DiscreteLaplace, weights: Floats, confidence: float) -> float:
    """The smallest margin that |Σ wᵢ·noiseᵢ| keeps with at least this confidence.

    >>> from fractions import Fraction
    >>> margin_of_sum(DiscreteLaplace(Fraction(2)), np.array([1.0, -1.0, 1.0]), 0.95)
    10.0
    """
    grouped = _grouped(weights)
    if not grouped:
        return 0.0
    if _is_tabulated(law, grouped):
        return float(np.searchsorted(_on_whole_numbers(law, grouped), confidence, side="left"))
    scale = sqrt(law.variance() / 2)
    low, high = 0.0, scale * sum(value * count for value, count in grouped)
    while _continuous(scale, grouped, high) < confidence:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _continuous(scale, grouped, middle) >= confidence else (middle, high)
    return high


def _grouped(weights: Floats) -> Weights:
    """Each size of weight with how often it occurs; the sign of a symmetric draw does not matter."""
    size = np.abs(np.asarray(weights, dtype=np.float64))
    values, counts = np.unique(size[size > 0], return_counts=True)
    return tuple((float(value), int(count)) for value, count in zip(values, counts, strict=True))


def _is_tabulated(law: DiscreteLaplace, grouped: Weights) -> bool:
    return all(value == round(value) for value, _ in grouped) and _table_size(law, grouped) <= _LARGEST_TABLE


def _table_size(law: DiscreteLaplace, grouped: Weights) -> int:
    """Twice the reach beyond which nothing is left that a double could see, as a power of two."""
    spread = sqrt(sum(count * value**2 for value, count in grouped) * law.variance())
    reach = 40 * float(law.scale) * grouped[-1][0] + 12 * spread + 16
    return 1 << ceil(log2(2 * reach))


@lru_cache(maxsize=64)
def _on_whole_numbers(law: DiscreteLaplace, grouped: Weights) -> Floats:
    """P(|sum| ≤ x) for x = 0, 1, …"""
    size = _table_size(law, grouped)
    q = exp(-1 / float(law.scale))
    u = 2 * pi * np.arange(size // 2 + 1) / size
    transform = np.ones(u.size)
    for value, count in grouped:
        transform *= ((1 - q) ** 2 / ((1 - q) ** 2 + 2 * q * (1 - np.cos(value * u)))) ** count
    masses = np.maximum(np.fft.irfft(transform, size), 0.0)
    both_sides = masses[: size // 2].copy()
    both_sides[1:] *= 2
    return np.asarray(np.minimum(np.cumsum(both_sides), 1.0))


def _continuous(scale: float, grouped: Weights, distance: float) -> float:
    """The same for Laplace noise: P(|S| ≤ x) = (2/π)·∫ φ(u)·sin(ux)/u du."""
    if len(grouped) == 1 and grouped[0][1] == 1:
        return 1 - exp(-distance / (scale * grouped[0][0]))
    if distance <= 0:
        return 0.0
    spread = scale * sqrt(2 * sum(count * value**2 for value, count in grouped))
    x = distance / spread
    if x > _FAR:
        return 1.0
    # The plain rectangle rule is exact up to what the law has beyond 2π/step − x, which this step makes nothing.
    step = 2 * pi / (x + 2 * _FAR)
    for end in (30.0, 100.0, 400.0):
        if _log_transform(scale / spread, grouped, np.array([end]))[0] < -20:
            break
    u = step * np.arange(1, ceil(end / step) + 1, dtype=np.float64)
    integrand = np.exp(_log_transform(scale / spread, grouped, u)) * np.sin(u * x) / u
    return float(np.clip(2 / pi * step * (x / 2 + integrand.sum()), 0.0, 1.0))


def _log_transform(scale: float, grouped: Weights, u: Floats) -> Floats:
    logs = np.zeros(u.size)
    for value, count in grouped:
        logs -= count * np.log1p((scale * value * u) ** 2)
    return logs


Mask = NDArray[np.bool_]

_HALVINGS = 60


@dataclass(frozen=True)
class NoisyInterval:
    """A value made of noisy cells, and the ends between which the true value lies with the stated confidence.

    >>> print(NoisyInterval(10.0, 4.0, 16.0, 0.95))
    10 (95% interval 4 to 16)
    """

    value: float
    lower: float
    upper: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.6g} ({100 * self.confidence:g}% interval {self.lower:.6g} to {self.upper:.6g})"


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Cells of a table with what is public about their errors.

    Masks (one true/false per cell) say which cells enter a sum; `where` makes them from levels.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from tacita.noise.discrete import DiscreteLaplace
    >>> cells = NoisyCells.with_laplace(np.array([120.0, 80.0, 100.0]), DiscreteLaplace(Fraction(5)))
    >>> first, all_cells = np.array([True, False, False]), np.ones(3, dtype=bool)
    >>> print(cells.sum(all_cells))
    300 (95% interval 275 to 325)
    >>> print(cells.share(first, all_cells))
    0.4 (95% interval 0.360777 to 0.439988)
    """

    values: Floats
    half_width: Callable[[float], Floats]
    block: NDArray[np.int64]
    law: DiscreteLaplace | None = None
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)

    # ------------------------------------------------------------ where cells come from

    @classmethod
    def with_laplace(cls, values: Floats, law: DiscreteLaplace) -> NoisyCells:
        """Values with independent discrete Laplace noise of one public scale."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        return cls(
            flat, lambda confidence: np.full(flat.size, float(law.margin(confidence))), np.arange(flat.size), law
        )

    @classmethod
    def from_measured(cls, measured: Measured, schema: Schema | None = None) -> NoisyCells:
        """The cells of a measurement, row by row; with the schema, `where` knows their levels."""
        rows, width = measured.values.shape
        flat = measured.values.astype(np.float64).ravel()
        labels = {} if schema is None else _labels(measured, schema)
        error = measured.error
        if isinstance(error, FixedError) and isinstance(error.law, DiscreteLaplace):
            cells = cls.with_laplace(flat, error.law)
            return cls(flat, cells.half_width, cells.block, error.law, labels)

        def half_width(confidence: float) -> Floats:
            lower, upper = measured.intervals(confidence)
            return np.maximum(upper.ravel() - flat, flat - lower.ravel())

        return cls(flat, half_width, np.repeat(np.arange(rows), width), None, labels)

    @classmethod
    def from_table(cls, table: Any) -> NoisyCells:
        """The rows of a published table, at the confidence it was published with.

        Leave its rows of totals out. Cells that were moved so that none is negative carry a small bias, which a sum of
        many such cells adds up: prefer the noisy measurements of the bundle for those.
        """
        frame = table.to_pandas() if isinstance(table, pa.Table) else table
        for name in ("value", "margin_of_error", "confidence"):
            if name not in frame.columns:
                raise UsageError(f"{name}: no such column; give a table as it was published")
        published = frame["confidence"].to_numpy(dtype=np.float64)
        margin = frame["margin_of_error"].to_numpy(dtype=np.float64, na_value=np.inf)
        margin = np.where(np.isnan(margin), np.inf, margin)

        def half_width(confidence: float) -> Floats:
            if (np.abs(published - confidence) > 1e-9).any():
                raise UsageError("confidence: a published table has margins at its own confidence only; use that one")
            return margin

        names = [name for name in frame.columns if name not in ("value", "margin_of_error", "confidence", "guarantee")]
        labels = {name: frame[name].to_numpy() for name in names}
        return cls(frame["value"].to_numpy(dtype=np.float64), half_width, np.arange(len(frame)), None, labels)

    def where(self, **levels: str | tuple[str, ...]) -> Mask:
        """The cells that have one of the given levels in every named attribute."""
        chosen = np.ones(self.values.size, dtype=bool)
        for name, wanted in levels.items():
            if name not in self.labels:
                known = ", ".join(self.labels) or "none; give the schema to from_measured"
                raise UsageError(f"{name}: no attribute of these cells; they have {known}")
            listed = (wanted,) if isinstance(wanted, str) else tuple(wanted)
            for level in listed:
                if level not in self.labels[name]:
                    raise UsageError(f"{name}: no cell has the level {level}")
            chosen &= np.isin(self.labels[name], listed)
        return chosen

    # ------------------------------------------------------------ what can be asked

    def linear(self, weights: Floats, confidence: float = 0.95) -> NoisyInterval:
        """Any weighted sum of cells."""
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != self.values.shape:
            raise UsageError(f"weights: {weights.size} given for {self.values.size} cells")
        if not 0 < confidence < 1:
            raise UsageError("confidence: must lie strictly between 0 and 1, such as 0.95")
        value = float(weights @ self.values)
        margin = self._margin(weights, confidence)
        return NoisyInterval(value, value - margin, value + margin, confidence)

    def sum(self, where: Mask, confidence: float = 0.95) -> NoisyInterval:
        """The sum of some cells."""
        return self.linear(self._indicator(where), confidence)

    def difference(self, where: Mask, minus: Mask, confidence: float = 0.95) -> NoisyInterval:
        """One sum of cells less another; cells in both cancel."""
        return self.linear(self._indicator(where) - self._indicator(minus), confidence)

    def share(self, part: Mask, whole: Mask, confidence: float = 0.95) -> NoisyInterval:
        """What share of the sum over `whole` its cells in `part` hold: between 0 and 1."""
        above, below = self._indicator(part), self._indicator(whole)
        if (above > below).any():
            raise UsageError("part: has cells that are not in whole; use ratio for two separate sums")
        ratio = self._ratio(above, below, confidence)
        return NoisyInterval(
            min(max(ratio.value, 0.0), 1.0), min(ratio.lower, 1.0), min(max(ratio.upper, 0.0), 1.0), confidence
        )

    def ratio(self, numerator: Mask, denominator: Mask, confidence: float = 0.95) -> NoisyInterval:
        """One sum of cells over another; counts are not negative, so neither is the ratio.

        The upper end is infinite where the denominator may be zero.
        """
        return self._ratio(self._indicator(numerator), self._indicator(denominator), confidence)

    # ------------------------------------------------------------ how it is found

    def _indicator(self, where: Mask) -> Floats:
        mask = np.asarray(where)
        if mask.dtype != np.bool_ or mask.shape != self.values.shape:
            raise UsageError(f"where: must be one true or false per cell, {self.values.size} in all")
        if not mask.any():
            raise UsageError("where: no cell is chosen")
        return mask.astype(np.float64)

    def _within(self, weights: Floats, distance: float, confidence: float) -> bool:
        """Whether a distance is small enough to be noise alone, at this confidence."""
        if self.law is not None:
            return chance_within(self.law, weights, distance) <= confidence
        return distance <= self._margin(weights, confidence)

    def _margin(self, weights: Floats, confidence: float) -> float:
        used = weights != 0
        if not used.any():
            return 0.0
        if self.law is not None:
            return margin_of_sum(self.law, weights[used], confidence)
        halves = self.half_width(confidence)[used] * np.abs(weights[used])
        _, member = np.unique(self.block[used], return_inverse=True)
        together = np.bincount(member.reshape(-1), weights=halves)
        if together.size == 1:
            return float(together[0])
        return _allowance(confidence) * float(np.sqrt((together**2).sum()))

    def _ratio(self, above: Floats, below: Floats, confidence: float) -> NoisyInterval:
        if not 0 < confidence < 1:
            raise UsageError("confidence: must lie strictly between 0 and 1, such as 0.95")
        top, bottom = float(above @ self.values), float(below @ self.values)
        value = top / bottom if bottom > 0 else np.inf
        if not np.isfinite(value):
            return NoisyInterval(value, 0.0, np.inf, confidence)

        def holds(rho: float) -> bool:
            return self._within(above - rho * below, abs(top - rho * bottom), confidence)

        centre = max(value, 0.0)
        lower = 0.0 if holds(0.0) else _edge(holds, centre, 0.0)
        if self._within(below, abs(bottom), confidence):
            return NoisyInterval(centre, lower, np.inf, confidence)
        far = max(2 * centre, 1.0)
        while holds(far):
            far *= 2
        return NoisyInterval(centre, lower, _edge(holds, centre, far), confidence)


def _edge(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where the set of ratios ends, on its safe side."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
        if abs(outside - inside) <= 1e-6 * max(abs(outside), 1e-9):
            break
    return outside


def _allowance(confidence: float) -> float:
    """What √Σh² needs where single intervals come from tails heavier than the normal law's."""
    return 1.1 + 2 * max(0.0, 0.95 - confidence)


def _labels(measured: Measured, schema: Schema) -> dict[str, NDArray[Any]]:
    rows, width = measured.values.shape
    labels = {name: np.repeat(np.array(schema.levels(name))[code], width) for name, code in measured.keys.items()}
    sizes = [len(schema.levels(name)) for name in measured.worker]
    if sizes:
        crossed = np.unravel_index(np.arange(width), sizes)
        for name, code in zip(measured.worker, crossed, strict=True):
            labels[name] = np.tile(np.array(schema.levels(name))[code], rows)
    return labels
