"""Every specific measure on files that nobody planned for: a defined value or a sentence, never a NaN or a crash."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.evaluation import (
    Metric,
    Panel,
    Regression,
    Tabulation,
    WidePanel,
    cell_coverage,
    cell_rmse_ratio,
    chi_square_agreement,
    compare,
    holdout_nrmse,
    regression_metrics,
    risk,
    trend_metrics,
)


def some(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice(list("abc"), rows),
            "ill": rng.choice(["no", "yes"], rows),
            "pay": rng.normal(size=rows),
            "jobs": rng.integers(0, 5, rows).astype(float),
        }
    )


MANY, OTHER = some(60, 1), some(60, 2)
NOTHING: dict[str, Any] = {"area": None, "ill": None, "pay": np.nan, "jobs": np.nan}
SAME: dict[str, Any] = {"area": "a", "ill": "no", "pay": 1.0, "jobs": 2.0}
AWKWARD = {
    "one row each": (some(1, 3), some(1, 4)),
    "one synthetic row": (MANY, some(1, 5)),
    "constant in the original": (MANY.assign(**SAME), OTHER),
    "constant in the synthetic file": (MANY, OTHER.assign(**SAME)),
    "constant in both": (MANY.assign(**SAME), OTHER.assign(**SAME)),
    "missing in the original": (MANY.assign(**NOTHING), OTHER),
    "missing in the synthetic file": (MANY, OTHER.assign(**NOTHING)),
    "missing in both": (MANY.assign(**NOTHING), OTHER.assign(**NOTHING)),
    "nothing in common": (MANY, OTHER.assign(area="z", ill="?", pay=1e6, jobs=99.0)),
    "numbers near the end of the scale": (MANY.assign(pay=MANY["pay"] * 1e300), OTHER),
}


def every_specific_metric() -> Iterator[Metric]:
    yield chi_square_agreement()
    for model in (
        Regression("jobs", ("area", "pay")),
        Regression("ill", ("area", "pay"), family="logistic"),
        Regression("ill", ("area", "jobs"), family="logistic", firth=True),
    ):
        yield from regression_metrics(model)
        yield holdout_nrmse(model)
    for table in (Tabulation(("area", "ill"), "share"), Tabulation(("area",), "mean", "pay")):
        yield cell_rmse_ratio(table)
        yield cell_coverage(table)
    yield from trend_metrics(WidePanel.of({1: "jobs", 2: "pay"}))
    yield from trend_metrics(Panel("area", "jobs", "jobs"))
    yield risk.uniques(["area", "ill"])
    yield risk.replicated_uniques(["area", "pay"])
    yield risk.attribute_disclosure(["area"], "pay")
    yield risk.attribute_disclosure(["pay"], "area")
    yield risk.nearest_record()
    for rule in (risk.PPercent(), risk.Dominance()):
        yield risk.sensitive_cells(["area"], "jobs", rule)
        yield risk.given_away_cells(["area"], "jobs", rule)


@pytest.mark.parametrize("case", AWKWARD)
def test_a_defined_value_or_a_sentence(case: str) -> None:
    original, synthetic = AWKWARD[case]
    comparison = compare(original, [synthetic, synthetic], holdout=some(40, 6))
    said: list[str] = []
    answered = 0
    for metric in every_specific_metric():
        try:
            value = metric(comparison).value
        except UsageError as error:
            said.append(f"{metric.name}: {error}")
        else:
            assert math.isfinite(value)
            answered += 1
    # The net under all measures caught nothing: each has thought of the case itself.
    assert not [one for one in said if "no defined value" in one or "fault of the metric" in one]
    assert answered >= 5  # uniques and such have an answer whatever the files are
