"""What each variable of a group is measured with, and the counts that are taken for all of them. Proof: quantile.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Integer, Numeric
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.quantile.model import Columns, Fitted, cell_numbers, predictors_of
from tacita.synthesis.quantile.sharing import Shares, cells_for
from tacita.synthesis.quantile.variables import Column, Variable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SMALL = 20  # cells of categorical predictors with fewer than this many records per 1/ε share a model


@dataclass(frozen=True, eq=False)
class Inside:
    """One variable in one group: the group's confidential columns, a released draft of what comes before the variable,
    the models released so far, and the number of records as released.

    `record` has every column that any step looks at, row by row.
    """

    columns: Columns
    draft: Columns
    models: Mapping[str, Fitted]
    variable: Variable
    records: int
    record: Floats
    entropy: Entropy
    label: str
    stays: bool = False

    @property
    def rows(self) -> int:
        return len(self.record)

    @property
    def _draft_rows(self) -> int:
        return len(next(iter(self.draft.values()))) if self.draft else 0

    @cached_property
    def predictors(self) -> tuple[Floats, Integers]:
        """Numeric ones on the scale on which they enter regressions, and codes."""
        return predictors_of(self.variable, self.models, self.columns, self.rows)

    @cached_property
    def released(self) -> Floats:
        """The draft's numeric predictors."""
        numbers, _ = predictors_of(self.variable, self.models, self.draft, self._draft_rows)
        return _without_grain(numbers, self.draft, self.variable.numbers)

    @cached_property
    def scores(self) -> tuple[Floats, Floats]:
        """Numeric predictors by their normal scores: the records', and the draft's."""
        of, models = self.variable, self.models
        ours, _ = predictors_of(of, models, self.columns, self.rows, scores=True)
        released, _ = predictors_of(of, models, self.draft, self._draft_rows, scores=True)
        return ours, released

    @property
    def has_scores(self) -> list[bool]:
        return [one.name in self.models for one in self.variable.numbers]

    @cached_property
    def cells(self) -> tuple[Integers, Integers]:
        """The combination of categorical predictors of each record, and of each row of the draft."""
        ours = cell_numbers(self.variable, self.columns, self.rows)
        return ours, cell_numbers(self.variable, self.draft, self._draft_rows)


def measure_shares(inside: Inside, values: Floats, outcomes: int, epsilon: Fraction, label: str) -> Shares:
    """Counts of outcomes in each cell of the predictors."""
    cells = cells_for(inside.released, inside.variable.levels, outcomes, inside.records, float(epsilon))
    at = cells.of(*inside.predictors) * outcomes + values.astype(np.int64)
    counts = np.bincount(at, minlength=cells.size * outcomes).reshape(cells.size, outcomes).astype(np.int64)
    return Shares(cells, add_discrete_laplace(counts, 1 / epsilon, inside.entropy, label), float(epsilon))


def pooled(counts: NDArray[np.int64], enough: int, several: bool) -> list[list[int]]:
    """Groups that have records enough for a model of their own, and the small ones together. Only released counts are
    looked at."""
    if not several:
        return [[0]]
    found = [[code] for code in np.flatnonzero(counts >= enough).tolist()]
    small = np.flatnonzero((counts > 0) & (counts < enough)).tolist()
    if small:
        found.append(small)
    return found or [list(range(counts.size))]


def enough_for_a_cell(epsilon: Fraction) -> int:
    return ceil(_SMALL / epsilon)


def _without_grain(released: Floats, draft: Columns, columns: tuple[Column, ...]) -> Floats:
    """Released predictors, made constant where they differ by one step of a long scale only: that is the rounding of
    a predictor that does not vary, and no direction to fit a plane along.
    """
    without = released.copy()
    for k, one in enumerate(columns):
        assert isinstance(one.kind, Integer | Numeric)
        if len(without) and one.kind.upper - one.kind.lower > 100 * one.step:
            low, high = np.quantile(draft[one.name], (0.01, 0.99))
            if high - low < 1.5 * one.step:
                without[:, k] = np.median(without[:, k])
    return without
