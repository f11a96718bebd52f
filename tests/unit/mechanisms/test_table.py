"""`tc.Table`: what each statistic publishes, what it costs, what it refuses, and that its margins hold."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from support.earners import FRAME, PERSON, SCHEMA, earners_schema, published, table_of
from support.plan_checks import HEADINGS
from tacita.audit.statistics import INCOMES, STATISTIC_SETTINGS
from tacita.data.confidential import Confidential
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms.table import measuring
from tacita.mechanisms.table.plan import Statistic
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import ReplaceOne
from tacita.release.settings import plan_as_set, plan_from_record
from tacita.release.spec import NOT_ADDED_UP
from tacita.tables.estimates import estimated


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
        found = published(table_of(by=["region"], neighbours=neighbours, delta=delta, **settings), seed=seed)
        said = found["margin_of_error"].notna().to_numpy()  # a cell that the noise drowns says nothing
        off = np.abs(found["value"].astype(float) - true)[said]
        held += (off <= found["margin_of_error"].astype(float)[said]).tolist()
    assert np.mean(held) >= 0.8, name
    precise = published(table_of(epsilon="100000", by=["region"], neighbours=neighbours, delta=delta, **settings))
    assert np.allclose(precise["value"].astype(float), true, rtol=0.05), name


def test_shares_add_up_and_margins_hold_them() -> None:
    true = (
        FRAME.groupby("region")["sex"]
        .value_counts(normalize=True)
        .reindex([(region, sex) for region in ("N", "S", "E") for sex in ("F", "M")])
    )
    held = []
    for seed in range(12):
        found = published(table_of("share", of="sex", by=["region"]), seed=seed)
        assert np.allclose(found.groupby("region")["value"].sum(), 1, atol=0.001)
        held += (np.abs(found["value"].to_numpy() - true.to_numpy()) <= found["margin_of_error"]).tolist()
    assert np.mean(held) >= 0.85


def test_noise_is_not_smaller_than_promised() -> None:
    """The spread of a count's noise over many rehearsals: a fifth less would fail."""
    data = Confidential.from_frame(FRAME.head(10), SCHEMA)
    plan = table_of(epsilon="1/10", by=["region", "sex"])
    draws = np.concatenate([plan.run(data, SeededEntropy(seed)).noisy["count"] for seed in range(400)])
    true = np.tile(measuring.counted(data, plan.cells), 400)
    assert 0.94 < np.abs(draws - true).mean() / 10 < 1.06


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

    proof = (files("tacita") / table_of().proof).read_text(encoding="utf-8")
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
    plan = table_of("sum", None, of="age", clamp=[17, 90], margin=wanted, by=["region"])
    found = published(plan)
    assert found["margin_of_error"].max() <= float(wanted)
    assert found["margin_of_error"].min() >= 0.8 * float(wanted)


def test_rounding_is_part_of_the_margin() -> None:
    """Values are rounded to three digits of their margin; the interval around the rounded value holds the other one."""
    result = table_of("mean", of="pay", by=["region"]).rehearse(FRAME, SCHEMA, seed=3)
    exact, shown = estimated(result, 0.95), tc.publish(result, SCHEMA).to_pandas()
    value, half = (shown[name].to_numpy(dtype=float) for name in ("value", "margin_of_error"))
    assert (value != exact.value).any()
    assert (value + half >= exact.upper - 1e-9).all()
    assert (value - half <= exact.lower + 1e-9).all()


def test_no_margin_of_nothing_is_written_below_it() -> None:
    """A median that all records have is known to the last digit."""
    found = published(table_of("median", "100", of="age", by=["region"]), FRAME.assign(age=40))
    assert found["value"].tolist() == [40.0] * 3
    assert found["margin_of_error"].astype(str).tolist() == ["0.0"] * 3


def test_a_limit_that_is_bought_is_spoken_of_in_percent_too() -> None:
    said = table_of("sum", of="pay", by=["region"]).forecast(SCHEMA).sentences
    assert any("times the mean" in one and "% of 10,000" in one for one in said)


