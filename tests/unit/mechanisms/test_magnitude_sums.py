"""Sums of numbers under relative changes: what is read, what is refused, what comes out."""

import json
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.magnitudes import firms, schema
from tacita.data.confidential import Confidential
from tacita.errors import SchemaError, TacitaError
from tacita.mechanisms.magnitude import SmoothFlows, SmoothGrowth, SmoothSums
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape
from tacita.plan import check
from tacita.privacy import NumbersWithin
from tacita.tables import publish
from tacita.tables.estimates import estimated

F = Fraction


def plan(**given: Any) -> SmoothSums:
    return SmoothSums(
        **{"alpha": "0.1", "epsilon": "2", "of": ["pay"], "by": ["place", "sector"], "unit": "firm", **given}
    )


def asked(one: SmoothSums, frame: pd.DataFrame, **changed: Any) -> Any:
    """The exact sums and scales that noise was asked for."""
    tape = Tape(SeededEntropy(1))
    data = Confidential.from_frame(frame, schema(**changed))
    data.check(one.reads(data.schema))
    one.run(data, tape)
    return tape.draws[0].confidential


def test_sums_and_scales_are_exact() -> None:
    frame = firms()
    frame["place"] = frame.place.replace("?", "C")
    cells = frame.groupby(["place", "sector"])
    for name, parts in (("pay", 100), ("jobs", 1)):
        seen = asked(plan(of=[name]), frame)
        assert seen["centre"].tolist() == [round(total * parts) for total in cells[name].sum()]
        assert seen["scale_num"].tolist() == [max(round(most * parts), 11) for most in cells[name].max()]


@pytest.mark.parametrize("kind", [SmoothSums, SmoothFlows, SmoothGrowth])
@pytest.mark.parametrize(("column", "value"), [("jobs", 10.49), ("before", 11.5)])
def test_numbers_between_two_steps_are_refused(kind: Any, column: str, value: float) -> None:
    """10.49 and 11.5 jobs lie within 10% of each other, and would be read as 10 and 12: two steps apart, not one."""
    one, frame = kind("0.1", "4", of=["before", "jobs"], by=["place"], unit="firm"), firms()
    sizes = schema(jobs={"role": "confidential"})
    check(one, Confidential.from_frame(frame, sizes))
    frame.loc[3, column] = value
    with pytest.raises(SchemaError, match=f"{column}: a value is not on the declared grid"):
        check(one, Confidential.from_frame(frame, sizes))


def test_only_some_units_are_added_up() -> None:
    """By the declared level, which "?" becomes; sums and largest units of the others do not count."""
    frame = firms(40)
    seen = asked(plan(by=["sector"], where={"place": ["B", "C"]}), frame)
    part = frame[frame.place != "A"].groupby("sector").pay
    assert seen["centre"].tolist() == [round(total * 100) for total in part.sum()]
    assert seen["scale_num"].tolist() == [round(most * 100) for most in part.max()]


@pytest.mark.parametrize("epsilon", ["1", "4"])  # apart, and together
def test_several_numbers_are_added_up_side_by_side(epsilon: str) -> None:
    seen, frame = asked(plan(of=["pay", "jobs"], epsilon=epsilon), firms()), firms()
    assert seen["centre"].reshape(-1, 2)[:, 1].sum() == frame.jobs.sum()
    assert seen["centre"].reshape(-1, 2)[:, 0].sum() == round(frame.pay.sum() * 100)
    for at, name in enumerate(("pay", "jobs")):
        alone = asked(plan(of=[name]), frame)
        assert seen["scale_num"].reshape(-1, 2)[:, at].tolist() == alone["scale_num"].tolist()


def test_large_sums_do_not_overflow() -> None:
    """2^52 steps in each of 4,096 rows are 2^64: the sum stops at 2^61."""
    top = {"upper": 2**52, "scale": 0}
    frame = firms(4096).assign(pay=float(2**52), place="A", sector=1)
    seen = asked(plan(), frame, pay=top)
    assert seen["centre"].tolist() == [2**61]
    assert seen["scale_num"].tolist() == [2**52]
    assert asked(plan(), frame[:300], pay=top)["centre"].tolist() == [300 * 2**52]


def test_missing_and_wild_numbers_follow_the_schema() -> None:
    frame = firms(4).assign(place="A", sector=1, pay=[np.nan, np.inf, -5.0, 3.0])
    assert asked(plan(), frame)["centre"].tolist() == [100_000_000 + 300]


def test_numbers_are_published_in_their_own_units() -> None:
    frame = firms(400)
    result = plan(epsilon="8").rehearse(frame, schema(), seed=2)
    table = publish(result, schema(), totals=["place"]).to_pandas()
    total = table[table.level == "total"]
    assert set(total.sector) == {"Total"}
    assert total.value.sum() == pytest.approx(frame.pay.sum(), rel=0.02)
    assert (total.margin_of_error < 0.2 * total.value).all()


def test_the_order_of_rows_and_how_codes_are_stored_do_not_matter() -> None:
    frame = firms(40)
    first = plan().rehearse(frame, schema(), seed=3)
    second = plan().rehearse(frame.sample(frac=1, random_state=1).astype({"sector": str}), schema(), seed=3)
    assert set(first.noisy) == {"pay", "largest_0"}
    assert first.to_bytes() == second.to_bytes()


def test_what_is_stored_comes_back() -> None:
    one = plan(of=["pay", "jobs"])
    result = one.rehearse(firms(), schema(), seed=4)
    back = one.restore(result.to_bytes())
    assert back.to_bytes() == result.to_bytes()
    assert publish(back, schema()).equals(publish(result, schema()))


