"""The one query of employer-employee tables (signatures; being filled in)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.confidential import Confidential


@dataclass(frozen=True)
class Workforce:
    """Exact, confidential statistics per workplace cell; never leaves the mechanism."""

    keys: dict[str, NDArray[np.int32]]
    counts: NDArray[np.int64]
    largest: NDArray[np.int64]
    largest_total: NDArray[np.int64]
    establishments: NDArray[np.int64]


def workforce(
    data: Confidential,
    by: Sequence[str],
    *,
    worker: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] | None = None,
    drop_above: int | None = None,
) -> Workforce:
    raise NotImplementedError
