"""Synthetic records held to the totals that were measured, in all and in each cell. Post-processing only.

A cell's total is drawn from what is known of it: the model's own, which errs by chance at least and by as much more as
all cells' measured totals together say; and the measured one, whose noise is known. Where the noise is small, files
have the measured totals whatever the model says; where it is large, they differ by as much as nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacita.synthesis.pinned.adjusting import Adding, Values, hold, with_beyond, within
from tacita.synthesis.pinned.measuring import Pin
from tacita.synthesis.survey.columns import Floats, Integers
from tacita.synthesis.survey.totals import Totals

_ERRORS = np.geomspace(1.0, 32.0, 21)  # of the model, in standard deviations of chance
_POOLED = 10.0  # records: a cell's spread leans on that of all as if it had so many more
_LEAST = 0.05  # of what the model says: an answer that is never negative adds up to more than that
_ROUNDS = 3
_DOUBT = 1.2  # standard deviation of the logarithm of what lies above a clamp: it may well be three times as much
_TINY = 1e-100


def held(
    weight: str,
    numbers: Mapping[str, Values],
    cell: Integers,
    totals: Totals,
    random: np.random.Generator | None,
) -> dict[str, Floats]:
    """All numbers, the weight among them, so changed that they add up as measured; with `random`, as they may have.

    Weights keep within their bounds.
    """
    own, centres = numbers[weight], totals.centres
    bounds = own.lower, own.upper
    off = {name: _shifted(numbers[name], -centres[name]) for name in numbers if name in centres}
    # In the order of the numbers, which what was stored does not keep: draws follow it.
    whole = {name: _known(totals.whole[name], totals.cells.get(name)) for name in numbers if name in totals.whole}
    answers = {name: pin for name, pin in whole.items() if name != weight}
    weights, values = hold(own.values, bounds, off, whole.get(weight), answers, random)
    sums = {name: float(pin.held(values[name] * weights).sum()) for name, pin in answers.items()}
    if weight in totals.cells:
        pin = totals.cells[weight]
        amounts = pin.held(weights)
        cells = Cells(pin, cell, float(amounts.sum()), np.zeros_like(weights), True)
        changed = weights * (cells.drawn(amounts, random) / by_cell(amounts, cell))[cell]
        weights = within(changed, float(weights.sum()), bounds)
    for name in values if totals.cells else ():
        number, positive = replace(off[name], values=values[name]), numbers[name].lower >= 0
        cells = Cells(totals.cells[name], cell, sums[name], centres[name] * weights, positive)
        values[name] = cells.bent(number, weights, random)
    if random is not None:
        for name, some in values.items():
            values[name] = with_beyond(replace(off[name], values=some), weights, whole[name], _DOUBT, random)
    return {name: some + centres[name] for name, some in values.items()} | {weight: weights}


def _shifted(number: Values, by: float) -> Values:
    return replace(number, values=number.values + by, lower=number.lower + by, upper=number.upper + by)


@dataclass(frozen=True, eq=False)
class Cells:
    """Noisy totals of cells, of which all together are known better: they add up to `whole`.

    Beside what was measured each record adds `base`; with it a total is above 0 where it is `positive`.
    """

    pin: Pin
    cell: Integers
    whole: float
    base: Floats
    positive: bool

    def drawn(self, amounts: Floats, random: np.random.Generator | None) -> Floats:
        """What the cells may add up to, given what the model's records do and what was measured."""
        model, noise = by_cell(amounts, self.cell), max(self.pin.spread**2, _TINY)
        off = np.array(self.pin.totals) - model
        variance = self._variance(amounts, off, noise, random)
        trust = variance / (variance + noise)
        base, left = by_cell(self.base, self.cell), noise * trust
        least = _LEAST * (base + model) if self.positive else np.full_like(model, -np.inf)
        totals = np.maximum(base + model + trust * off, least)
        if random is not None:
            totals = _lognormal(totals, left, random) if self.positive else random.normal(totals, np.sqrt(left))
        for _ in range(_ROUNDS):
            totals = np.maximum(
                totals + left / max(left.sum(), _TINY) * (self.whole + base.sum() - totals.sum()), least
            )
        return np.asarray(totals - base)

    def _variance(self, amounts: Floats, off: Floats, noise: float, random: np.random.Generator | None) -> Floats:
        """Of the model's errors in each cell: drawn from what all cells together say of it, or the mean of that."""
        sizes = np.bincount(self.cell)
        squares = by_cell((amounts - (by_cell(amounts, self.cell) / sizes)[self.cell]) ** 2, self.cell)
        chance = sizes * (squares + _POOLED * squares.sum() / sizes.sum()) / (sizes + _POOLED)
        most = np.maximum(by_cell(np.abs(amounts) + np.abs(self.base), self.cell), _TINY) ** 2
        variances = np.clip(_ERRORS[:, None] ** 2 * chance, _TINY, most)
        likely = -0.5 * (np.log(variances + noise) + off**2 / (variances + noise)).sum(axis=1) - np.log(_ERRORS)
        likely = np.exp(likely - likely.max())
        likely /= likely.sum()
        return np.asarray(likely @ variances if random is None else variances[random.choice(likely.size, p=likely)])

    def bent(self, number: Values, weights: Floats, random: np.random.Generator | None) -> Floats:
        """Values of a number whose cells, times the weights, add up to totals that are drawn here."""
        amounts = self.pin.held(number.values * weights)
        wanted = self.drawn(amounts, random)
        share = by_cell(np.abs(amounts), self.cell)
        share /= max(float(share.sum()), _TINY)
        values = number.values.copy()
        order, ends = np.argsort(self.cell, kind="stable"), np.cumsum(np.bincount(self.cell))
        for at, here in enumerate(np.split(order, ends[:-1])):
            pin = replace(self.pin, beyond=self.pin.beyond * share[at], short=self.pin.short * share[at])
            mine = replace(number, values=number.values[here], free=number.free[here])
            values[here] = Adding(pin, mine, float(wanted[at])).bent(weights[here])
        return values


def _lognormal(mean: Floats, variance: Floats, random: np.random.Generator) -> Floats:
    """Like normal numbers where they vary little, and never below 0."""
    spread = np.sqrt(np.log1p(variance / np.maximum(mean, _TINY) ** 2))
    return np.asarray(mean * np.exp(spread * random.standard_normal(mean.size) - spread**2 / 2))


def _known(whole: Pin, cells: Pin | None) -> Pin:
    """The total of all records, as measured and as the sum of the cells, each as far as its noise speaks for it."""
    if cells is None:
        return whole
    noises = np.maximum([whole.spread**2, len(cells.totals) * cells.spread**2], _TINY)
    totals = np.array([whole.totals[0], sum(cells.totals)])
    together = 1 / (1 / noises).sum()
    return replace(whole, totals=(float((totals / noises).sum() * together),), spread=float(together) ** 0.5)


def by_cell(amounts: Floats, cell: Integers) -> Floats:
    return np.bincount(cell, weights=amounts).astype(np.float64)
