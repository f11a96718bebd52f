"""A number's own distribution as it was released, and the scale on which it enters regressions.

Where the file is large for its budget, a number has no long tails and stays close to one before it, regressions work on
its declared scale, held to its released range. Elsewhere its normal score is explained: there a long tail is as short
as any and no error can run away. Its files then have the released distribution itself, and regressions only say which
record has which rank.
What maps confidential values here does so record by record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.synthesis.pinned.measuring import Pin
from tacita.synthesis.pinned.plain import LONGER, Spread
from tacita.synthesis.quantile.curve import Curve
from tacita.synthesis.quantile.numeric import Noise, curve_from_dict, curve_to_dict, redrawn_curve, redrawn_shares
from tacita.synthesis.quantile.octaves import is_wide
from tacita.synthesis.quantile.variables import Column, Range

Floats = NDArray[np.float64]

_FAR = 4.0  # no score is further out: 3 in 100,000 records lie beyond
_SCORES = np.linspace(-_FAR, _FAR, 801)
# An eighth of the records that is further from the median than so many middle halves makes a long tail. It is 0.9 for
# a normal law, 1.3 for an exponential one, 1.7 for a Pareto law of index 2, 3.5 for a log-normal one of σ = 2.5. A look
# at an eighth of a budget moves it by 0.15: an exponential tail must not be taken for a long one once in sixty times.
_LONG, _HEAVY = 1.8, 1.6
# With less than an exponential law has, quantiles say all of a mean; from there on they say the less the fewer they
# are, and a total is worth a little.
_TAILED = 1.25
_RATIO = 8.0  # of the outermost eighths: with less, most records are in two or three octaves
_EDGE = 0.3  # of the quarter before: the eighth furthest from 0 reaches no further where many share a limit
_EVEN = 1000  # quantiles that stand for all records
_MIDDLES = (np.arange(_EVEN) + 0.5) / _EVEN
_REDRAWN = 16  # draws of the noise, which say by how much it moves a total
_REACH = 64.0  # eighths of the records on the longer side: how far a number without long tails may go


@dataclass(frozen=True, eq=False)
class Own:
    """The released quantile function of a number, and its point masses.

    `scored`: regressions explain its normal score. `ranked`: its files have this distribution, given out by rank;
    if not, they have what regressions draw. `masses` are values with their released shares of all records; the curve is
    that of the others. `apart`: records at a point mass are drawn before, and only the others come here.
    """

    column: Column
    curve: Curve
    noise: Noise
    ranked: bool
    scored: bool
    masses: tuple[tuple[float, float], ...] = ()
    apart: bool = False
    # What all records add up to, and how many they are as released; files keep to it where tails are heavy.
    total: tuple[Pin, int] | None = None

    @cached_property
    def range(self) -> Range:
        """Of what a regression explains."""
        return Range(-_FAR, _FAR, "normal", spread=1.0) if self.scored else self._scale

    @cached_property
    def _scale(self) -> Range:
        low, first, median, third, high = self.curve(np.array([1, 2, 4, 6, 7]) / 8).tolist()
        reach = max(_REACH * max(high - median, median - low), self.column.step)
        ends = np.array([max(median - reach, self.curve.lower), min(median + reach, self.curve.upper), first, third])
        lower, upper, first, third = self.column.modelled(ends).tolist()
        return Range(lower, upper, self.curve.tail, (third - first) / 1.35)

    def response(self, spread: Floats) -> Floats:
        """What a regression explains, of values that were spread within their step."""
        if not self.scored:
            return np.asarray(np.clip(self.column.modelled(spread), self.range.lower, self.range.upper))
        return rowwise.between(self._below(spread, all_of_it=not self.apart), _chances(), _SCORES)

    def predictor(self, values: Floats) -> Floats:
        """What a regression on this number sees."""
        if self.has_long_tail:
            return self.score(values)
        return np.asarray(np.clip(self.column.modelled(values), self._scale.lower, self._scale.upper))

    def score(self, values: Floats) -> Floats:
        """The normal score of values; records with the same value have the same, in the middle of theirs."""
        low, high = (self._below(values + one, all_of_it=True) for one in (0.0, self.column.step))
        return rowwise.between((low + high) / 2, _chances(), _SCORES)

    def _below(self, values: Floats, *, all_of_it: bool) -> Floats:
        """The share of records below, with point masses or without."""
        shares = rowwise.between(values, self._quantiles, _chances())
        if all_of_it:
            shares = shares * self._free
            for mass, share in self.masses:
                shares = shares + share * np.clip((values - mass) / self.column.step, 0.0, 1.0)
        return shares

    def values(self, latent: Floats, u: Floats) -> Floats:
        """Values that the schema allows for what regressions drew with the shares u."""
        if not self.ranked:
            return self.column.published(np.clip(latent, self.range.lower, self.range.upper)).astype(np.float64)
        drawn = np.empty(latent.size)
        drawn[np.argsort(latent, kind="stable")] = self.column.rounded(self._at(np.sort(u)))
        return drawn

    def _at(self, u: Floats) -> Floats:
        """The quantile function, with point masses where they are not drawn apart."""
        if self.apart:
            return self.curve(u)
        left, at_mass = u.copy(), np.full(u.size, np.nan)
        for mass, share in self.masses:
            below = float(self._below(np.array([mass]), all_of_it=True)[0])
            left -= np.clip(u - below, 0.0, share)
            at_mass[(u >= below) & (u < below + share)] = mass + self.column.step / 2
        rest = self.curve(np.clip(left / self._free, 1e-9, 1 - 1e-9))
        return np.where(np.isnan(at_mass), rest, at_mass)

    @property
    def spikes(self) -> tuple[float, ...]:
        """The values of point masses that are drawn apart."""
        return tuple(value for value, _ in self.masses) if self.apart else ()

    @property
    def _free(self) -> float:
        return 1 - sum(share for _, share in self.masses)

    @cached_property
    def above(self) -> float:
        """The share of records whose score is above its middle, as released; of those that are drawn here."""
        values = self.column.rounded(self._at(_MIDDLES)).astype(np.float64)
        return float((self.score(values) > 0).mean())

    @cached_property
    def has_long_tail(self) -> bool:
        """Whether the released quantiles call for scores: a long tail on the scale of regressions, or an eighth of the
        records on one value."""
        return self._reaches(_LONG, self.column.modelled(self._eighths))

    @cached_property
    def has_heavy_tail(self) -> bool:
        """Whether its mean hangs on few records, whatever the scale of regressions."""
        return self._reaches(_HEAVY, self._eighths)

    @cached_property
    def has_tail(self) -> bool:
        """Whether its mean hangs on records far out at all, so that files keep to its total."""
        return self._reaches(_TAILED, self._eighths)

    @cached_property
    def _eighths(self) -> Floats:
        return self._at(np.arange(1, 8) / 8)

    def _reaches(self, far: float, quantiles: Floats) -> bool:
        low, first, _, median, _, third, high = quantiles.tolist()
        if max(high - median, median - low) > far * (third - first):
            return True
        eighths = self.column.rounded(self._eighths)
        return bool((eighths[1:] == eighths[:-1]).any())

    @cached_property
    def spans_octaves(self) -> bool:
        """Whether values differ by ratio so much that counts of octaves tell how they are spread."""
        sizes = np.abs(self.curve(np.arange(1, 8) / 8))
        return bool(sizes.max() >= _RATIO * max(float(sizes.min()), self.column.step))

    @cached_property
    def has_edge(self) -> bool:
        """Whether numbers end at a limit that many share: planes do not see it, and spread them beyond."""
        low, first, median, third, high = self.curve(np.array([1, 2, 4, 6, 7]) / 8).tolist()
        before, last = (third - median, high - third) if median >= 0 else (median - first, first - low)
        return bool(last < _EDGE * before)

    @cached_property
    def spread(self) -> Spread:
        return Spread(self.curve, self._free, self.column.step, self.column.bounds)

    def held(self, values: Floats, random: np.random.Generator | None) -> Floats:
        """Values of a file that add up as measured."""
        if self.total is None:
            return values
        pin, records = self.total
        free = ~np.isin(values, [value for value, _ in self.masses])
        moved = self.unsure(pin.lower, pin.upper, records)
        # Where bounds are wide, counts of octaves say what lies far out; a tail fitted to quantiles falls short.
        wide = is_wide(self.column)
        bent = self.spread.held(pin, values, free, records, random, moved, tailed=self.has_tail, drawn_beyond=wide)
        near = np.clip(np.round(np.rint(bent / self.column.step) * self.column.step, 9), *self.column.bounds)
        return np.where(bent == values, values, near)

    def unsure(self, lower: float, upper: float, records: int) -> float:
        """By how much (as a standard deviation) it is open what so many records add up to, held between two ends."""
        random = np.random.default_rng(0)
        drawn = [np.clip(self.redrawn(random)._at(_MIDDLES), lower, upper).mean() for _ in range(_REDRAWN)]
        here = self._free if self.apart else 1.0  # records at point masses that are drawn apart add what they add
        return here * records * float(np.std(drawn, ddof=1))

    def redrawn(self, random: np.random.Generator) -> Own:
        """The same thresholds with a draw of how many records may really lie between them, and how far beyond."""
        if not self.ranked:
            return self
        shares = redrawn_shares(self.curve.shares, self.noise.halvings, self.noise.records, random)
        curve = redrawn_curve(self.curve, shares, self.noise.records, random)
        short, long = np.exp(LONGER * random.standard_normal(2)).tolist()
        return replace(self, curve=replace(curve, stretched=(short, long)))

    @cached_property
    def _quantiles(self) -> Floats:
        return self.curve(_chances())

    def to_dict(self) -> dict[str, Any]:
        return {
            "quantiles": curve_to_dict(self.curve),
            "records": self.noise.records,
            "halvings": list(self.noise.halvings),
            "ranked": self.ranked,
            "scored": self.scored,
            "masses": [list(one) for one in self.masses],
            "apart": self.apart,
            **({} if self.total is None else {"total": {"records": self.total[1], **asdict(self.total[0])}}),
        }

    @classmethod
    def from_dict(cls, column: Column, stored: dict[str, Any]) -> Own:
        noise = Noise(stored["records"], 0.0, 0.0, tuple(stored["halvings"]))
        masses = tuple((value, share) for value, share in stored["masses"])
        curve = curve_from_dict(stored["quantiles"])
        total = _total_from(stored["total"]) if "total" in stored else None
        return cls(column, curve, noise, stored["ranked"], stored["scored"], masses, stored["apart"], total)


def _total_from(stored: dict[str, Any]) -> tuple[Pin, int]:
    return pin_from({name: one for name, one in stored.items() if name != "records"}), stored["records"]


def pin_from(stored: Mapping[str, Any]) -> Pin:
    return Pin(**{**stored, "totals": tuple(stored["totals"])})


def _chances() -> Floats:
    from scipy.special import ndtr  # slow to load, and plans do without

    return np.asarray(ndtr(_SCORES))
