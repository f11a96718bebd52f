"""`tc.Table`: what each statistic publishes, what it costs, what it refuses, and that its margins hold."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacita as tc
from support.plan_checks import HEADINGS
from tacita.audit.statistics import INCOMES, STATISTIC_SETTINGS
from tacita.data.confidential import Confidential
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms.table import measuring
from tacita.mechanisms.table.clamp import clamp_from
from tacita.mechanisms.table.ladder import Ladder, draw_value, runs, scores_of
from tacita.noise.entropy import SeededEntropy, reserve
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.release.plans import plan_as_set, plan_from_record
from tacita.tables.estimates import estimated

PERSON = AddRemoveOne("person")


def _schema(**more: Any) -> tc.Schema:
    category = {"role": "confidential", "type": "categorical"}
    number = {"role": "confidential", "type": "numeric", "scale": 0, "missing": 0}
    variables = {
        "region": {**category, "levels": ["N", "S", "E"], "outside": "E", "missing": "E"},
        "sex": {**category, "levels": ["F", "M"], "labels": {"F": "Women", "M": "Men"}},
        "age": {"role": "confidential", "type": "integer", "lower": 17, "upper": 90},
        "pay": {**number, "lower": 0, "upper": 10**9},
        "worth": {**number, "lower": -(10**8), "upper": 10**9},
        "w": {**number, "lower": 0, "upper": 10**5},
        **more,
    }
    return tc.Schema.from_dict({"dataset": {"identity": "t", "unit": "person"}, "variables": variables})


SCHEMA = _schema()


def _frame(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": random.choice(["N", "S", "E"], rows, p=[0.6, 0.3, 0.1]),
            "sex": random.choice(["F", "M"], rows),
            "age": random.integers(17, 91, rows),
            "pay": np.round(np.exp(10 + random.standard_normal(rows))),
            "worth": np.round(
                np.exp(11 + random.standard_normal(rows)) * random.choice([-0.2, 1.0], rows, p=[0.3, 0.7])
            ),
            "w": np.round(1 + random.gamma(3, 200, rows)),
        }
    )


FRAME = _frame()


def _plan(statistic: str = "count", epsilon: str | None = "1", **settings: Any) -> tc.Table:
    return tc.Table(statistic, epsilon, **{"neighbours": PERSON, **settings})  # type: ignore[arg-type]


def _published(plan: tc.Table, frame: pd.DataFrame = FRAME, seed: int = 1, **publishing: Any) -> pd.DataFrame:
    return tc.publish(plan.rehearse(frame, SCHEMA, seed=seed), SCHEMA, **publishing).to_pandas()


def _weighted_mean(group: pd.DataFrame, name: str) -> float:
    return float((group[name] * group["w"]).sum() / group["w"].sum())


def _weighted_quantile(group: pd.DataFrame, name: str, share: float) -> float:
    ordered = group.sort_values(name)
    reached = ordered["w"].cumsum()
    return float(ordered[name][reached >= share * reached.iloc[-1]].iloc[0])


TRUTH: dict[str, tuple[dict[str, Any], Any]] = {
    "count": ({}, len),
    "count, weights": ({"weights": "w"}, lambda g: g["w"].sum()),
    "sum": ({"statistic": "sum", "of": "age"}, lambda g: g["age"].sum()),
    "sum, bought": ({"statistic": "sum", "of": "pay"}, lambda g: g["pay"].sum()),
    "sum, negative": ({"statistic": "sum", "of": "worth"}, lambda g: g["worth"].sum()),
    "sum, weights": ({"statistic": "sum", "of": "pay", "weights": "w"}, lambda g: (g["pay"] * g["w"]).sum()),
    "mean": ({"statistic": "mean", "of": "age"}, lambda g: g["age"].mean()),
    "mean, bought": ({"statistic": "mean", "of": "pay"}, lambda g: g["pay"].mean()),
    "mean, negative": ({"statistic": "mean", "of": "worth"}, lambda g: g["worth"].mean()),
    "mean, weights": ({"statistic": "mean", "of": "pay", "weights": "w"}, lambda g: _weighted_mean(g, "pay")),
    "variance": ({"statistic": "variance", "of": "age"}, lambda g: g["age"].var()),
    "ratio": ({"statistic": "ratio", "of": ["pay", "age"]}, lambda g: g["pay"].sum() / g["age"].sum()),
    "median": ({"statistic": "median", "of": "pay"}, lambda g: g["pay"].quantile(0.5, interpolation="lower")),
    "quantile, weights": (
        {"statistic": "quantiles", "quantiles": ["0.3"], "of": "pay", "weights": "w"},
        lambda g: _weighted_quantile(g, "pay", 0.3),
    ),
}


@pytest.mark.parametrize(("neighbours", "delta"), [(PERSON, "0"), (ReplaceOne("person"), "1e-9")])
@pytest.mark.parametrize("name", TRUTH)
def test_values_are_near_the_truth_and_margins_hold_them(name: str, neighbours: Any, delta: str) -> None:
    """Five rehearsals by three regions: nearly all intervals hold the truth, and at a large ε all values are near."""
    settings, truth = TRUTH[name]
    true = FRAME.groupby("region")[list(FRAME)].apply(truth).reindex(["N", "S", "E"]).to_numpy(dtype=float)
    held = []
    for seed in range(5):
        found = _published(_plan(by=["region"], neighbours=neighbours, delta=delta, **settings), seed=seed)
        said = found["margin_of_error"].notna().to_numpy()  # a cell that the noise drowns says nothing
        off = np.abs(found["value"].astype(float) - true)[said]
        held += (off <= found["margin_of_error"].astype(float)[said]).tolist()
    assert np.mean(held) >= 0.8, name
    precise = _published(_plan(epsilon="100000", by=["region"], neighbours=neighbours, delta=delta, **settings))
    assert np.allclose(precise["value"].astype(float), true, rtol=0.05), name


def test_shares_add_up_and_margins_hold_them() -> None:
    true = (
        FRAME.groupby("region")["sex"]
        .value_counts(normalize=True)
        .reindex([(region, sex) for region in ("N", "S", "E") for sex in ("F", "M")])
    )
    held = []
    for seed in range(12):
        found = _published(_plan("share", of="sex", by=["region"]), seed=seed)
        assert np.allclose(found.groupby("region")["value"].sum(), 1, atol=0.001)
        held += (np.abs(found["value"].to_numpy() - true.to_numpy()) <= found["margin_of_error"]).tolist()
    assert np.mean(held) >= 0.85


def test_noise_is_not_smaller_than_promised() -> None:
    """The spread of a count's noise over many rehearsals: a fifth less would fail."""
    data = Confidential.from_frame(FRAME.head(10), SCHEMA)
    plan = _plan(epsilon="1/10", by=["region", "sex"])
    draws = np.concatenate([plan.run(data, SeededEntropy(seed)).noisy["count"] for seed in range(400)])
    true = np.tile(measuring.counted(data, plan.cells), 400)
    assert 0.94 < np.abs(draws - true).mean() / 10 < 1.06


