"""What today's practice would have made of the same table: errors of methods that carry no guarantee.

Counts of any records: random rounding, and small counts withheld. Jobs and sums of establishments: noise infusion, and
cell suppression by the p% rule. Other statistics have no method that an office would recognise, and the page says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.dossier.asked import Asked
from tacita.dossier.exact import ID, JOBS
from tacita.mechanisms.comparators import NoiseInfusion, RandomRounding, SuppressAndRound
from tacita.noise.entropy import SeededEntropy

Floats = NDArray[np.float64]

INFUSION = "Noise infusion"
_DRAWS = 5  # noise infusion is random; a few draws settle the mean error of a table
_FEW = 5


@dataclass(frozen=True, eq=False)
class Method:
    """One method on one table: the root mean squared error of every cell, NaN where it withholds the cell."""

    name: str
    how: str
    error: Floats


def methods_for(asked: Asked, cells: pd.DataFrame, truth: Floats) -> Iterator[Method]:
    """Those that apply; `cells` are the levels of the published cells, in the order of their true values."""
    if asked.pieces is not None:
        yield from _of_establishments(asked, asked.pieces, cells, truth)
    elif asked.statistic == "count" and asked.unit == "records":
        rounding = RandomRounding()
        yield Method(
            "Random rounding",
            f"every count goes to the multiple of {rounding.base} below or above it, by chance and unbiased",
            rounding.deviation(truth),
        )
        small = (truth > 0) & (truth < _FEW)
        how = f"counts of 1 to {_FEW - 1} are withheld, the others published as they are"
        yield Method("Suppression of small counts", how, np.where(small, np.nan, 0.0))


def _of_establishments(asked: Asked, pieces: pd.DataFrame, cells: pd.DataFrame, truth: Floats) -> Iterator[Method]:
    cell = rows_of(cells, pieces)
    inside = cell >= 0
    ids, cell = pieces[ID].to_numpy()[inside], cell[inside]
    amount = pieces[asked.amount].to_numpy(dtype=np.float64)[inside][:, None]
    jobs = asked.amount == JOBS
    rule, squares = NoiseInfusion(small_cell="2.5" if jobs else "0"), np.zeros(truth.size)
    for draw in range(_DRAWS):
        key = hashlib.sha256(f"dossier {draw}".encode()).digest()  # a comparison, so the same key may serve every time
        infused = rule.apply(cell, amount, truth.size, rule.factors(ids, key=key), SeededEntropy(draw))[:, 0]
        squares += (infused - truth) ** 2
    drawn = ", and counts of 1 and 2 are drawn anew" if jobs else ""
    how = f"every establishment is multiplied by a secret factor 5% to 15% away from 1{drawn}"
    yield Method(INFUSION, how, np.sqrt(squares / _DRAWS))
    shown = SuppressAndRound(base=5 if jobs else 1).apply(cell, amount, truth.size)[:, 0]
    rounded = " and the rest rounded to 5" if jobs else ""
    how = f"cells are withheld by the 15% rule, without secondary suppression,{rounded}"
    yield Method("Cell suppression", how.rstrip(","), np.abs(shown - truth))


def rows_of(cells: pd.DataFrame, given: pd.DataFrame) -> NDArray[np.int64]:
    """The row of `cells` that each given row belongs to; -1 where there is none."""
    keys = list(cells.columns)
    if not keys:
        return np.zeros(len(given), dtype=np.int64)
    known = pd.MultiIndex.from_frame(cells.astype(str))
    return np.asarray(known.get_indexer(pd.MultiIndex.from_frame(given[keys].astype(str))), dtype=np.int64)
