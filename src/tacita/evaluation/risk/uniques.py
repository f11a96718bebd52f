"""Uniques: records that are alone with their values of some columns, and those still alone in a synthetic file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacita.evaluation.encoding import Comparison, Pair
from tacita.evaluation.metric import Metric, Outcome, averaged
from tacita.evaluation.risk.keys import shared_keys


def uniques(known: Sequence[str]) -> Metric:
    """Share of original records that nobody shares the values of the known columns with.

    It says how exposed the confidential file is, whatever the synthetic file does.
    """
    columns = tuple(known)

    def score(comparison: Comparison) -> Outcome:
        (keys,), size = shared_keys([comparison.original], columns)
        alone = int(np.sum(np.bincount(keys, minlength=size) == 1))
        return Outcome(alone / comparison.original.rows, {"records": alone, "combinations": size})

    return Metric(
        f"uniques on {', '.join(columns)}",
        "lower",
        (0.0, 1.0),
        None,
        "share of original records that are alone with their values of these columns",
        score,
    )


def replicated_uniques(known: Sequence[str]) -> Metric:
    """Share of original records that are unique and have exactly one synthetic record with the same values."""
    columns = tuple(known)

    def of_pair(pair: Pair) -> Outcome:
        keys, size = shared_keys([pair.original, pair.synthetic], columns)
        original, synthetic = (np.bincount(one, minlength=size) == 1 for one in keys)
        both = int(np.sum(original & synthetic))
        details = {
            "unique in the original": int(original.sum()),
            "unique in the synthetic file": int(synthetic.sum()),
            "replicated": both,
        }
        return Outcome(both / pair.original.rows, details)

    return Metric(
        f"replicated uniques on {', '.join(columns)}",
        "lower",
        (0.0, 1.0),
        0.0,
        "share of original records that are unique on these columns and unique again in the synthetic file",
        averaged(of_pair),
    )
