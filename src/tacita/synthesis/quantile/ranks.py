"""How the rank of a number goes with the numbers before it: a linear regression of normal scores, from tables of two.

Each pair of numbers is cut at its middles into a table of four counts, or into more classes where the file is large.
What a table says about the correlation of two normal variables is one number with little noise, also where half the
records are zero, and it can be shrunk by what the noise is known to be. Post-processing only: `owning` measures tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CLOSEST = 0.999
_CLASSES = ((8, 2000), (4, 200))  # so many where records times ε are as many
# By the number of classes: what correlations of real numbers are off by without noise, because they do not go together
# as normal ones do. Files that are combined show it.
UNLIKE = {2: 0.03, 4: 0.02, 8: 0.015}
SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]])
"""How a table of four changes where records go together by one more, and its margins stay."""
_ANGLES = np.linspace(-np.arcsin(_CLOSEST), np.arcsin(_CLOSEST), 401)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Noisy tables of classes of the number and of each predictor, and the predictors' moments.

    The moments come from a released draft; `scored` tells predictors that are normal scores from others.
    """

    tables: Floats
    epsilon: float
    centre: Floats
    covariance: Floats
    scored: tuple[bool, ...]
    # Of tables of four that rest on one measured number each: the scale of its noise in records. Other tables have
    # noise of scale 1/ε in each count.
    moved: tuple[float, ...] = ()
    # Standard deviations of predictors over all records, where `covariance` is that within cells of categories.
    spread: Floats | None = None

    def within(self, released: Floats, parts: Sequence[NDArray[np.bool_]]) -> Ranks:
        """For files whose ranks are given out within each of these parts of the draft."""
        if not parts:
            return self
        away = released.copy()
        for here in parts:
            away[here] -= away[here].mean(axis=0) if here.any() else 0.0
        return replace(self, covariance=released_moments(away)[1], spread=np.sqrt(np.diag(self.covariance)))

    def scores(self, u: Floats, predictors: Floats, random: np.random.Generator | None) -> Floats:
        """Normal scores given the predictors; with a generator, the noise of the tables is drawn as well."""
        slopes, explained = self._fit(random)
        from scipy.special import ndtri  # slow to load, and plans do without

        return np.asarray((predictors - self.centre) @ slopes + np.sqrt(1 - explained) * ndtri(u))

    @property
    def closest(self) -> float:
        """How much of the variance of the rank the nearest predictor explains by itself."""
        return float((self._correlations(None) ** 2).max())

    def _fit(self, random: np.random.Generator | None) -> tuple[Floats, float]:
        """Slopes, and the share of the variance that they explain."""
        correlations = self._correlations(random)
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 1e-12)) if self.spread is None else self.spread
        # The score of a value that many share is the mean of theirs: it goes with others by as much less as it varies.
        moments = correlations * np.where(self.scored, spread**2, spread)
        return _slopes(self.covariance, spread, moments)

    def _correlations(self, random: np.random.Generator | None) -> Floats:
        """With each predictor: as far as it is more than noise, or drawn from what the noise leaves open."""
        found = []
        for k, table in enumerate(self.tables):
            moved = self.moved[k] if self.moved else None
            if random is None:
                found.append(_shrunk(*correlation_of(table, self.epsilon, moved)))
                continue
            noise = random.laplace(0.0, 1 / self.epsilon, table.shape) if moved is None else random.laplace(0.0, moved)
            drawn = table + (noise if moved is None else noise * SIGNS)
            at = correlation_of(drawn, self.epsilon, moved)[0]
            at += UNLIKE.get(len(table), 0.0) * (1 - at**2) ** 0.5 * float(random.standard_normal())
            found.append(float(np.clip(at, -_CLOSEST, _CLOSEST)))
        return np.array(found)

    def to_dict(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in ("tables", "centre", "covariance")}
        within = {} if self.spread is None else {"spread": self.spread.tolist()}
        return {**arrays, **within, "epsilon": self.epsilon, "scored": list(self.scored), "moved": list(self.moved)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Ranks:
        centre, covariance = (np.array(stored[name], dtype=np.float64) for name in ("centre", "covariance"))
        tables = np.array(stored["tables"], dtype=np.float64)
        moved = tuple(stored.get("moved", ()))
        spread = np.array(stored["spread"], dtype=np.float64) if "spread" in stored else None
        return cls(tables, stored["epsilon"], centre, covariance, tuple(stored["scored"]), moved, spread)


def _slopes(covariance: Floats, spread: Floats, moments: Floats) -> tuple[Floats, float]:
    """Slopes, and the share of the variance that they explain.

    Noisy correlations may explain more than all; then predictors are taken for less alike than they are, as little as
    it takes.
    """
    for ridge in (1e-6, *(2.0**power for power in range(-10, 11))):
        slopes = np.asarray(np.linalg.solve(covariance + ridge * np.diag(spread**2), moments), dtype=np.float64)
        explained = float(slopes @ covariance @ slopes)
        if explained <= _CLOSEST:
            break
    return slopes, min(max(explained, 0.0), _CLOSEST)


def classes(records: int, epsilon: Fraction) -> int:
    """Into how many classes of the same size scores are cut: two, and more where noise allows to see more than that.

    >>> classes(500, Fraction(1, 10)), classes(1000, Fraction(1, 4)), classes(10**6, Fraction(1))
    (2, 4, 8)
    """
    worth = records * epsilon
    return next((size for size, least in _CLASSES if worth >= least), 2)


def score_cuts(size: int) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.arange(1, size) / size))