def test_a_file_without_units_is_refused() -> None:
    with pytest.raises(SchemaError, match="the file has no rows"):
        plan().rehearse(firms()[:0], schema(), seed=1)


def test_a_plan_is_what_it_describes() -> None:
    for one in (plan(), plan(of=["pay", "jobs"], by=[]), plan(margin_share="0", where={"place": ["A"]})):
        record = json.loads(json.dumps(one.describe()))
        assert record.pop("mechanism") == "SmoothSums"
        assert SmoothSums(**record) == one
        assert one.guarantee.neighbours == NumbersWithin("firm", "0.1")
        assert one.guarantee.loss.epsilon == 2
        assert one.forecast(schema()).sentences
        assert files("tacita").joinpath(one.proof).is_file()


def test_the_forecast_is_in_units_of_each_number() -> None:
    sentences = plan(of=["pay", "jobs"], margin_share="0").forecast(schema()).sentences
    error = 0.1 * plan(of=["pay", "jobs"], margin_share="0").law().mean_abs()
    assert f", {100 * error:.3g} at 100" in sentences[1]
    assert f"of pay, by this size: {1000 * error:.3g} at 1,000, " in sentences[2]


def test_margins_are_paid_for_unless_they_are_not_wanted() -> None:
    assert plan(epsilon="1").margin_share == F(3, 20)
    assert plan(epsilon="1", of=["pay", "jobs"]).margin_share == F(1, 4)
    assert plan(epsilon="4").margin_share < F(1, 20)
    assert plan(margin_share="0").blur is None
    assert set(plan(margin_share="0").rehearse(firms(), schema(), seed=1).noisy) == {"pay"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"of": ["profit"]}, "variables.profit.lower: is below 0"),
        ({"of": ["place"]}, "of: place is no number"),
        ({"of": ["rank"]}, "of: rank has the role public"),
        ({"of": []}, "of: name the columns"),
        ({"by": ["owner"]}, "by: owner has the role confidential"),
        ({"by": ["jobs"]}, "jobs: is not categorical"),
        ({"where": {"place": ["Z"]}}, "where: place must list declared levels"),
        ({"where": {"place": []}}, "where: place must list declared levels; the list is empty"),
        ({"where": {"owner": ["x"]}}, "owner has the role confidential"),
        ({"by": ["region"]}, "region: no such variable"),
        ({"alpha": "0.1234567"}, "alpha: has too many digits"),
        ({"alpha": "0"}, "alpha: must be above 0"),
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": "0.1"}, "epsilon: .* needs ε of at least"),
        ({"margin_share": "1"}, "margin_share: must be at least 0"),
        ({"unit": " "}, "unit: must be a word"),
    ],
)
def test_what_cannot_be_promised_is_refused_before_anything_is_read(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(**given).rehearse(firms(), schema(), seed=1)


@pytest.mark.parametrize(
    ("changed", "alpha", "words"),
    [
        ({"pay": {"upper": 2.0**53, "scale": 0}}, "0.1", "up to 2.52 steps"),
        ({"pay": {"upper": 2.0**50, "scale": 0}}, "0.123457", "alpha: 0.123457 has too many digits"),
        ({"pay": {"missing_codes": [9]}}, "0.1", "missing_codes: a code lies between"),
    ],
)
def test_bounds_that_exact_noise_cannot_carry_are_refused(changed: Any, alpha: str, words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(alpha=alpha).rehearse(firms(), schema(**changed), seed=1)


def test_a_unit_with_two_rows_is_refused() -> None:
    with pytest.raises(SchemaError, match="firm"):
        plan().rehearse(firms().assign(firm=1), schema(), seed=1)


def test_intervals_cover_and_paying_shortens_them() -> None:
    """Firms of one cell each, so that many cells are seen at once; the bound of the schema is far away."""
    count = 4000
    places = [f"p{at:03d}" for at in range(200)]
    frame = firms(count, seed=5).assign(place=np.resize(places, count), sector=1)
    public = schema(place={"levels": places, "outside": places[0]})
    true = frame.groupby("place").pay.sum().to_numpy()
    widths = {}
    for share in (None, "0"):
        one = plan(by=["place"], **({} if share is None else {"margin_share": share}))
        covered = []
        for seed in range(20):
            sums = estimated(one.rehearse(frame, public, seed=seed), 0.95)
            covered.append((sums.lower <= true) & (true <= sums.upper))
            widths[share] = float((sums.upper - sums.lower).mean())
        assert 0.94 <= np.mean(covered) <= (0.99 if share is None else 1)
    assert widths[None] < 0.6 * widths["0"]


def test_several_sums_are_published_side_by_side() -> None:
    """One row for each cell and measure; totals stay within their measure."""
    frame = firms(300)
    result = plan(of=["pay", "jobs"], epsilon="8").rehearse(frame, schema(), seed=2)
    table = publish(result, schema(), totals=["place"]).to_pandas()
    for name in ("pay", "jobs"):
        part = table[(table.measure == name) & (table.level == "total")]
        assert len(part) == 3
        assert part.value.sum() == pytest.approx(frame[name].sum(), rel=0.03)
        cells = table[(table.measure == name) & (table.level == "cell")]
        assert cells.value.sum() == pytest.approx(part.value.sum(), rel=0.01)


def test_one_column_may_be_named_without_a_list() -> None:
    assert plan(of="pay") == plan(of=["pay"])
