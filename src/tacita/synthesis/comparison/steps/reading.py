"""Confidential rows as a list of occupied cells with their numbers of records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.reading import read as read_columns
from tacita.synthesis.domain import Codes, Domain, Integers


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
    columns = read_columns(data, domain.names)
    records = len(columns[domain.names[0]])
    # One column after another, each let go once it is coded.
    key = rowwise.cells(records, (one.code(columns.pop(one.name)) for one in domain.attributes), domain.sizes)
    cells, counts = np.unique(key, return_counts=True)
    codes = np.empty((cells.size, len(domain.sizes)), dtype=np.int16)
    for at in range(len(domain.sizes) - 1, -1, -1):
        cells, codes[:, at] = np.divmod(cells, domain.sizes[at])
    keep = ~domain.forbidden(codes)
    return Occupied(codes[keep], counts[keep].astype(np.int64), records)
