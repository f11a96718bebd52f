"""Cells that add up to public totals: exactly, at no cost, with margins that are never wider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne

SCHEMA = tc.Schema.from_dict(
    {
        "dataset": {"identity": "people", "unit": "person"},
        "variables": {
            "region": {"role": "confidential", "type": "categorical", "levels": ["N", "S"]},
            "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M", "X"]},
            "gain": {"role": "confidential", "type": "integer", "lower": -50, "upper": 100},
            "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 9},
        },
    }
)
RANDOM = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "region": RANDOM.choice(["N", "S"], 4000, p=[0.7, 0.3]),
        "sex": RANDOM.choice(["F", "M", "X"], 4000, p=[0.5, 0.498, 0.002]),
        "gain": RANDOM.integers(-50, 101, 4000),
        "w": RANDOM.choice([1.25, 3.5, 8.0], 4000),
    }
)
TABLES: dict[str, tuple[dict[str, Any], Any]] = {
    "count": ({}, lambda g: len(g)),
    "count, weights": ({"weights": "w"}, lambda g: g["w"].sum()),
    "sum": ({"statistic": "sum", "of": "gain"}, lambda g: g["gain"].sum()),
}


def _table(seed: int = 1, totals: Any = None, nonnegative: bool = True, **settings: Any) -> pd.DataFrame:
    plan = tc.Table(epsilon="1/4", by=["region", "sex"], neighbours=AddRemoveOne("person"), **settings)
    result = plan.rehearse(FRAME, SCHEMA, seed=seed)
    return tc.publish(result, SCHEMA, public_totals=totals, nonnegative=nonnegative).to_pandas()


@pytest.mark.parametrize("name", TABLES)
def test_cells_add_up_to_public_totals_and_margins_hold_and_are_no_wider(name: str) -> None:
    settings, truth = TABLES[name]
    known = {level: float(truth(own)) for level, own in FRAME.groupby("region")}
    exact = FRAME.groupby(["region", "sex"])[list(FRAME)].apply(truth).to_numpy(dtype=float)
    held, errors = [], []
    for seed in range(12):
        before = _table(seed, **settings)
        after = _table(seed, {"region": known}, **settings)
        sums = after.groupby("region")["value"].sum()
        assert sums.to_dict() == pytest.approx(known, abs=1e-6)
        narrow, wide = (_table(seed, one, nonnegative=False, **settings) for one in ({"region": known}, None))
        large = before["sex"] != "X"  # the others are so few that an interval ends at 0
        assert (narrow["margin_of_error"] <= 1.02 * wide["margin_of_error"] + 1)[large].all()  # rounding of either
        off = np.abs(after["value"] - exact)
        held += (off <= after["margin_of_error"]).tolist()
        errors.append((np.mean(off), np.mean(np.abs(before["value"] - exact))))
        if name != "sum":
            assert (after["value"] >= 0).all()
    assert np.mean(held) >= 0.85
    assert np.mean([one for one, _ in errors]) <= np.mean([two for _, two in errors])


@pytest.mark.parametrize(
    ("totals", "settings", "words"),
    [
        ({"region": {"N": 1}}, {}, "a total for each of its levels"),
        ({"region": {"N": 1, "S": 2, "E": 3}}, {}, "a total for each of its levels"),
        ({"region": {"N": 1.5, "S": 2}}, {}, "must be whole"),
        ({"region": {"N": -1, "S": 2}}, {"weights": "w"}, "0 or above"),
        ({"age": {"N": 1, "S": 2}}, {}, "one column of by"),
        ({"region": {"N": 1, "S": 2}, "sex": {"F": 1, "M": 1, "X": 1}}, {}, "one column of by"),
        ({"region": {"N": 1, "S": 2}}, {"statistic": "mean", "of": "gain"}, "counts and sums"),
    ],
)
def test_what_cannot_add_up_is_refused(totals: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _table(1, totals, **settings)
