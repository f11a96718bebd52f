"""Directions, cells and anchor points for a regression, from predictors that are already released. Post-processing.

A plane is measured through its values at a few anchor points, and a partition of the predictors says where records
are counted. Both come from the synthetic values of the predictors, so choosing them well costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FLAT = 1e-6  # a direction with less of the variance than this share is no direction
_SCALE_LIMIT = 2.5


@dataclass(frozen=True, eq=False)
class Design:
    """Uncorrelated directions z = (x − centre)·axes, the medians that cut cells, and the same on a ratio scale."""

    centre: Floats
    axes: Floats
    cuts: Floats
    units: Floats
    scale_centre: Floats
    scale_axes: Floats
    scale_cuts: Floats

    @classmethod
    def of(cls, released: Floats) -> Design:
        """From a released (synthetic) file of predictors, one column each."""
        held = np.clip(released, *np.quantile(released, (0.01, 0.99), axis=0))
        centre, axes = _directions(held)
        units = np.maximum(np.median(np.abs(released - centre), axis=0), 1e-9)
        ratio = np.arcsinh((held - held.min(axis=0)) / units)
        scale_centre, scale_axes = _directions(ratio)
        scale_axes = scale_axes[:, :2]
        lows = held.min(axis=0)
        found = cls(
            centre,
            axes,
            np.median((held - centre) @ axes, axis=0),
            np.vstack([lows, units]),
            scale_centre,
            scale_axes,
            np.zeros(scale_axes.shape[1]),
        )
        cuts = np.median(found.scales(released), axis=0)
        return cls(centre, axes, found.cuts, found.units, scale_centre, scale_axes, cuts)

    @property
    def directions(self) -> int:
        return int(self.axes.shape[1])

    def coordinates(self, predictors: Floats) -> Floats:
        return rowwise.product(predictors - self.centre, self.axes)

    def scales(self, predictors: Floats) -> Floats:
        """Bounded coordinates on a ratio scale: what the spread of the response may depend on."""
        lows, units = self.units
        ratio = rowwise.arcsinh(np.maximum(predictors - lows, 0) / units)
        along = rowwise.product(ratio - self.scale_centre, self.scale_axes)
        return np.asarray(np.clip(along, -_SCALE_LIMIT, _SCALE_LIMIT))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Design:
        q = len(stored["centre"])
        shaped = {name: np.array(value, dtype=np.float64) for name, value in stored.items()}
        for name in ("axes", "scale_axes"):
            shaped[name] = shaped[name].reshape(q, -1)
        return cls(**shaped)


def _directions(held: Floats) -> tuple[Floats, Floats]:
    """Mean and the axes that make the columns uncorrelated with variance one; constant directions are left out."""
    centre = held.mean(axis=0)
    spread = held.std(axis=0)
    live = spread > 1e-12 * (1 + np.abs(centre))
    unit = np.where(live, spread, 1.0)
    if not live.any():
        return centre, np.zeros((held.shape[1], 0))
    standard = (held - centre)[:, live] / unit[live]
    values, vectors = np.linalg.eigh(np.atleast_2d(standard.T @ standard / len(standard)))
    order = np.argsort(values)[::-1]
    order = order[values[order] > _FLAT * values.max()]
    axes = np.zeros((held.shape[1], order.size))
    axes[live] = vectors[:, order] / np.sqrt(values[order]) / unit[live][:, None]
    # A sign that does not depend on the linear algebra library: the largest entry of each axis is positive.
    largest = np.abs(axes * unit[:, None]).argmax(axis=0)
    return centre, axes * np.sign(axes[largest, np.arange(order.size)])


def cell_of(coordinates: Floats, cuts: Floats) -> Integers:
    """Which of the 2^d cells of the cuts a record is in."""
    found = np.zeros(len(coordinates), dtype=np.int64)
    for k in range(cuts.size):
        found += (coordinates[:, k] > cuts[k]).astype(np.int64) << k
    return found


def anchor_weights(coordinates: Floats) -> Floats:
    """Each record's weights on d + 1 anchor points around the middle, so that a plane is its values there."""
    d = coordinates.shape[1]
    corners = simplex(d)
    inverse = np.linalg.inv(np.column_stack([np.ones(d + 1), corners]))
    return np.ascontiguousarray(rowwise.product(coordinates, inverse[1:]) + inverse[0])


def simplex(d: int) -> Floats:
    """The corners of a regular simplex around the origin, one standard deviation per direction away.

    >>> simplex(1).tolist()
    [[-1.0], [1.0]]
    """
    if d == 0:
        return np.zeros((1, 0))
    corners = np.zeros((d + 1, d))
    for k in range(d):
        reach = np.sqrt(d) * np.sqrt((d + 1) / d * (d - k) / (d - k + 1))
        corners[k, k] = -reach
        corners[k + 1 :, k] = reach / (d - k)
    return corners