# ---------------------------------------------------------------- what is drawn


@given(st.integers(-(2**53), 2**53), st.integers(0, 2**40), st.data())
def test_the_ladder_rises_and_every_step_lies_on_its_rung(lower: int, length: int, data: Any) -> None:
    ladder = Ladder(lower, min(lower + length, 2**53))
    steps = np.sort(data.draw(st.lists(st.integers(ladder.lower, ladder.upper), min_size=1)))
    rungs = ladder.rung(np.array(steps, dtype=np.int64))
    assert (np.diff(rungs) >= 0).all()
    assert ladder.bottom <= rungs.min()
    assert rungs.max() <= ladder.top
    assert (ladder.first(rungs) <= steps).all()
    assert (steps <= ladder.last(rungs)).all()
    for ends in (ladder.first(rungs), ladder.last(rungs)):
        assert (ladder.rung(ends) == rungs).all()


@pytest.mark.parametrize("rows", [3, 30, 100, *(pytest.param(one, marks=pytest.mark.slow) for one in (0, 10))])
def test_quantiles_of_few_records_are_left_empty_or_hold(rows: int) -> None:
    frame = FRAME.head(400).assign(sex=np.where(np.arange(400) < rows, "M", "F"))
    true = frame.groupby("sex")["pay"].quantile(0.5, interpolation="lower")
    said, held = 0, 0
    for seed in range(60):
        found = _published(_plan("median", of="pay", by=["sex"]), frame, seed=seed).set_index("sex").loc["M"]
        if pd.notna(found["value"]):
            said += 1
            held += abs(found["value"] - true.get("M", np.inf)) <= found["margin_of_error"]
    assert said <= 6 if rows <= 10 else said - held <= 6
    assert rows < 100 or said >= 55


