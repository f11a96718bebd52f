"""A list of levels that no value of its column is in is found before anything is spent."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.ledger import Ledger
from tacita.privacy import Loss, ReplaceOne
from tacita.synthesis import HistogramSynthesis

MONTHS = [f"2026-{one:02d}" for one in range(1, 13)]


def schema(**changed: Any) -> Schema:
    month = {"role": "confidential", "type": "categorical", "levels": [*MONTHS, "other"], "outside": "other"}
    about = {"identity": "visits", "unit": "person"}
    return Schema.from_dict({"dataset": about, "variables": {"month": month | changed}})


def opened(values: list[Any], **changed: Any) -> Confidential:
    return Confidential.from_frame(pd.DataFrame({"month": values}), schema(**changed))


def test_dates_against_months_are_refused_and_nothing_is_spent(tmp_path: Path) -> None:
    """All became "other", ε was spent, and the table was published without a word."""
    data = opened(["2026-01-03", "2026-02-11", "2026-02-12"])
    ledger = Ledger.open(tmp_path / "visits.ledger", cap=Loss("1"), neighbours=ReplaceOne("person"))
    plan = HistogramSynthesis(["month"], "1")
    with pytest.raises(SchemaError, match="month: no value of the column is among the declared levels") as said:
        ledger.release(plan, data, label="visits")
    assert "2026-0" not in str(said.value)
    assert ledger.accounts()[0].spent.is_zero


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (["2026-01-03", "2026-01"], {}),
        (["other", "else"], {}),
        ([None, None], {"missing": "other"}),
        (["-9", None], {"missing": "other", "missing_codes": ["-9"]}),
        ([3, 4, 4000], {"levels": [*map(str, range(3000)), "other"]}),
        ([2999, 4000], {"levels": [*map(str, range(3000)), "other"]}),
    ],
)
def test_one_value_that_is_declared_is_enough(values: list[Any], changed: dict[str, Any]) -> None:
    opened(values, **changed).check(["month"])


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (["-9", None, "else"], {"missing": "other", "missing_codes": ["-9"]}),
        ([4000, 4001], {"levels": [*map(str, range(3000)), "other"]}),
    ],
)
def test_missing_values_do_not_stand_for_declared_ones(values: list[Any], changed: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="no value of the column"):
        opened(values, **changed).check(["month"])


def test_a_file_of_which_every_value_is_outside_only_elsewhere_is_taken() -> None:
    """Columns that no product reads are not looked at."""
    both = schema().to_dict()
    both["variables"]["sex"] = {"role": "confidential", "type": "categorical", "levels": ["f", "m"]}
    frame = pd.DataFrame({"month": ["x", "y"], "sex": ["f", "m"]})
    Confidential.from_frame(frame, Schema.from_dict(both)).check(["sex"])
