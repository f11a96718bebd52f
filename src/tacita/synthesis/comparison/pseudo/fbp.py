"""FBP, the model of the population: what the sample says about it when units were drawn in proportion to π.

Population: y is normal around xβ with variance σ_y², and log π normal around κ_y·y + xκ_x with variance σ_π² (hu2024,
equations 4 and 5). A unit is in the sample with a chance proportional to π, which gives the sample the density of
equation 6. No chain is needed to draw from the posterior: given κ_y and the two variances, β and κ_x are normal and can
be integrated out; given κ_y, the parameters of y and those of π are independent. What is left are integrals over one
variance at a time, on grids.

FBS, the model of the observed sample: outcomes and weight are normal together, given the public cell.

With a matrix-normal inverse-Wishart prior the weighted posterior has a closed form, and a draw is exact. Categorical
outcomes come first: each public cell has its own shares, with a Dirichlet prior, and the numbers are normal given cell
and category. Draws are functions of uniform numbers that do not depend on the data, so that two fits with almost the
same weights give almost the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
        parameters = {"coefficients": coefficients, "covariance": spread @ np.swapaxes(spread, 1, 2)}
        if self.categories > 1:
            gamma = gammaincinv(1.0 + moments.weight, np.clip(uniforms[:, -cells:], 1e-300, None))
            shares = np.maximum(gamma.reshape(len(uniforms), -1, self.categories), 1e-300)
            parameters["shares"] = (shares / shares.sum(axis=2, keepdims=True)).reshape(len(uniforms), -1)
        return parameters

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


_PRIOR_VARIANCE = 100.0  # of every coefficient
_DEPTH = 24.0  # log densities this far below the top are left out
_POINTS = 257  # of a grid that an integral or a draw uses
_WIDER = 8.0  # a grid for many κ together may be so many times wider than that of one
_LOG_SPREADS = (-12.0, 25.0)  # where the logarithm of a standard deviation is looked for
_SLOPES = (-200.0, 200.0)


@dataclass(frozen=True, eq=False)
class _Block:
    """A regression of p − κ·q on x, times exp(−(i + κ·j)·xᵀβ − (i + κ·j)²σ²/2) for each record.

    That is what drawing in proportion to π leaves: for y, p = y, q = 0 and the factor is κ_y; for log π, p = log π,
    q = y and the factor is 1. The log density of log σ, with β integrated out, is quadratic in κ. Everything is on the
    axes of the Gram matrix and measured from the least-squares fit, so that nothing cancels.
    """

    values: Floats  # of the Gram matrix, above zero
    total: Floats  # Σα·x
    records: float
    fits: tuple[Floats, Floats]  # least squares for p and for q
    squares: tuple[float, float, float]  # what they leave, as a polynomial in κ
    factor: tuple[float, float]

    def polynomial(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Its coefficients at t = log σ, up to a constant."""
        variance = np.exp(2 * t)
        prior = variance[..., None] / _PRIOR_VARIANCE
        whole = self.values + prior
        kept = self.values / whole
        (p, q), (i, j), s = self.fits, self.factor, self.total
        # Where the prior is flat the factor only moves the mean, and this is zero.
        moved = (s**2 * variance[..., None] * prior / (self.values * whole)).sum(axis=-1)
        level = kept @ (p**2 / _PRIOR_VARIANCE + 2 * i * p * s) + self.squares[0] / variance + i**2 * moved
        slope = kept @ (2 * (j * p - i * q) * s - 2 * p * q / _PRIOR_VARIANCE) + self.squares[1] / variance
        bend = kept @ (q**2 / _PRIOR_VARIANCE - 2 * j * q * s) + self.squares[2] / variance + j**2 * moved
        level = level + np.log(whole).sum(axis=-1) + 2 * (self.records - s.size) * t
        # Half-Cauchy prior of σ, on the scale of log σ.
        return -level / 2 - np.log1p(variance) + t, -(slope + 2 * i * j * moved) / 2, -bend / 2

    def log_density(self, kappa: Floats, t: Floats) -> Floats:
        level, slope, bend = self.polynomial(t)
        return np.asarray(level + kappa * (slope + kappa * bend))

    def log_integral(self, kappa: Floats) -> Floats:
        at, wider = self._common_grid(kappa, _POINTS // 4)
        if wider <= _WIDER:
            values, step = self.log_density(kappa[:, None], at), at[1] - at[0]
        else:
            density = partial(self.log_density, kappa[:, None])
            grid, values = _grid(density, len(kappa), _LOG_SPREADS, points=_POINTS // 4)
            step = grid[:, 1] - grid[:, 0]
        top = values.max(axis=1, keepdims=True)
        # Both ends are negligible, so a plain sum is the trapezoidal rule.
        return np.asarray(top[:, 0] + np.log(np.exp(values - top).sum(axis=1) * step))

    def _common_grid(self, kappa: Floats, points: int) -> tuple[Floats, float]:
        """A grid that is fine enough for all κ, and how many times wider it is than that of some κ alone."""
        some = np.unique(np.quantile(kappa, np.linspace(0, 1, 9)))
        ends, _ = _grid(partial(self.log_density, some[:, None]), len(some), _LOG_SPREADS, points=2)
        low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
        wider = (high - low) / float(np.diff(ends).min())
        return np.linspace(low, high, int(points * min(wider, _WIDER))), wider

    def drawn(self, kappa: Floats, uniforms: Floats) -> Floats:
        """σ for each κ."""
        at, _ = self._common_grid(kappa, _POINTS)
        draws = np.empty_like(kappa)
        for part in np.array_split(np.arange(kappa.size), max(1, kappa.size // 128)):
            draws[part] = _inverse(at, self.log_density(kappa[part, None], at), uniforms[part])
        return np.exp(draws)

    def coefficients(self, kappa: Floats, sigma: Floats, normal: Floats) -> Floats:
        """β on the axes, given everything else: normal."""
        variance = sigma[:, None] ** 2
        precision = self.values / variance + 1 / _PRIOR_VARIANCE
        h = self.values * (self.fits[0] - kappa[:, None] * self.fits[1]) / variance
        h = h - (self.factor[0] + self.factor[1] * kappa)[:, None] * self.total
        return np.asarray(h / precision + normal / np.sqrt(precision))


@dataclass(frozen=True, eq=False)
class PopulationModel:
    """y (first) and log weight (second) of sampled records; π = unit/weight, `unit` being public.

    >>> model = PopulationModel(np.ones((1, 1)), unit=100.0)
    >>> model.numbers
    5
    """

    effects: Floats
    unit: float
    categories: int = 1

    @property
    def numbers(self) -> int:
        return int(3 + 2 * self.effects.shape[1])

    def draw(self, moments: Moments, uniforms: Floats) -> Parameters:
        k = self.effects.shape[1]
        of_y, of_pi, axes = _blocks(moments, self.effects, float(np.log(self.unit)))
        slope = _drawn_slopes(of_y, of_pi, uniforms[:, 0])
        sigma_y, sigma_pi = of_y.drawn(slope, uniforms[:, 1]), of_pi.drawn(slope, uniforms[:, 2])
        normal = ndtri(uniforms[:, 3:])
        return {
            "kappa_y": slope,
            "sigma_y": sigma_y,
            "sigma_pi": sigma_pi,
            "beta": of_y.coefficients(slope, sigma_y, normal[:, :k]) @ axes.T,
            "kappa_x": of_pi.coefficients(slope, sigma_pi, normal[:, k:]) @ axes.T,
        }

    def kernel(self, parameters: Parameters) -> Kernel:
        """Equation 6 with the square completed: normal with means moved by κ_y·σ_y² and σ_π², and 1/π."""
        slope, sy, sp = (parameters[name] for name in ("kappa_y", "sigma_y", "sigma_pi"))
        mean_y = parameters["beta"] @ self.effects.T + (slope * sy**2)[:, None]
        mean_l = slope[:, None] * mean_y + parameters["kappa_x"] @ self.effects.T + (sp**2)[:, None]
        log_unit = float(np.log(self.unit))
        root = np.zeros((len(slope), 2, 2))
        root[:, 0, 0] = 1 / sy
        root[:, 1, 0], root[:, 1, 1] = slope / sp, 1 / sp
        mean = np.stack([mean_y, log_unit - mean_l], axis=2)
        return Kernel.normal(mean, root, tilt=np.array([0.0, 1.0]), shift=-log_unit)

    def log_cell_weights(self, parameters: Parameters) -> Floats:
        """log of unit/E(π) in each cell: how many units of the population a sampled one stands for, on average."""
        mean_y = parameters["beta"] @ self.effects.T
        slope, sy, sp = (parameters[name][..., None] for name in ("kappa_y", "sigma_y", "sigma_pi"))
        log_mean = parameters["kappa_x"] @ self.effects.T + sp**2 / 2 + slope * mean_y + slope**2 * sy**2 / 2
        return np.asarray(np.log(self.unit) - log_mean)


def _blocks(moments: Moments, effects: Floats, log_unit: float) -> tuple[_Block, _Block, Floats]:
    """The regression of y, that of log π − κ_y·y, and the axes on which the effects are independent."""
    values, axes = np.linalg.eigh((effects * moments.weight[:, None]).T @ effects)
    values = np.maximum(values, 1e-12 * max(float(values[-1]), 1e-90))
    x = effects @ axes
    total, records = x.T @ moments.weight, float(moments.weight.sum())
    fit = (x.T @ moments.sums) / values[:, None]
    left = moments.about(x @ fit)
    # log π = log unit − log w, and the constant is among the effects.
    fit_l = log_unit * total / values - fit[:, 1]
    yy, yl, ll = max(float(left[0, 0]), 0.0), -float(left[0, 1]), max(float(left[1, 1]), 0.0)
    of_y = _Block(values, total, records, (fit[:, 0], np.zeros_like(total)), (yy, 0.0, 0.0), (0.0, 1.0))
    of_pi = _Block(values, total, records, (fit_l, fit[:, 0]), (ll, -2 * yl, yy), (1.0, 0.0))
    return of_y, of_pi, axes


def _drawn_slopes(of_y: _Block, of_pi: _Block, uniforms: Floats) -> Floats:
    """κ_y: its density, both variances integrated out, on a grid."""

    def log_density(at: Floats) -> Floats:
        density = of_y.log_integral(at[0]) + of_pi.log_integral(at[0])
        return np.asarray(density - at[0] ** 2 / (2 * _PRIOR_VARIANCE))[None]

    grid, values = _grid(log_density, 1, _SLOPES, points=_POINTS)
    return _inverse(grid[0], np.repeat(values, len(uniforms), axis=0), uniforms)


def _grid(
    log_density: Callable[[Floats], Floats], rows: int, limits: tuple[float, float], *, points: int
) -> tuple[Floats, Floats]:
    """For each row a grid over all that is not negligible, found by narrowing; densities have one peak."""
    low, high = np.full(rows, limits[0]), np.full(rows, limits[1])
    looks, row = 25, np.arange(rows)
    for _ in range(40):
        at = np.linspace(low, high, looks, axis=1)
        values = log_density(at)
        high_enough = values >= values.max(axis=1, keepdims=True) - _DEPTH
        first = np.maximum(high_enough.argmax(axis=1) - 1, 0)
        last = np.minimum(looks - high_enough[:, ::-1].argmax(axis=1), looks - 1)
        if bool((last - first >= looks // 2).all()):
            break
        low, high = at[row, first], at[row, last]
    at = np.linspace(low, high, points, axis=1)
    return at, log_density(at)


def _inverse(grid: Floats, values: Floats, uniforms: Floats) -> Floats:
    """Quantiles of densities, one per row, that are linear between the points of a grid."""
    density = np.exp(values - values.max(axis=1, keepdims=True))
    reached = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1)
    wanted = uniforms * reached[:, -1]
    at = np.minimum((reached <= wanted[:, None]).sum(axis=1), len(grid) - 2)
    row = np.arange(len(uniforms))
    left = wanted - np.where(at > 0, reached[row, np.maximum(at - 1, 0)], 0.0)
    a, b = density[row, at], density[row, at + 1]
    # left = a·f + (b − a)·f²/2, in the form that is stable where a and b are nearly equal or a is 0.
    f = 2 * left / (a + np.sqrt(np.maximum(a**2 + 2 * (b - a) * left, 0.0)) + 1e-300)
    return np.asarray(grid[at] + (grid[1] - grid[0]) * np.clip(f, 0.0, 1.0))
