"""A data path is a name, not a pattern; a file that no engine could read well is refused before one tries."""

import gzip
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tacita.data.engine import connect
from tacita.data.engine.frames import read_statistical
from tacita.data.engine.header import MOST_COLUMNS, csv_header
from tacita.data.schema.toml_file import read_toml
from tacita.errors import SchemaError

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
