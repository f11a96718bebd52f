"""m synthetic files: what they must have in common, and that they come back as they were."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita import Implicates, Schema
from tacita.errors import UsageError, VerificationError

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "person"},
        "variables": {
            "sex": {"type": "categorical", "role": "public", "levels": ["F", "M"]},
            "pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 100},
        },
    }
)
FIRST = pd.DataFrame({"sex": ["M", "F", "F"], "pay": [3.0, 2.0, 1.0]})
SECOND = pa.table({"pay": [5.0, 4.0, 6.0], "sex": ["F", "M", "F"]})


def files(*frames: Any, synthesized: tuple[str, ...] = ("pay",), kind: Any = "partial") -> Implicates:
    return Implicates(frames, SCHEMA, synthesized, kind)


def test_files_are_pandas_frames_to_an_analysis_and_arrow_tables_to_a_writer() -> None:
    both = files(FIRST, SECOND)
    assert both.m == len(both) == 2
    assert both.rows == (3, 3)
    assert [float(frame["pay"].sum()) for frame in both] == [6.0, 15.0]
    assert [table.column_names for table in both.tables] == [["sex", "pay"]] * 2


def test_what_is_written_comes_back_without_the_order_of_rows(tmp_path: Path) -> None:
    written = files(FIRST, SECOND).write(tmp_path / "microdata")
    assert [path.name for path in written] == ["implicate-01.parquet", "implicate-02.parquet"]
    back = Implicates.read(tmp_path / "microdata", SCHEMA)
    assert (back.kind, back.synthesized, back.m) == ("partial", ("pay",), 2)
    assert back.tables[0].to_pydict() == {"sex": ["F", "F", "M"], "pay": [1.0, 2.0, 3.0]}
    assert back.tables[1].to_pydict() == {"sex": ["F", "F", "M"], "pay": [5.0, 6.0, 4.0]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: files(), "frames: give at least one"),
        (lambda: files(FIRST.iloc[:0]), "frames: number 1 has no rows"),
        (lambda: files(FIRST, FIRST[["pay"]]), "frames: numbers 1 and 2 differ in the column sex"),
        (lambda: files(FIRST.assign(age=1)), "column age that the schema does not declare"),
        (lambda: files(FIRST, synthesized=("age",)), "synthesized: age is no column"),
        (lambda: files(FIRST, kind="whole"), "kind: must be one of full, partial, one-measurement"),
        (lambda: files([1, 2]), "must be an Arrow or pandas table"),
    ],
)
def test_wrong_files_are_refused_with_the_reason(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        given()


def test_a_folder_without_files_or_with_strange_ones_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no implicate-01"):
        Implicates.read(tmp_path, SCHEMA)
    pq.write_table(SECOND, tmp_path / "implicate-01.parquet")
    with pytest.raises(VerificationError, match="not written together"):
        Implicates.read(tmp_path, SCHEMA)
    files(FIRST).write(tmp_path)
    pq.write_table(SECOND, tmp_path / "implicate-02.parquet")
    with pytest.raises(VerificationError, match="not written together"):
        Implicates.read(tmp_path, SCHEMA)


def test_showing_it_shows_no_row() -> None:
    assert repr(files(FIRST)) == "Implicates(m=1, kind='partial', rows=[3], columns=['sex', 'pay'])"
