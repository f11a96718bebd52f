"""Every kind of file gives the same rows; DuckDB and Spark give the same answers."""

import importlib.util
import math
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import connect, level_code, number_of, ruled_number, text_of
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.data.workforce import workforce
from tacita.errors import SchemaError, UsageError

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "establishment"},
        "variables": {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {
                "role": "workplace",
                "type": "categorical",
                "levels": ["01", "02", "??"],
                "missing": "??",
                "missing_codes": ["99"],
            },
            "grade": {
                "role": "worker",
                "type": "categorical",
                "levels": ["1", "2", "U"],
                "missing": "U",
                "missing_codes": ["9"],
            },
            "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000, "missing": 0},
        },
    }
)

FRAME = pd.DataFrame(
    {
        "workplace_id": [1, 1, 2, 3, 3, 3],
        "place": ["01", "01", "02", "01", "01", "01"],
        "grade": [1, 2, 2, 1, 9, 1],
        "pay": [10.5, 20.0, 30.0, 0.0, 5.0, 7.25],
    }
)


def write_csv(folder: Path) -> Any:
    FRAME.to_csv(folder / "a.csv", index=False)
    return folder / "a.csv"


def write_csv_gz(folder: Path) -> Any:
    FRAME.to_csv(folder / "a.csv.gz", index=False, sep=";")
    return folder / "a.csv.gz"


def write_parquet(folder: Path) -> Any:
    pq.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), folder / "a.parquet")
    return folder / "a.parquet"


def write_partitioned(folder: Path) -> Any:
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pq.write_to_dataset(table, folder / "parts", partition_cols=["place"])
    return folder / "parts"


def write_stata(folder: Path) -> Any:
    pyreadstat.write_dta(FRAME, str(folder / "a.dta"))
    return folder / "a.dta"


def write_spss(folder: Path) -> Any:
    pyreadstat.write_sav(FRAME, str(folder / "a.sav"), missing_ranges={"grade": [9]})
    return folder / "a.sav"


def write_sas(folder: Path) -> Any:
    names = {"workplace_id": "workplace_id"}
    pyreadstat.write_xport(FRAME.rename(columns=names), str(folder / "a.xpt"), file_format_version=8)
    return folder / "a.xpt"


def write_duckdb(folder: Path) -> Any:
    with duckdb.connect(str(folder / "a.db")) as store:
        store.register("frame", pa.Table.from_pandas(FRAME, preserve_index=False))
        store.execute("create table jobs as select * from frame")
    return f"duckdb:{folder / 'a.db'}?table=jobs"


FILES = [write_csv, write_csv_gz, write_parquet, write_partitioned, write_stata, write_spss, write_sas, write_duckdb]


@pytest.mark.parametrize("write", FILES)
def test_every_kind_of_file_is_the_same_data(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    data = Confidential.open(write(tmp_path), SCHEMA)
    data.check(SCHEMA.names)
    assert data.fingerprint() == Confidential.from_frame(FRAME, SCHEMA).fingerprint()
    found = workforce(data, ["place"], worker=["grade"])
    assert found.counts.tolist() == [[3, 1, 1], [0, 1, 0], [0, 0, 0]], "the code 9 counts as the level U"


def test_codes_keep_their_leading_zeros_in_text_files(tmp_path: Path) -> None:
    data = Confidential.open(write_csv(tmp_path), SCHEMA)
    places = engine_of(data).collect(rows(data).select("place").distinct())["place"].to_pylist()
    assert sorted(places) == ["01", "02"]


def test_tagged_missing_values_of_stata_stay_codes(tmp_path: Path) -> None:
    frame = FRAME.assign(grade=[1, 2, 2, 1, "a", 1], pay=["b", 20.0, 30.0, 0.0, 5.0, 7.25])
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), missing_user_values={"grade": ["a"], "pay": ["b"]})
    content = SCHEMA.to_dict()
    content["variables"]["grade"]["missing_codes"] = ["a"]
    data = Confidential.open(tmp_path / "a.dta", Schema.from_dict(content))
    data.check(SCHEMA.names)
    assert workforce(data, ["place"], worker=["grade"]).counts[0].tolist() == [3, 1, 1]


def test_a_table_inside_a_duckdb_schema_and_wrong_sources_are_told_apart(tmp_path: Path) -> None:
    source = write_duckdb(tmp_path)
    with pytest.raises(UsageError, match=r"duckdb:file\.db"):
        Confidential.open(source.partition("?")[0], SCHEMA)
    with pytest.raises(SchemaError, match=r"a\.db"):
        Confidential.open(source.replace("jobs", "nowhere"), SCHEMA)
    with pytest.raises(SchemaError, match=r"b\.db: no such file"):
        Confidential.open(source.replace("a.db", "b.db"), SCHEMA)
    with pytest.raises(SchemaError, match=r"gone\.csv: no such file"):
        Confidential.open(tmp_path / "gone.csv", SCHEMA)
    (tmp_path / "a.docx").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"a\.docx: unknown kind of file"):
        Confidential.open(tmp_path / "a.docx", SCHEMA)


def test_reading_a_database_does_not_lock_or_change_it(tmp_path: Path) -> None:
    source = write_duckdb(tmp_path)
    before = (tmp_path / "a.db").read_bytes()
    Confidential.open(source, SCHEMA).check(SCHEMA.names)
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_connected_backend_is_used_as_it_is() -> None:
    backend = ibis.duckdb.connect()
    data = Confidential.from_frame(FRAME, SCHEMA, engine=backend)
    assert engine_of(data).backend is backend
    with pytest.raises(UsageError, match="engine: must be"):
        Confidential.from_frame(FRAME, SCHEMA, engine="oracle")


