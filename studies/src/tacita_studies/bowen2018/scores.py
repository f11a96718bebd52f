"""The metrics of bowen2018's section 3: SPECKS, cells, two-way tests, and the difference-in-differences regression."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation import (
    chi_square_agreement,
    coefficient_coverage,
    compare,
    difference_in_differences,
    full_table_distance,
    sign_agreement,
    specks,
    total_variation,
)
from tacita_studies.bowen2018.printed import AGREEMENT, ALONE, COVERED, L1, LEVELS, SIGNS, SPECKS, TV2
from tacita_studies.bowen2018.simulation import NAMES

_CAUSE, _PERIOD, _OUTCOME = "prereg_state", "registered", "voted"
DID = difference_in_differences(
    _OUTCOME, _CAUSE, _PERIOD, [name for name in NAMES if name not in (_CAUSE, _PERIOD, _OUTCOME)], success="1"
)

Scores = dict[tuple[str, float | None], float]


def general(original: pd.DataFrame, files: Sequence[pd.DataFrame], schema: Schema) -> Scores:
    """Values by metric and, for the tests, by level; means over the files unless the metric combines them."""
    comparison = compare(original, files, schema=schema)
    scores: Scores = {
        (SPECKS, None): specks()(comparison).value,
        (TV2, None): total_variation(2)(comparison).value,
        (L1, None): full_table_distance()(comparison).value * len(original),
    }
    for level in LEVELS:
        tests = chi_square_agreement(level)(comparison)
        scores[AGREEMENT, level] = tests.value
        scores[ALONE, level] = tests.details["one by one"]
    return scores


def regression(original: pd.DataFrame, files: Sequence[pd.DataFrame]) -> Scores:
    """Tables 5 and 6: how many of the 32 coefficients keep their sign, and how many the intervals cover.

    Both are NaN where the regression cannot be fitted on every file, as may happen with few records.
    """
    comparison = compare(_numeric_age(original), [_numeric_age(one) for one in files])
    try:
        signs, covered = sign_agreement(DID)(comparison), coefficient_coverage(DID)(comparison)
    except UsageError:
        return {(SIGNS, None): math.nan, (COVERED, None): math.nan}
    terms = len(signs.details["terms"])
    return {(SIGNS, None): signs.value * terms, (COVERED, None): covered.value * terms}


def _numeric_age(frame: pd.DataFrame) -> pd.DataFrame:
    """Age enters the regression as a number, the other attributes as categories."""
    return frame.assign(age=frame["age"].astype(float))
