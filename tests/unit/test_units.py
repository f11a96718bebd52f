"""Who a unit is: looked for among the ids of the file, checked in its rows, and otherwise said to be on trust."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError
from tacita.ledger import Ledger
from tacita.mechanisms.eree import EdgeLaplace, SmoothStaircase
from tacita.plan import claimed, contribution_of
from tacita.privacy import AddRemoveOne, Guarantee, Loss, ReplaceOne, StrongAlpha, unchecked_units
from tacita.synthesis import (
    HistogramSynthesis,
    IndependentSynthesis,
    PairwiseSynthesis,
    QuantileSynthesis,
    StepsSynthesis,
)

CODE = {"role": "confidential", "type": "categorical", "levels": ["0", "1"]}
NUMBER = {"role": "confidential", "type": "integer", "lower": 0, "upper": 100}


def schema_of(unit: str = "person", **ids: str) -> Schema:
    """Two codes and a number, with ids given as column = entity."""
    columns: dict[str, Any] = {name: {"role": "id", "entity": entity} for name, entity in ids.items()}
    return Schema.from_dict(
        {"dataset": {"identity": "visits", "unit": unit}, "variables": columns | {"a": CODE, "b": CODE, "pay": NUMBER}}
    )


def visits(rows_of_one: int, **ids: list[int]) -> pd.DataFrame:
    count = 40 + rows_of_one
    found = {"a": ["0", "1"] * 20 + ["1"] * rows_of_one, "b": ["0"] * 40 + ["1"] * rows_of_one}
    who = [*range(40), *[999] * rows_of_one]
    return pd.DataFrame({**dict.fromkeys(ids or ("pid",), who), **found, "pay": list(range(count))})


def row_plans(relation: Any) -> list[Any]:
    both = ["a", "b"]
    return [
        HistogramSynthesis(both, "1", neighbours=relation),
        IndependentSynthesis(both, "1", neighbours=relation),
        StepsSynthesis(both, "1", neighbours=relation),
        PairwiseSynthesis(both, "1", neighbours=relation),
        QuantileSynthesis(["pay"], "1", neighbours=relation),
    ]


@pytest.mark.parametrize("relation", [AddRemoveOne("person"), ReplaceOne("person")], ids=str)
def test_a_person_with_several_rows_is_refused_and_nothing_is_spent(tmp_path: Path, relation: Any) -> None:
    schema = schema_of(pid="person")
    for plan in row_plans(relation):
        path = tmp_path / f"{type(plan).__name__}.ledger"
        ledger = Ledger.open(path, cap=Loss("1", delta="1e-6"), neighbours=relation)
        before = ledger.entries()
        with pytest.raises(SchemaError, match=r"person\.pid.*more than one row.*at_most") as refused:
            ledger.release(plan, Confidential.from_frame(visits(20), schema), label="visits")
        assert "20" not in str(refused.value)
        assert "999" not in str(refused.value)
        assert ledger.entries() == before
        with pytest.raises(SchemaError, match=r"person\.pid"):
            plan.rehearse(visits(2), schema, seed=1)
        plan.rehearse(visits(1), schema, seed=1)


def test_an_establishment_is_a_workplace(tmp_path: Path) -> None:
    schema = schema_of("establishment", wid="workplace")
    for word in ("establishment", "Establishment", "workplace"):
        plan = HistogramSynthesis(["a"], "1", neighbours=AddRemoveOne(word))
        with pytest.raises(SchemaError, match=r"establishment\.wid"):
            plan.rehearse(visits(3, wid=[]), schema, seed=1)


def test_without_an_id_the_promise_is_on_trust_wherever_it_travels(tmp_path: Path) -> None:
    schema, plan = schema_of(), HistogramSynthesis(["a"], "1", neighbours=ReplaceOne("person"))
    (trusted,) = unchecked_units(claimed(plan, schema))
    assert trusted.startswith("each row of the file is one whole person; the file has no person id")
    ledger = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=ReplaceOne("person"))
    frame = visits(20).drop(columns="pid")
    ledger.release(plan, Confidential.from_frame(frame, schema), label="visits")
    (reserved,) = [line["entry"] for line in ledger.extract("visits")["entries"] if line["entry"]["kind"] == "reserve"]
    assert reserved["guarantee"]["assumes"][0].endswith(trusted)
    assert unchecked_units(claimed(plan, schema_of(pid="person"))) == ()


def test_ids_of_something_else_do_not_vouch_for_a_person() -> None:
    schema = schema_of(hid="household")
    (trusted,) = unchecked_units(claimed(HistogramSynthesis(["a"], "1", neighbours=ReplaceOne("person")), schema))
    assert "no person id" in trusted
    (records,) = unchecked_units(claimed(QuantileSynthesis(["pay"], "1"), schema))
    assert "one household with several of them loses that much for each" in records
    assert unchecked_units(claimed(QuantileSynthesis(["pay"], "1"), schema_of())) == ()


@pytest.mark.parametrize("plan", [SmoothStaircase("0.1", "1", by=["place"]), EdgeLaplace("1", by=["place"])], ids=str)
def test_jobs_of_workers_without_ids_are_on_trust(plan: Any) -> None:
    columns: dict[str, Any] = {
        "wid": {"role": "id", "entity": "workplace"},
        "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
    }
    jobs = Schema.from_dict({"dataset": {"identity": "jobs", "unit": "establishment"}, "variables": columns})
    (trusted,) = unchecked_units(claimed(plan, jobs))
    assert trusted.startswith("each worker holds one job in the file; the file has no worker id")
    known = Schema.from_dict(
        {
            "dataset": {"identity": "jobs", "unit": "establishment"},
            "variables": columns | {"pid": {"role": "id", "entity": "worker"}},
        }
    )
    assert unchecked_units(claimed(plan, known)) == ()
    assert "each worker holds one job in the file" in claimed(plan, known).assumes


def test_a_plan_that_promises_nothing_asks_nothing_of_the_rows() -> None:
    class Nothing:
        guarantee = Guarantee(StrongAlpha("0.1"), Loss("1"), holds="never")

    assert contribution_of(Nothing(), schema_of(pid="person")) is None  # type: ignore[arg-type]


def test_a_promise_for_another_unit_says_what_to_write() -> None:
    plan = PairwiseSynthesis(["a", "b"], "1")
    with pytest.raises(RefusedError, match=r'give the plan neighbours = ReplaceOne\("person"\)'):
        plan.guarantee.under(ReplaceOne("person"))
