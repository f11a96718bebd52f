"""Who stands behind a cell of an establishment table: the p% and the (n, k) dominance rules.

A cell is *sensitive* when one contributor can be worked out from the cell's total, in the worst case by the second
largest, who knows its own value. The rules are the ones agencies use before any noise: they show which cells of an
exact table would need protection, and whether a release would still give the largest contributor away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.metric import Metric, Outcome
from tacita.evaluation.risk.attribute import Keys, shared_keys

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """For each non-empty cell: how many contributors, their total, and the largest ones in descending order."""

    code: NDArray[np.int64]
    contributors: NDArray[np.int64]
    total: Floats
    largest: Floats  # one row per cell; zero where the cell has fewer contributors

    @classmethod
    def of(cls, cell: NDArray[np.integer], value: Floats, keep: int = 2) -> Cells:
        """Group contributions by cell; zero contributions are no contributors.

        >>> cells = Cells.of(np.array([0, 0, 0, 1]), np.array([5.0, 90.0, 5.0, 7.0]))
        >>> cells.total.tolist(), cells.largest.tolist()
        ([100.0, 7.0], [[90.0, 5.0], [7.0, 0.0]])
        """
        if len(cell) != len(value):
            raise UsageError("contributors: there must be one cell per contribution")
        if not np.isfinite(value).all() or (value < 0).any():
            raise UsageError("contributors: contributions must be finite and not negative; leave out missing values")
        positive = value > 0
        cell, value = np.asarray(cell, dtype=np.int64)[positive], value[positive]
        order = np.lexsort((-value, cell))
        cell, value = cell[order], value[order]
        code, start, count = np.unique(cell, return_index=True, return_counts=True)
        total = np.add.reduceat(value, start) if len(code) else np.zeros(0)
        largest = np.zeros((len(code), keep))
        for rank in range(keep):
            has = count > rank
            largest[has, rank] = value[start[has] + rank]
        return cls(code, count.astype(np.int64), total, largest)


class ContributorRule(Protocol):
    """Which cells are sensitive, how many of the largest contributors the rule looks at, and how close is too close."""

    @property
    def keep(self) -> int: ...

    @property
    def within(self) -> float:
        """An estimate of the largest contributor to within this many percent counts as giving it away."""
        ...

    def sensitive(self, cells: Cells) -> NDArray[np.bool_]: ...


@dataclass(frozen=True)
class PPercent:
    """Sensitive if the second largest can estimate the largest to within p%: total - x1 - x2 < (p/100)·x1.

    >>> cells = Cells.of(np.array([0, 0, 0, 1, 1, 1]), np.array([90.0, 5, 5, 40, 30, 30]))
    >>> PPercent(10).sensitive(cells).tolist()
    [True, False]
    """

    p: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.p <= 100:
            raise UsageError(f"p% rule: p must lie in (0, 100], not {self.p:g}")

    @property
    def keep(self) -> int:
        return 2

    @property
    def within(self) -> float:
        return self.p

    def __str__(self) -> str:
        return f"{self.p:g}% rule"

    def sensitive(self, cells: Cells) -> NDArray[np.bool_]:
        rest = cells.total - cells.largest[:, 0] - cells.largest[:, 1]
        # Sums of floats: a remainder below the rounding of the total counts as nothing.
        tolerance = 1e-12 * cells.total
        answer: NDArray[np.bool_] = rest < self.p / 100 * cells.largest[:, 0] - tolerance
        return answer


@dataclass(frozen=True)
class Dominance:
    """The (n, k) rule: sensitive if the n largest contributors hold more than k% of the total.

    >>> cells = Cells.of(np.array([0, 0, 0, 1, 1, 1]), np.array([90.0, 5, 5, 40, 30, 30]), keep=1)
    >>> Dominance(n=1, k=75).sensitive(cells).tolist()
    [True, False]
    """

    n: int = 1
    k: float = 75.0

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 < self.k < 100:
            raise UsageError(f"(n, k) rule: n must be at least 1 and k lie in (0, 100), not ({self.n}, {self.k:g})")

    @property
    def keep(self) -> int:
        return max(2, self.n)

    @property
    def within(self) -> float:
        # One contributor with a share above k is known to within (100 - k)/k of itself from the total alone.
        return 100 * (100 - self.k) / self.k

    def __str__(self) -> str:
        return f"({self.n}, {self.k:g}%) rule"

    def sensitive(self, cells: Cells) -> NDArray[np.bool_]:
        top = cells.largest[:, : self.n].sum(axis=1)
        answer: NDArray[np.bool_] = top > self.k / 100 * cells.total * (1 + 1e-12)
        return answer


def given_away(cells: Cells, released: Floats, within: float) -> NDArray[np.bool_]:
    """Cells whose released total lets the second largest estimate the largest to within `within` percent.

    The estimate is the released total minus the second largest's own value. `released` has one value per cell of
    `cells`, in the same order; several columns are several releases of the same table, of which the mean is used.
    """
    totals = released if released.ndim == 1 else released.mean(axis=1)
    estimate = totals - cells.largest[:, 1]
    answer: NDArray[np.bool_] = np.abs(estimate - cells.largest[:, 0]) <= within / 100 * cells.largest[:, 0]
    return answer


_P10 = PPercent(10)


def sensitive_cells(by: Sequence[str], value: str, rule: ContributorRule = _P10) -> Metric:
    """Share of the original table's non-empty cells that the rule calls sensitive: what an exact table would risk."""
    columns = tuple(by)

    def score(comparison: Comparison) -> Outcome:
        (key,), _ = shared_keys([comparison.original], columns)
        cells = _cells(comparison.original, key, value, rule)
        sensitive = rule.sensitive(cells)
        details = {"sensitive": int(sensitive.sum()), "cells": len(sensitive)}
        details["with one or two contributors"] = int(np.sum(cells.contributors <= 2))
        return Outcome(float(sensitive.mean()), details)

    return Metric(
        f"sensitive cells, {rule}: {value} by {' × '.join(columns)}",
        "lower",
        (0.0, 1.0),
        None,
        "share of cells of the exact table in which one contributor could be worked out",
        score,
    )