def test_frames_of_other_kinds_and_odd_columns() -> None:
    arrow = pa.Table.from_pandas(FRAME.astype({"place": "category"}), preserve_index=False)
    assert Confidential.from_frame(arrow, SCHEMA).fingerprint() == Confidential.from_frame(FRAME, SCHEMA).fingerprint()
    with pytest.raises(UsageError, match="must be a pandas or Arrow table"):
        Confidential.from_frame([1, 2, 3], SCHEMA)
    with pytest.raises(SchemaError, match=r"job\.pay: holds list"):
        Confidential.from_frame(FRAME.assign(pay=[[1]] * 6), SCHEMA)


# ---------------------------------------------------------------- expressions on both engines


@pytest.fixture(scope="module")
def spark() -> Any:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    return connect("spark")


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("spark") if request.param == "spark" else connect("duckdb")


def answers(engine: Any, values: pa.Array, make: Callable[[Any], Any]) -> list[Any]:
    table = engine.table(pa.table({"at": range(len(values)), "value": values}))
    found = engine.collect(table.select(at=table["at"], answer=make(table["value"])))
    return [row["answer"] for row in sorted(found.to_pylist(), key=lambda row: row["at"])]


def test_codes_as_text(engine: Any) -> None:
    assert answers(engine, pa.array([7.0, 0.5, np.nan, None]), text_of) == ["7", "0.5", None, None]
    assert answers(engine, pa.array([7, -1, None]), text_of) == ["7", "-1", None]
    assert answers(engine, pa.array(["07", "", None]), text_of) == ["07", None, None]


def test_decimals_as_text_keep_every_digit(engine: Any) -> None:
    whole = [2**53 + 1, 10**37 + 1, -7]
    stored = pa.array([Decimal(one) for one in whole], pa.decimal128(38, 0))
    assert answers(engine, stored, text_of) == [str(one) for one in whole]
    for kind in (pa.decimal128(12, 4), pa.decimal128(38, 30), pa.decimal128(4, 4)):
        stored = pa.array([Decimal("0.5"), Decimal("-0.0001"), Decimal(0), None], kind)
        assert answers(engine, stored, text_of) == ["0.5", "-0.0001", "0", None], kind


def test_numbers_after_their_rule(engine: Any) -> None:
    stored = pa.array([1.26, -5.0, 1e9, np.inf, -np.inf, np.nan, None, 99.0])
    kind = Numeric(0, 50, missing=2.5, missing_codes=(99.0,), scale=1)
    assert answers(engine, stored, lambda column: ruled_number(column, kind)) == [1.3, 0, 50, 50, 0, 2.5, 2.5, 2.5]
    whole = Integer(0, 50)
    assert answers(engine, stored, lambda column: ruled_number(column, whole))[:5] == [1, 0, 50, 50, 0]


def test_levels_after_their_rule(engine: Any) -> None:
    stored = pa.array(["a", "b", "zz", "", None, "99"])
    lenient = Categorical(("a", "b"), outside="b", missing="a", missing_codes=("99",))
    assert answers(engine, stored, lambda column: level_code(column, lenient)) == [0, 1, 1, 0, 0, 0]
    strict = Categorical(("a", "b"))
    assert answers(engine, stored, lambda column: level_code(column, strict)) == [0, 1, -1, -1, -1, -1]


@pytest.mark.spark
def test_spark_recognises_the_file_that_duckdb_knows(spark: Any, tmp_path: Path) -> None:
    odd = FRAME.assign(
        place=["01", None, "02", "", "Zürich", "01"], pay=[0.1, 1e8, 1e-7, np.nan, -3.75, 123456789.123456]
    )
    known = Confidential.from_frame(odd, SCHEMA).fingerprint()
    assert Confidential.from_frame(odd, SCHEMA, engine=spark).fingerprint() == known
    for write in (write_csv, write_parquet, write_partitioned):
        source = write(tmp_path)
        there = Confidential.open(source, SCHEMA, engine=spark)
        there.check(SCHEMA.names)
        assert there.fingerprint() == Confidential.open(source, SCHEMA).fingerprint(), write.__name__


@pytest.mark.spark
def test_spark_refuses_what_duckdb_refuses(spark: Any, tmp_path: Path) -> None:
    content = SCHEMA.to_dict()
    content["variables"]["place"].update(missing=None, missing_codes=[], levels=["01"], labels={})
    strict = Schema.from_dict(content)
    messages = []
    for engine in ("duckdb", spark):
        with pytest.raises(SchemaError) as caught:
            Confidential.from_frame(FRAME, strict, engine=engine).check(SCHEMA.names)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    with pytest.raises(UsageError, match="only be read with engine = duckdb"):
        Confidential.open(write_duckdb(tmp_path), SCHEMA, engine=spark)


def test_a_nan_that_parquet_statistics_hide_is_still_found(tmp_path: Path) -> None:
    """Minimum and maximum of a column skip NaN; an engine that trusts them never sees one."""
    pq.write_table(pa.table({"x": [1.0, math.nan, 3.0]}), tmp_path / "x.parquet")
    engine = connect("duckdb")
    table = engine.read(tmp_path / "x.parquet", ["x"])
    kind = Integer(lower=0, upper=10, missing=0)
    found = engine.collect(table.select(missing=number_of(table.x).isnull(), ruled=ruled_number(table.x, kind)))
    assert found["missing"].to_pylist() == [False, True, False]
    assert found["ruled"].to_pylist() == [1, 0, 3]
