"""One encoding for all metrics: levels, missing cells, kinds, and errors that name the column and no value."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation import compare
from tacita.evaluation.encoding import MISSING

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "people-2026", "unit": "person"},
        "variables": {
            "id": {"role": "id", "entity": "person"},
            "sex": {
                "role": "public",
                "type": "categorical",
                "levels": ["F", "M", "U"],
                "missing": "U",
                "missing_codes": ["9"],
            },
            "region": {"role": "public", "type": "categorical", "levels": ["1", "2"]},
            "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 100},
            "age": {
                "role": "public",
                "type": "integer",
                "lower": 0,
                "upper": 120,
                "missing": 0,
                "missing_codes": [999],
            },
        },
    }
)
ORIGINAL = pd.DataFrame(
    {"id": [1, 2, 3], "sex": ["F", None, "9"], "region": [1.0, 2.0, np.nan], "pay": [5, 500, 7], "age": [30, 999, 40]}
)
SYNTHETIC = pd.DataFrame({"sex": ["M", "X"], "region": [2, 2], "pay": [np.nan, 1.0], "age": [1, 2]})


def test_the_schema_gives_kinds_levels_and_missing_rules() -> None:
    comparison = compare(ORIGINAL, SYNTHETIC, schema=SCHEMA)
    original, synthetic = comparison.original, comparison.synthetic[0]
    assert original.names == ("sex", "region", "pay", "age")  # the identifier is left out, from either file
    assert original.column("sex").levels == ("F", "M", "U", "X")  # an undeclared level is kept as one
    assert original.codes["sex"].tolist() == [0, 2, 2]
    assert synthetic.codes["sex"].tolist() == [1, 3]
    assert original.missing("sex").tolist() == [False, True, True]
    assert original.column("region").levels == ("1", "2", MISSING)
    assert original.codes["region"].tolist() == [0, 1, 2]
    assert original.codes["region"].dtype == np.int32
    assert original.numbers["pay"].tolist() == [5, 500, 7]  # not clamped: what clamping lost must show
    assert synthetic.missing("pay").tolist() == [True, False]
    assert original.numbers["age"].tolist() == [30, 0, 40]


def test_without_a_schema_text_is_categorical_and_the_caller_names_the_codes() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [True, False], "d": [10, 9]})
    found = compare(frame, frame, categorical=["d"]).original
    assert found.categorical == ("a", "c", "d")
    assert found.column("d").levels == ("9", "10")  # in the order of the numbers
    assert found.numeric == ("b",)


def test_an_arrow_table_and_a_frame_are_encoded_alike() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, 2.0]})
    table = pa.table({"a": pa.chunked_array([["x"], [None, "y"]]), "b": pa.array([1, None, 2], pa.int32())})
    coded = frame.assign(a=frame.a.astype("category"))
    for other in (table, coded, pa.Table.from_pandas(coded)):
        one = compare(frame, other)
        assert one.synthetic[0].codes["a"].tolist() == one.original.codes["a"].tolist()
        np.testing.assert_array_equal(one.synthetic[0].numbers["b"], one.original.numbers["b"])


def test_anything_with_frames_is_a_set_of_synthetic_files() -> None:
    class Files:
        frames = (ORIGINAL, ORIGINAL)

    assert len(compare(ORIGINAL, Files()).synthetic) == 2


def test_missing_is_not_a_level_where_nothing_is_missing() -> None:
    frame = pd.DataFrame({"a": ["x", "y"]})
    assert compare(frame, frame).original.column("a").levels == ("x", "y")


def test_numbers_become_tenths_of_the_original_with_missing_apart() -> None:
    original = pd.DataFrame({"x": np.arange(100.0)})
    synthetic = pd.DataFrame({"x": [-5.0, 9.0, 10.0, 1e9, np.nan]})
    cells = compare(original, synthetic).pairs[0].cells
    assert np.bincount(cells.codes[0, :100]).tolist() == [10] * 10
    assert cells.codes[0, 100:].tolist() == [0, 0, 1, 9, 10]


def test_each_result_is_computed_once_per_pair() -> None:
    pair = compare(ORIGINAL, ORIGINAL).pairs[0]
    calls: list[int] = []
    assert [pair.once("key", lambda: calls.append(1) or len(calls)) for _ in range(3)] == [1, 1, 1]


SECRET = "4711secret"


@pytest.mark.parametrize(
    ("original", "synthetic", "options", "said"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), {}, "synthetic file 1: lacks the column a"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1], "b": [1]}), {}, "has the column b"),
        (pd.DataFrame({"a": []}), pd.DataFrame({"a": [1]}), {}, "original: has no rows"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": []}), {}, "synthetic file 1: has no rows"),
        (pd.DataFrame({"a": [1]}), [], {}, "no file given"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"holdout": pd.DataFrame({"b": [1]})}, "holdout: lacks"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({"a": [1]}), {}, "same name"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"categorical": ["z"]}, "categorical: z"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"columns": []}, "none to compare"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [np.inf]}), {}, "a: holds infinite values"),
        (pd.DataFrame({"zz": [1]}), pd.DataFrame({"zz": [1]}), {"schema": SCHEMA}, "zz: not declared"),
        (pd.DataFrame({"pay": [1]}), pd.DataFrame({"pay": [SECRET]}), {"schema": SCHEMA}, "pay: is declared a number"),
    ],
)
def test_errors_name_the_file_or_column_and_never_a_value(
    original: pd.DataFrame, synthetic: pd.DataFrame, options: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        compare(original, synthetic, **options)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


def test_columns_restricts_the_comparison() -> None:
    wide = ORIGINAL.assign(extra=1)
    assert compare(wide, SYNTHETIC, columns=["sex", "age"]).original.names == ("sex", "age")
