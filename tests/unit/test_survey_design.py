"""The design of a survey sample: declared in the schema, checked in the file before anything is spent."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema, SurveyDesign
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.inference.survey import Design, total
from tacita.plan import check
from tacita.plan.bounded import Bounded
from tacita.release.trial import mock_tables

VARIABLES: dict[str, Any] = {
    "field": {"role": "design", "type": "categorical", "levels": ["arts", "law", "maths"]},
    "gender": {"role": "public", "type": "categorical", "levels": ["f", "m"]},
    "district": {"role": "design", "type": "categorical", "levels": [str(one) for one in range(10)]},
    "house": {"role": "id", "entity": "house"},
    "fpc": {"role": "design", "type": "integer", "lower": 1, "upper": 90_000},
    "w": {"role": "weight", "type": "numeric", "lower": 0.5, "upper": 900},
    "other_w": {"role": "weight", "type": "numeric", "lower": 0, "upper": 900},
    "patched_w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 900, "missing": 1},
    "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000},
}
DESIGN: dict[str, Any] = {"weight": "w", "strata": ["field"], "public": ["field", "gender"]}


def schema(design: Any = None, **changed: Any) -> Schema:
    content = {"dataset": {"identity": "doctors", "unit": "person"}, "variables": VARIABLES | changed}
    return Schema.from_dict(content if design is None else content | {"design": design})


def sample(**changed: Any) -> pd.DataFrame:
    plain = {
        "field": ["arts", "arts", "arts", "law", "law", "maths", "maths", "maths"],
        "gender": ["f", "m", "m", "f", "m", "f", "f", "m"],
        "district": ["1", "1", "2", "3", "4", "5", "5", "6"],
        "house": list(range(8)),
        "fpc": [70, 70, 70, 11, 11, 40, 40, 40],
        "w": [35.5, 17.5, 17.5, 5.5, 5.5, 20.0, 10.0, 10.0],
        "other_w": 1.0,
        "patched_w": 1.0,
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    }
    return pd.DataFrame(plain | changed)


# ---------------------------------------------------------------- in the schema


def test_a_design_is_read_from_toml_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "doctors.toml"
    path.write_text(
        '[dataset]\nidentity = "d"\nunit = "person"\n'
        '[variables.w]\nrole = "weight"\ntype = "numeric"\nlower = 1\nupper = 9\n'
        '[variables.field]\nrole = "design"\ntype = "categorical"\nlevels = ["arts", "law"]\n'
        '[design]\nweight = "w"\nstrata = ["field"]\n'
    )
    found = Schema.load(path)
    assert found.design == SurveyDesign("w", strata=("field",))
    again = Schema.from_dict(found.to_dict())
    assert again == found
    assert again.design == found.design


def test_a_design_is_part_of_the_schema_only_where_there_is_one() -> None:
    plain = schema()
    assert plain.design is None
    assert "design" not in plain.to_dict(), "the hash of a schema without a design stays what it was"
    assert plain != schema(DESIGN)
    assert schema(DESIGN) != schema(DESIGN | {"public": ["gender", "field"], "one_psu": "adjust"})


def test_every_key_comes_back() -> None:
    whole = DESIGN | {"psu": ["district", "house"], "population": "fpc", "one_psu": "certainty"}
    design = schema(whole).design
    assert design is not None
    assert design.to_dict() == whole
    assert design.columns == ("w", "field", "district", "house", "fpc", "gender")
    assert Design.of_schema(schema(whole)) == Design("w", (("field",),), ("district", "house"), "fpc", "certainty")


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("w", r"design: must be a table, written as \[design\]"),
        ({}, "design.weight: is missing"),
        ({"weight": ["w"]}, "design.weight: must be text"),
        ({"weights": "w"}, "design.weights: unknown key; did you mean weight"),
        ({"weight": "TODO"}, "design.weight: still says TODO"),
        ({"weight": "w", "strata": "field"}, "design.strata: must be a list of texts"),
        ({"weight": "w", "strata": ["field", "field"]}, "design.strata: a column is named twice"),
        ({"weight": "w", "one_psu": "ignore"}, "design.one_psu: must be one of error, certainty, adjust"),
        ({"weight": "v"}, r"design.weight: v is not declared; add \[variables.v\]"),
        ({"weight": "w", "strata": ["region"]}, "design.strata: region is not declared"),
        ({"weight": "w", "psu": ["region"]}, "design.psu: region is not declared"),
        ({"weight": "w", "population": "N"}, "design.population: N is not declared"),
        ({"weight": "w", "public": ["region"]}, "design.public: region is not declared"),
        ({"weight": "pay"}, 'design.weight: pay needs role = "weight"'),
        ({"weight": "other_w"}, "design.weight: other_w must be a number with lower above 0"),
        ({"weight": "patched_w"}, "variables.patched_w.missing: nothing can stand for a missing weight"),
        ({"weight": "w", "population": "field"}, "design.population: field must be a number"),
        ({"weight": "w", "strata": ["fpc"]}, 'design.strata: fpc must have type = "categorical"$'),
        ({"weight": "w", "strata": ["house"]}, 'design.strata: house must have type = "categorical"$'),
        ({"weight": "w", "psu": ["fpc"]}, 'design.psu: fpc must have type = "categorical" or an id'),
        ({"weight": "w", "public": ["pay"]}, "design.public: pay must have type"),
        ({"weight": "w", "public": ["w"]}, "design.public: w is the weight, which is protected"),
        ({"weight": "w", "strata": ["gender"]}, 'variables.gender.role: is "public", and design.public does not list'),
    ],
)
def test_a_wrong_entry_is_named(design: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(design)


def test_a_confidential_column_cannot_be_a_public_part_of_the_design() -> None:
    secret = {"role": "confidential", "type": "categorical", "levels": ["arts", "law", "maths"]}
    with pytest.raises(SchemaError, match=r"design\.public: field has the role confidential"):
        schema(DESIGN, field=secret)
    schema({"weight": "w", "strata": ["field"]}, field=secret)


def test_a_design_in_linked_tables_is_refused() -> None:
    linked = {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "field": VARIABLES["field"] | {"table": "workplace"},
    }
    with pytest.raises(SchemaError, match=r"design\.strata: field stands in a linked table"):
        schema(DESIGN, **linked)


# ---------------------------------------------------------------- in the file


@pytest.mark.parametrize(
    "design",
    [
        DESIGN,
        {"weight": "w"},
        DESIGN | {"population": "fpc"},
        DESIGN | {"psu": ["district"]},
        DESIGN | {"psu": ["house"], "population": "fpc"},
        {"weight": "w", "strata": ["field", "gender"], "public": ["field", "gender"], "one_psu": "certainty"},
    ],
)
def test_a_sound_sample_is_accepted(design: dict[str, Any]) -> None:
    Confidential.from_frame(sample(), schema(design)).check(["pay", "w"])


WEIGHTS = sample()["w"].tolist()


@pytest.mark.parametrize("wrong", [0.0, -3.25, None, float("nan"), float("inf")])
@pytest.mark.parametrize("column", ["w", "field", "gender"])
def test_a_weight_that_is_none_is_refused_with_the_first_column_of_the_design(wrong: Any, column: str) -> None:
    data = Confidential.from_frame(sample(w=[wrong, *WEIGHTS[1:]]), schema(DESIGN))
    with pytest.raises(SchemaError) as caught:
        data.check([column])
    assert str(caught.value).startswith("person.w: a weight is missing, zero, negative or infinite")
    assert "variables.w.missing" not in str(caught.value)
    assert "3.25" not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1.0, -0.001, np.inf])
@pytest.mark.parametrize(
    "plan",
    [
        tc.Table("sum", "1", of="pay", weights="w"),
        tc.Change("growth", "1", of=["pay", "fpc"], weights="w"),
        tc.FileSynthesis(["pay", "w"], "1", weight="w"),
        tc.FileSynthesis(["pay", "w"], "1"),
        tc.QuantileSynthesis(["pay", "w"], "1"),
        tc.SurveySynthesis(["pay"], "1", weight="w", by=["gender"]),
        tc.SelfCheck(tc.FileSynthesis(["pay", "w"], "1")),
        Bounded(tc.Table("sum", "1", of="pay", weights="w", neighbours=tc.AddRemoveOne("house")), 2),
    ],
    ids=lambda one: type(one).__name__,
)
def test_one_negative_weight_is_refused_whatever_the_schema_says_of_bounds(plan: Any, wrong: float) -> None:
    """Without a [design] it was clamped to the lower bound, and counted."""
    check(plan, Confidential.from_frame(sample(), schema()))
    with pytest.raises(SchemaError, match="w: a weight is negative or infinite"):
        check(plan, Confidential.from_frame(sample(w=[wrong, *[2.0] * 7]), schema()))
    coded = schema(w=VARIABLES["w"] | {"missing": 1, "missing_codes": [-1]})
    check(plan, Confidential.from_frame(sample(w=[-1, *[2.0] * 7]), coded))


def test_weights_are_not_looked_at_for_columns_outside_the_design() -> None:
    Confidential.from_frame(sample(w=0.0), schema(DESIGN)).check(["pay"])
    Confidential.from_frame(sample(w=0.0), schema()).check(["w", "field"])


@pytest.mark.parametrize(
    ("design", "changed", "words"),
    [
        (DESIGN, {"field": ["arts"] * 3 + ["law"] + ["maths"] * 4}, r"person\.field: a stratum has a single .* record"),
        (
            DESIGN | {"psu": ["district"]},
            {"district": ["1"] * 3 + ["2", "3"] * 2 + ["4"]},
            "single .* unit of district",
        ),
        (
            {"weight": "w", "strata": ["field", "gender"], "public": ["field", "gender"]},
            {},
            r"person\.field, person\.gender: a stratum has a single sampled record",
        ),
    ],
)
def test_a_stratum_with_one_unit_is_refused_with_the_fix(design: Any, changed: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        Confidential.from_frame(sample(**changed), schema(design)).check(["w"])
    assert "merge strata" in str(caught.value)
    assert 'design.one_psu = "certainty" or "adjust"' in str(caught.value)
    for rule in ("certainty", "adjust"):
        Confidential.from_frame(sample(**changed), schema(design | {"one_psu": rule})).check(["w"])


def test_a_stratum_of_one_that_was_taken_whole_needs_no_rule() -> None:
    changed = {"field": ["arts"] * 3 + ["law"] + ["maths"] * 4, "fpc": [70] * 3 + [1] + [40] * 4}
    Confidential.from_frame(sample(**changed), schema(DESIGN | {"population": "fpc"})).check(["w"])


def test_values_that_the_schema_maps_to_one_level_are_one_stratum() -> None:
    strict = sample(field=["arts"] * 3 + ["law", "laws"] + ["maths"] * 3)
    mapped = VARIABLES["field"] | {"outside": "law"}
    Confidential.from_frame(strict, schema(DESIGN, field=mapped)).check(["w"])


@pytest.mark.parametrize(
    ("fpc", "words"),
    [
        ([70, 70, 70, 11, 11, 2, 2, 2], r"person\.fpc: is smaller than the sample in a stratum"),
        ([70, 71, 70, 11, 11, 40, 40, 40], r"person\.fpc: differs within a stratum"),
        ([70, 70, 70, 11, 11, 0, 0, 0], r"person\.fpc: a population size is missing, zero"),
        ([70, 70, 70, 11, 11, None, 40, 40], r"person\.fpc: a population size is missing, zero"),
    ],
)
def test_a_population_that_cannot_be_is_refused(fpc: list[Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        Confidential.from_frame(sample(fpc=fpc), schema(DESIGN | {"population": "fpc"})).check(["gender"])
    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_a_population_counts_sampled_units_not_records() -> None:
    two = sample(fpc=[2, 2, 2, 2, 2, 2, 2, 2])
    Confidential.from_frame(two, schema(DESIGN | {"population": "fpc", "psu": ["district"]})).check(["w"])
    with pytest.raises(SchemaError, match="smaller than the sample"):
        Confidential.from_frame(two, schema(DESIGN | {"population": "fpc"})).check(["w"])


def test_a_public_variable_that_differs_between_schema_and_file_is_refused() -> None:
    other = sample(gender=["f", "m", "m", "f", "m", "f", "f", "x"])
    with pytest.raises(SchemaError, match=r"person\.gender: a value is not among the declared levels"):
        Confidential.from_frame(other, schema(DESIGN)).check(["w"])
    with pytest.raises(SchemaError, match=r"person\.gender: a value is missing"):
        Confidential.from_frame(sample(gender=[None] * 8), schema(DESIGN)).check(["w"])
    with pytest.raises(SchemaError, match=r"person\.gender: the schema declares this column and the file lacks it"):
        Confidential.from_frame(sample().drop(columns="gender"), schema(DESIGN))


def test_nothing_is_spent_on_a_file_with_a_broken_design(tmp_path: Path) -> None:
    from tacita import Ledger, Loss
    from tacita.comparison import HistogramSynthesis
    from tacita.privacy import ReplaceOne

    ledger = Ledger.open(tmp_path / "ledger", cap=Loss("1"), neighbours=ReplaceOne("person"))
    plan = HistogramSynthesis(["field", "gender"], "1", neighbours=ReplaceOne("person"))
    broken = Confidential.from_frame(sample(w=[0.0, *WEIGHTS[1:]]), schema(DESIGN))
    with pytest.raises(SchemaError, match=r"person\.w: a weight"):
        ledger.release(plan, broken, label="broken")
    ledger.release(plan, Confidential.from_frame(sample(), schema(DESIGN)), label="the whole cap is still there")
    with pytest.raises(RefusedError):
        ledger.release(plan, Confidential.from_frame(sample(pay=9.0), schema(DESIGN)), label="and now it is not")


# ---------------------------------------------------------------- for the analysis


def test_the_declared_design_is_the_design_of_the_analysis() -> None:
    both = schema({"weight": "w", "strata": ["field", "gender"], "public": ["field", "gender"], "one_psu": "certainty"})
    frame = sample()
    crossed = frame.assign(both=frame["field"] + frame["gender"])
    ours = total(frame, "pay", Design.of_schema(both))
    theirs = total(crossed, "pay", Design(weights="w", strata="both", one_psu="certainty"))
    np.testing.assert_allclose(ours.variance, theirs.variance, rtol=1e-12)
    assert ours.df == theirs.df


def test_a_schema_without_a_design_has_none_to_give() -> None:
    with pytest.raises(UsageError, match=r"declares none; add a \[design\] table"):
        Design.of_schema(schema())


def test_mock_rows_keep_to_the_design() -> None:
    declared = schema(DESIGN | {"population": "fpc", "psu": ["house"]})
    Confidential.from_frame(mock_tables(declared, seed=1)[declared.row], declared).check(["w"])
