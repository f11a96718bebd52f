"""What leaves a mechanism or a synthesizer: open formats that come back whole, a rehearsal never as a release."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita import Implicates, Schema
from tacita.errors import UsageError, VerificationError
from tacita.measured import Measured
from tacita.mechanisms.eree import SmoothStudent

PLAN = SmoothStudent("0.1", "4", by=["place"], worker=["sex"], margin_share="1/10")


def measured(rows: int, cells: int, *, largest: int = 0, rehearsal: bool = True) -> Measured:
    values = np.arange(rows * cells, dtype=np.int64).reshape(rows, cells) - 2
    return Measured(
        keys={"place": np.arange(rows, dtype=np.int32)},
        worker=("sex",) if cells > 1 else (),
        values=values,
        error=PLAN.error_law(cells),
        plan=PLAN.describe(),
        guarantee=str(PLAN.guarantee),
        rehearsal=rehearsal,
        largest=np.full((rows, largest), 12, dtype=np.int64) if largest else None,
    )


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize(("cells", "largest"), [(1, 0), (1, 1), (3, 0), (3, 1), (3, 3)])
@pytest.mark.parametrize("rehearsal", [True, False])
def test_it_comes_back_as_it_was(rows: int, cells: int, largest: int, rehearsal: bool) -> None:
    one = measured(rows, cells, largest=largest, rehearsal=rehearsal)
    back = Measured.from_bytes(one.to_bytes(), lambda cells: one.error)
    assert np.array_equal(back.values, one.values)
    assert back.values.shape == one.values.shape
    assert back.values.dtype == np.int64
    assert {name: code.tolist() for name, code in back.keys.items()} == {"place": list(range(rows))}
    assert back.worker == one.worker
    assert back.plan == one.plan
    assert back.guarantee == one.guarantee
    assert back.rehearsal is rehearsal
    assert (back.largest is None) == (one.largest is None)
    assert back.to_bytes() == one.to_bytes()
    assert back.measurements.equals(one.measurements, check_metadata=True)


def test_the_file_for_modellers_names_the_noise() -> None:
    table = measured(4, 2, largest=1).measurements
    assert table.column_names == ["place", "noisy_0", "noisy_1", "noisy_largest"]
    told = json.loads(table.schema.metadata[b"noise"])
    assert told["worker_attributes"] == ["sex"]
    assert told["guarantee"] == str(PLAN.guarantee)
    assert told["noise"]["scale_is"] == "confidential"
    assert measured(4, 1).measurements.column_names == ["place", "noisy"]


def test_intervals_have_the_shape_of_the_values() -> None:
    for one in (measured(4, 2), measured(4, 2, largest=1), measured(0, 2)):
        for end in one.intervals(0.9):
            assert end.shape == one.values.shape
    narrow, wide = (measured(4, 2, largest=1).intervals(level) for level in (0.5, 0.99))
    assert (wide[0] < narrow[0]).all()
    assert (wide[1] > narrow[1]).all()


def foreign(metadata: dict[bytes, bytes] | None) -> bytes:
    table = pa.table({"x": [1]}).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("metadata", [None, {b"other": b"1"}])
def test_a_foreign_file_is_not_taken_for_a_result(metadata: Any) -> None:
    with pytest.raises(VerificationError, match="Tacita"):
        Measured.from_bytes(foreign(metadata), PLAN.error_law)


def test_nothing_true_is_kept() -> None:
    """Only noisy values, keys and public texts: the fields are these and no others."""
    assert set(Measured.__dataclass_fields__) == {
        "keys", "worker", "values", "error", "plan", "guarantee", "rehearsal", "largest",
    }  # fmt: skip


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