def test_a_ratio_is_foretold_at_the_price_that_its_sums_have() -> None:
    """Pay has wide bounds, and three quarters of its half are left for the sum; age has tight ones, and keeps all."""
    figures = table_of("ratio", of=["pay", "age"], by=["region"]).forecast(SCHEMA).figures
    assert figures["median_error_in_clamps_below"] == pytest.approx(0.75 * figures["median_error_in_clamps"], rel=0.01)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_half_of_the_errors_of_shares_are_as_small_as_foretold(epsilon: str) -> None:
    """At ε = 4 most noises are 0, and so are most errors of a share of two levels."""
    plan = table_of("share", epsilon, of="sex", neighbours=ReplaceOne("person"))
    told = 10 * plan.forecast(SCHEMA).figures["median_error_points_at_1000"] / len(FRAME)
    truth = (FRAME["sex"] == "F").mean()
    found = [estimated(plan.rehearse(FRAME, SCHEMA, seed=seed), 0.95).value[0] for seed in range(200)]
    assert np.median(np.abs(np.array(found) - truth)) == pytest.approx(told, rel=0.35, abs=1e-5)
    assert (told == 0) == (epsilon == "4")


@pytest.mark.parametrize("epsilon", ["2", "4"])
def test_margins_of_shares_hold_where_most_noises_are_0(epsilon: str) -> None:
    """Errors come in steps there, and a margin a little below a step misses all errors of it."""
    plan = table_of("share", epsilon, of="sex", by=["region"])
    first = plan.rehearse(FRAME, SCHEMA, seed=1)
    true = FRAME.groupby("region")["sex"].value_counts(normalize=True)
    wanted = np.array([true[region, sex] for region in ("N", "S", "E") for sex in ("F", "M")])
    records, rate = np.rint(np.repeat([2400, 1200, 400], 2) * wanted), float(epsilon)
    truth = (records.reshape(-1, 2) / records.reshape(-1, 2).sum(axis=1, keepdims=True)).ravel()
    drawn, held = np.random.default_rng(7), []
    for _ in range(1_500):
        noise = drawn.geometric(1 - np.exp(-rate), 6) - drawn.geometric(1 - np.exp(-rate), 6)
        noisy = {"count": (records + noise).astype(np.int64)}
        shown = estimated(replace(first, noisy=noisy), 0.95)
        held.append((shown.lower <= truth + 1e-12) & (truth - 1e-12 <= shown.upper))
    assert np.mean(held) >= 0.94


def test_a_mean_that_may_be_negative_errs_as_foretold() -> None:
    """Its two sums have noise of two limits each, since the interval reaches as far below 0 as above."""
    plan, off = table_of("mean", "1/2", of="worth"), []
    told = plan.forecast(SCHEMA).figures["median_error_in_clamps"]
    for seed in range(150):
        result = plan.rehearse(FRAME, SCHEMA, seed=seed)
        limit = result.facts["mean"]["upper"]
        clamped = FRAME["worth"].clip(-limit, limit).mean()
        off.append(abs(estimated(result, 0.95).value[0] - clamped) * len(FRAME) / limit)
    assert np.median(off) == pytest.approx(told, rel=0.25)


