"""How far a published quantile is from the wanted one, in ranks, over what the forecast of its plan said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tacita.data.cells import decimals
from tacita.data.schema import Schema
from tacita.mechanisms.table import Table
from tacita.privacy import text
from tacita_studies.accuracy.answers import Floats, labels

_FINEST = 1000  # parts of a number, far from zero, that a quantile is told to


@dataclass(frozen=True, eq=False)
class RankErrors:
    """The values of every cell, rising, and for every quantile the median error that was foretold, in ranks."""

    values: Mapping[str, Floats]
    foretold: Mapping[float, float]
    step: float
    """The last digit that the schema keeps."""

    @classmethod
    def of(cls, plan: Table, original: pd.DataFrame, schema: Schema) -> RankErrors:
        inside = np.ones(len(original), dtype=bool)
        for name, levels in plan.where.items():
            inside &= original[name].isin(levels).to_numpy()
        counted = original[inside]
        numbers = counted[plan.of[0]].groupby(labels(counted, plan.by))
        figures = plan.forecast(schema).figures
        told = {float(share): figures[f"median_error_ranks_{text(share)}"] for share in plan.shares}
        step = 10.0 ** -decimals(schema, plan.of[0])
        return cls({str(name): np.sort(one.dropna().to_numpy()) for name, one in numbers}, told, step)

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
            found[at] = max(below - wanted, wanted - upto, 0.0) / self.foretold[share]
        return found

    def _split(self, cell: str) -> tuple[str, float]:
        """Rows of quantiles are called "cell × 0.5", or "0.5" where there is one cell; those of medians "cell"."""
        if len(self.foretold) == 1 and cell in self.values:
            return cell, next(iter(self.foretold))
        name, _, share = cell.rpartition(" × ")
        return name or "all", float(share)
