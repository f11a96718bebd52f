"""Sums with noise on their root or logarithm: the policy function, the law, no bias, margins that cover, a forecast."""

from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacita.comparison import PerRecord, SlowSums
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.ledger import Ledger
from tacita.mechanisms.slow.scale import steps
from tacita.privacy import AddRemoveOne, Guarantee, Loss, NumbersWithin
from tacita.privacy.json_form import neighbours_from_json, neighbours_to_json
from tacita.privacy.neighbours import ROUNDING, STEPS
from tacita.tables.estimates import estimated
from tacita.tables.publish import publish

SCALINGS: tuple[Any, ...] = ("log", "square-root", "fourth-root")
SIZES = {"offset": "10000", "reference": "100000"}
CELLS = 3000
TRUE = 250_000


def relation(scaling: Any = "log", **changed: str) -> PerRecord:
    return PerRecord("firm", scaling, **{**SIZES, **changed})


def schema(cells: int = CELLS, **amount: Any) -> Schema:
    listed = [f"{at:04d}" for at in range(cells)]
    number = {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10_000_000, "scale": 2, **amount}
    place = {"role": "public", "type": "categorical", "levels": listed}
    return Schema.from_dict(
        {"dataset": {"identity": "firms", "unit": "firm"}, "variables": {"place": place, "amount": number}}
    )


def frame(cells: int = CELLS) -> pd.DataFrame:
    """Every cell adds up to the same sum, so that one run draws the law as often as there are cells."""
    places = [f"{at:04d}" for at in range(cells)]
    return pd.DataFrame({"place": places * 2, "amount": [TRUE - 0.25] * cells + [0.25] * cells})


def plan(scaling: Any = "log", rho: str = "4", mechanism: type[SlowSums] = SlowSums) -> SlowSums:
    return mechanism(rho, of="amount", by=["place"], unit="firm", scaling=scaling, **SIZES)


# ---------------------------------------------------------------- the relation


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_policy_is_one_at_the_reference_and_grows_slowly(scaling: Any) -> None:
    one = relation(scaling)
    assert one.policy(100_000) == pytest.approx(1, abs=1e-12)
    assert 0 < one.policy(0) < 1e-14
    far = [one.policy(10.0**power) for power in (10, 11)]
    # v for the square root, √v for the fourth root, ln² v for the logarithm
    expected = {"square-root": 10, "fourth-root": 10**0.5, "log": (np.log(1e7) / np.log(1e6)) ** 2}[scaling]
    assert far[1] / far[0] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_words_of_the_policy_are_its_formula(scaling: Any) -> None:
    words = relation(scaling).policy_in_words.replace("ρ · ", "").replace("²", "**2").replace("−", "-")
    words = words.replace("ln(", "np.log(").replace("√(", "np.sqrt(").replace("∜(", "np.power(")
    if scaling == "fourth-root":
        words = words.replace("(1 + v/10000)", "(1 + v/10000, 0.25)").replace("(1 + 100000/10000)", "(11, 0.25)")
    for v in (5_000, 2_000_000):
        assert eval(words, {"np": np, "v": v}) == pytest.approx(relation(scaling).policy(v), rel=1e-6)


def test_it_has_a_json_form_of_its_own() -> None:
    one = relation("fourth-root", offset="1/3")
    written = neighbours_to_json(one)
    assert written == {
        "kind": "per-record", "unit": "firm", "scaling": "fourth-root", "offset": "1/3", "reference": "100000",
    }  # fmt: skip
    assert neighbours_from_json(written) == one
    with pytest.raises(UsageError):
        neighbours_from_json({**written, "scaling": "cube"})
    with pytest.raises(UsageError):
        neighbours_from_json({**written, "more": "1"})


@pytest.mark.parametrize(
    "other",
    [
        AddRemoveOne("firm"),
        NumbersWithin("firm", "0.1"),
        relation("square-root"),
        relation(offset="1"),
        relation(reference="1"),
    ],
)
def test_it_is_added_to_nothing_but_itself(other: Any) -> None:
    mine, theirs = Guarantee(relation(), Loss(rho="1")), Guarantee(other, Loss(rho="1"))
    assert (mine + mine).loss == Loss(rho="2")
    for one, two in ((mine, theirs), (theirs, mine)):
        with pytest.raises(RefusedError, match="protect different things"):
            one + two
        with pytest.raises(RefusedError, match="says nothing proved"):
            one.under(two.neighbours)


