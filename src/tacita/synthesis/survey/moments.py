"""Everything a normal model needs of a file: weighted counts, sums and cross-products in each cell.

The design variables are public and categorical, so a record enters a likelihood only through its cell: whatever the
number of records, a fit works on as many numbers as there are cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Σα, Σαz and Σαzzᵀ of the records z of each cell.

    >>> found = Moments.of(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 0]), 1)
    >>> found.weight.tolist(), found.sums.tolist(), found.products.tolist()
    ([2.0], [[4.0, 6.0]], [[[10.0, 14.0], [14.0, 20.0]]])
    """

    weight: Floats
    sums: Floats
    products: Floats

    @classmethod
    def of(cls, z: Floats, cell: Integers, cells: int, alpha: Floats | None = None) -> Moments:
        d = z.shape[1]
        weighted = z if alpha is None else z * alpha[:, None]
        sums, products = np.empty((cells, d)), np.empty((cells, d, d))
        for i in range(d):
            sums[:, i] = np.bincount(cell, weights=weighted[:, i], minlength=cells)
            for j in range(i, d):
                products[:, i, j] = np.bincount(cell, weights=weighted[:, i] * z[:, j], minlength=cells)
                products[:, j, i] = products[:, i, j]
        return cls(np.bincount(cell, weights=alpha, minlength=cells).astype(np.float64), sums, products)

    def about(self, means: Floats) -> Floats:
        """Σα(z − m)(z − m)ᵀ over all records, m being the mean given for their cell."""
        crossed = np.einsum("ci,cj->ij", self.sums, means)
        squared = np.einsum("c,ci,cj->ij", self.weight, means, means)
        return np.asarray(self.products.sum(axis=0) - crossed - crossed.T + squared)

    @property
    def means(self) -> Floats:
        """The mean of each cell; zero where a cell has no weight."""
        return np.asarray(self.sums / np.where(self.weight > 0, self.weight, 1.0)[:, None])
