"""FBS, the model of the observed sample: outcomes and weight are normal together, given the public cell.

With a matrix-normal inverse-Wishart prior the weighted posterior has a closed form, and a draw is exact. Categorical
outcomes come first: each public cell has its own shares, with a Dirichlet prior, and the numbers are normal given cell
and category. Draws are functions of uniform numbers that do not depend on the data, so that two fits with almost the
same weights give almost the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaincinv, ndtri

from tacita.synthesis.comparison.pseudo.kernel import Floats, Kernel
from tacita.synthesis.survey.moments import Moments

Parameters = dict[str, Floats]

_PRIOR_RECORDS = 0.01  # what the prior of coefficients is worth
_PRIOR_SPREAD = 0.1  # prior standard deviation around the cells' means, as a share of half the public range


@dataclass(frozen=True, eq=False)
class SampleModel:
    """Normal records around effects[c] @ B with covariance Σ; `categories` > 1 makes cells of cell and category.

    `effects` has one row for each cell of the model. `low` and `high` are the public bounds on the modelled scale: the
    prior is centred in between, and is worth a hundredth of a record for coefficients and d + 1 for the covariance.
    """

    effects: Floats
    low: Floats
    high: Floats
    categories: int = 1

    @property
    def dimensions(self) -> int:
        return len(self.low)

    @property
    def numbers(self) -> int:
        """Uniform numbers that one draw takes."""
        d, (cells, k) = self.dimensions, self.effects.shape
        return int(d * (d + 1) // 2 + k * d + (cells if self.categories > 1 else 0))

    def draw(self, moments: Moments, uniforms: Floats) -> Parameters:
        """One draw for each row of uniforms."""
        d, (cells, k) = self.dimensions, self.effects.shape
        centre, precision, scale, df = self._posterior(moments)
        chi, normal = uniforms[:, :d], ndtri(uniforms[:, d : d * (d + 1) // 2 + k * d])
        bartlett = np.zeros((len(uniforms), d, d))
        for j in range(d):
            bartlett[:, j, j] = np.sqrt(2 * gammaincinv((df - j) / 2, chi[:, j]))
        below = np.tril_indices(d, -1)
        bartlett[:, below[0], below[1]] = normal[:, : len(below[0])]
        # Σ⁻¹ = rootᵀ root is Wishart with df degrees of freedom and scale⁻¹.
        root = np.swapaxes(bartlett, 1, 2) @ np.linalg.inv(np.linalg.cholesky(scale))
        spread = np.linalg.inv(root)
        noise = normal[:, len(below[0]) :].reshape(-1, k, d).transpose(1, 0, 2).reshape(k, -1)
        turned = solve_triangular(np.linalg.cholesky(precision), noise, lower=True, trans="T").reshape(k, -1, d)
        coefficients = centre + turned.transpose(1, 0, 2) @ np.swapaxes(spread, 1, 2)
        found = {"coefficients": coefficients, "covariance": spread @ np.swapaxes(spread, 1, 2)}
        if self.categories > 1:
            gamma = gammaincinv(1.0 + moments.weight, np.clip(uniforms[:, -cells:], 1e-300, None))
            shares = np.maximum(gamma.reshape(len(uniforms), -1, self.categories), 1e-300)
            found["shares"] = (shares / shares.sum(axis=2, keepdims=True)).reshape(len(uniforms), -1)
        return found

    def _posterior(self, moments: Moments) -> tuple[Floats, Floats, Floats, float]:
        d, k = self.dimensions, self.effects.shape[1]
        middle = (self.low + self.high) / 2
        prior = _PRIOR_RECORDS * np.eye(k)
        start = np.linalg.lstsq(self.effects, np.tile(middle, (len(self.effects), 1)), rcond=None)[0]
        precision = (self.effects * moments.weight[:, None]).T @ self.effects + prior
        centre = np.linalg.solve(precision, self.effects.T @ moments.sums + prior @ start)
        # Squares about the fitted means, which loses no digits where values are far from zero.
        scale = np.diag((_PRIOR_SPREAD * (self.high - self.low) / 2) ** 2) + moments.about(self.effects @ centre)
        scale = scale + _PRIOR_RECORDS * (centre - start).T @ (centre - start)
        half = np.asarray((scale + scale.T) / 2, dtype=np.float64)
        return np.asarray(centre, dtype=np.float64), precision, half, float(d + 1 + moments.weight.sum())

    def kernel(self, parameters: Parameters) -> Kernel:
        lower = np.linalg.cholesky(parameters["covariance"])
        mean = self.effects @ parameters["coefficients"]
        return Kernel.normal(mean, np.linalg.inv(lower), shares=parameters.get("shares"))
