"""Ids, codes and numbers are read digit by digit; a data path is a name, not a pattern."""

import datetime
import gzip
import importlib.util
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.data.confidential import Confidential
from tacita.data.engine import code_text, connect, text_of, to_arrow
from tacita.data.engine.frames import MOST_COLUMNS, csv_header, read_statistical
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.data.schema.reading import read_toml
from tacita.data.workforce import workforce
from tacita.errors import SchemaError

ENGINE = connect("duckdb")

AROUND = [0, 7, 2**24, 2**31, 2**53, 2**63, 2**64, 10**15, 10**16, 10**18, 9 * 10**18, 20260000000000000, 10**37]

WHOLE = sorted({sign * (value + step) for value in AROUND for step in (-2, -1, 0, 1, 2) for sign in (1, -1)})

INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]

DECIMALS = [
    pa.decimal128(20, 0),
    pa.decimal128(38, 0),
    pa.decimal128(38, 2),
    pa.decimal128(22, 6),
    pa.decimal256(45, 0),
    pa.decimal256(60, 4),
]

FLOATS = [pa.float32(), pa.float64()]


def held(values: list[Any], kind: Any) -> pa.Array:
    """Those of the whole numbers that the type holds exactly."""
    kept = []
    for value in values:
        try:
            one = pa.array([Decimal(value) if pa.types.is_decimal(kind) else value], type=kind)
        except (pa.ArrowInvalid, OverflowError):
            continue
        if int(one[0].as_py()) == value:
            kept.append(one[0])
    return pa.array([one.as_py() for one in kept], type=kind)


def texts(stored: Any) -> list[str | None]:
    """`text_of` by the engine, after the same preparation as a table in memory gets."""
    table = ENGINE.table(to_arrow(pa.table({"x": stored, "at": range(len(stored))}), ["x", "at"], "test"))
    found = ENGINE.collect(table.select(at=table["at"], text=text_of(table["x"]))).to_pylist()
    return [row["text"] for row in sorted(found, key=lambda row: row["at"])]


@pytest.mark.parametrize("kind", [*INTEGERS, *DECIMALS], ids=str)
def test_whole_ids_have_one_text_whatever_holds_them(kind: Any) -> None:
    stored = held(WHOLE, kind)
    assert len(stored) > 5
    expected = [str(int(value)) for value in stored.to_pylist()]
    assert texts(stored) == expected
    assert [code_text(value) for value in stored.to_pylist()] == expected


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_a_float_is_an_integer_only_where_it_stands_for_one(kind: Any) -> None:
    stored = held(WHOLE, kind)
    found = texts(stored)
    assert found == [code_text(value) for value in stored.to_pylist()]
    assert len(set(found)) == len(stored)
    for text, value in zip(found, stored.to_pylist(), strict=True):
        assert (text == str(int(value))) == (abs(value) < 2**53)


def test_fractions_empty_values_and_other_types() -> None:
    fractions = ["-0.0001", "0.5", "12.34", "100", "-7", "0", "10.1"]
    columns = {
        "decimal(12,4)": pa.array([Decimal(one) for one in fractions], pa.decimal128(12, 4)),
        "decimal256": pa.array([Decimal(one) for one in fractions], pa.decimal256(50, 4)),
        "float": pa.array([float(one) for one in fractions]),
        "text": pa.array(fractions),
    }
    for name, stored in columns.items():
        assert texts(stored) == fractions, name
        assert [code_text(value) for value in stored.to_pylist()] == fractions, name
    small = pa.array([Decimal("0.50"), Decimal("-0.05"), Decimal("0"), None], pa.decimal128(2, 2))
    odd = [
        (small, ["0.5", "-0.05", "0", None]),
        (pa.array([0.1, 1e-5, 1.5e-7, 1e300, np.inf, -np.inf, np.nan, -0.0]), None),
        (pa.array([0.5, 1.0], pa.float16()), ["0.5", "1"]),
        (pa.array([Decimal(1200)], pa.decimal128(10, -2)), ["1200"]),
        (pa.array(["007", "7", " 7", "", None]), ["007", "7", " 7", None, None]),
        (pa.array(["007", "7", None]).dictionary_encode(), ["007", "7", None]),
        (pa.array([2**53 + 1, 2**53]).dictionary_encode(), [str(2**53 + 1), str(2**53)]),
        (pa.array(["007"], pa.large_string()), ["007"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([datetime.date(2026, 1, 2)]), ["2026-01-02"]),
    ]
    for stored, expected in odd:
        found = texts(stored)
        assert found == [code_text(value) for value in stored.to_pylist()], stored.type
        assert expected is None or found == expected, stored.type


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-(10**37), 10**37), min_size=2, max_size=8, unique=True), st.integers(0, 38))
def test_any_decimals_stay_apart(values: list[int], scale: int) -> None:
    # By its digits: arithmetic of decimals would round to 28 of them.
    exact = [Decimal(f"{value}e-{scale}") for value in values]
    stored = pa.array(exact, pa.decimal128(38, scale))
    found = texts(stored)
    assert found == [code_text(value) for value in stored.to_pylist()]
    assert len(set(found)) == len(values)
    assert [Decimal(str(text)) for text in found] == stored.to_pylist()