def given_away_cells(by: Sequence[str], value: str, rule: ContributorRule = _P10) -> Metric:
    """Share of non-empty cells that are sensitive and whose largest contributor the release still gives away.

    The second largest takes its own value from the synthetic total (the mean over files) and gets the largest to
    within the rule's percentage.
    """
    columns = tuple(by)

    def score(comparison: Comparison) -> Outcome:
        keys, size = shared_keys([comparison.original, *comparison.synthetic], columns)
        cells = _cells(comparison.original, keys[0], value, rule)
        totals = [
            np.bincount(key, weights=np.nan_to_num(_amount(file, value), nan=0.0), minlength=size)[cells.code]
            for file, key in zip(comparison.synthetic, keys[1:], strict=True)
        ]
        sensitive = rule.sensitive(cells)
        exposed = sensitive & given_away(cells, np.column_stack(totals), rule.within)
        details = {"given away": int(exposed.sum()), "sensitive": int(sensitive.sum()), "cells": len(sensitive)}
        return Outcome(float(exposed.mean()), details)

    return Metric(
        f"cells given away, {rule}: {value} by {' × '.join(columns)}",
        "lower",
        (0.0, 1.0),
        0.0,
        "share of cells whose largest contributor its closest rival can work out from the released total",
        score,
    )


def _cells(file: Encoded, key: Keys, value: str, rule: ContributorRule) -> Cells:
    amount = _amount(file, value)
    known = ~np.isnan(amount)
    cells = Cells.of(key[known], amount[known], rule.keep)
    if not len(cells.code):
        raise UsageError(f"{value}: nobody contributes anything to this table; choose another column")
    return cells


def _amount(file: Encoded, value: str) -> Floats:
    if file.column(value).kind != "numeric":
        raise UsageError(f"{value}: contributions must be numbers; declare the column so in the schema")
    return file.numbers[value]
