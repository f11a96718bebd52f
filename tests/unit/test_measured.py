"""What leaves a mechanism: an open format that comes back whole, and never as a release when it was a rehearsal."""

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.errors import VerificationError
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
