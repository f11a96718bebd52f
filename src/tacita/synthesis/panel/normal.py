"""Bayesian normal regression of normal scores on log predictors, for skewed numbers such as employment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from tacita.errors import UsageError
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Column, Flags, Floats, Integers, Predictors, standard
from tacita.synthesis.panel.scores import NormalScores

# One class for each small size and ever wider ones above, as employment statistics have them.
SIZES = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 250, 500, 1000, 2500)
_PRIOR = 0.5  # records' worth of a prior that a slope is 0
_LOOKS = 6000  # values from which the total of a class is foreseen
_FARTHEST = 0.2  # that a law is moved, in logs
_CALM_FROM, _CALM_LEAST = 10, 50  # sizes and records from which it is read how calm larger units are
_LEAST_RESIDUAL = 0.01  # of the variance of the scores
_GOLDEN = (np.sqrt(5.0) - 1) / 2


@dataclass(frozen=True)
class NormalRegression:
    """The response as normal scores of its own law, regressed on the logs of numbers and on categories.

    `given` names the predictors; those that do not exist for some units (nothing comes before a first year) are left
    out for them. With `relative_to` the response is the log of its ratio to that variable (employment to that of the
    year before, payroll to employment), and `bounds` splits units by the size of that variable, each class with its
    own law and regression: growth is spread differently at every size, and one law for all would not keep the
    variance of a chain of years. Without it, the categories of `apart` are modelled apart. Classes with fewer than
    `least` records join their neighbours.

    Laws are moved a little so that the totals foreseen for the records are the ones they have, in every class and for
    every category of `apart`. Each file draws its own slopes from their posterior; with `proper` also the level of
    every class. Without it, and because residuals, which have their law one by one, are spread evenly over the units
    of a class in the order of their size, the totals of a file stay near those of the data: files differ less than
    those of textbook multiple imputation, and so do the estimates that are averaged over them.
    """

    given: tuple[str, ...] = ()
    relative_to: str | None = None
    bounds: tuple[float, ...] = SIZES
    apart: tuple[str, ...] = ()
    least: int = 100
    proper: bool = False

    def __post_init__(self) -> None:
        if self.least < 10:
            raise UsageError("least: a regression needs at least 10 records")
        if list(self.bounds) != sorted(set(self.bounds)):
            raise UsageError("bounds: must rise, such as (1, 5, 20, 100)")

    @property
    def needs(self) -> tuple[str, ...]:
        more = () if self.relative_to is None else (self.relative_to,)
        return tuple(dict.fromkeys((*self.given, *more, *self.apart)))

    def fit(self, response: Floats, given: Predictors, scale: Scale, random: np.random.Generator) -> FittedNormal:
        names = given.among(self.given)
        base = given.base(self.relative_to)
        split = _Split(None if base is None else self.bounds, given.among(self.apart))
        raw = split.of(given, base)
        # Without a base a class is all that tells its units from others, so fewer of them make one.
        least = self.least if base is not None else 2 * self.least // 5
        classes = _joined(np.bincount(raw, minlength=split.count(given)), least)
        mine = classes[raw]
        design = given.design(names)[:, 1:]
        centre, spread = standard(design)
        design = (design - centre) / spread
        at_bottom = response <= scale.lower
        offset = np.zeros(given.rows) if base is None else base.logs
        exact = scale.logs(scale.blurred(response, random)) - offset
        calm = _Calm.of(exact, base, raw)
        exact = calm.centre + (exact - calm.centre) * calm.of_units(base, given.rows)
        parts, foreseen, its_logs = [], np.empty(given.rows), np.empty(given.rows)
        # By class, and within it by size: the order in which residuals are spread.
        order = np.argsort(mine, kind="stable") if base is None else np.lexsort((base.values, mine))
        ends = np.cumsum(np.bincount(mine, minlength=classes.max() + 1))
        for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            here = order[start:end]
            part = _fit_class(design[here], exact[here], at_bottom[here], random)
            foreseen[here], its_logs[here] = part.foreseen(
                design[here], calm.undone(base, offset, here), base is None, scale, random
            )
            parts.append(part)
        cells = given.cells(split.apart)
        moves = _Moves.of(
            1.0 + response / scale.step,
            1.0 + foreseen / scale.step,
            its_logs,
            None if base is None else 1.0 + base.values / base.unit,
            mine,
            cells,
            np.bincount(cells, minlength=split.cells(given)) >= 2 * self.least // 5,
        )
        return FittedNormal(self, names, centre, spread, split, classes, tuple(parts), moves, calm, scale)


@dataclass(frozen=True)
class _Split:
    """How units fall into classes: by the size of the base, or by categories where there is none."""

    bounds: tuple[float, ...] | None
    apart: tuple[str, ...]

    def of(self, given: Predictors, base: Column | None) -> Integers:
        if self.bounds is None or base is None:
            return given.cells(self.apart)
        return np.searchsorted(self.bounds, base.values, side="right")

    def cells(self, given: Predictors) -> int:
        return int(np.prod([given.columns[name].levels for name in self.apart], dtype=np.int64))

    def count(self, given: Predictors) -> int:
        return self.cells(given) if self.bounds is None else len(self.bounds) + 1


@dataclass(frozen=True, eq=False)
class _Back:
    """From the scale of a law to logs: larger units are brought nearer to the centre, and their base is added."""

    centre: float
    factor: Floats
    offset: Floats

    def of(self, logs: Floats) -> Floats:
        return np.asarray(self.centre + (logs - self.centre) / self.factor + self.offset)


@dataclass(frozen=True)
class _Calm:
    """How much calmer larger units are: deviations from the centre fall as a power of the size of the base.

    Within a class the law is one for all sizes, and without this the largest unit of all would move as the smallest of
    its class do.
    """

    centre: float
    power: float

    @classmethod
    def of(cls, logs: Floats, base: Column | None, raw: Integers) -> _Calm:
        centre = float(np.median(logs))
        if base is None:
            return cls(centre, 0.0)
        large = base.values >= _CALM_FROM
        counts = np.bincount(raw[large])
        use = counts >= _CALM_LEAST
        if use.sum() < 3:
            return cls(centre, 0.0)
        moved = np.log(np.bincount(raw[large], weights=np.abs(logs[large] - centre))[use] / counts[use])
        sizes = (np.bincount(raw[large], weights=base.logs[large])[use]) / counts[use]
        slope = float(np.polyfit(sizes, moved, 1, w=np.sqrt(counts[use]))[0])
        return cls(centre, float(np.clip(-slope, 0.0, 0.5)))

    def of_units(self, base: Column | None, rows: int) -> Floats:
        if base is None or self.power == 0.0:
            return np.ones(rows)
        return np.asarray(np.exp(self.power * base.logs))

    def undone(self, base: Column | None, offset: Floats, here: Integers) -> _Back:
        some = None if base is None else base.at(here)
        return _Back(self.centre, self.of_units(some, len(here)), offset[here])


@dataclass(frozen=True, eq=False)
class _Class:
    """The law of one class, and the posterior of its regression on centred predictors."""

    law: NormalScores
    rows: int
    beta: Floats
    root: Floats  # upper triangular, root'root = X'X + prior
    sigma: float
    mean: Floats
    spread: Floats  # covariance of the predictors
    low: Floats  # what they range over: a regression says nothing beyond
    high: Floats

    def drawn(self, random: np.random.Generator, proper: bool) -> tuple[float, Floats, float]:
        """A level, slopes from their posterior, and the residual spread that leaves the scores standard normal.

        The scores of a class are standard normal whatever the predictors say: so the variance of a chain of years
        stays that of the data.
        """
        level, *more = random.standard_normal(1 + len(self.beta))
        beta = self.beta + self.sigma * solve_triangular(self.root, np.array(more))
        return (level * self.sigma / math.sqrt(max(self.rows, 1)) if proper else 0.0), beta, self.residual(beta)

    def residual(self, beta: Floats) -> float:
        return math.sqrt(max(1.0 - float(beta @ self.spread @ beta), _LEAST_RESIDUAL))

    def centre(self, design: Floats, level: float, beta: Floats) -> Floats:
        return np.asarray(level + (np.clip(design, self.low, self.high) - self.mean) @ beta)

    def values(self, centre: Floats, sigma: float, shift: float, back: _Back, even: bool, scale: Scale) -> Floats:
        """Values with residuals spread evenly over the units in their order; all of a score, where `even`."""
        spread = (shift + _GOLDEN * np.arange(len(centre))) % 1.0
        scores = centre + sigma * ndtri(np.clip(spread, 1e-12, 1 - 1e-12))
        if even and len(centre):
            scores = _evened(scores, centre, sigma, shift)
        logs, atoms = self.law.values_of(scores)
        # The lowest value itself is the atom of a class.
        found = np.maximum(scale.from_logs(back.of(logs)), scale.lower + scale.step)
        return np.asarray(np.where(atoms, scale.lower, found))

    def foreseen(
        self, design: Floats, back: _Back, even: bool, scale: Scale, random: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """About the mean of what files will show for these units, and of its log."""
        rest = self.residual(self.beta)
        centre = self.centre(design, 0.0, self.beta)
        found, logs = np.zeros(len(centre)), np.zeros(len(centre))
        shifts = _shifts(len(centre), random.random())
        for shift in shifts:
            values = scale.published(self.values(centre, rest, shift, back, even, scale))
            found += values / len(shifts)
            logs += scale.logs(values) / len(shifts)
        return found, logs


@dataclass(frozen=True, eq=False)
class _Moves:
    """By how much logs move, so that means and totals foreseen are those of the data.

    First the mean of the logs in every cell: a regression of scores leaves a little of what tells survivors from those
    about to close, and a chain of years adds it up. Then totals, in every class and cell: growth is modelled by the
    unit, and totals weigh units by their size. Without this, what the largest of a year did would be missing from the
    totals of all later years. This move is for those who make the total: a unit as large as the average job's has half
    of it and small ones hardly any, so that what a few large units did is not laid on all.
    """

    level: Floats
    by_class: Floats
    by_cell: Floats
    heavy_classes: Floats  # the size of the average job's unit
    heavy: float

    @classmethod
    def of(
        cls, truth: Floats, foreseen: Floats, its_logs: Floats, base: Floats | None, mine: Integers, cells: Integers,
        enough: Flags,
    ) -> _Moves:  # fmt: skip
        gap = np.bincount(cells, weights=np.log(truth) - its_logs, minlength=len(enough))
        level = np.where(enough, gap / np.maximum(np.bincount(cells, minlength=len(enough)), 1), 0.0)
        foreseen = foreseen * np.exp(level[cells])
        sizes, weight = (truth, truth) if base is None else (base, foreseen)
        heavy = float((sizes**2).sum() / sizes.sum())
        heavy_classes = np.bincount(mine, weights=sizes**2) / np.bincount(mine, weights=sizes)
        found = cls(level, np.zeros(len(heavy_classes)), np.zeros(len(enough)), heavy_classes, heavy)
        everywhere = np.ones(len(heavy_classes), dtype=bool)
        for _ in range(3):
            for moves, place, use, pull in (
                (found.by_cell, cells, enough, _pull(sizes, heavy)),
                (found.by_class, mine, everywhere, _pull(sizes, heavy_classes[mine])),
            ):
                now = foreseen + weight * found.for_totals(sizes, mine, cells)
                missing = np.bincount(place, weights=truth - now, minlength=len(moves))
                lever = np.bincount(place, weights=weight * pull, minlength=len(moves))
                use = use & (lever > 0)
                moves[use] += np.clip(missing[use] / lever[use], -_FARTHEST, _FARTHEST)
        return found

    def at(self, sizes: Floats, mine: Integers, cells: Integers) -> Floats:
        return np.asarray(self.level[cells] + self.for_totals(sizes, mine, cells))

    def for_totals(self, sizes: Floats, mine: Integers, cells: Integers) -> Floats:
        return self.by_class[mine] * _pull(sizes, self.heavy_classes[mine]) + self.by_cell[cells] * _pull(
            sizes, self.heavy
        )


def _pull(sizes: Floats, heavy: Floats | float) -> Floats:
    return np.asarray(sizes / (sizes + heavy))


def _fit_class(design: Floats, exact: Floats, at_bottom: Flags, random: np.random.Generator) -> _Class:
    rows = len(design)
    share = float(at_bottom.mean())
    law = NormalScores.of(exact[~at_bottom], share)
    scores = law.scores_of(exact)
    if share:
        # Anywhere below the atom's quantile: what falls there comes back as the atom.
        scores[at_bottom] = ndtri(np.clip(share * random.random(int(at_bottom.sum())), 1e-12, 1 - 1e-12))
    mean = design.mean(axis=0)
    centred = design - mean
    normal = centred.T @ centred
    spread = normal / rows
    root, beta = ridge(normal, centred.T @ scores)
    sigma = float(np.std(scores - centred @ beta))
    return _Class(law, rows, beta, root, sigma, mean, spread, design.min(axis=0), design.max(axis=0))


def ridge(normal: Floats, moments: Floats) -> tuple[Floats, Floats]:
    """The root of XᵀX with a weak prior that slopes are 0, and the slopes for Xᵀy."""
    normal = normal.copy()
    normal[np.diag_indices(len(normal))] += _PRIOR
    root = np.asarray(np.linalg.cholesky(normal).T, dtype=np.float64)
    return root, np.asarray(solve_triangular(root, solve_triangular(root, moments, trans="T")), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FittedNormal:
    """The laws and regressions of all classes; a draw is one file's, with parameters of its own."""

    model: NormalRegression
    names: tuple[str, ...]
    centre: Floats
    spread: Floats
    split: _Split
    classes: Integers
    parts: Sequence[_Class]
    moves: _Moves
    calm: _Calm
    scale: Scale

    def draw(self, given: Predictors, random: np.random.Generator) -> Floats:
        design = (given.design(self.names)[:, 1:] - self.centre) / self.spread
        # A model of births has no base, also where it must serve continuers.
        base = given.base(self.model.relative_to) if self.split.bounds is not None else None
        drawn = [part.drawn(random, self.model.proper) for part in self.parts]
        shifts = random.random(len(self.parts))
        order = random.permutation(given.rows) if base is None else np.argsort(base.values, kind="stable")
        mine, cells = self.classes[self.split.of(given, base)], given.cells(self.split.apart)
        offset = np.zeros(given.rows)
        if base is not None:
            offset = base.logs + self.moves.at(1.0 + base.values / base.unit, mine, cells)
        found = np.empty(given.rows)
        for place, part in enumerate(self.parts):
            here = order[mine[order] == place]
            level, beta, sigma = drawn[place]
            centre = part.centre(design[here], level, beta)
            back = self.calm.undone(base, offset, here)
            values = part.values(centre, sigma, shifts[place], back, base is None, self.scale)
            if base is not None and not self.model.proper:
                values = self._balanced(part, values, centre, sigma, shifts[place], back)
            found[here] = values
        return found if base is not None else self._moved(found, mine, cells)

    def _moved(self, values: Floats, mine: Integers, cells: Integers) -> Floats:
        step, bottom = self.scale.step, self.scale.lower
        sizes = 1.0 + values / step
        made = step * (sizes * np.exp(self.moves.at(sizes, mine, cells)) - 1.0)
        return np.where(values > bottom, np.maximum(made, bottom + step), values)

    def _balanced(
        self, part: _Class, values: Floats, centre: Floats, sigma: float, shift: float, back: _Back
    ) -> Floats:
        """The same with the total that was to be expected: a few large units make it uncertain otherwise."""
        others = _shifts(len(values), shift)[1:]
        if not len(others) or not len(values):
            return values
        step, bottom = self.scale.step, self.scale.lower
        totals = [values.sum(), *(part.values(centre, sigma, one, back, False, self.scale).sum() for one in others)]
        rows = len(values) * step
        factor = np.clip((np.mean(totals) + rows) / (values.sum() + rows), np.exp(-_FARTHEST), np.exp(_FARTHEST))
        return np.where(values > bottom, np.maximum((values + step) * factor - step, bottom + step), values)