def test_numbers_that_pandas_cannot_give_one_type_keep_their_digits() -> None:
    mixed = [[2**53 + 1, 0.5], [2**70, 2**70 + 1], [2**63, -1], [Decimal("0.5"), 2**53 + 1]]
    for values in mixed:
        (column,) = to_arrow(pd.DataFrame({"x": pd.Series(values, dtype=object)}), ["x"], "test").columns
        assert texts(column) == [code_text(value) for value in values]


# ---------------------------------------------------------------- what hangs on it

PLACES = [f"p{at}" for at in range(40)]

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "j", "unit": "establishment"},
        "variables": {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {"role": "workplace", "type": "categorical", "levels": PLACES, "table": "workplace"},
            "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
        },
    }
)


def linked(first: int, jobs_type: Any, places_type: Any) -> Confidential:
    """Ten jobs at the first of forty establishments whose ids are neighbours."""

    def ids(values: list[int], kind: Any) -> pa.Array:
        made = {True: Decimal, False: str if pa.types.is_string(kind) else int}[pa.types.is_decimal(kind)]
        return pa.array([made(value) for value in values], type=kind)

    job = pa.table({"workplace_id": ids([first] * 10, jobs_type), "sex": ["F"] * 10})
    place = pa.table({"workplace_id": ids([first + at for at in range(40)], places_type), "place": PLACES})
    return Confidential.from_frame({"job": job, "workplace": place}, SCHEMA)


EXACT_TYPES = [pa.int64(), pa.uint64(), pa.decimal128(20, 0), pa.decimal128(38, 4), pa.decimal256(50, 0), pa.string()]


@pytest.mark.parametrize("first", [2**53 - 3, 20260000000000000, 9 * 10**18])
@pytest.mark.parametrize("jobs_type", EXACT_TYPES, ids=str)
def test_a_job_is_counted_once_whatever_types_hold_the_ids(first: int, jobs_type: Any) -> None:
    for places_type in EXACT_TYPES:
        data = linked(first, jobs_type, places_type)
        data.check(["place", "sex"])
        counts = workforce(data, ["place"]).counts.ravel()
        assert counts.tolist() == [10] + [0] * 39, places_type


def test_ids_of_128_bits(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = duckdb.connect(str(path))
    connection.execute(
        "CREATE TABLE job AS SELECT (20260000000000000 + (i % 4))::HUGEINT workplace_id, 'F' sex FROM range(40) t(i)"
    )
    connection.execute(
        "CREATE TABLE wp AS SELECT (20260000000000000 + i)::HUGEINT workplace_id, 'p' || i place FROM range(4) t(i)"
    )
    connection.close()
    data = Confidential.open({"job": f"duckdb:{path}?table=job", "workplace": f"duckdb:{path}?table=wp"}, SCHEMA)
    data.check(["place", "sex"])
    assert workforce(data, ["place"]).counts.ravel().tolist() == [10] * 4
    assert data.fingerprint() != linked(20260000000000000, pa.int64(), pa.int64()).fingerprint()


def test_a_float_id_too_large_to_be_exact_links_to_nothing() -> None:
    job = pa.table({"workplace_id": pa.array([float(2**60)]), "sex": ["F"]})
    place = pa.table({"workplace_id": pa.array([2**60]), "place": ["p0"]})
    with pytest.raises(SchemaError, match=r"job\.workplace_id: a job refers to a workplace"):
        Confidential.from_frame({"job": job, "workplace": place}, SCHEMA).check(["sex"])


def test_decimals_too_wide_for_the_engine_are_refused_in_a_file(tmp_path: Path) -> None:
    wide = pa.array([Decimal(10**39 + at) for at in range(2)], pa.decimal256(40, 0))
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "j", "unit": "person"},
            "variables": {
                "id": {"role": "id", "entity": "person"},
                "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
            },
        }
    )
    pq.write_table(pa.table({"id": wide, "sex": ["F", "M"], "other": wide}), tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="the column id holds decimals of more than 38 digits"):
        Confidential.open(tmp_path / "a.parquet", schema)


