from typing import Any

import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.release.mock import ESTABLISHMENTS, ROWS, mock_tables

PLACE: dict[str, Any] = {"role": "workplace", "type": "categorical", "levels": ["north", "south", "unknown"]}
SEX: dict[str, Any] = {"role": "worker", "type": "categorical", "levels": ["F", "M"]}
IDS: dict[str, Any] = {
    "workplace_id": {"role": "id", "entity": "workplace"},
    "worker_id": {"role": "id", "entity": "worker"},
}


def schema(**variables: Any) -> Schema:
    return Schema.from_dict({"dataset": {"identity": "mock", "unit": "establishment"}, "variables": variables})


FLAT = schema(**IDS, place=PLACE, sex=SEX)
LINKED = schema(**IDS, place=PLACE | {"table": "workplace"}, sex=SEX | {"table": "worker"})
SIZES = schema(
    workplace_id=IDS["workplace_id"],
    place=PLACE,
    employment={"role": "size", "type": "integer", "lower": 0, "upper": 100_000},
)


@pytest.mark.parametrize("one", [FLAT, LINKED, SIZES], ids=["flat", "linked", "sizes"])
def test_mock_rows_fit_the_schema_they_come_from(one: Schema) -> None:
    tables = mock_tables(one, seed=1)
    data = Confidential.from_frame(tables if len(tables) > 1 else tables[one.row], one)
    data.check([variable.name for variable in one.variables])


def test_linked_tables_hold_their_own_columns() -> None:
    tables = mock_tables(LINKED, seed=1)
    assert {name: table.column_names for name, table in tables.items()} == {
        "job": ["workplace_id", "worker_id"],
        "workplace": ["workplace_id", "place"],
        "worker": ["worker_id", "sex"],
    }
    assert [tables[name].num_rows for name in ("job", "workplace", "worker")] == [ROWS, ESTABLISHMENTS, ROWS]


def test_an_establishment_sits_in_one_place() -> None:
    jobs = mock_tables(FLAT, seed=1)["job"].to_pandas()
    assert jobs.groupby("workplace_id")["place"].nunique().max() == 1


def test_levels_are_about_equally_common() -> None:
    shares = mock_tables(FLAT, seed=1)["job"].to_pandas()["sex"].value_counts(normalize=True)
    assert shares.between(0.47, 0.53).all()  # five standard errors and more around one half


def test_the_seed_decides() -> None:
    assert mock_tables(FLAT, seed=1)["job"].equals(mock_tables(FLAT, seed=1)["job"])
    assert not mock_tables(FLAT, seed=1)["job"].equals(mock_tables(FLAT, seed=2)["job"])
