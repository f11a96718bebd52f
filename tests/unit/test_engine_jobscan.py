"""The direct scan of a Parquet file finds what the engine finds, or steps aside."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.data.confidential import Confidential
from tacita.data.engine import jobscan
from tacita.data.schema import Schema
from tacita.data.workforce import Workforce, workforce
from tacita.errors import SchemaError

PLACES = ["01", "02", "03", "??"]
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "establishment"},
        "variables": {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {"role": "workplace", "type": "categorical", "levels": PLACES, "outside": "??", "missing": "??"},
            "sector": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
        },
    }
)


def jobs(seed: int = 1, *, spread: int = 3, rows: int = 5000) -> pa.Table:
    """Random jobs of 200 establishments whose places are stored as known codes, unknown codes or nothing."""
    rng = np.random.default_rng(seed)
    place = rng.choice(np.array(["01", "02", "03", "88", None], dtype=object), 200)
    sector = rng.choice(["A", "B"], 200)
    at = rng.integers(0, 190, rows) ** 2 // 190
    return pa.table(
        {
            "workplace_id": pa.array(at * spread - 50, type=pa.int64()),
            "place": pa.array(place[at], type=pa.string()),
            "sector": pa.array(sector[at]),
        }
    )


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobscan, "WORTH_IT", 0)


def scanned(path: Path, by: list[str]) -> jobscan.Found | None:
    sizes = [len(SCHEMA.levels(name)) for name in by]
    return jobscan.scan_jobs(path, "workplace_id", by, sizes, lambda name, raw: SCHEMA.categorical(name).code_of(raw))


def same(left: Workforce, right: Workforce) -> bool:
    return all(
        np.array_equal(getattr(left, name), getattr(right, name))
        for name in ("counts", "largest", "largest_total", "establishments")
    ) and all(np.array_equal(left.keys[name], right.keys[name]) for name in left.keys)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("drop_above", [None, 0, 40])
@pytest.mark.parametrize("by", [[], ["place"], ["sector", "place"]])
def test_it_finds_what_the_engine_finds(tmp_path: Path, by: list[str], drop_above: int | None) -> None:
    table = jobs()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    assert scanned(tmp_path / "a.parquet", by) is not None
    there = workforce(Confidential.open(tmp_path / "a.parquet", SCHEMA), by, drop_above=drop_above)
    here = workforce(Confidential.from_frame(table, SCHEMA), by, drop_above=drop_above)
    assert same(there, here)
    assert drop_above is not None or there.counts.sum() == table.num_rows


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("encoding", ["dictionary type", "no dictionary", "large text", "small ids"])
def test_how_the_columns_are_stored_makes_no_difference(tmp_path: Path, encoding: str) -> None:
    table, options = jobs(), {}
    place, ids = table.column_names.index("place"), table.column_names.index("workplace_id")
    if encoding == "dictionary type":
        table = table.set_column(place, "place", table["place"].dictionary_encode())
    elif encoding == "no dictionary":
        options = {"use_dictionary": False}
    elif encoding == "large text":
        table = table.set_column(place, "place", table["place"].cast(pa.large_string()))
    else:
        table = table.set_column(ids, "workplace_id", table["workplace_id"].cast(pa.int32()))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700, **options)
    assert scanned(tmp_path / "a.parquet", ["place"]) is not None
    there = workforce(Confidential.open(tmp_path / "a.parquet", SCHEMA), ["place"])
    assert same(there, workforce(Confidential.from_frame(jobs(), SCHEMA), ["place"]))


def two_addresses(table: pa.Table) -> pa.Table:
    places = table["sector"].to_pylist()
    places[0] = "B" if places[0] == "A" else "A"
    return table.set_column(2, "sector", pa.array(places))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "table",
    [
        pytest.param(two_addresses(jobs()), id="an establishment in two cells"),
        pytest.param(jobs(spread=2**20), id="ids far apart"),
        pytest.param(jobs().set_column(0, "workplace_id", jobs()["workplace_id"].cast(pa.string())), id="ids as text"),
    ],
)
def test_it_steps_aside_and_the_answer_is_the_engines(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    assert scanned(tmp_path / "a.parquet", ["sector", "place"]) is None
    there = workforce(Confidential.open(tmp_path / "a.parquet", SCHEMA), ["sector", "place"])
    assert same(there, workforce(Confidential.from_frame(table, SCHEMA), ["sector", "place"]))


@pytest.mark.usefixtures("always")
def test_a_value_that_must_be_refused_is_left_to_the_engine_which_refuses(tmp_path: Path) -> None:
    table = jobs().set_column(2, "sector", pa.array(["Zq83"] * 5000))
    pq.write_table(table, tmp_path / "a.parquet")
    assert scanned(tmp_path / "a.parquet", ["sector"]) is None
    with pytest.raises(SchemaError, match="sector") as caught:
        workforce(Confidential.open(tmp_path / "a.parquet", SCHEMA), ["sector"])
    assert "Zq83" not in str(caught.value)


def test_small_files_are_left_to_the_engine(tmp_path: Path) -> None:
    pq.write_table(jobs(), tmp_path / "a.parquet")
    assert scanned(tmp_path / "a.parquet", ["place"]) is None
