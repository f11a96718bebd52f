"""The released model of one numeric variable: what it takes to draw synthetic values. Post-processing only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.quantile.curve import Curve
from tacita.synthesis.quantile.design import Design, cell_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginal:
    """A variable without predictors: its released quantiles."""

    curve: Curve

    def draw(self, u: Floats, predictors: Floats) -> Floats:
        return self.curve(u)

    @property
    def middle(self) -> float:
        return float(self.curve(np.array([0.5]))[0])

    def redrawn(self, noise: Noise, predictors: Floats, random: np.random.Generator) -> Marginal:
        """The same released thresholds with a draw of how many records may really lie between them."""
        shares = redrawn_shares(self.curve.shares, noise.halvings, noise.records, random)
        curve = redrawn_curve(self.curve, shares, noise.records, random)
        if curve.tail == "normal":
            curve = replace(curve, values=curve.values + _UNLIKE * float(random.standard_normal()))
        return Marginal(curve)


@dataclass(frozen=True, eq=False)
class Conditional:
    """A median plane, the distance of the middle value on either side as it varies with the predictors, and the
    shape of the rest of each side in units of that distance. Quantiles cannot cross: distances are positive.
    """

    design: Design
    plane: Floats
    above: Side
    below: Side

    def redrawn(self, noise: Noise, predictors: Floats, random: np.random.Generator) -> Conditional:
        """What the model may have been without the noise: a draw given its public law."""
        z, scales = self.design.coordinates(predictors), self.design.scales(predictors)
        above = self.above.redrawn(noise, scales, self.design.scale_cuts, random)
        below = self.below.redrawn(noise, scales, self.design.scale_cuts, random)
        cell = cell_of(z[:, :_BLOCK], self.design.cuts[:_BLOCK])
        moved = np.zeros(len(z))
        for one in range(2 ** min(z.shape[1], _BLOCK)):
            inside = cell == one
            miss = _miss(noise.plane, noise.records * inside.mean(), random)
            side, sign = (above, 1) if miss > 0 else (below, -1)
            moved[inside] = sign * side.distance(np.full(int(inside.sum()), 2 * abs(miss)), scales[inside])
        features = np.column_stack([np.ones(len(z)), z])
        return replace(self, plane=self.plane + _fitted(features, moved), above=above, below=below)

    def middle(self, predictors: Floats) -> Floats:
        return np.asarray(self.plane[0] + self.design.coordinates(predictors) @ self.plane[1:])

    def draw(self, u: Floats, predictors: Floats) -> Floats:
        scales = self.design.scales(predictors)
        up = u >= 0.5
        found = self.middle(predictors)
        found[up] += self.above.distance(2 * u[up] - 1, scales[up])
        found[~up] -= self.below.distance(1 - 2 * u[~up], scales[~up])
        return found


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the median plane: log distance of its middle value = scale·(1, z), and the shape around it."""

    scale: Floats
    curve: Curve

    def redrawn(self, noise: Noise, scales: Floats, cuts: Floats, random: np.random.Generator) -> Side:
        half = noise.records / 2
        middles = np.arange(1, 2 ** len(noise.halvings)) / 2 ** len(noise.halvings)
        inner, outer = (redrawn_shares(middles, noise.halvings, half / 2, random) for _ in range(2))
        curve = redrawn_curve(self.curve, np.concatenate([inner / 2, [0.5], 0.5 + outer / 2]), half, random)
        cell = cell_of(scales, cuts)
        moved = np.zeros(len(scales))
        for one in range(2**cuts.size):
            inside = cell == one
            share = 0.5 + _miss(noise.scale, half * inside.mean(), random)
            moved[inside] = np.log(max(float(self.curve(np.array([share]))[0]), 1e-6))
        features = np.column_stack([np.ones(len(scales)), scales])
        return Side(self.scale + _fitted(features, moved), curve)

    def unit(self, scales: Floats) -> Floats:
        return np.asarray(np.exp(self.scale[0] + scales @ self.scale[1:]))

    def distance(self, share: Floats, scales: Floats) -> Floats:
        return self.unit(scales) * self.curve(np.minimum(share, 1 - 1e-12))


