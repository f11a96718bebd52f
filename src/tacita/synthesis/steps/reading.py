"""Confidential rows as a list of occupied cells with their numbers of records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.confidential import Confidential, engine_of, rows
from tacita.engine import level_code, ruled_number
from tacita.errors import UsageError
from tacita.schema import Categorical
from tacita.synthesis.steps.domain import Codes, Domain, Integers


@dataclass(frozen=True, eq=False)
class Occupied:
    """Every cell that holds a record, once, with how many it holds. Confidential.

    `records` counts all rows of the file, also those in cells that cannot occur, which are in none of the others.
    """

    codes: Codes
    counts: Integers
    records: int


def read(data: Confidential, domain: Domain) -> Occupied:
    """One pass over the file. A record in a cell declared impossible is left out, by a rule that sees only itself."""
    table = rows(data)
    wanted = {
        one.name: level_code(table[one.name], one.kind).cast("int32")
        if isinstance(one.kind, Categorical)
        else ruled_number(table[one.name], one.kind).cast("float64")
        for one in domain.attributes
    }
    found = engine_of(data).collect(table.select(**wanted))
    key = np.zeros(found.num_rows, dtype=np.int64)
    for one in domain.attributes:
        values = np.asarray(found[one.name].to_numpy(zero_copy_only=False), dtype=np.float64)
        bad = np.isnan(values)
        if isinstance(one.kind, Categorical):
            bad |= values < 0
            codes = np.where(bad, 0, values).astype(np.int64)
        else:
            codes = np.searchsorted(np.array(one.cuts, dtype=np.float64), values, side="right")
        if bool(bad.any()):
            # Confidential.check refuses such files before anything is spent; this is for callers that skip it.
            raise UsageError(
                f"{one.name}: a value is missing or not declared and the schema has no rule for it; "
                f"declare variables.{one.name}.missing (and outside), or repair the file"
            )
        key = key * one.size + codes
    cells, counts = np.unique(key, return_counts=True)
    codes16 = np.empty((cells.size, len(domain.sizes)), dtype=np.int16)
    for at in range(len(domain.sizes) - 1, -1, -1):
        cells, codes16[:, at] = np.divmod(cells, domain.sizes[at])
    keep = ~domain.forbidden(codes16)
    return Occupied(codes16[keep], counts[keep].astype(np.int64), len(key))
