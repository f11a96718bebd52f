"""Totals of a number whose distribution was released before: where they are clamped, and files that are held to them.

Its quantiles say about how far out the largest values are, so no clamp need be bought. Post-processing only: the totals
themselves are measured by `measuring.Summing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, hypot, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.table.noise import Budget
from tacita.synthesis.pinned.adjusting import Adding, Values, by_chance, narrowed, wanted, with_beyond
from tacita.synthesis.pinned.measuring import End, Pin, ranks_off

if TYPE_CHECKING:
    from tacita.synthesis.quantile.curve import Curve

Floats = NDArray[np.float64]

_NORMAL = NormalDist()
CUT = 1.5  # records are clamped for each clamp's worth of noise (as a Laplace number's scale)
# What half a scale of the noise on counts of octaves adds in the octave above a clamp, in ranks at the clamp: a quarter
# of the budget goes to these counts, where a replaced record moves two.
_HIDDEN = 1.3
_LEAST_CUT, _MOST_CUT = 1e-12, 1 / 8  # of the records
_USUALLY = 3.0  # halvings between the median and the outermost quantile: with more, the fitted tail says the more
_POINTS = 2048
_EDGE = 0.5  # of a record: so far out the distribution is not looked at
_FAINT = 1 / 3  # of a total: with more noise, it says less than the distribution does
_DOUBT = 0.8  # standard deviation of the logarithm of what lies above a clamp, beside what noise leaves open of it
TAIL = 0.3  # of what lies beyond the outermost quantiles: by how much a fitted tail is usually off
_SURELY = 3.0  # times what is doubted of the shares: more is not put down to them
_TINY = 1e-300
LONGER = 2 * TAIL  # by so much (in logarithms) it may be longer: about half of what it adds is its length


LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH = 0.3, 1.0, 2.25  # σ of log-normal numbers whose means are as hard to tell


def likely_off(sigma: float, ranks: float, records: int, *, bought: bool = False) -> float:
    """By which share of itself the mean of a log-normal number is likely to be off that is held to its total: noise of
    so many `ranks` at the clamp, and what lies above the clamp, which the total says nothing of;
    where the clamp is `bought` also what noise hides in the octave above it.

    >>> round(likely_off(LIKE_INCOMES, 6, 1000), 3), round(likely_off(LIKE_WEALTH, 6, 1000), 2)
    (0.062, 0.34)
    >>> likely_off(LIKE_INCOMES, 0.0, 1000) < 1e-3
    True
    """
    cut = min(max(CUT * ranks / max(records, 1), _LEAST_CUT), _MOST_CUT)
    z = -_NORMAL.inv_cdf(cut)
    clamp = exp(sigma * z - sigma**2 / 2)  # in means
    above = _NORMAL.cdf(sigma - z) - clamp * cut
    noise = hypot(sqrt(2), _HIDDEN if bought else 0.0) * ranks * clamp / max(records, 1)
    return hypot(noise, above)


def scarce_words(least: int, where: str = "") -> str:
    """What a plan says of numbers that few records have."""
    return (
        f"of a number that fewer than about {least:,} records{where} have, while all others have one value, such as 0, "
        "next to nothing can be told: its mean may be off by all of itself; publish its total as a table"
    )


def weighted_words(numbers: Sequence[str], budget: Budget | None, records: int) -> tuple[list[str], dict[str, float]]:
    """What a plan says of the weighted means of these numbers, and in figures, as shares of them. Without a budget
    weighted totals are not measured."""
    if budget is None:
        told = "too few records for this epsilon to measure weighted totals: weighted means and totals may be far off"
        return [f"{told}; raise epsilon, or publish weighted tables instead"], {}
    mean, heavy = (likely_off(sigma, ranks_off(budget), records, bought=True) for sigma in (LIKE_INCOMES, LIKE_WEALTH))
    both = {"": mean, ", heavy tail": heavy}
    figures = {f"{name}: weighted mean error{how}": one for name in numbers for how, one in both.items()}
    if not numbers:
        return [], figures
    told = (
        f"weighted totals of all records are measured directly: weighted means of {', '.join(numbers)} are off by "
        f"about {100 * mean:.2g}% if weight times number is as skewed as incomes are, by {100 * heavy:.2g}% if it is "
        "as skewed as wealth; those of groups follow from how the columns go together"
    )
    return [told], figures


@dataclass(frozen=True, eq=False)
class Spread:
    """The released distribution of a number: the `free` share of the records follows the curve, others have values of
    their own. Values are multiples of `step`. Between `cuts` records were counted with `noise`, a standard deviation.
    """

    curve: Curve
    free: float
    step: float
    bounds: tuple[float, float]
    cuts: Floats = field(default_factory=lambda: np.zeros(0))
    noise: float = 0.0

    def ends(self, ranks: float, records: int) -> tuple[End, End]:
        """Where a total is clamped above and below 0. Its noise is as large as `ranks` records at the clamp; about as
        much is cut off."""
        cut = min(CUT * ranks / max(records, 1), _MOST_CUT)
        u = np.maximum((np.arange(_POINTS) + 0.5) / _POINTS * cut, _EDGE / max(records, 1))
        beyond = np.clip(u / max(self.free, 1e-9), 1e-9, 0.5)
        lower, upper = self.bounds
        return (
            _end(np.minimum(self._far(beyond), upper), upper, cut * records),
            _end(np.minimum(-self.curve(beyond), -lower), -lower, cut * records),
        )

    def _far(self, beyond: Floats) -> Floats:
        """Values with these shares of the curve above them. A fitted tail is often too short: where few quantiles are
        known, that of a log-normal number with the same median and outermost quantile is taken where it is longer, and
        beyond the outermost one it is halfway, by ratio, to a Pareto tail of index 2, as sizes of firms have.
        """
        from scipy.special import ndtri  # slow to load, and plans do without

        fitted, outermost = self.curve(1 - beyond), float(self.curve.shares[-1])
        middle, last = self.curve(np.array([0.5, outermost])).tolist()
        if middle <= 0 or outermost <= 0.5:
            return fitted
        spread = np.log(last / middle) / ndtri(outermost)
        usual = middle * np.exp(np.minimum(-spread * ndtri(beyond), 700.0))
        halvings = max(float(np.log2(0.5 / (1 - outermost))), 1.0)
        longer = np.maximum(usual / np.maximum(fitted, self.step), 1.0) ** min(1.0, _USUALLY / halvings)
        pareto = last * np.sqrt((1 - outermost) / beyond)
        halfway = np.where(beyond < 1 - outermost, np.sqrt(fitted * pareto), fitted)
        return np.asarray(np.maximum(fitted * longer, halfway))

    def held(
        self,
        pin: Pin,
        values: Floats,
        free: NDArray[np.bool_],
        records: float,
        random: np.random.Generator | None,
        moved: float | None = None,
        *,
        tailed: bool = False,
        drawn_beyond: bool = True,
    ) -> Floats:
        """Values of a file of any length that add up as those of so many records did; only `free` ones may change.

        `moved` is by how much noise of the quantiles and a fitted tail move what they add up to, where that is known.
        `tailed` where a mean hangs on records far out: files that are combined then show what may lie above the clamp,
        and a single one has what is expected there, unless its values beyond the quantiles are `drawn_beyond` it.
        """
        stands_for = records / max(values.size, 1)
        each, pin = np.full(values.size, stands_for), pin.of_files(stands_for)
        adding = values * each
        off = abs(float(pin.held(adding).sum()) - pin.totals[0])
        if moved is None and pin.spread > _FAINT * abs(pin.totals[0]) and off < pin.spread / _FAINT:
            return values
        number = Values(values, free, *self.bounds)
        if moved is None:
            inner, far = self.curve.values[0], self.curve.values[-1]
            beyond = np.where(free, np.maximum(values - far, 0.0) + np.maximum(inner - values, 0.0), 0.0)
            tail = TAIL * stands_for * float(np.minimum(beyond, pin.upper - pin.lower).sum())
            shares = self._unsure(values[free])
            total = wanted(pin, 0, adding, random, hypot(by_chance(pin.held(adding)), tail, shares))
            # What is off is put where the doubt is: in the shares of the curve, or in what lies beyond it.
            missing = total - float(pin.held(adding).sum())
            by_ranks = missing * shares**2 / max(shares**2 + tail**2, _TINY)
            limit = _SURELY * shares
            number = Values(
                self._tilted(values, free, pin, stands_for, max(-limit, min(by_ranks, limit))), free, *self.bounds
            )
            return Adding(pin, number, total, scales=False, known=max(abs(inner), abs(far))).bent(each)
        total = wanted(pin, 0, adding, random, moved)
        missing = total - float(pin.held(adding).sum())
        loose = _loosened(pin, missing, None if random is None else float(random.exponential()) - 1)
        bent = Adding(loose, number, total, scales=False).bent(each)
        if not tailed or (random is None and drawn_beyond):
            return bent
        # A fitted tail that is too short sets the clamp as well, and bending may have drawn in what lies above it.
        return with_beyond(Values(bent, free, *self.bounds), each, loose, _DOUBT, random)

    def _unsure(self, values: Floats) -> float:
        """By how much (as a standard deviation) noise on the counts moves what records of these values add up to."""
        if not values.size:
            return 0.0
        cuts = self.cuts[(self.cuts >= values.min()) & (self.cuts <= values.max())]
        cells = (cuts[1:] + cuts[:-1]) / 2 - float(np.median(values))
        return self.noise * float(np.sqrt((cells**2).sum()))

    def _tilted(self, values: Floats, free: NDArray[np.bool_], pin: Pin, stands_for: float, more: float) -> Floats:
        """Values that add up to so much more, as they would if the shares of the curve erred as they are likeliest to:
        each takes the value of another rank, the further from the ends the more."""
        at = np.flatnonzero(free)
        if not more or at.size < 2:
            return values
        order = at[np.argsort(values[at], kind="stable")]
        own, places = values[order], np.arange(order.size)
        inner = np.clip(own, self.curve.values[0], self.curve.values[-1])
        way = np.cumsum(inner.mean() - inner)
        if way.max() <= 0:
            return values
        way = way / way.max()

        def moved(by: float) -> Floats:
            return np.asarray(own[np.clip(np.rint(places + by * way).astype(np.int64), 0, own.size - 1)])

        def added(some: Floats) -> float:
            return float(pin.held(some * stands_for).sum())

        wanted_sum, most = added(own) + more, own.size / 2
        low, high = narrowed(lambda by: added(moved(by)) > wanted_sum, -most, most)
        found = values.copy()
        found[order] = moved((low + high) / 2)
        return found


def _loosened(pin: Pin, missing: float, chance: float | None) -> Pin:
    """With as much more above the clamps as records are `missing` below them: where tails were taken for too short,
    clamps are too low as well. By `chance`, of mean 0 and -1 at least, more or less is there, as far as it is open:
    files that are combined add up to no more than one file does.
    """
    ends = pin.beyond + max(missing, 0.0) * (pin.upper > 0), pin.short + max(-missing, 0.0) * (pin.lower < 0)
    open_by = [0.0 if chance is None else chance * min(pin.spread, one) for one in ends]
    return replace(pin, beyond=ends[0] + open_by[0], short=ends[1] + open_by[1])


def _end(far: Floats, bound: float, records: float) -> End:
    """From so many values further out than the clamp."""
    clamp = float(far.min())
    if clamp <= 0 or bound <= 0:
        return End(0.0, 0.0, 0.0)
    return End(clamp, bound, records * float(np.mean(far - clamp)))