def test_a_value_that_many_share_is_drawn_itself() -> None:
    rungs, counts, half = np.array([10, 40, 70]), np.array([100, 300, 100]), Fraction(1, 2)
    drawn = {
        draw_value(rungs, counts, Ladder(0, 10**4), half, 0, Fraction(1, 4), reserve(64, SeededEntropy(seed)))
        for seed in range(50)
    }
    assert drawn == {40}


def test_the_law_of_a_drawn_value() -> None:
    """Frequencies on a short ladder against the law itself, by a chi-square of cells with enough expected."""
    rungs, counts, rate = np.array([2, 5]), np.array([3, 4]), Fraction(1, 6)
    below = np.array([counts[rungs < v].sum() for v in range(10)])
    upto = np.array([counts[rungs <= v].sum() for v in range(10)])
    score = np.maximum(np.maximum(2 * below - 7, 7 - 2 * upto), 0)
    law = np.exp(-score / 6.0)
    law /= law.sum()
    spare = reserve(400_000, SeededEntropy(3))
    drawn = [draw_value(rungs, counts, Ladder(0, 9), Fraction(1, 2), 0, rate, spare) for _ in range(20_000)]
    seen = np.bincount(drawn, minlength=10)
    assert (law * 20_000).min() > 50
    assert float(((seen - 20_000 * law) ** 2 / (20_000 * law)).sum()) < 33.7  # 9 degrees of freedom, 1 in 10,000


