"""One integer per row and file that is equal exactly where the named columns are: what an intruder can match on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Encoded

Keys = NDArray[np.int64]


def shared_keys(files: Sequence[Encoded], columns: Sequence[str]) -> tuple[list[Keys], int]:
    """Keys of every file, numbered from 0 over all files, and how many there are.

    Numbers match only if equal; missing matches missing.
    """
    if not columns:
        raise UsageError("risk: name at least one column that an intruder may know")
    if len(set(columns)) != len(columns):
        raise UsageError("risk: a column is named twice; name each once")
    key = np.zeros(sum(file.rows for file in files), dtype=np.int64)
    size = 1
    for name in columns:
        if files[0].column(name).kind == "categorical":
            codes = np.concatenate([file.codes[name] for file in files]).astype(np.int64)
            width = len(files[0].column(name).levels)
        else:
            codes, values = pd.factorize(np.concatenate([file.numbers[name] for file in files]), use_na_sentinel=False)
            width = len(values)
        # Renumbering after every column keeps keys far from overflow, however many columns there are.
        key, distinct = pd.factorize(key * max(width, 1) + codes)
        size = len(distinct)
    return [part.astype(np.int64) for part in np.split(key, np.cumsum([file.rows for file in files])[:-1])], size
