"""Which values a column holds, and how many records have each: for a mechanism that finds codes.

Nothing is declared of such a column yet, so every value comes to this machine; which may leave the mechanism says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.data.confidential import Confidential, asked, rows
from tacita.data.engine import text_of
from tacita.lazy import later

ibis = later("ibis")

_LONGEST = 200  # letters; what is longer is no code


def occurring(data: Confidential, column: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The values as codes are written, in the order of their letters, and the number of records with each.

    Missing values, texts that are longer than any code, and such with control characters or blanks at an end are left
    out: a rule for each value by itself.
    """
    table = rows(data)

    def counted() -> object:
        return table.select(code=text_of(table[column])).group_by("code").aggregate(n=ibis._.count())

    found = asked(data, ("occurring", column), counted)
    held = {
        code: int(count)
        for code, count in zip(found["code"].to_pylist(), found["n"].to_pylist(), strict=True)
        if code is not None and _is_code(code)
    }
    codes = tuple(sorted(held))
    return codes, np.array([held[code] for code in codes], dtype=np.int64)


def _is_code(text: str) -> bool:
    return len(text) <= _LONGEST and text.isprintable() and text == text.strip() and text != "error"