def released_moments(released: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of a released draft."""
    centre = released.mean(axis=0)
    away = released - centre
    return centre, np.atleast_2d(away.T @ away / max(len(away), 1))


def _shrunk(correlation: float, error: float) -> float:
    """As far as it is more than noise."""
    return correlation * max(0.0, 1 - (error / correlation) ** 2) if correlation else 0.0


def correlation_of(table: Floats, epsilon: float, moved: float | None = None) -> tuple[float, float]:
    """The correlation of two normal variables that are cut into these counts, and its standard error from the noise.

    Of a table of four it is the tetrachoric one; of a larger one that which gives the covariance of its classes' means.

    >>> correlation, error = correlation_of(np.array([[333.0, 167.0], [167.0, 333.0]]), 1.0)
    >>> round(correlation, 2), error < 0.01
    (0.5, True)
    """
    from scipy.special import ndtri

    held = np.maximum(table, 0.0) + 0.1
    total = float(held.sum())
    shares = held / total
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    (h, steps), (k, others) = ((ndtri(np.cumsum(one)[:-1]), np.diff(_class_means(one))) for one in (rows, columns))
    # The share of records below two cuts grows with the correlation by the normal density there (Plackett).
    angle, h, k = _ANGLES[:, None, None], h[None, :, None], k[None, None, :]
    density = np.exp(-(h * h - 2 * np.sin(angle) * h * k + k * k) / (2 * np.cos(angle) ** 2)) / (2 * np.pi)
    growth = np.einsum("aij,i,j->a", density, steps, others)
    reached = np.concatenate(([0.0], np.cumsum((growth[1:] + growth[:-1]) / 2 * np.diff(_ANGLES))))
    reached -= reached[_ANGLES.size // 2]
    weights = np.outer(_class_means(rows), _class_means(columns))
    # Of counts as they are: clipped at zero, the noise of the many empty cells of two close numbers would part them.
    at = float(np.interp(float((table * weights).sum()) / total, reached, _ANGLES))
    slope = float(np.interp(at, _ANGLES, growth)) / np.cos(at)
    counted = float(np.sqrt((weights**2).sum())) / epsilon
    noise = np.sqrt(2) * (counted if moved is None else moved * abs(float((weights * SIGNS).sum()))) / total
    return float(np.sin(at)), float(noise / max(slope, 1e-9))


def _class_means(shares: Floats) -> Floats:
    """Means of a normal variable in classes of these shares."""
    from scipy.special import ndtri

    cuts = ndtri(np.cumsum(shares)[:-1])
    density = np.concatenate(([0.0], np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi), [0.0]))
    return np.asarray((density[:-1] - density[1:]) / shares)