def test_answers_in_round_numbers_are_found() -> None:
    """Incomes in full thousands: quantiles are answers that were given, and the interval holds the true one."""
    random = np.random.default_rng(5)
    frame = FRAME.assign(pay=1000 * np.round(np.exp(3.5 + 0.6 * random.standard_normal(len(FRAME)))))
    true = frame["pay"].quantile(0.5, interpolation="lower")
    held = []
    for seed in range(20):
        found = _published(_plan("median", of="pay", by=[]), frame, seed=seed)
        held.append(abs(found["value"][0] - true) <= found["margin_of_error"][0])
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize(("lower", "upper"), [(0, 10**8), (-(10**5), 10**7), (7, 10**9), (-(2**53), 2**53), (0, 80)])
def test_weights_of_rungs_are_positive_and_no_octave_is_heavier_than_the_others(lower: int, upper: int) -> None:
    ladder = Ladder(lower, upper)
    weights = np.diff(ladder.reached)
    assert ladder.reached.size == ladder.top - ladder.bottom + 2
    assert weights.min() >= 1
    assert int(ladder.reached[-1]) < 2**40
    octaves = weights[: weights.size // 1024 * 1024].reshape(-1, 1024).sum(axis=1) if weights.size >= 1024 else weights
    assert octaves.max() <= 16 * max(octaves.min(), 1)


def test_stretches_cover_the_ladder_once() -> None:
    first, many, below, upto = runs(np.array([0, 7]), np.array([2, 1]), Ladder(0, 7))
    assert many.tolist() == [0, 1, 6, 1, 0]
    assert first.tolist() == [0, 0, 1, 7, 8]
    assert scores_of(below, upto, Fraction(1, 2), 0).tolist() == [3, 0, 1, 1, 3]


@pytest.mark.parametrize(("falling", "expected"), [(8, 8), (2, 9)])
def test_the_clamp_lies_further_above_the_visible_where_counts_fall_slowly(falling: int, expected: int) -> None:
    counts = np.zeros(30)
    counts[:7] = 40.0 * float(falling) ** np.arange(7)[::-1]
    found = clamp_from(counts, 0, 10.0, 1.0)
    assert found is not None
    assert found.exponent == expected


@pytest.mark.parametrize(("law", "statistic"), [("pareto", "variance"), ("log-normal", "sum"), ("exponential", "sum")])
def test_margins_hold_what_lies_above_a_bought_clamp(law: str, statistic: str) -> None:
    """Of files of one law, each with a seed of its own, nearly all have their value within the margin, or no margin:
    squares of a Pareto law of shape 2.2 hardly fall from one octave to the next."""
    held, given = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        drawn = {
            "pareto": 1000 * (random.pareto(2.2, 3000) + 1),
            "log-normal": np.exp(10 + 1.5 * random.standard_normal(3000)),
            "exponential": random.exponential(30_000, 3000),
        }[law]
        frame = _frame(3000).assign(pay=np.round(drawn).clip(0, 10**9))
        found = _published(_plan(statistic, "1", of="pay"), frame, seed=seed)
        true = frame["pay"].sum() if statistic == "sum" else frame["pay"].var()
        given.append(np.isfinite(found["margin_of_error"][0]))
        held.append(not abs(found["value"][0] - true) > found["margin_of_error"][0])
    assert np.mean(held) >= 0.8
    assert law != "exponential" or np.mean(given) >= 0.8


def test_where_nobody_is_visible_nothing_is_said() -> None:
    found = _published(_plan("mean", "1/10", of="pay", by=["region"]), FRAME.head(5))
    assert found["value"].isna().all()
    assert found["margin_of_error"].isna().all()
    assert set(found["quality"]) == {"D"}


# ---------------------------------------------------------------- what it says of itself


@pytest.mark.parametrize("name", STATISTIC_SETTINGS)
def test_identity_result_and_forecast_come_back(name: str) -> None:
    plan = tc.Table(**{"epsilon": "2", "neighbours": PERSON, **STATISTIC_SETTINGS[name]})
    assert plan_from_record(json.loads(json.dumps(plan.describe()))) == plan
    forecast = plan.forecast(INCOMES)
    assert forecast.sentences
    assert all(np.isfinite(list(forecast.figures.values())))
    assert plan.how.knows.endswith(".")


def test_the_proof_has_its_parts() -> None:
    from importlib.resources import files

    proof = (files("tacita") / _plan().proof).read_text(encoding="utf-8")
    assert all(f"## {heading}" in proof for heading in HEADINGS)


def test_a_margin_has_its_price() -> None:
    plan = tc.Table(margin="20", by=["region"], neighbours=PERSON)
    assert plan.forecast(SCHEMA).figures["margin"] <= 20
    dearer = tc.Table(epsilon=plan.epsilon - Fraction(1, 100), by=["region"], neighbours=PERSON)
    assert dearer.forecast(SCHEMA).figures["margin"] > 20
    mean = tc.Table("mean", of="age", clamp=[17, 90], margin="0.5", margin_at=1000, by=["region"], neighbours=PERSON)
    assert mean.forecast(SCHEMA).figures["margin_at_1000"] <= 0.5
    assert plan_from_record(plan.describe()) == plan


@pytest.mark.parametrize("wanted", ["777", "200", "100.5"])
def test_published_margins_are_no_wider_than_the_wanted_one(wanted: str) -> None:
    plan = _plan("sum", None, of="age", clamp=[17, 90], margin=wanted, by=["region"])
    found = _published(plan)
    assert found["margin_of_error"].max() <= float(wanted)
    assert found["margin_of_error"].min() >= 0.8 * float(wanted)


def test_rounding_is_part_of_the_margin() -> None:
    """Values are rounded to three digits of their margin; the interval around the rounded value holds the other one."""
    result = _plan("mean", of="pay", by=["region"]).rehearse(FRAME, SCHEMA, seed=3)
    exact, shown = estimated(result, 0.95), tc.publish(result, SCHEMA).to_pandas()
    value, half = (shown[name].to_numpy(dtype=float) for name in ("value", "margin_of_error"))
    assert (value != exact.value).any()
    assert (value + half >= exact.upper - 1e-9).all()
    assert (value - half <= exact.lower + 1e-9).all()


def test_a_limit_that_is_bought_is_spoken_of_in_percent_too() -> None:
    said = _plan("sum", of="pay", by=["region"]).forecast(SCHEMA).sentences
    assert any("times the mean" in one and "% of 10,000" in one for one in said)


@pytest.mark.parametrize("name", ["sum", "above", "one", "octave", "margin", "n"])
def test_columns_may_have_the_names_of_what_is_measured(name: str) -> None:
    schema = _schema(**{name: {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}})
    frame = FRAME.assign(**{name: np.where(FRAME["age"] < 50, "a", "b")})
    for statistic in ("sum", "mean", "variance"):
        found = _plan(statistic, "100", of="pay", by=[name]).rehearse(frame, schema, seed=1)
        assert list(found.keys) == [name]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"statistic": "sum"}, "of: a sum is of one column"),
        ({"of": "age"}, "of: a count is of no column"),
        ({"statistic": "ratio", "of": "age"}, "of: a ratio is of two columns"),
        ({"statistic": "mode", "of": "age"}, "statistic: must be one of"),
        ({"epsilon": None}, "epsilon: give it"),
        ({"margin": "5%", "epsilon": None}, "margin_at: say for a cell of how many records"),
        ({"margin": "5%", "margin_at": 10, "epsilon": "1"}, "margin: the price follows from it"),
        ({"margin": "wide", "epsilon": None}, "margin: give it in quotes"),
        ({"statistic": "mean", "of": "pay", "margin": "5", "margin_at": 9, "epsilon": None}, "clamp = "),
        ({"statistic": "median", "of": "pay", "margin": "5", "epsilon": None}, "planned by epsilon"),
        ({"statistic": "quantiles", "of": "pay", "quantiles": ["1.5"]}, "quantiles: shares lie between"),
        ({"statistic": "quantiles", "of": "pay", "quantiles": "0.5"}, "quantiles: give a list"),
        ({"statistic": "median", "of": "pay", "quantiles": ["0.5"]}, "quantiles: go with statistic"),
        ({"clamp": [1, 5], "statistic": "median", "of": "pay"}, "clamp: a median is not clamped"),
        ({"clamp": [1, 5]}, "clamp: a count is not clamped"),
        ({"clamp": [5, 1], "statistic": "sum", "of": "pay"}, "clamp: give two numbers"),
        ({"clamp": "none", "statistic": "sum", "of": "pay"}, "clamp: give two numbers"),
        ({"statistic": "variance", "of": "pay", "weights": "w"}, "weights: a weighted variance"),
        ({"weights": 3}, "weights: give the name"),
        ({"confidence": "1"}, "confidence: must lie"),
    ],
)
def test_wrong_settings_are_refused_in_words(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        tc.Table(**{"epsilon": "1", "neighbours": PERSON, **settings})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"by": ["age"]}, "by: age is not categorical"),
        ({"by": ["nobody"]}, "nobody: no such variable"),
        ({"where": {"sex": ["X"]}}, 'where: "X" is not a declared level'),
        ({"statistic": "sum", "of": "sex"}, "sex: is no number"),
        ({"weights": "worth"}, "weights: worth may be negative"),
        ({"statistic": "share", "of": "age"}, "is not categorical"),
    ],
)
def test_what_a_schema_cannot_carry_is_refused_before_any_row(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((UsageError, SchemaError), match=words):
        _plan(**settings).reads(SCHEMA)


def test_names_of_published_columns_are_taken() -> None:
    level = {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}
    with pytest.raises(UsageError, match="by: a column of every table is called value"):
        _plan(by=["value"]).reads(_schema(value=level))
    with pytest.raises(UsageError, match="by: sex_label is what the column of labels of sex is called"):
        _plan(by=["sex", "sex_label"]).reads(_schema(sex_label=level))


# ---------------------------------------------------------------- publishing


def test_totals_are_marked_and_are_the_sums_of_their_parts() -> None:
    found = _published(_plan(by=["region", "sex"]), totals=["region"])
    cells, totals = (found[found["level"] == level] for level in ("cell", "total"))
    assert len(cells) == 6
    assert len(totals) == 3
    assert set(totals["sex"]) == {"Total"}
    assert cells.groupby("region")["value"].sum().to_dict() == totals.set_index("region")["value"].to_dict()


def test_a_mean_has_no_total() -> None:
    with pytest.raises(UsageError, match="totals: are for counts and sums"):
        _published(_plan("mean", of="age", by=["region", "sex"]), totals=["region"])


def test_values_with_wide_margins_can_be_withheld() -> None:
    found = _published(_plan("count", "1/20", by=["region"]), FRAME.head(300), withhold="40%")
    rare = found[found["region"] == "E"].iloc[0]
    assert rare["quality"] == "withheld"
    assert pd.isna(rare["value"])
    assert pd.isna(rare["margin_of_error"])
    assert found[found["region"] == "N"]["value"].notna().all()


def test_stored_codes_that_mean_one_level_are_one_cell() -> None:
    frame = FRAME.assign(region=np.where(FRAME["region"] == "E", None, FRAME["region"]))
    other = FRAME.assign(region=np.where(FRAME["age"] > 50, FRAME["region"], FRAME["region"].replace("E", "??")))
    for statistic, settings in (("median", {"of": "age"}), ("count", {}), ("mean", {"of": "age"})):
        plan = _plan(statistic, "5", by=["region"], **settings)
        first = plan.rehearse(FRAME, SCHEMA, seed=2).noisy
        for same in (frame, other):
            again = plan.rehearse(same, SCHEMA, seed=2).noisy
            assert all((first[name] == again[name]).all() for name in first)


def test_records_that_lack_the_number_do_not_count() -> None:
    """Missing numbers that the schema keeps missing are neither zero nor at a bound."""
    own = {"role": "confidential", "type": "integer", "lower": 17, "upper": 90, "missing": "own state"}
    schema, known = _schema(age=own), FRAME["age"] < 50
    frame = FRAME.assign(age=FRAME["age"].astype(float).where(known))
    for statistic, settings in TRUTH_WITHOUT_MISSING.items():
        plan = _plan(statistic, "100000", neighbours=ReplaceOne("person"), **settings)
        found = tc.publish(plan.rehearse(frame, schema, seed=1), schema).to_pandas()["value"][0]
        apart = _plan(statistic, "100000", neighbours=ReplaceOne("person"), **settings)
        assert found == pytest.approx(
            tc.publish(apart.rehearse(FRAME[known], SCHEMA, seed=1), SCHEMA).to_pandas()["value"][0], rel=1e-3
        ), statistic


TRUTH_WITHOUT_MISSING: dict[str, dict[str, Any]] = {
    "sum": {"of": "age"},
    "mean": {"of": "age"},
    "variance": {"of": "age"},
    "median": {"of": "age"},
    "ratio": {"of": ["pay", "age"]},
}


def test_the_order_of_rows_and_the_engine_do_not_matter() -> None:
    plan = _plan("mean", of="worth", by=["sex"], epsilon="4")
    shuffled = FRAME.sample(frac=1, random_state=1)
    assert plan.rehearse(FRAME, SCHEMA, seed=3).to_bytes() == plan.rehearse(shuffled, SCHEMA, seed=3).to_bytes()


def test_a_wanted_margin_stays_where_units_have_several_rows() -> None:
    """The noise is that of the margin; what all rows of a unit cost follows from it."""
    plan = plan_as_set(
        {"mechanism": "Table", "by": ["region"], "margin": "20", "confidence": "0.95"},
        {**tc.Table(margin="20", by=["region"], neighbours=PERSON).describe(), "at_most": 3},
    )
    once = tc.Table(margin="20", by=["region"], neighbours=PERSON)
    assert plan.guarantee.loss.epsilon == 3 * once.epsilon
    assert plan.forecast(_schema(person={"role": "id", "entity": "person"})).figures == once.forecast(SCHEMA).figures