@pytest.mark.parametrize(
    "given",
    [
        {"offset": "0"},
        {"offset": "-1"},
        {"offset": "0." + 400 * "0" + "1"},
        {"reference": "0"},
        {"reference": "1e-9", "offset": "1e6"},
        {"offset": "1e19"},
    ],
)
def test_sizes_that_mean_nothing_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"^(offset|reference): "):
        relation(**given)


# ---------------------------------------------------------------- distance and law


@pytest.mark.parametrize("scaling", SCALINGS)
def test_steps_are_those_of_many_digits(scaling: Any) -> None:
    getcontext().prec = 60
    sums = np.array([0, 1, 99, 10_000_00, 100_000_00, 2**61 - 1], dtype=np.int64)
    power = {"square-root": 2, "fourth-root": 4, "log": 0}[scaling]

    def scaled(number: Decimal) -> Decimal:
        ratio = 1 + number / 10_000
        return ratio.ln() if not power else (ratio.ln() / power).exp() - 1

    expected = [float(STEPS * scaled(Decimal(int(one)) / 100) / scaled(Decimal(100_000))) for one in sums]
    assert np.abs(steps(sums, 2, relation(scaling)) - expected).max() <= 1


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("sizes", [("1e-9", "1e-9"), ("1e18", "1e9"), ("1e-9", "1e18"), ("1e18", "1e18")])
def test_no_sum_and_no_setting_is_too_large_for_the_steps(scaling: Any, sizes: tuple[str, str]) -> None:
    """What would not fit is set to a limit: an error would depend on the rows."""
    found = steps(np.array([0, 1, 2**61], dtype=np.int64), 2, relation(scaling, offset=sizes[0], reference=sizes[1]))
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    assert found[-1] <= 2**61


@pytest.mark.parametrize("scaling", SCALINGS)
def test_no_unit_moves_a_sum_further_than_the_policy_says(scaling: Any) -> None:
    """Also where the cell holds nobody else, and for numbers far above the reference."""
    one, random = relation(scaling), np.random.default_rng(5)
    others = np.concatenate([np.zeros(100), random.lognormal(10, 4, 300)]).astype(np.int64)
    numbers = np.concatenate([[1, 2, 5], random.lognormal(12, 3, 397)]).astype(np.int64)
    moved = steps(others + numbers, 0, one) - steps(others, 0, one)
    allowed = [(one.policy(int(v)) ** 0.5) * (STEPS + ROUNDING) for v in numbers]
    assert (moved <= np.array(allowed) * (1 + 1e-12)).all()
    assert moved[0:1] >= 0
    alone = steps(np.array([100_000]), 0, one) - steps(np.array([0]), 0, one)
    assert alone[0] >= STEPS - 1  # and that is nearly reached


class _Less(SlowSums):
    """A fifth less noise."""

    @property
    def variance(self) -> Fraction:
        return super().variance * Fraction(16, 25)


def _of_the_law(mechanism: type[SlowSums]) -> float:
    """p of noise on the logarithm that is normal with the deviation ln(11)/√(2ρ), written by hand."""
    noisy = plan(mechanism=mechanism).rehearse(frame(), schema(), seed=3).noisy["amount"]
    y = noisy / STEPS * np.log(11)
    z = (y - np.log(1 + TRUE / 10_000)) / (np.log(11) / np.sqrt(2 * 4))
    return float(stats.kstest(z, "norm").pvalue)


def test_the_noise_has_its_law_and_a_fifth_less_is_noticed() -> None:
    assert _of_the_law(SlowSums) > 1e-4
    assert _of_the_law(_Less) < 1e-4


# ---------------------------------------------------------------- what is published


@pytest.mark.parametrize("scaling", SCALINGS)
def test_values_have_no_bias_margins_cover_and_errors_are_as_foretold(scaling: Any) -> None:
    made = plan(scaling, rho="20")
    found = estimated(made.rehearse(frame(), schema(), seed=8), 0.95)
    off = found.value - TRUE
    assert abs(off.mean()) < 4.5 * off.std() / CELLS**0.5
    covered = ((found.lower <= TRUE) & (found.upper >= TRUE)).mean()
    assert abs(covered - 0.95) < 4.5 * (0.95 * 0.05 / CELLS) ** 0.5
    assert np.abs(off).mean() == pytest.approx(made.error.typical(TRUE), rel=0.08)


