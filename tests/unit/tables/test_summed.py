"""Levels that are sums of cells: they agree, and their margins hold."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.magnitude.sums import SmoothSums
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.tables import publish

PLACES = [f"{state}{county}{tract}" for state in "AB" for county in "123" for tract in "1234"]
TREE = {"column": "place", "levels": ["county", "state", "nation"], "prefix": {"county": 2, "state": 1}}
LEVELS = ["county", "state", "nation"]


def schema(role: str = "public") -> Schema:
    variables: dict[str, Any] = {
        "firm": {"role": "id", "entity": "firm"},
        "place": {"role": role, "type": "categorical", "levels": PLACES},
        "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 1_000_000, "missing": 0},
    }
    described = {"dataset": {"identity": "firms", "unit": "firm"}, "variables": variables, "hierarchy": {"land": TREE}}
    return Schema.from_dict(described)


def firms(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    pay = np.round(np.exp(random.normal(4, 1.3, count))).astype(int)
    return pa.table({"firm": np.arange(count), "place": random.choice(PLACES, count), "pay": pay})


def test_margins_of_every_level_hold_the_truth_as_often_as_they_say() -> None:
    file, plan = firms(600, 1), SmoothSums("0.1", "2", of="pay", by=["place"], unit="firm")
    data, rows = Confidential.from_frame(file, schema()), file.to_pandas()
    truth: dict[str, float] = {}
    for size in (3, 2, 1):
        truth |= rows.groupby(rows.place.str[:size]).pay.sum().to_dict()
    truth["Total"] = float(rows.pay.sum())
    held: dict[str, list[bool]] = {}
    for draw in range(150):
        measured = plan.run(data, SeededEntropy(draw))
        table = publish(measured, schema(), levels=LEVELS, confidence="0.9").to_pandas()
        assert table.groupby("level").value.sum().nunique() == 1
        assert (table.value >= 0).all()
        for row in table.itertuples():
            held.setdefault(row.level, []).append(abs(row.value - truth[row.place]) <= row.margin_of_error)
    for level, ones in held.items():
        assert np.mean(ones) > 0.88, level
    assert np.mean(held["place"]) < 0.99


def test_sums_agree_where_much_noise_is_negative() -> None:
    file = firms(60, 2).slice(0, 30)
    plan = SmoothSums("0.1", "0.5", of="pay", by=["place"], unit="firm")
    data = Confidential.from_frame(file, schema())
    for draw in range(20):
        table = publish(plan.run(data, SeededEntropy(draw)), schema(), levels=LEVELS).to_pandas()
        nation, tracts = (table[table.level == one].value for one in ("nation", "place"))
        assert nation.iloc[0] == tracts.sum()
        assert (tracts >= 0).all()


def test_a_count_of_records_with_levels_of_its_own_measures_them() -> None:
    """`tc.Table` shares ε among levels itself; publishing it with the same levels changes nothing."""
    plan = Table("count", "1", by=["place"], levels=LEVELS)
    data = Confidential.from_frame(firms(300, 3), schema("confidential"))
    measured = plan.run(data, SeededEntropy(4))
    assert publish(measured, schema("confidential")) == publish(measured, schema("confidential"), levels=LEVELS)


@pytest.mark.parametrize("more", [{"totals": ["place"]}, {"rank": True}])
def test_levels_and_totals_are_not_asked_together(more: dict[str, Any]) -> None:
    plan = SmoothSums("0.1", "2", of="pay", by=["place"], unit="firm")
    measured = plan.run(Confidential.from_frame(firms(50, 4), schema()), SeededEntropy(1))
    with pytest.raises(UsageError, match="leave totals and rank out"):
        publish(measured, schema(), levels=LEVELS, **more)
