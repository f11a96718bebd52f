"""One scan serves the check of a file and the table made of it: with the same numbers, and the same refusals."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.data import sized
from tacita.data.cells import Amount, Cells, Steps, totals
from tacita.data.confidential import Confidential, tallied
from tacita.data.sized import BySize, by_size
from tacita.errors import SchemaError
from tacita.mechanisms.table import measuring, quantiles
from tacita.noise.entropy import SeededEntropy
from tacita.plan import check
from tacita.privacy import AddRemoveOne

CATEGORY = {"role": "confidential", "type": "categorical"}
SCHEMA = tc.Schema.from_dict(
    {
        "dataset": {"identity": "t", "unit": "person"},
        "variables": {
            "region": {**CATEGORY, "levels": ["1", "2", "3"]},
            "sex": {**CATEGORY, "levels": ["F", "M"], "missing": "F"},
            "age": {"role": "confidential", "type": "integer", "lower": 17, "upper": 90},
            "pay": {"role": "confidential", "type": "integer", "lower": -50, "upper": 10**7},
        },
    }
)


def _frame(**other: Any) -> pd.DataFrame:
    random = np.random.default_rng(3)
    columns = {
        "region": random.choice([1, 2], 500),
        "sex": random.choice(["F", "M", ""], 500),
        "age": random.integers(10, 99, 500),
        "pay": random.integers(-90, 2 * 10**7, 500),
    }
    return pd.DataFrame({**columns, **other})


@pytest.mark.parametrize(
    ("statistic", "of"),
    [
        ("count", ()),
        ("share", "sex"),
        ("sum", "age"),
        ("mean", "age"),
        ("median", "age"),
        ("sum", "pay"),
        ("mean", "pay"),
    ],
)
def test_what_the_check_has_scanned_is_what_the_table_would_have_scanned(statistic: Any, of: Any) -> None:
    plan = tc.Table(statistic, "1", of=of, by=["region"], neighbours=AddRemoveOne("person"))
    checked, other = (Confidential.from_frame(_frame(), SCHEMA) for _ in range(2))
    check(plan, checked)
    scan = plan.scan(SCHEMA)
    assert scan is not None
    assert tallied(checked, scan) is not None
    assert tallied(other, scan) is None
    assert plan.run(checked, SeededEntropy(1)).to_bytes() == plan.run(other, SeededEntropy(1)).to_bytes()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("region", "4", "not among the declared levels"),
        ("region", None, "is missing and the schema has no rule"),
        ("region", "", "is missing and the schema has no rule"),
        ("age", None, "is missing, NaN or not a number"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_the_scan_as_by_a_check_of_its_own(
    column: str, value: Any, words: str
) -> None:
    frame = _frame()
    frame[column] = frame[column].astype(str if column == "region" else float)
    frame.loc[7, column] = value
    plan = tc.Table("mean", "1", of="age", by=["region", "sex"], neighbours=AddRemoveOne("person"))
    said = []
    for scan in (plan.scan(SCHEMA), None):
        data = Confidential.from_frame(frame, SCHEMA)
        with pytest.raises(SchemaError, match=words) as refused:
            data.check(plan.reads(SCHEMA), scan)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_free_text_where_levels_are_declared_is_not_kept() -> None:
    data = Confidential.from_frame(_frame(region=[f"place {at}" for at in range(500)]), SCHEMA)
    plan = tc.Table(by=["region"], epsilon="1", neighbours=AddRemoveOne("person"))
    with pytest.raises(SchemaError, match="not among the declared levels"):
        check(plan, data)
    scan = plan.scan(SCHEMA)
    assert scan is not None
    assert tallied(data, scan) is None


@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize("upper", [10**6, 10**9])
@pytest.mark.parametrize("lower", [0, -50, -(10**9)])
@pytest.mark.parametrize("stored", ["int64", "float64"])
def test_sums_by_octaves_are_those_of_every_number(statistic: Any, upper: int, lower: int, stored: str) -> None:
    """With limits far below the largest number, and steps longer than 1 where the limit is beyond four million."""
    random = np.random.default_rng(4)
    pay = np.exp(random.normal(np.log(upper) - 2.5, 1.0, 3_000)).astype(np.int64) * random.choice([1, 1, 0, -1], 3_000)
    frame = pd.DataFrame({"region": random.choice(["1", "2"], 3_000), "pay": pay.clip(lower, upper).astype(stored)})
    kind = {"role": "confidential", "type": "integer", "lower": lower, "upper": upper}
    variables = {"region": {**CATEGORY, "levels": ["1", "2", "3"]}, "pay": kind}
    schema = tc.Schema.from_dict({"dataset": {"identity": "t", "unit": "person"}, "variables": variables})
    plan = tc.Table(statistic, "40", of="pay", by=["region"], neighbours=AddRemoveOne("person"))
    found = plan.run(Confidential.from_frame(frame, schema), SeededEntropy(1))
    with patch.object(measuring, "octave_scan", lambda *_: None):
        each = plan.run(Confidential.from_frame(frame, schema), SeededEntropy(1))
    assert found.facts == each.facts
    limit = found.facts[statistic]["upper"]
    assert limit < pay.max()
    for name, values in found.noisy.items():
        if found.facts[statistic]["step"] == 1 or lower < 0:
            assert values.tolist() == each.noisy[name].tolist()
        else:  # one rounding of the sum, and one of each number
            assert np.abs(values - each.noisy[name]).max() <= 0.5 * len(frame) + 1


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_one_record_moves_a_sum_by_octaves_by_no_more_steps_than_its_limit_has(statistic: Any) -> None:
    random = np.random.default_rng(4)
    kind = {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**9}
    schema = tc.Schema.from_dict({"dataset": {"identity": "t", "unit": "person"}, "variables": {"pay": kind}})
    pay = np.exp(random.normal(17, 1, 500)).astype(np.int64).clip(0, 10**9)
    plan = tc.Table(statistic, "1", of="pay", neighbours=AddRemoveOne("person"))
    scan, cells = plan.scan(schema), plan.cells
    assert isinstance(scan, BySize)
    limit = 2**24
    interval = measuring.Interval(0.0, float(limit))
    steps = (measuring.sum_steps if statistic == "sum" else measuring.mean_steps)(interval, 1.0)
    assert steps.size == 4

    def added(numbers: Any) -> int:
        sized = by_size(Confidential.from_frame(pd.DataFrame({"pay": numbers}), schema), cells, scan)
        assert sized is not None
        found = measuring._added(sized, steps, interval)
        assert found is not None
        return int(found[0])

    whole = added(pay)
    assert whole == (2 * int(pay.clip(0, limit).sum()) * steps.most + limit) // (2 * limit)
    for number in (0, 1, 2, 3, limit - 1, limit, limit + 1, 10**9):
        assert 0 <= added(np.append(pay, number)) - whole <= steps.most


@pytest.mark.parametrize(("start", "size"), [(0.0, 1.0), (-50.0, 1.0), (0.0, 8.0), (-50.0, 4.0), (0.0, 3.0)])
def test_steps_of_whole_numbers_are_those_of_the_same_numbers_stored_as_floats(start: float, size: float) -> None:
    whole = _frame()
    asked = {"pay": (Amount(("pay",)), Steps(start, size, -9, 10**6), 1)}
    cells = Cells(("region",), {})
    as_whole, as_float = (
        totals(Confidential.from_frame(one, SCHEMA), cells, asked) for one in (whole, whole.astype({"pay": float}))
    )
    assert as_whole["pay"].tolist() == as_float["pay"].tolist()


@pytest.mark.parametrize("of", ["age", "pay"])
@pytest.mark.parametrize("shares", [("0.5",), ("0.02", "0.5", "0.9")])
@pytest.mark.parametrize("epsilon", ["2", "60"])
def test_quantiles_are_those_of_all_values_where_only_those_near_their_ranks_are_looked_at(
    of: str, shares: tuple[str, ...], epsilon: str
) -> None:
    random = np.random.default_rng(5)
    pay = np.exp(random.normal(6, 2, 4_000)).astype(np.int64) * random.choice([1, 1, 1, 0, -1], 4_000)
    frame = _frame().sample(4_000, replace=True, random_state=1).assign(pay=np.round(pay, -1))
    frame["region"] = random.choice([1, 2, 3], 4_000, p=[0.7, 0.29, 0.01])  # and a cell of very few
    plan = tc.Table("quantiles", epsilon, of=of, by=["region"], quantiles=shares, neighbours=AddRemoveOne("person"))
    looked: list[int] = []

    def values(*asked: Any) -> Any:
        found = quantiles_values(*asked)
        looked.append(found[0].size)
        return found

    quantiles_values = quantiles.values
    with patch.object(quantiles, "values", values):
        everywhere = plan.run(Confidential.from_frame(frame, SCHEMA), SeededEntropy(1))
        with patch.object(sized, "_MANY", 0), patch.object(sized, "_MOST_OF_ALL", 1.0):
            near = plan.run(Confidential.from_frame(frame, SCHEMA), SeededEntropy(1))
    assert near.to_bytes() == everywhere.to_bytes()
    if of == "pay" and epsilon == "60":
        assert looked[1] < looked[0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", ["heaps", "even", "decimals"])
def test_values_looked_for_near_a_rank_give_the_same_draws_as_all_of_them(
    values: str, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a declared bound lies within a size: nothing of the file may decide whether a run succeeds."""
    random = np.random.default_rng(2)
    numbers = {
        "heaps": np.repeat([900, 500, 100], [4_000, 9_000, 7_000]),
        "even": np.exp(random.uniform(np.log(101), np.log(1_000), 20_000)).round(),
        "decimals": np.exp(random.uniform(np.log(101), np.log(1_000), 20_000)).round(2),
    }[values]
    ends = {"lower": 100, "upper": 1_000} if sign > 0 else {"lower": -1_000, "upper": -100}
    kind = {"type": "numeric", "scale": 2} if values == "decimals" else {"type": "integer"}
    schema = tc.Schema.from_dict(
        {"dataset": {"identity": "t", "unit": "person"}, "variables": {"y": {"role": "confidential", **kind, **ends}}}
    )
    plan = tc.Table(
        statistic="quantiles", of=["y"], quantiles=["0.45", "0.5"], epsilon="1", neighbours=AddRemoveOne("person")
    )
    data = Confidential.from_frame(pd.DataFrame({"y": sign * numbers}), schema)
    every = plan.run(data, SeededEntropy(5))
    asked, near = [], sized.near

    def noted(*given: Any) -> Any:
        asked.append(near(*given))
        return asked[-1]

    monkeypatch.setattr(sized, "_MANY", 1)
    monkeypatch.setattr("tacita.mechanisms.table.quantiles.near", noted)
    some = plan.run(data, SeededEntropy(5))
    assert asked[0] is not None
    assert every.to_bytes() == some.to_bytes()
