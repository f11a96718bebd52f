"""What a table of a field is made of: main effects, trends over ordered states, and the rest. Public arithmetic.

How often each state occurs is known from all tables that hold its column together, so a table speaks only of what its
columns have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DEGREE = 2  # of a trend
_MOST_TRENDS = 60
_SMALLEST = 1e-12


def main_effects(values: Floats, weights: Floats) -> Floats:
    """What cells of one state have in common, for the states of each attribute: means with these weights.

    >>> main_effects(np.array([[3.0, 4.0], [5.0, 6.0]]), np.ones((2, 2))).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    >>> main_effects(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((2, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    held, total = weights * values, np.zeros(values.shape)
    for axis in range(values.ndim):
        others = tuple(k for k in range(values.ndim) if k != axis)
        each = np.maximum(weights.sum(axis=others, keepdims=True), _SMALLEST)
        total = total + held.sum(axis=others, keepdims=True) / each
    return np.asarray(total - (values.ndim - 1) * float(held.sum()) / max(float(weights.sum()), _SMALLEST))


@dataclass(frozen=True, eq=False)
class Step:
    """What makes a table likeliest by itself: slopes of its trends, by how much they change, and its rest."""

    slopes: Floats
    leaning: Floats
    rest: Floats
    told: float
    """How many slopes the counts tell."""

    @classmethod
    def of(cls, away: Floats, known: Floats, prior: float, trend: Floats | None, wide: float, slopes: Floats) -> Step:
        """`away` is how far what was measured is from the mean of the prior, at present `slopes` (from their mean),
        each cell with this precision; `prior` and `wide` are variances of the rest and of slopes.

        Trends and rest together: trends come first, by what they foretell where nothing is known of the rest, or
        single cells would take for their own what all of them share.
        """
        change: Floats = np.zeros(slopes.size)
        leaning, told = np.zeros(away.shape), 0.0
        if trend is not None:
            open_to = known / (1 + known * prior)
            bent = trend.T @ (open_to.reshape(-1, 1) * trend) + np.eye(slopes.size) / wide
            change = np.asarray(np.linalg.solve(bent, trend.T @ (open_to * away).ravel() - slopes / wide))
            leaning = (trend @ change).reshape(away.shape)
            told = slopes.size - float(np.trace(np.linalg.inv(bent))) / wide
        return cls(change, leaning, (away - leaning) * known / (known + 1 / prior), told)


def trend_of(attributes: tuple[int, ...], levels: tuple[int, ...], ordered: tuple[int, ...]) -> Floats | None:
    """Trends over ordered states, for each state of a category beside them, as columns over the cells of a table.

    >>> trend_of((0, 1), (4, 2), (4, 0)).shape, trend_of((0, 1), (4, 3), (4, 3)).shape, trend_of((0,), (3,), (0,))
    ((8, 4), (12, 4), None)
    """
    if not any(ordered[a] > _DEGREE for a in attributes):
        return None
    columns: Floats = np.ones((1, 1))
    for a in attributes:
        part = np.eye(levels[a]) if ordered[a] <= _DEGREE else _polynomials(levels[a], ordered[a])
        columns = np.asarray(np.kron(columns, part), dtype=np.float64)
    return columns if columns.shape[1] <= _MOST_TRENDS else None


def _polynomials(levels: int, ordered: int) -> Floats:
    """A line and a parabola over the first states, of mean 0 and mean square 1; 0 for the others."""
    place = np.linspace(-1, 1, ordered)
    columns, _ = np.linalg.qr(np.vander(place, _DEGREE + 1, increasing=True))
    return np.vstack([columns[:, 1:] * ordered**0.5, np.zeros((levels - ordered, _DEGREE))])
