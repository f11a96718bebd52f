"""Excel workbooks as confidential files: read whole, drafted, refused clearly, never quoted."""

from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from support.command_line import SECRET, Call
from tacita.data.draft import storage_types
from tacita.data.engine import connect
from tacita.errors import SchemaError

ROWS = [
    ["id", "age", "income", "born", "place", "code"],
    ["007", 41, 10.5, date(1985, 3, 1), "north", 1],
    [None] * 6,
    ["008", None, 20, date(1990, 5, 2), None, "x"],
]


def write(path: Path, rows: list[list[Any]] = ROWS, sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    for _ in range(1, sheets):
        book.create_sheet()
    book.save(path)
    return path


def read(path: Path, *columns: str) -> list[dict[str, Any]]:
    engine = connect("duckdb")
    table = engine.read(path, columns)
    rows: list[dict[str, Any]] = engine.collect(table[list(columns)]).to_pylist()
    return rows


def test_every_row_with_a_value_is_read_as_it_is_stored(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "people.xlsx"), "id", "age", "income", "place", "code")
    assert rows == [
        {"id": "007", "age": 41, "income": 10.5, "place": "north", "code": "1"},
        {"id": "008", "age": None, "income": 20.0, "place": None, "code": "x"},
    ]


def test_types_are_drafted_from_the_cells(tmp_path: Path) -> None:
    types = storage_types(write(tmp_path / "people.xlsx"))
    assert types == {
        "id": "text", "age": "integer", "income": "numeric", "born": "date", "place": "text", "code": "text",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "sheets", "words"),
    [
        (ROWS, 2, "has 2 sheets"),
        ([["id", "income"], [SECRET, 10**16]], 1, r"column income: holds numbers of more than 15 digits"),
    ],
)
def test_what_cannot_be_read_safely_is_refused(tmp_path: Path, rows: Any, sheets: int, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as refused:
        read(write(tmp_path / "people.xlsx", rows, sheets), "id", "income")
    assert SECRET not in str(refused.value)


def test_a_file_that_is_no_workbook_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").write_text(f"id,income\n{SECRET},1\n")
    with pytest.raises(SchemaError, match="check that it is a whole Excel workbook") as refused:
        read(tmp_path / "people.xlsx", "id")
    assert SECRET not in str(refused.value)


def test_a_first_row_without_names_is_not_drafted(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="its first line does not hold column names"):
        storage_types(write(tmp_path / "people.xlsx", [["007", 41], ["008", 20]]))


def test_from_a_workbook_to_a_plan(tmp_path: Path, tacita: Call) -> None:
    said = tacita("init", write(tmp_path / "people.xlsx"), "--kind", "persons", "--out", tmp_path)
    assert said.code == 0
    assert "people.xlsx" in (tmp_path / "people.release.toml").read_text()