NumericModel = Marginal | Conditional


@dataclass(frozen=True)
class Noise:
    """What the noise of a numeric model depends on: all of it public once the model is."""

    records: float
    plane: float
    scale: float
    halvings: tuple[float, ...]


_BLOCK = 2
_UNLIKE = 0.02  # by so much scores of records of one kind are all off where they are no normal ones
_FAR = 0.45  # a draw of the noise moves a quantile by no more than this share of its part


def _miss(epsilon: float, records: float, random: np.random.Generator) -> float:
    """By which share of its part a threshold may miss its quantile: ranks err like a Laplace number of scale 1/ε."""
    return float(np.clip(random.laplace(0.0, 1 / epsilon) / max(records, 1.0), -_FAR, _FAR))


def redrawn_shares(targets: Floats, epsilons: tuple[float, ...], records: float, random: np.random.Generator) -> Floats:
    """Shares of records below each threshold of a bisection, drawn given the noise."""
    drawn = np.zeros(targets.size)
    parts = [(0, targets.size, 0.0, 1.0, 0.0, 1.0)]
    # Where counting has added to the quantiles there may be one level more than was drawn.
    for epsilon in (*epsilons, *epsilons[-1:]):
        finer = []
        for first, last, below, above, low, high in parts:
            if first == last:
                continue
            middle = (first + last) // 2
            share = (targets[middle] - below) / (above - below)
            miss = _miss(epsilon, records * (high - low), random)
            # A miss moves a quantile by no more than nine tenths of the way to the end of its part.
            miss = float(np.clip(miss, -0.9 * share, 0.9 * (1 - share)))
            drawn[middle] = low + (high - low) * (share + miss)
            finer.append((first, middle, below, targets[middle], low, drawn[middle]))
            finer.append((middle + 1, last, targets[middle], above, drawn[middle], high))
        parts = finer
    return drawn


def redrawn_curve(curve: Curve, shares: Floats, records: float, random: np.random.Generator) -> Curve:
    """The curve with other shares, and tails as another sample of so many records would have shown them."""
    widths = np.diff(np.concatenate(([0.0], shares, [1.0])))
    sampled = np.cumsum(random.dirichlet(np.maximum(records * widths, 1.0)))[:-1]
    return replace(curve, shares=shares, tail_shares=sampled)


def _fitted(features: Floats, wanted: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(features, wanted, rcond=None)[0])


def to_dict(model: NumericModel) -> dict[str, Any]:
    if isinstance(model, Marginal):
        return {"quantiles": curve_to_dict(model.curve)}
    return {
        "design": model.design.to_dict(),
        "plane": model.plane.tolist(),
        **{
            name: {"scale": side.scale.tolist(), "quantiles": curve_to_dict(side.curve)}
            for name, side in (("above", model.above), ("below", model.below))
        },
    }


def from_dict(stored: dict[str, Any]) -> NumericModel:
    if "plane" not in stored:
        return Marginal(curve_from_dict(stored["quantiles"]))
    above, below = (
        Side(np.array(stored[name]["scale"], dtype=np.float64), curve_from_dict(stored[name]["quantiles"]))
        for name in ("above", "below")
    )
    return Conditional(Design.from_dict(stored["design"]), np.array(stored["plane"], dtype=np.float64), above, below)


def curve_to_dict(curve: Curve) -> dict[str, Any]:
    return {
        "shares": curve.shares.tolist(),
        "values": curve.values.tolist(),
        "lower": curve.lower,
        "upper": curve.upper,
        "floor": curve.floor,
        "tail": curve.tail,
        **({"careful": True} if curve.careful else {}),
    }


def curve_from_dict(stored: dict[str, Any]) -> Curve:
    shares, values = (np.array(stored[name], dtype=np.float64) for name in ("shares", "values"))
    careful = stored.get("careful", False)
    return Curve(shares, values, stored["lower"], stored["upper"], stored["floor"], stored["tail"], careful=careful)