def _shifts(rows: int, start: float) -> Floats:
    """Where the looks at a class begin to spread residuals. `start` is drawn: always the same places would miss what
    lies farthest out in the tail, and growth would fall short a little every year.
    """
    looks = int(np.clip(_LOOKS // max(rows, 1), 1, 16))
    return np.asarray((start + np.arange(looks) / looks) % 1.0)


def _evened(scores: Floats, centre: Floats, sigma: float, shift: float) -> Floats:
    """The same order, with the scores spread as evenly as their law is: sums over a heavy tail need it."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores)) + shift
    return np.asarray(centre.mean() + math.hypot(float(centre.std()), sigma) * ndtri(ranks / len(scores)))


def _joined(counts: Integers, least: int) -> Integers:
    """A class number for every raw one: neighbours are joined, from the top, until each has enough records.

    >>> _joined(np.array([50, 3, 9, 40]), 10).tolist()
    [0, 1, 1, 2]
    """
    found = np.zeros(len(counts), dtype=np.int64)
    held, number = 0, 0
    for place in range(len(counts) - 1, -1, -1):
        found[place] = number
        held += int(counts[place])
        rest = int(counts[:place].sum())
        # The lowest class, those that had nobody, is like no other: fewer records will do for it.
        if held >= least and (rest >= least or (place == 1 and rest >= least / 4)):
            held, number = 0, number + 1
    return np.asarray(found.max() - found)
