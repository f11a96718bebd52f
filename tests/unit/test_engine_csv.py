"""How a CSV file is written is told by its first line: no record has a say in how others are read."""

import csv
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from tacita.data.confidential import Confidential
from tacita.data.engine import connect
from tacita.data.engine.frames import csv_header
from tacita.data.schema import Schema
from tacita.errors import SchemaError

NAMES = ("id", "name", "note", "sex")
# What many records of a file may have, and what one record more may have, each as a value of one record.
USUAL = ["n", "'n'", "'s-n", "a;b", "#1", "1,5", "\\1", 'q"1', "1|1", "a\nb", '"x"', "O'Neil", ""]
STRANGE = [
    *("x,y", '"', "'", "'a", "\\", '\\"', "a\\,b", "a;b;c", "|||", "a\tb", "# c", "\n", "a\r\nb", " x", "NULL", "\\N"),
    *('"a', 'a"', "'a'", '"\n"', "1,A\n2,B\n3,C", "x\"y'z,;|\t", "=1+1", "é"),
]


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "spark" and (importlib.util.find_spec("pyspark") is None or shutil.which("java") is None):
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    return connect(request.param)


def written(path: Path, rows: list[tuple[str, ...]], separator: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
        writer.writerow(NAMES)
        writer.writerows(rows)
    return path


def read(engine: Any, path: Path) -> list[tuple[Any, ...]]:
    found = engine.collect(engine.read(path, NAMES)).to_pylist()
    return sorted(tuple((row[name] or "").replace("\r\n", "\n") for name in NAMES) for row in found)


def expected(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(one.replace("\r\n", "\n") for one in row) for row in rows)


def cases(engine: Any) -> list[tuple[str, str, str, int]]:
    """Usual and strange values with each separator and manner of quoting; on Spark, which is slow, fewer."""
    separators, manners = ",;\t|", (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    every = [
        (usual, strange, separators[(k + j) % 4], manners[(k + j) // 4 % 2])
        for k, usual in enumerate(USUAL)
        for j, strange in enumerate(STRANGE)
    ]
    return every[:: 5 if engine.name == "duckdb" else 23]


def test_one_record_does_not_change_how_others_are_read(engine: Any, tmp_path: Path) -> None:
    for usual, strange, separator, manner in cases(engine):
        rows = [(str(k), usual, usual, "FM"[k % 2]) for k in range(5)] + [("5", strange, "z", "F")]
        path = written(tmp_path / "rows.csv", rows, separator, manner)
        assert read(engine, path) == expected(rows), (usual, strange, separator)


def test_a_value_of_many_lines_is_one_record(engine: Any, tmp_path: Path) -> None:
    rows = [("1", "a" + "\n2,b,c,F" * 50, "z", "F"), ("3", "b", "z", "M")]
    assert len(read(engine, written(tmp_path / "rows.csv", rows))) == 2


def test_separators_between_quotes_of_the_first_line_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('"a, b, c and d";sex\n1;F\n')
    assert csv_header(tmp_path / "rows.csv") == (["a, b, c and d", "sex"], ";")


@pytest.mark.parametrize("line", ["1", "1,2,3,4,5", '1,"x', "", "\n1,a,b,F\r\n2,a,b,F"])
def test_a_line_that_does_not_fit_the_first_is_refused_without_its_words(tmp_path: Path, line: str) -> None:
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "x", "unit": "person"},
            "variables": {"sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]}},
        }
    )
    path = tmp_path / "rows.csv"
    path.write_bytes(f"id,name,note,sex\n1,a,b,F\n{line}\n".encode() if line else b"\n1,2\n")
    with pytest.raises(SchemaError, match="first line") as refused:
        Confidential.open(path, schema).check(["sex"])
    assert "1," not in str(refused.value)
    path.write_bytes(b"id,name,note,sex\n" + b"1,a,b,F\n" * 50_000 + b"1,a,b\n")
    with pytest.raises(SchemaError, match="first line"):
        Confidential.open(path, schema).check(["sex"])