# ---------------------------------------------------------------- recognising a file


def fingerprint(stored: Any, **rules: Any) -> str:
    rules = {"role": "confidential", "type": "numeric", "lower": 0, "upper": 100} | rules
    schema = Schema.from_dict({"dataset": {"identity": "f", "unit": "person"}, "variables": {"x": rules}})
    return Confidential.from_frame(pa.table({"x": stored}), schema).fingerprint()


@pytest.mark.parametrize(
    ("one", "other", "rules"),
    [
        (1e10 + 0.25, 1e10 + 0.75, {"upper": 1e12, "scale": 2}),
        (9e15 + 2, 9e15 + 4, {"type": "integer", "upper": 2**53}),
        (0.1234567, 0.12345671, {"scale": 8}),
        (0.0049999999, 0.005, {"scale": 2}),
        (1e17, 1e18, {"missing": 5, "missing_codes": [1e18]}),
        (-9.0, -9.00000001, {"missing": 5, "missing_codes": [-9]}),
        (1e10 + 0.4, 1e10 + 0.6, {"type": "integer", "upper": 2**40}),
    ],
)
def test_numbers_that_the_schema_tells_apart_give_another_fingerprint(one: float, other: float, rules: Any) -> None:
    assert fingerprint([one], **rules) != fingerprint([other], **rules)
    assert fingerprint([one], **rules) == fingerprint(pa.array([one]), **rules)


def test_storage_does_not_change_the_fingerprint_of_numbers() -> None:
    whole = {"type": "integer", "upper": 2**53}
    values = [0, 17, 9_000_000_001, 2**53 - 1]
    made = {
        fingerprint(pa.array(values, pa.int64()), **whole),
        fingerprint(pa.array(values, pa.uint64()), **whole),
        fingerprint(pa.array([float(value) for value in values]), **whole),
        fingerprint(pa.array([Decimal(value) for value in values], pa.decimal128(30, 3)), **whole),
        fingerprint(pa.array([str(value) for value in values]), **whole),
    }
    assert len(made) == 1


@pytest.mark.parametrize(
    ("values", "one_more"),
    [
        ([True, False], "x"),
        ([True, 2.5], "x"),
        ([np.True_, 7], None),
        ([datetime.datetime(2026, 1, 2), 7.0], 2**70),
        ([1], 0.5),
    ],
)
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_what_a_value_is_read_as_does_not_depend_on_others(values: list[Any], one_more: Any, kind: str) -> None:
    more = (
        {"lower": -1, "upper": 9} if kind == "numeric" else {"levels": ["true", "7", "1", "2.5", "?"], "outside": "?"}
    )
    column = {"role": "confidential", "type": kind, "missing": 5 if kind == "numeric" else "?", **more}
    number = {"role": "confidential", "type": "integer", "lower": 0, "upper": 9}
    schema = Schema.from_dict(
        {"dataset": {"identity": "x", "unit": "record"}, "variables": {"at": number, "x": column}}
    )

    def found(held: list[Any]) -> list[float]:
        there = read(Confidential.from_frame(pd.DataFrame({"at": range(len(held)), "x": held}), schema), ["x"])
        return [float(one) for one in there["x"]]

    assert found([*values, one_more])[: len(values)] == found(values)


# Each beside the file that it would match as a pattern.
PAIRS = [("jobs[2026]", "jobs2"), ("a*b", "axxb"), ("a?b", "acb"), ("[!a]", "b"), ("{a,b}", "a"), ("[]]", "]")]


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "spark" and (importlib.util.find_spec("pyspark") is None or shutil.which("java") is None):
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    return connect(request.param)


