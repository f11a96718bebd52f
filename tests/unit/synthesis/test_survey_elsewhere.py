"""Survey files of which no record is sent for: the same result, from counts, sums and one column at a time."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.engine.backends import DuckEngine
from tacita.data.schema import Schema
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.survey import SurveySynthesis
from tacita.synthesis.survey.columns import Measure
from tacita.synthesis.survey.measuring import STEPS, Range, Stepped

ROWS = 3_000


def _number(lower: float, upper: float, **more: Any) -> dict[str, Any]:
    return {"role": "confidential", "type": "numeric", "lower": lower, "upper": upper, **more}


def _public(*levels: str) -> dict[str, Any]:
    return {"role": "public", "type": "categorical", "levels": list(levels)}


SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "families", "unit": "family"},
        "variables": {
            "region": _public("empty", "n", "s"),
            "block": _public("1", "2", "3", "4"),
            "pay": _number(0.5, 1e6),
            "hours": _number(0, 100, scale=1),
            "worth": _number(-1e5, 1e7, scale=2),
            "w": {**_number(1, 60, scale=3), "role": "weight"},
        },
    }
)


def families(seed: int = 2) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    columns = {
        "region": random.choice(["n", "s"], ROWS, p=[0.3, 0.7]),
        "block": random.choice(["1", "2", "4"], ROWS),
        "pay": random.lognormal(9, 1.1, ROWS).clip(0.5, 1e6),
        "hours": random.normal(38, 9, ROWS).clip(0, 100).round(1),
        "worth": (random.lognormal(10, 1.5, ROWS) - 2e4).clip(-1e5, 1e7).round(2),
        "w": random.uniform(1, 60, ROWS).round(3),
    }
    return pd.DataFrame(columns)


PLANS = {
    "cells": SurveySynthesis(["hours", "worth"], "9", weight="w", by=["region"], keep=["block"]),
    "many cells": SurveySynthesis(["worth"], "9", weight="w", by=["region", "block"], law="any"),
    "variables one by one": SurveySynthesis(["worth"], "9", weight="w", by=["block", "region"], law="any"),
    "one cell": SurveySynthesis(["hours"], "9", delta="1e-6", weight="w", by=[]),
    "a law": SurveySynthesis(["pay"], "1", weight="w", by=["region"], keep=["block"]),
    "a law, shapes": SurveySynthesis(
        ["pay", "hours"], "99", weight="w", by=["block", "region"], law="normal", transforms={"hours": "log1p"}
    ),
    "a law, one cell": SurveySynthesis(["pay"], "9", delta="1e-6", weight="w", by=[]),
}


@pytest.mark.parametrize("name", PLANS)
def test_no_record_is_sent_for_and_the_result_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS[name]
    if name == "variables one by one":
        monkeypatch.setattr("tacita.synthesis.survey.distribution._FEW_IN_CELLS", 10**6)
    expected = plan.run(Confidential.from_frame(families(), SCHEMA), SeededEntropy(4)).to_bytes()
    data, sent = Confidential.from_frame(families(), SCHEMA), []
    sound = DuckEngine.collect
    monkeypatch.setattr(DuckEngine, "elsewhere", True)
    monkeypatch.setattr(DuckEngine, "collect", lambda *given: sent.append(sound(*given)) or sent[-1])
    plan.suits(data)
    assert plan.run(data, SeededEntropy(4)).to_bytes() == expected
    assert len(sent) > 3
    for one in sent:
        numbers = [column for column in one.column_names if column not in ("n", "cell", "total", "place", "records")]
        alone = one.column_names[-1] == "n" and set(numbers) <= {"value"}
        design = one.column_names[-1] == "n" and all(column.startswith("code_") for column in numbers)
        sums = one.num_rows <= 8 and all(column.startswith(("sum_", "gap_")) for column in numbers)
        assert alone or design or sums, "a record of the file"


@pytest.mark.parametrize("transform", ["log", "log1p", "identity"])
@pytest.mark.parametrize("held", [(0.2, 0.7), (0.0, 1.0), (0.9, 1.0), (0.5, 0.5001)])
def test_steps_are_found_by_their_first_values(transform: Any, held: tuple[float, float]) -> None:
    name = {"log": "pay", "log1p": "hours", "identity": "worth"}[transform]
    one = Measure(name, SCHEMA[name].kind, transform)  # type: ignore[arg-type]
    low, high = (one.low + share * (one.high - one.low) for share in held)
    range_ = Range(low, high)
    stepped = Stepped.of(one, range_)
    lower, upper = one.kind.lower, one.kind.upper
    inside = np.random.default_rng(1).uniform(lower, upper, 2_000)
    near = [np.nextafter(stepped.starts, to) for to in (-np.inf, np.inf)]
    values = np.clip(np.concatenate([inside, stepped.starts, *near, [lower, upper, max(lower, 0.0)]]), lower, upper)
    np.testing.assert_array_equal(stepped.code(values) - STEPS, range_.steps(one.forward(values)))
    assert stepped.size == 2 * STEPS + 1
