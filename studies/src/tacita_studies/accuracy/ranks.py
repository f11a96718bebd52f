"""How far a published quantile is from the wanted one, in ranks, over what the forecast of its plan said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from tacita.data.cells import decimals
from tacita.data.schema import Schema
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.accuracy import middle_of
from tacita.mechanisms.table.quantiles import DRAWN, each, shift_of, stray_of
from tacita_studies.accuracy.answers import Floats, labels

_FINEST = 1000  # parts of a number, far from zero, that a quantile is told to


@dataclass(frozen=True, eq=False)
class RankErrors:
    """The values of every cell, rising, and for every quantile how far a draw strays, in ranks, with the chance that
    two ends may miss it: what the median error was foretold from."""

    values: Mapping[str, Floats]
    strays: Mapping[float, float]
    doubt: float
    step: float
    """The last digit that the schema keeps."""

    @classmethod
    def of(cls, plan: Table, original: pd.DataFrame, schema: Schema) -> RankErrors:
        inside = np.ones(len(original), dtype=bool)
        for name, levels in plan.where.items():
            inside &= original[name].isin(levels).to_numpy()
        counted = original[inside]
        numbers = counted[plan.of[0]].groupby(labels(counted, plan.by))
        budget = each(plan.budget.share(DRAWN), plan.shares)
        strays = {float(share): float(stray_of(share, budget, plan.records)) for share in plan.shares}
        step = 10.0 ** -decimals(schema, plan.of[0])
        return cls({str(name): np.sort(one.dropna().to_numpy()) for name, one in numbers}, strays,
                   float(1 - plan.confidence), step)  # fmt: skip

    def over_forecast(self, cells: Sequence[str], published: Floats) -> Floats:
        """One that shares its value with others has the nearest of their ranks, and so has one that lies as near to
        them as values are told: to a step, or to one part in a thousand."""
        found = np.full(len(cells), np.nan)
        for at, (cell, value) in enumerate(zip(cells, published.tolist(), strict=True)):
            name, share = self._split(cell)
            if name not in self.values or not np.isfinite(value):
                continue
            own = self.values[name]
            near = max(self.step, abs(value) / _FINEST)
            below, upto = np.searchsorted(own, value - near, "left"), np.searchsorted(own, value + near, "right")
            wanted = share * own.size
            found[at] = max(below - wanted, wanted - upto, 0.0) / self._foretold(share, own.size)
        return found

    def _foretold(self, share: float, records: int) -> float:
        """As for a cell of 1,000, of so many records."""
        stray = self.strays[share]
        return middle_of(stray, shift_of(Fraction(stray), self.doubt, records / stray))

    def _split(self, cell: str) -> tuple[str, float]:
        """Rows of quantiles are called "cell × 0.5", or "0.5" where there is one cell; those of medians "cell"."""
        if len(self.strays) == 1 and cell in self.values:
            return cell, next(iter(self.strays))
        name, _, share = cell.rpartition(" × ")
        return name or "all", float(share)