def test_without_the_correction_the_bias_would_be_seen() -> None:
    noisy = plan(rho="20").rehearse(frame(), schema(), seed=8).noisy["amount"]
    plain = 10_000 * np.expm1(noisy / STEPS * np.log(11))
    assert plain.mean() - TRUE > 4.5 * plain.std() / CELLS**0.5


def test_the_forecast_comes_before_data_and_says_the_policy() -> None:
    said = plan().forecast(schema())
    assert said.cells == CELLS
    assert "each firm with the number v loses ρ · (ln(1 + v/10000) / ln(1 + 100000/10000))²" in str(said)
    assert said.figures["most_rho"] == pytest.approx(4 * (np.log(1001) / np.log(11)) ** 2, rel=1e-6)


def test_a_published_table_has_margins_and_stays_at_or_above_zero() -> None:
    result = plan("square-root", rho="1/2").rehearse(frame(40), schema(40), seed=1)
    assert (estimated(result, 0.95).value < 0).any()
    table = publish(result, schema(40), confidence="0.95", nonnegative=True).to_pandas()
    assert (table["value"] >= 0).all()
    assert table["margin_of_error"].notna().all()
    assert set(table["guarantee"]) == {str(plan("square-root", rho="1/2").guarantee)}


@pytest.mark.parametrize("scaling", SCALINGS)
def test_margins_of_totals_cover(scaling: Any) -> None:
    half = {"place": [f"{at:04d}" for at in range(80)] * 2, "side": ["a"] * 80 + ["b"] * 80, "amount": [TRUE] * 160}
    sided = schema(80).to_dict()
    sided["variables"]["side"] = {"role": "public", "type": "categorical", "levels": ["a", "b"]}
    public = Schema.from_dict(sided)
    made = SlowSums("20", of="amount", by=["place", "side"], unit="firm", scaling=scaling, **SIZES)
    result = made.rehearse(pd.DataFrame(half), public, seed=2)
    table = publish(result, public, confidence="0.95", totals=["place"]).to_pandas()
    sums = table[table["level"] == "total"]
    assert len(sums) == 80
    assert (np.abs(sums["value"] - 2 * TRUE) <= sums["margin_of_error"]).mean() >= 0.95


@pytest.mark.parametrize("scaling", SCALINGS)
def test_noise_that_drowns_everything_still_gives_finite_numbers(scaling: Any) -> None:
    made = SlowSums("1/256", of="amount", by=["place"], unit="firm", scaling=scaling, offset="1", reference="1e18")
    assert all(np.isfinite(one) for one in made.forecast(schema(40)).figures.values())
    found = estimated(made.rehearse(frame(40), schema(40), seed=1), 0.95)
    assert all(np.isfinite(one).all() for one in (found.value, found.lower, found.upper, found.variance))
    publish(made.rehearse(frame(40), schema(40), seed=1), schema(40), confidence="0.95")


def test_a_plan_is_what_it_describes_and_what_is_stored_comes_back() -> None:
    made = plan("fourth-root")
    record = made.describe()
    assert record.pop("mechanism") == "SlowSums"
    assert SlowSums.from_record(record) == made
    result = made.rehearse(frame(5), schema(5), seed=1)
    again = made.restore(result.to_bytes())
    assert again.noisy["amount"].tolist() == result.noisy["amount"].tolist()


def test_the_ledger_keeps_it_in_an_account_of_its_own(tmp_path: Any) -> None:
    from tacita.data.confidential import Confidential

    path = tmp_path / "firms.parquet"
    frame(5).to_parquet(path)
    data = Confidential.open(str(path), schema(5))
    book = Ledger.open(tmp_path / "ledger", cap=Loss(rho="12.058"), neighbours=relation())
    book.release(plan(), data, label="sums")
    with pytest.raises(RefusedError):
        book.release(plan("square-root"), data, label="roots")
    with pytest.raises(RefusedError):
        book.release(plan(rho="9"), data, label="too much")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rho": "1/300"}, "rho: must be at least 1/256"),
        ({"rho": "0"}, "rho: must be at least"),
        ({"of": ["amount"]}, "of: give the name of one number"),
        ({"scaling": "cube"}, "scaling: must be one of"),
        ({"offset": 0.5}, "offset and reference: give it as a string"),
    ],
)
def test_wrong_settings_are_refused_in_words(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SlowSums(**{"rho": "1", "of": "amount", **SIZES, **given})


def test_numbers_that_may_be_negative_are_refused_before_data() -> None:
    with pytest.raises(SchemaError, match=r"variables\.amount\.lower"):
        plan().forecast(schema(lower=-5))