@pytest.mark.parametrize("name", ["sum", "above", "one", "octave", "margin", "n"])
def test_columns_may_have_the_names_of_what_is_measured(name: str) -> None:
    schema = earners_schema(**{name: {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}})
    frame = FRAME.assign(**{name: np.where(FRAME["age"] < 50, "a", "b")})
    for statistic in ("sum", "mean", "variance"):
        found = table_of(statistic, "100", of="pay", by=[name]).rehearse(frame, schema, seed=1)
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
        ({"by": ["age"]}, "by: age is not categorical.* twice under two names, and declare one of them so"),
        ({"by": ["nobody"]}, "nobody: no such variable"),
        ({"where": {"sex": ["X"]}}, 'where: "X" is not a declared level'),
        ({"statistic": "sum", "of": "sex"}, "sex: is no number"),
        ({"weights": "worth"}, "weights: worth may be negative"),
        ({"statistic": "share", "of": "age"}, "is not categorical"),
        ({"statistic": "share", "of": "sex", "by": ["sex"]}, "of: sex also stands in by"),
    ],
)
def test_what_a_schema_cannot_carry_is_refused_before_any_row(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((UsageError, SchemaError), match=words):
        table_of(**settings).reads(SCHEMA)


def test_names_of_published_columns_are_taken() -> None:
    level = {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}
    with pytest.raises(UsageError, match="by: a column of every table is called value"):
        table_of(by=["value"]).reads(earners_schema(value=level))
    with pytest.raises(UsageError, match="by: sex_label is what the column of labels of sex is called"):
        table_of(by=["sex", "sex_label"]).reads(earners_schema(sex_label=level))


def test_a_median_of_dates_says_what_to_do() -> None:
    born = {"role": "confidential", "type": "date", "lower": "1930-01-01", "upper": "2020-12-31"}
    with pytest.raises(SchemaError, match=r"born: is a date, and tables are of numbers; add a column .* type integer"):
        table_of("median", of="born").reads(earners_schema(born=born))


# ---------------------------------------------------------------- publishing


def test_totals_are_marked_and_are_the_sums_of_their_parts() -> None:
    found = published(table_of(by=["region", "sex"]), totals=["region"])
    cells, totals = (found[found["level"] == level] for level in ("cell", "total"))
    assert len(cells) == 6
    assert len(totals) == 3
    assert set(totals["sex"]) == {"Total"}
    assert cells.groupby("region")["value"].sum().to_dict() == totals.set_index("region")["value"].to_dict()


@pytest.mark.parametrize("statistic", get_args(Statistic))
def test_what_has_no_total_is_what_specifications_refuse_it_for(statistic: str) -> None:
    of = {"count": {}, "share": {"of": "sex"}, "ratio": {"of": ["pay", "age"]}}.get(statistic, {"of": "age"})
    more = {"quantiles": ["0.2", "0.9"]} if statistic == "quantiles" else {}
    asked = table_of(statistic, **of, **more, by=["region"] if statistic == "share" else ["region", "sex"])
    if statistic not in NOT_ADDED_UP:
        published(asked, totals=["region"])
        return
    with pytest.raises(UsageError, match="totals: are for counts and sums"):
        published(asked, totals=["region"])


def test_values_with_wide_margins_can_be_withheld() -> None:
    found = published(table_of("count", "1/20", by=["region"]), FRAME.head(300), withhold="40%")
    rare = found[found["region"] == "E"].iloc[0]
    assert rare["quality"] == "withheld"
    assert pd.isna(rare["value"])
    assert pd.isna(rare["margin_of_error"])
    assert found[found["region"] == "N"]["value"].notna().all()


def test_stored_codes_that_mean_one_level_are_one_cell() -> None:
    frame = FRAME.assign(region=np.where(FRAME["region"] == "E", None, FRAME["region"]))
    other = FRAME.assign(region=np.where(FRAME["age"] > 50, FRAME["region"], FRAME["region"].replace("E", "??")))
    for statistic, settings in (("median", {"of": "age"}), ("count", {}), ("mean", {"of": "age"})):
        plan = table_of(statistic, "5", by=["region"], **settings)
        first = plan.rehearse(FRAME, SCHEMA, seed=2).noisy
        for same in (frame, other):
            again = plan.rehearse(same, SCHEMA, seed=2).noisy
            assert all((first[name] == again[name]).all() for name in first)


def test_records_that_lack_the_number_do_not_count() -> None:
    """Missing numbers that the schema keeps missing are neither zero nor at a bound."""
    own = {"role": "confidential", "type": "integer", "lower": 17, "upper": 90, "missing": "own state"}
    schema, known = earners_schema(age=own), FRAME["age"] < 50
    frame = FRAME.assign(age=FRAME["age"].astype(float).where(known))
    for statistic, settings in TRUTH_WITHOUT_MISSING.items():
        plan = table_of(statistic, "100000", neighbours=ReplaceOne("person"), **settings)
        found = tc.publish(plan.rehearse(frame, schema, seed=1), schema).to_pandas()["value"][0]
        apart = table_of(statistic, "100000", neighbours=ReplaceOne("person"), **settings)
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
    plan = table_of("mean", of="worth", by=["sex"], epsilon="4")
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
    assert (
        plan.forecast(earners_schema(person={"role": "id", "entity": "person"})).figures
        == once.forecast(SCHEMA).figures
    )
