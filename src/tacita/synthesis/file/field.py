"""A random field fitted to noisy tables: the most even law that agrees with them as far as their noise lets them speak.

Post-processing only. Every measured table has one number θ per cell, and P(record) ∝ exp(Σ θ of its cells). Tables of
such a law have no closed form once attributes are linked in circles, so a pool of synthetic records stands for it:
each pass draws every value anew given the others, and θ moves towards what was measured (Newton steps, damped by how
many tables pull at an attribute). A pool is off by chance, and θ follows that; its mean over passes hardly does.
A prior holds θ back where noise is larger than the count itself; how wide it is, the tables decide one by one, so that
one that shows nothing beyond its noise ends near the prior's mean. That is 0, or, where the states of a number stand in
order, a trend over them: a few parameters that even small counts bear out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema.rulebook import Bar
from tacita.synthesis.file.graph import Graph, tabulate_all
from tacita.synthesis.file.sweeps import STRIDE, draw, lean, leap
from tacita.synthesis.file.trends import Step, main_effects, trend_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_DAMPING = 1.5
_PRIOR = 0.4  # variance of θ before anything is known
_TYPICAL = 0.05  # the same of tables that show next to nothing
_NARROWEST, _WIDEST = 1e-4, 4.0
_UNSURE = 0.3  # variance of draws from a prior, at most: exponents far out are no normal law
_LEAST = 0.5  # records: a cell that the pool leaves empty counts as this much in a step
_SETTLED = 0.5  # of the passes: those after them are averaged
_FAINT = 0.5  # quantile of the measured pairs: others are taken for as related as that
_TIED = 0.95  # of the records
_SEEN = 0.5  # of the records must be in cells beyond noise, to tell
_LEAPS = 0.3  # of the records, in a pass: values that rules link are drawn together
_WORKERS = min(os.cpu_count() or 1, 4)
_AT_ONCE = 200_000  # records: random numbers for all of a large file would be as long as the file
_FEWEST_APART = 2_000  # records: fewer are not worth a thread
_FURTHEST = 20.0  # exponents
_UNTIL, _EVERY = 20, 10  # passes before the priors are fitted for the first time, and between two times


@dataclass(frozen=True, eq=False)
class Wanted:
    """What was measured of some attributes, as counts, each with noise of this variance."""

    attributes: tuple[int, ...]
    counts: Floats
    variance: float
    numbers: int
    """How many numbers were measured: fewer than cells where the counts of a contrast follow from one another."""


class Field:
    """The pool and θ; `fit` goes on from where it stands, also with other tables."""

    def __init__(
        self,
        levels: tuple[int, ...],
        margins: Sequence[Floats],
        bars: Sequence[Bar],
        pool: Integers,
        ordered: Sequence[int] | None = None,
        public: Integers | None = None,
    ) -> None:
        """`ordered` says how many first states of each attribute stand in order; 0 for a category. `public` are the
        first attributes of all records, in order, where they are known: they are never drawn."""
        self.levels, self.bars, self.pool, self.public = levels, tuple(bars), pool, public
        self._publish()
        self.ordered = tuple(ordered) if ordered is not None else (0,) * len(levels)
        self.trends: dict[tuple[int, ...], Floats | None] = {}
        self.rest: dict[tuple[int, ...], Floats] = {}
        self.slopes: dict[tuple[int, ...], Floats] = {}
        self.set_margins(margins)
        self.ones = np.log(np.maximum(self.margins, 1e-6))
        self.theta: dict[tuple[int, ...], Floats] = {}
        self.prior: dict[tuple[int, ...], float] = {}
        self.prior_slopes: dict[tuple[int, ...], float] = {}
        self.means: dict[tuple[int, ...], tuple[Floats, Floats]] = {}  # of the priors, where they are not 0
        self.freedom: dict[tuple[int, ...], float] = {}
        self.told: dict[tuple[int, ...], float] = {}
        self.passes = 0
        self.tied: tuple[Integers, ...] = ()

    def copy(self) -> Field:
        """Another field that goes on from the same place."""
        other = copy(self)
        other.pool, other.ones = self.pool.copy(), self.ones.copy()
        other.theta = {table: theta.copy() for table, theta in self.theta.items()}
        other.rest = {table: rest.copy() for table, rest in self.rest.items()}
        other.slopes = {table: slopes.copy() for table, slopes in self.slopes.items()}
        other.prior, other.freedom, other.told = dict(self.prior), dict(self.freedom), dict(self.told)
        other.prior_slopes, other.means = dict(self.prior_slopes), dict(self.means)
        return other

    def resize(self, rows: int, random: np.random.Generator) -> None:
        """A pool of another length, of the same kinds of records."""
        whole, rest = divmod(rows, len(self.pool))
        some = random.permutation(len(self.pool))[:rest]
        self.pool = np.ascontiguousarray(np.concatenate([*[self.pool] * whole, self.pool[some]]))
        self._publish()

    @property
    def held(self) -> int:
        """How many first attributes are public."""
        return 0 if self.public is None else self.public.shape[1]

    def _publish(self) -> None:
        """Public attributes as the file has them, or an even choice of its records where the pool has another length.

        A record of the pool gets those next to its own.
        """
        if self.public is not None:
            self.pool = self.pool[np.lexsort(self.pool[:, : self.held].T[::-1])]
            self.pool[:, : self.held] = self.public[np.arange(len(self.pool)) * len(self.public) // len(self.pool)]

    def set_margins(self, margins: Sequence[Floats]) -> None:
        self.margins = np.concatenate(list(margins))

    def tie(self, wanted: Sequence[Wanted], records: float) -> None:
        """Draw two attributes together from now on where one nearly says the other: one by one they would not move."""
        pairs = [one for one in wanted if len(one.attributes) == 2]
        found = [np.array(one.attributes, dtype=np.int64) for one in pairs if _nearly_one_to_one(one, records)]
        self.tied = tuple(one for one in found if one.min() >= self.held)

    def fit(self, wanted: Sequence[Wanted], records: float, passes: int, random: np.random.Generator) -> None:
        for one in wanted:
            self._begin(one.attributes)
        tables = [one.attributes for one in wanted]
        graph = self._graph()
        size, busiest = records / len(self.pool), dict(zip(graph.tables, graph.busiest(), strict=True))
        moving = [self.ones, *(some[one] for one in tables for some in (self.theta, self.rest, self.slopes))]
        sums, settled = [np.zeros_like(one) for one in moving], int(_SETTLED * passes)
        for step in range(passes):
            self._pass(graph, random)
            self.passes += 1
            widen = self.passes >= _UNTIL and self.passes % _EVERY == 0 and not self.means
            for one, counts in zip(wanted, self._tables(tables), strict=True):
                scaled = np.asarray(size * counts, dtype=np.float64)
                self._move(one, scaled, _DAMPING / (2 + busiest[one.attributes]), widen=widen)
            held = np.concatenate([np.bincount(self.pool[:, a], minlength=n) for a, n in enumerate(self.levels)])
            share = (self.margins * len(self.pool) + 1) / (held + 1)
            self.ones += 0.5 * np.clip(np.log(share), -1, 1)
            if step >= settled:
                for total, now in zip(sums, moving, strict=True):
                    total += now
        for total, now in zip(sums, moving, strict=True):
            now[...] = total / (passes - settled)

    def _begin(self, table: tuple[int, ...]) -> None:
        """A table that nothing is known of."""
        if table not in self.theta:
            trend = trend_of(table, self.levels, self.ordered)
            if trend is not None:
                own = self._unrelated(table)
                trend = trend - np.column_stack([main_effects(one.reshape(own.shape), own).ravel() for one in trend.T])
            self.trends[table] = trend
            shape = tuple(self.levels[a] for a in table)
            self.theta[table], self.rest[table] = np.zeros(shape), np.zeros(shape)
            self.slopes[table] = np.zeros(0 if trend is None else trend.shape[1])
            self.prior[table], self.prior_slopes[table] = _PRIOR, _PRIOR

    def unsettle(
        self,
        moved: Sequence[tuple[Wanted, Floats]],
        others: Sequence[tuple[int, ...]],
        records: float,
        random: np.random.Generator,
    ) -> None:
        """Go from the likeliest field to near another one that may be right, given the noise.

        Counts that were `moved` by as much noise again, and priors around means that are drawn from the priors
        themselves: what is likeliest then is a draw from what is possible (exact for normal laws). Each table jumps to
        where it would end by itself; `fit` does the rest. Of `others` nothing was measured: those that were chosen
        looked more related, so they are no more so than half of these.
        """
        size = records / len(self.pool)
        tables = [one.attributes for one, _ in moved]
        faint = float(np.quantile([self._related(one) for one in tables], _FAINT))
        for (one, noise), counts in zip(moved, self._tables(tables), strict=True):
            table = one.attributes
            prior, wide = self._redrawn(table, random)
            means = self.means[table] = self._means(table, min(prior, _UNSURE), min(wide, _UNSURE), random)
            slope = np.maximum(size * counts, _LEAST)
            pull = noise / slope
            away = pull - main_effects(pull, slope) - means[0]
            step = Step.of(away, slope**2 / one.variance, prior, self.trends[table], wide, -means[1])
            rest = step.rest + means[0]
            rest -= main_effects(rest, self._unrelated(table))
            self.slopes[table] += step.slopes
            self.rest[table] += rest
            self.theta[table] += rest + step.leaning
        for table in others:
            self._begin(table)
            trend = self.trends[table]
            if trend is None:
                theta, _ = self._means(table, faint, 0.0, random)
            else:  # half of it a trend
                rest, slopes = self._means(table, faint / 2, faint / (2 * trend.shape[1]), random)
                theta = rest + (trend @ slopes).reshape(rest.shape)
            self.theta[table] = theta - main_effects(theta, self._unrelated(table))

    def _related(self, table: tuple[int, ...]) -> float:
        """The mean square of θ over the records of unrelated attributes, less what each attribute has by itself."""
        starts = np.concatenate(([0], np.cumsum(self.levels)))
        theta = self.theta[table]
        for axis, a in enumerate(table):
            own = self.margins[starts[a] : starts[a + 1]]
            theta = theta - np.average(theta, axis=axis, weights=own, keepdims=True)
        held = theta**2
        for a in reversed(table):
            own = self.margins[starts[a] : starts[a + 1]]
            held = held @ (own / own.sum())
        return float(held)

    def _redrawn(self, table: tuple[int, ...], random: np.random.Generator) -> tuple[float, float]:
        """Variances of the priors as they may be: they rest on no more numbers than the counts tell."""
        told, freedom = 1 + self.told[table], 1 + self.freedom[table] * self.rest[table].size
        self.prior[table] = _within(self.prior[table] * freedom / random.chisquare(freedom))
        self.prior_slopes[table] = _within(self.prior_slopes[table] * told / random.chisquare(told))
        return self.prior[table], self.prior_slopes[table]

    def _means(
        self, table: tuple[int, ...], prior: float, slopes: float, random: np.random.Generator
    ) -> tuple[Floats, Floats]:
        shapes = self.rest[table].shape, self.slopes[table].shape
        return prior**0.5 * random.standard_normal(shapes[0]), slopes**0.5 * random.standard_normal(shapes[1])

    def _unrelated(self, table: tuple[int, ...]) -> Floats:
        """Shares of the cells if the attributes were unrelated."""
        starts, weights = np.concatenate(([0], np.cumsum(self.levels))), np.ones(())
        for a in table:
            weights = np.multiply.outer(weights, self.margins[starts[a] : starts[a + 1]] + 1e-6)
        return np.asarray(weights)

    def _graph(self) -> Graph:
        return Graph(self.levels, list(self.theta), self.bars, joined=True)

    def _pass(self, graph: Graph, random: np.random.Generator) -> None:
        # Half as many bytes for what is looked up most; factors as far apart as these are as good as 0 or certain.
        cells = np.clip(graph.cells([self.theta[one] for one in graph.tables]), -_FURTHEST, _FURTHEST)
        cells = cells.astype(np.float32)
        laws = (graph.starts, -self.ones, graph.first, graph.views, graph.viewed(-cells), graph.bars)
        more = np.ones(STRIDE, dtype=np.float32)
        likely = tuple(
            np.concatenate([one, more]) for one in (np.exp(self.ones, dtype=np.float32), graph.viewed(np.exp(cells)))
        )
        for start in range(0, len(self.pool), _AT_ONCE):
            pool = self.pool[start : start + _AT_ONCE]
            uniforms = random.random(pool.shape)
            _apart(draw, laws + likely, [(pool[some], self.held, uniforms[some]) for some in _parts(len(pool))])
        for block in (*graph.blocks, *self.tied):
            chosen, order = random.permutation(len(self.pool)), random.permutation(block)
            chosen = chosen[: int(_LEAPS * len(self.pool))]
            chances = random.random((chosen.size, block.size + 1))
            parts = [(self.pool, chosen[some], order, chances[some]) for some in _parts(chosen.size)]
            _apart(leap, laws, parts)

    def _tables(self, tables: Sequence[tuple[int, ...]]) -> list[Integers]:
        return tabulate_all(self.pool, self.levels, tables) if tables else []

    def _move(self, one: Wanted, counts: Floats, pace: float, *, widen: bool) -> None:
        """One step of θ of a table; now and then its prior is fitted as well (MacKay's rule)."""
        table = one.attributes
        theta, rest, prior, slopes = self.theta[table], self.rest[table], self.prior[table], self.slopes[table]
        means = self.means.get(table, (0.0, 0.0))
        slope = np.maximum(counts, _LEAST)
        known = slope**2 / one.variance
        off = (one.counts - counts) / slope
        away = off - main_effects(off, slope) + rest - means[0]
        step = Step.of(away, known, prior, self.trends[table], self.prior_slopes[table], slopes - means[1])
        # Where nobody is, a trend may go as far as it likes.
        held = pace / max(1.0, float(np.abs(np.where(slope > _LEAST, step.leaning, 0.0)).max()))
        slopes += held * step.slopes
        theta += held * step.leaning
        newton = np.clip(step.rest - (rest - means[0]), -1, 1)
        newton -= main_effects(newton, self._unrelated(table))
        rest += pace * newton
        theta += pace * newton
        free = known / (known + 1 / prior)
        self.freedom[table], self.told[table] = float(free.mean()), step.told
        if widen:  # as if one more number were known, so that tables which tell nothing are taken for typical ones
            self.prior[table] = _within((float((rest**2).sum()) + _TYPICAL) / (float(free.sum()) + 1))
            self.prior_slopes[table] = _within((float((slopes**2).sum()) + _TYPICAL) / (step.told + 1))

    def leanings(self, records: Integers) -> Floats:
        """Of each number of each record, by how much its other values make the next higher state of the number likelier
        than the next lower one, for each state between the two: within a state, more of the same is to be expected."""
        graph = self._graph()
        flat = graph.flat([-self.theta[one] for one in graph.tables])
        found = np.zeros(records.shape)
        lean(records, np.array(self.ordered), graph.starts, -self.ones, graph.first, graph.views, flat, found)
        return found

    def seen(self, passes: int, random: np.random.Generator) -> Integers:
        """The records of so many passes, one after another."""
        graph = self._graph()
        pools = []
        for _ in range(passes):
            self._pass(graph, random)
            pools.append(self.pool.copy())
        return np.concatenate(pools)

    def expected(
        self, tables: Sequence[tuple[int, ...]], records: float, passes: int, random: np.random.Generator
    ) -> list[Floats]:
        """Tables of the law, as means over so many passes."""
        graph = self._graph()
        totals = [np.zeros(tuple(self.levels[a] for a in table)) for table in tables]
        for _ in range(passes):
            self._pass(graph, random)
            for total, counts in zip(totals, self._tables(tables), strict=True):
                total += counts
        return [total * (records / (len(self.pool) * passes)) for total in totals]


def _parts(rows: int) -> list[slice]:
    each = max(-(-rows // _WORKERS), _FEWEST_APART)
    return [slice(start, start + each) for start in range(0, rows, each)]


def _apart(kernel: Callable[..., None], laws: tuple[Any, ...], parts: Sequence[tuple[Any, ...]]) -> None:
    """Records are drawn apart from one another, so that several processors give what one would."""
    if len(parts) < 2:
        for part in parts:
            kernel(*part, *laws)
        return
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda part: kernel(*part, *laws), parts))


def _within(prior: float) -> float:
    return min(max(prior, _NARROWEST), _WIDEST)


def _nearly_one_to_one(one: Wanted, records: float) -> bool:
    """Whether nearly all records are in the fullest cell of their row, and of their column; of what is beyond noise.

    Noise that hides most records leaves few cells, one of each row, of any table. One cell alone ties nothing either.
    """
    seen = np.where(one.counts > 2 * one.variance**0.5, one.counts, 0.0)
    whole = float(seen.sum())
    if whole < _SEEN * records or any(np.count_nonzero(seen.any(axis=axis)) < 2 for axis in (0, 1)):
        return False
    return all(float(seen.max(axis=axis).sum()) > _TIED * whole for axis in (0, 1))
