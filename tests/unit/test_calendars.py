"""Days of Stata, SPSS and SAS files, which are numbers there, arrive as days where the schema declares them so."""

import tomllib
from datetime import date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from tacita.data.confidential import Confidential
from tacita.data.draft import draft_schema
from tacita.data.engine import connect
from tacita.data.engine.calendars import calendar_of, days
from tacita.data.schema import Schema

DAYS = [date(1583, 3, 1), date(1959, 12, 31), date(1960, 1, 1), date(1969, 12, 31), date(2020, 2, 29), None]
WRITE = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".xpt": pyreadstat.write_xport}
SCHEMA = {
    "dataset": {"identity": "p", "unit": "person"},
    "variables": {
        "born": {"type": "date", "role": "confidential", "lower": date(1500, 1, 1), "upper": date(2100, 1, 1)},
        "pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 100},
    },
}


def _written(folder: Path, suffix: str, born: list[object]) -> Path:
    frame = pd.DataFrame({"born": pd.Series(born, dtype=object), "pay": [float(k) for k in range(len(born))]})
    WRITE[suffix](frame, str(folder / f"a{suffix}"))
    return folder / f"a{suffix}"


@pytest.mark.parametrize("suffix", list(WRITE))
def test_days_are_those_that_were_written(tmp_path: Path, suffix: str) -> None:
    path = _written(tmp_path, suffix, DAYS)
    schema = Schema.from_dict(SCHEMA)
    Confidential.open(path, schema)  # which refused the column
    table = connect("duckdb")
    stored = table.collect(table.read(path, ("born",), ("born",)))["born"].to_pylist()
    assert stored == DAYS


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_of_a_moment_the_day_is_taken(tmp_path: Path, suffix: str) -> None:
    path = _written(tmp_path, suffix, [datetime(2020, 2, 29, 23, 59), datetime(1950, 1, 1, 0, 1)])
    engine = connect("duckdb")
    found = engine.collect(engine.read(path, ("born",), ("born",)))["born"].to_pylist()
    assert found == [date(2020, 2, 29), date(1950, 1, 1)]


@pytest.mark.parametrize("suffix", list(WRITE))
def test_a_column_that_shows_days_is_drafted_as_one(tmp_path: Path, suffix: str) -> None:
    drafted = tomllib.loads(draft_schema(_written(tmp_path, suffix, DAYS)))["variables"]
    assert [drafted[name]["type"] for name in ("born", "pay")] == ["date", "numeric"]


def test_a_column_that_is_declared_a_number_stays_one(tmp_path: Path) -> None:
    """Ledgers know such files by a hash of these numbers."""
    path = _written(tmp_path, ".dta", [date(1960, 1, 2)])
    engine = connect("duckdb")
    assert engine.collect(engine.read(path, ("born",)))["born"].to_pylist() == [1.0]


def test_what_is_no_day_is_missing_and_one_that_no_calendar_has_its_last() -> None:
    calendar = calendar_of(".sav", "DATE11")
    assert calendar is not None
    whole = (date(2021, 5, 4) - date(1582, 10, 14)) / timedelta(seconds=1)
    assert days([whole, float("inf"), 1e30], calendar).to_pylist() == [date(2021, 5, 4), None, date.max]
