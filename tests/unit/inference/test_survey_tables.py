"""Survey tables from synthetic samples: they add up, combine by the right rule, and say what they cannot answer."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.data.schema import Schema
from tacita.errors import SchemaError, UsageError
from tacita.implicates import Implicates, Kind
from tacita.inference import LargeSample, combine
from tacita.inference.survey import (
    Count,
    Design,
    Mean,
    Quantile,
    Ratio,
    ReplicateDesign,
    mean,
    quantiles,
    ratio,
    sample_table,
    survey_table,
    total,
)

FIELDS, GENDERS, AGES = ("arts", "law", "maths"), ("f", "m"), ("young", "old")


def schema(**changed: Any) -> Schema:
    variables = {
        "field": {"role": "design", "type": "categorical", "levels": list(FIELDS)},
        "gender": {"role": "public", "type": "categorical", "levels": list(GENDERS)},
        "age": {"role": "public", "type": "categorical", "levels": list(AGES)},
        "w": {"role": "weight", "type": "numeric", "lower": 0.01, "upper": 9000},
        "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 900_000},
        "hours": {"role": "confidential", "type": "numeric", "lower": 1, "upper": 80},
    }
    return Schema.from_dict(
        {
            "dataset": {"identity": "doctors", "unit": "person"},
            "variables": variables | changed,
            "design": {"weight": "w", "strata": ["field"], "public": ["field", "gender"]},
        }
    )


def files(m: int = 3, rows: int = 90, kind: Kind = "partial", seed: int = 1) -> Implicates:
    rng = np.random.default_rng(seed)
    design = pd.DataFrame(
        {name: np.array(levels)[np.arange(rows) // step % len(levels)] for name, levels, step in LAYOUT}
    )
    frames = tuple(
        design.assign(w=rng.lognormal(3, 1, rows), pay=rng.lognormal(10, 0.5, rows), hours=rng.uniform(10, 50, rows))
        for _ in range(m)
    )
    return Implicates(frames, schema(), ("w", "pay", "hours"), kind)


LAYOUT = (("field", FIELDS, 1), ("gender", GENDERS, 3), ("age", AGES, 6))


def counts(table: pd.DataFrame, by: list[str]) -> Any:
    return table[table["statistic"] == "count"].set_index(by)["estimate"]


# ---------------------------------------------------------------- adding up


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(2, 7),
    exponent=st.integers(-9, 12),
    kind=st.sampled_from(["partial", "full", "one-measurement"]),
)
def test_males_and_females_are_both_to_the_last_bit(seed: int, m: int, exponent: int, kind: Any) -> None:
    drawn = files(m, 40, kind, seed)
    scaled = tuple(frame.assign(w=frame["w"] * 10.0**exponent) for frame in drawn.frames)
    found = counts(survey_table(Implicates(scaled, schema(), ("w",), kind), ["field", "gender"]), ["field", "gender"])
    for field in (*FIELDS, "all"):
        assert found[field, "f"] + found[field, "m"] == found[field, "all"]
    for gender in (*GENDERS, "all"):
        for order in (FIELDS, FIELDS[::-1]):
            assert sum(found[field, gender] for field in order) == found["all", gender]


def test_three_variables_add_up_in_every_direction() -> None:
    by = ["field", "gender", "age"]
    found = counts(survey_table(files(5), by), by)
    assert len(found) == 4 * 3 * 3
    for field in (*FIELDS, "all"):
        for gender in (*GENDERS, "all"):
            assert found[field, gender, "young"] + found[field, gender, "old"] == found[field, gender, "all"]
    assert (
        sum(found[one, two, three] for one in FIELDS for two in GENDERS for three in AGES) == found["all", "all", "all"]
    )


def test_adding_up_moves_no_count_by_more_than_rounding_error() -> None:
    drawn = files(3)
    table = survey_table(drawn, ["field", "gender"])
    plain = combine(drawn, lambda frame: total(frame, None, Design.of_schema(drawn.schema), by=["field", "gender"]))
    inner = table[(table["field"] != "all") & (table["gender"] != "all")]
    np.testing.assert_allclose(inner["estimate"], plain.value, rtol=1e-12)
    assert (counts(table, ["field", "gender"]) % 2.0**-40 == 0).all()


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", ["partial", "full", "one-measurement"])
@pytest.mark.parametrize("margin", [["field", "gender"], ["field"], ["gender"], []])
def test_every_margin_is_what_the_estimators_and_the_rule_give(kind: Any, margin: list[str]) -> None:
    drawn = files(4, 600, kind)
    design = Design.of_schema(drawn.schema)
    table = survey_table(
        drawn, ["field", "gender"], [Count(), Mean("pay"), Ratio("pay", "hours"), Quantile("pay", 0.25)], confidence=0.9
    )
    here = table
    for name in ("field", "gender"):
        here = here[(here[name] != "all") == (name in margin)]
    by = margin or None
    wanted = {
        "count": lambda frame: total(frame, None, design, by=by),
        "mean of pay": lambda frame: mean(frame, "pay", design, by=by),
        "ratio of pay to hours": lambda frame: ratio(frame, "pay", "hours", design, by=by),
        "quantile 0.25 of pay": lambda frame: quantiles(frame, "pay", design, 0.25, by=by).estimate,
    }
    for statistic, analysis in wanted.items():
        found = here[here["statistic"] == statistic]
        expected = combine(drawn, analysis)
        np.testing.assert_allclose(found["estimate"], expected.value, rtol=1e-10)
        np.testing.assert_allclose(found["standard_error"], expected.standard_error, rtol=1e-7)
        np.testing.assert_allclose(found["df"], expected.df, rtol=1e-6)
        lower, upper = expected.interval(0.9)
        np.testing.assert_allclose(found["lower"], lower, rtol=1e-6)
        np.testing.assert_allclose(found["upper"], upper, rtol=1e-6)
        np.testing.assert_allclose(found["cv"], expected.standard_error / expected.value, rtol=1e-7)


def test_partial_synthesis_by_hand() -> None:
    drawn = files(3)
    table = survey_table(drawn, [], [Mean("pay")])
    parts = [mean(frame, "pay", Design(weights="w", strata="field")) for frame in drawn]
    q, u = (np.array([float(np.ravel(getattr(one, name))[0]) for one in parts]) for name in ("value", "variance"))
    between = q.var(ddof=1) / 3
    assert table["estimate"][0] == pytest.approx(q.mean())
    assert table["standard_error"][0] == pytest.approx(np.sqrt(between + u.mean()))


@pytest.mark.parametrize("one_psu", ["certainty", "adjust"])
@pytest.mark.parametrize("psu", [None, ("age",), ("age", "gender")])
def test_variances_are_the_diagonal_of_the_covariance(one_psu: Any, psu: Any) -> None:
    """Also with a stratum of one unit, several stages and populations."""
    (frame,) = files(1, 40).frames
    frame = frame.assign(fpc=np.where(frame["field"] == "law", 1, 5) if psu else 500)
    frame.loc[frame["field"] == "law", "age"] = "young"
    design = Design("w", "field", psu, "fpc", one_psu)
    table = sample_table(frame, schema(), ["gender"], [Mean("pay"), Count()], design=design)
    wanted = [mean(frame, "pay", design, by="gender"), mean(frame, "pay", design)]
    wanted += [total(frame, None, design, by="gender"), total(frame, None, design)]
    expected = np.concatenate([np.ravel(one.standard_error) for one in wanted])
    scale = np.repeat([frame["pay"].mean(), frame["w"].sum()], 3)
    np.testing.assert_allclose(table["standard_error"] / scale, expected / scale, rtol=1e-9, atol=1e-12)


def test_a_rule_and_a_design_can_be_chosen() -> None:
    drawn = files(1)
    with pytest.raises(UsageError, match="needs at least 2 synthetic files"):
        survey_table(drawn, ["field"])
    table = survey_table(drawn, ["field"], rule=LargeSample(), design=Design(weights="w"))
    plain = sample_table(next(iter(drawn)), schema(), ["field"], design=Design(weights="w"))
    np.testing.assert_allclose(table["standard_error"], np.sqrt(2) * plain["standard_error"])


# ---------------------------------------------------------------- cells without an answer


def test_an_empty_cell_counts_zero_and_has_no_mean() -> None:
    drawn = files(3)
    frames = [frame.copy() for frame in drawn.frames]
    frames[1].loc[(frames[1]["field"] == "law") & (frames[1]["gender"] == "m"), "gender"] = "f"
    table = survey_table(
        Implicates(tuple(frames), schema(), ("w",), "full"), ["field", "gender"], [Count(), Mean("pay")]
    )
    cell = table[(table["field"] == "law") & (table["gender"] == "m")].set_index("statistic")
    assert cell.loc["count", "estimate"] > 0
    assert np.isnan(cell.loc["mean of pay", ["estimate", "standard_error", "lower"]].astype(float)).all()
    others = table.drop(index=table[(table["field"] == "law") & (table["gender"] == "m")].index)
    assert np.isfinite(others["estimate"]).all()
    nobody = [frame[~((frame["field"] == "law") & (frame["gender"] == "m"))] for frame in drawn.frames]
    empty = survey_table(Implicates(tuple(nobody), schema(), ("w",), "full"), ["field", "gender"])
    assert counts(empty, ["field", "gender"])["law", "m"] == 0


def test_a_quantile_of_few_records_has_no_standard_error_and_says_so() -> None:
    drawn = files(2, 12)
    table = survey_table(drawn, ["field"], [Quantile("pay", 0.2)])
    assert np.isinf(table["standard_error"]).all()
    assert np.isfinite(table["estimate"]).all()


@pytest.mark.parametrize(
    ("by", "statistics", "words"),
    [
        ("field", [Count()], "by: give a list"),
        (["field", "field"], [Count()], "by: give a list that names each variable once"),
        (["field"], [], "statistics: give at least one"),
        (["field"], [Mean("pay"), Mean("pay")], "none twice"),
        (["field"], [Mean("salary")], "salary: no such column"),
        (["field"], [Mean("gender")], "gender: is not numeric"),
    ],
)
def test_wrong_questions_are_named(by: Any, statistics: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        survey_table(files(2), by, statistics)


def test_wrong_files_and_designs_are_named() -> None:
    drawn = files(2)
    with pytest.raises(SchemaError, match="pay: is not categorical"):
        survey_table(drawn, ["pay"])
    with pytest.raises(UsageError, match="gender has missing values or values that the schema does not list"):
        sample_table(drawn.frames[0].assign(gender="x"), schema(), ["gender"])
    with pytest.raises(UsageError, match="pay: has missing or infinite values"):
        sample_table(drawn.frames[0].assign(pay=np.nan), schema(), ["gender"], [Mean("pay")])
    with pytest.raises(UsageError, match="survey tables take a Design"):
        survey_table(drawn, ["field"], design=ReplicateDesign("w", ("w", "w"), "brr"))  # type: ignore[arg-type]
    named = schema(gender={"role": "public", "type": "categorical", "levels": ["f", "all"]})
    with pytest.raises(UsageError, match='gender has a level "all"'):
        sample_table(drawn.frames[0], named, ["gender"])
    with pytest.raises(UsageError, match="p: must lie strictly"):
        Quantile("pay", 1)
