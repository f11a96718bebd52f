"""Files drawn from a stored result are those that were drawn when it was measured, whatever the columns are called."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita import FileSynthesis, QuantileSynthesis
from tacita.data.schema import Schema

COLUMNS = ["yedu", "inc", "fam", "w"]  # not in the order of the alphabet, in which stored results have them


def _schema() -> Schema:
    def number(upper: int, role: str = "confidential", lower: int = 0) -> dict[str, Any]:
        return {"role": role, "type": "integer", "lower": lower, "upper": upper}

    numbers = {"yedu": number(25), "inc": number(500_000), "fam": number(40), "w": number(10_000, "weight", 1)}
    return Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": numbers})


def _people(count: int) -> pd.DataFrame:
    random = np.random.default_rng(3)
    yedu = random.integers(6, 20, count)
    inc = (random.lognormal(10 + yedu / 20, 0.8, count)).clip(0, 500_000).astype(int)
    weight = (random.lognormal(7, 0.5, count) * (1 + yedu / 40)).clip(1, 10_000).astype(int)
    return pd.DataFrame({"yedu": yedu, "inc": inc, "fam": random.integers(1, 12, count), "w": weight})


@pytest.mark.parametrize("sets", [1, 2])
@pytest.mark.parametrize("kind", [FileSynthesis, QuantileSynthesis])
def test_totals_are_brought_about_in_the_order_of_the_columns(kind: type[Any], sets: int) -> None:
    plan = kind(COLUMNS, "8", sets=sets)
    model = plan.rehearse(_people(4000), _schema(), seed=1)
    assert len(model.released.pins) > 2
    back = plan.restore(model.to_bytes())
    for fresh, again in zip(model.implicates.tables, back.implicates.tables, strict=True):
        assert fresh.equals(again)