def write(path: Path, value: str) -> None:
    table = pa.table({"x": [value]})
    if path.name.endswith(".csv"):
        pa_csv.write_csv(table, path)
    elif path.name.endswith(".parquet"):
        pq.write_table(table, path)
    else:
        (path / "year=2026").mkdir(parents=True)
        pq.write_table(table, path / "year=2026" / "part[1].parquet")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ""])
def test_a_path_is_literal(engine: Any, tmp_path: Path, ending: str) -> None:
    for wanted, neighbour in PAIRS:
        write(tmp_path / (wanted + ending), wanted)
        if not (tmp_path / (neighbour + ending)).exists():
            write(tmp_path / (neighbour + ending), "another file")
    for wanted, _ in PAIRS:
        table = engine.read(tmp_path / (wanted + ending), ["x"])
        assert engine.collect(table.select("x"))["x"].to_pylist() == [wanted]


def test_a_pattern_is_not_expanded(tmp_path: Path) -> None:
    write(tmp_path / "jobs1.parquet", "1")
    with pytest.raises(SchemaError, match="a pattern is not expanded"):
        connect("duckdb").read(tmp_path / "jobs*.parquet", ["x"])


def test_a_backslash_that_would_be_read_as_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\\b").mkdir()
    write(tmp_path / "a\\b" / "x.parquet", "mine")
    write(tmp_path / "plain\\.parquet", "mine")
    duck = connect("duckdb")
    with pytest.raises(SchemaError, match="backslash"):
        duck.read(tmp_path / "a\\b", ["x"])
    assert duck.collect(duck.read(tmp_path / "plain\\.parquet", ["x"]))["x"].to_pylist() == ["mine"]


def test_a_folder_without_parts_says_so(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="a folder is read as its Parquet files, and it holds none"):
        connect("duckdb").read(tmp_path, ["x"])


@pytest.mark.parametrize("values", [[["a"]], [{"a": 1}]])
def test_lists_and_records_are_refused_on_opening(tmp_path: Path, values: list[Any]) -> None:
    pq.write_table(pa.table({"place": values, "pay": [1]}), tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match="column place: holds lists or records"):
        connect("duckdb").read(tmp_path / "x.parquet", ["place", "pay"])
    assert connect("duckdb").read(tmp_path / "x.parquet", ["pay"]) is not None  # what is not declared does not matter
    with duckdb.connect(tmp_path / "x.db") as database:
        database.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{tmp_path / 'x.parquet'}')")
    with pytest.raises(SchemaError, match="column place: holds lists or records"):
        connect("duckdb").read(f"duckdb:{tmp_path / 'x.db'}?table=t", ["place"])


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_too_many_columns_are_refused_by_the_first_line(tmp_path: Path, name: str) -> None:
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as file:
        file.write(",".join(f"c{number}" for number in range(100_000)) + "\n")
    with pytest.raises(SchemaError, match=f"{MOST_COLUMNS:,} columns"):
        connect("duckdb").read(tmp_path / name, ["c1"])


def test_a_first_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"x" * 5_000_000)
    with pytest.raises(SchemaError, match="no end"):
        csv_header(tmp_path / "x.csv")


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_that_was_cut_short_is_refused(tmp_path: Path, version: int) -> None:
    frame = pd.DataFrame({"pay": [float(one) for one in range(40)], "place": ["north", "s"] * 20})
    whole = tmp_path / "whole.xpt"
    pyreadstat.write_xport(frame, str(whole), file_format_version=version)
    content = whole.read_bytes()
    assert read_statistical(whole, ["pay", "place"]).num_rows == 40
    for cut in (1, 40, 80, 120, 160, 300):
        (tmp_path / "cut.xpt").write_bytes(content[:-cut])
        if version == 5 and cut == 80 and not content[-80:].strip():
            continue  # nothing but padding is gone
        with pytest.raises(SchemaError, match="complete"):
            read_statistical(tmp_path / "cut.xpt", ["pay", "place"])


@pytest.mark.parametrize(
    "text", ["a" + ".a" * 50_000 + " = 1", 'x = {"a"' + ' . "a"' * 5_000 + " = 1}", "x = " + "[" * 100_000]
)
def test_keys_without_end_are_refused_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(SchemaError, match="without end"):
        read_toml(tmp_path / "x.toml", "x", SchemaError, if_missing="")
