"""Tables that agree: common sums are the same, margins hold and never widen, and what cannot agree is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne
from tacita.tables.together import publish_all

SIZES = {"place": 12, "sex": 2, "age": 5}
SCHEMA = tc.Schema.from_dict(
    {
        "dataset": {"identity": "t", "unit": "person"},
        "variables": {
            name: {"role": "confidential", "type": "categorical", "levels": [str(at) for at in range(size)]}
            for name, size in SIZES.items()
        },
    }
)
BY = (("place",), ("place", "sex"), ("sex", "age"))
AGREE = {"confidence": "0.95", "agree": True}
EXACT = AGREE | {"integers": False, "nonnegative": False}


def _frame(rows: int = 3_000) -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame({name: random.integers(0, size, rows).astype(str) for name, size in SIZES.items()})


def _published(seed: int, settings: dict[str, Any], **more: Any) -> list[pd.DataFrame]:
    plans = [tc.Table("count", rho="0.01", by=by, neighbours=AddRemoveOne("person"), **more) for by in BY]
    results = [plan.rehearse(_frame(), SCHEMA, seed=10 * seed + at) for at, plan in enumerate(plans)]
    return [one.to_pandas() for one in publish_all(results, SCHEMA, [settings] * len(BY))]


def test_common_sums_are_the_same() -> None:
    place, both, ages = _published(1, EXACT)
    np.testing.assert_allclose(both.groupby("place", sort=False)["value"].sum(), place["value"], rtol=1e-6)
    np.testing.assert_allclose(both.groupby("sex")["value"].sum(), ages.groupby("sex")["value"].sum(), rtol=1e-6)


def test_whole_tables_have_one_total_and_no_negative_cell() -> None:
    tables = _published(2, AGREE)
    assert len({int(one["value"].sum()) for one in tables}) == 1
    assert all((one["value"] >= 0).all() for one in tables)


def test_margins_never_widen_and_errors_shrink_as_they_say() -> None:
    frame = _frame()
    alone, joined, margins = [], [], []
    for seed in range(30):
        for by, one, two in zip(BY, _published(seed, AGREE | {"agree": False}), _published(seed, EXACT), strict=True):
            truth = frame.groupby(list(by)).size()
            index = [tuple(row) if len(by) > 1 else row[0] for row in one[list(by)].to_numpy().tolist()]
            true = truth.reindex(index).fillna(0).to_numpy()
            assert (two["margin_of_error"] <= one["margin_of_error"] + 1).all()
            alone.append(one["value"].to_numpy() - true)
            joined.append(two["value"].to_numpy() - true)
            margins.append(two["margin_of_error"].to_numpy())
    covered = np.mean(np.abs(np.concatenate(joined)) <= np.concatenate(margins))
    assert 0.92 < covered <= 1.0
    assert np.std(np.concatenate(joined)) < 0.93 * np.std(np.concatenate(alone))


def test_only_tables_of_the_same_records_agree() -> None:
    results = [
        tc.Table("count", "1", by=["place"], where=where).rehearse(_frame(), SCHEMA, seed=at)
        for at, where in enumerate(({}, {"sex": ["0"]}))
    ]
    totals = [one.to_pandas()["value"].sum() for one in publish_all(results, SCHEMA, [EXACT, EXACT])]
    assert totals[1] < 0.7 * totals[0]


@pytest.mark.parametrize(
    ("plan", "settings", "rule"),
    [
        (tc.Table("share", "1", of="sex"), {}, "counts of records"),
        (tc.Table("count", "1", by=["place", "sex"]), {"totals": ("sex",)}, "a table by fewer columns"),
    ],
)
def test_what_cannot_agree_is_refused(plan: tc.Table, settings: dict[str, Any], rule: str) -> None:
    with pytest.raises(UsageError, match=rule):
        publish_all([plan.rehearse(_frame(), SCHEMA, seed=1)], SCHEMA, [AGREE | settings])
