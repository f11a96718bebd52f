"""Small files for the plane draw, and its law summed up from the definition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.kng.plane import Axis

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Planes:
    """Records with features, a number and a cell; and the axes of the coefficients."""

    phi: Floats
    v: Floats
    cell: Integers
    cells: int
    axes: list[Axis]

    def thetas(self) -> Floats:
        """Every point of the lattice."""
        return np.array(list(product(*([one.value(j) for j in range(1 << one.bits)] for one in self.axes))))

    def scores(self) -> Integers:
        """Σ over cells of |2·#{v ≤ φ·θ} − #records|, one record and one cell at a time."""
        found = []
        for theta in self.thetas():
            total = 0
            for cell in range(self.cells):
                inside = [i for i in range(len(self.v)) if self.cell[i] == cell]
                below = sum(1 for i in inside if self.v[i] <= _along(self.phi[i], theta))
                total += abs(2 * below - len(inside))
            found.append(total)
        return np.array(found, dtype=np.int64)

    def log_law(self, rate: Fraction) -> Floats:
        weights = -float(rate) * self.scores()
        most = weights.max()
        return np.asarray(weights - most - np.log(np.exp(weights - most).sum()))

    def with_record(self, phi: Floats, v: float, cell: int) -> Planes:
        return Planes(
            np.vstack([self.phi, phi]), np.append(self.v, v), np.append(self.cell, cell), self.cells, self.axes
        )


def _along(phi: Floats, theta: Floats) -> float:
    value = 0.0
    for a, b in zip(phi.tolist(), theta.tolist(), strict=True):
        value += a * b
    return value


def small(p: int, rows: int, seed: int, *, bits: int = 3) -> Planes:
    """p coefficients, records around a plane, a few exactly on one of the lattice, some equal."""
    random = np.random.default_rng(seed)
    axes = [Axis.between(-4.0, 4.0, unit=1e6 if k % 2 else 1.0, centre=0.0, bits=bits) for k in range(p)]
    phi = np.column_stack([np.ones(rows), random.normal(size=(rows, p - 1))]) if rows else np.zeros((0, p))
    phi = np.ascontiguousarray(np.round(phi, 1))
    v = np.round(phi @ np.array([1.0, -0.5, 0.8])[:p] + random.normal(size=rows), 1)
    if rows > 3:
        phi[1], v[1] = phi[0], v[0]
        v[2] = _along(phi[2], np.array([one.value(3) for one in axes]))
    cells = 1 << (p - 1)
    cell = ((phi[:, 1:] > 0) @ (1 << np.arange(p - 1))).astype(np.int64)
    return Planes(phi, v, cell, cells, axes)
