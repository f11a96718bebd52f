"""Growth and flows to try, on small files of persons with a row for each year, or with both years in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tacita.audit.families import Family, Files, Random, picked
from tacita.audit.records import record_files
from tacita.data.schema import Schema
from tacita.lazy import later
from tacita.mechanisms.change import Change
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, ReplaceOne

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")

_ADDED, _REPLACED = AddRemoveOne("person"), ReplaceOne("person")
_YEARS = (2022, 2023, 2024)
_REGIONS = ("N", "E", "S")
_PAY = {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10**6, "scale": 1, "missing": 0}
_PERSON = {
    "person": {"role": "id", "entity": "person"},
    "region": {"role": "confidential", "type": "categorical", "levels": list(_REGIONS)},
}
_LONG = Schema.from_dict(
    {
        "dataset": {"identity": "careers", "unit": "person"},
        "variables": {
            **_PERSON,
            "year": {"role": "confidential", "type": "integer", "lower": 2000, "upper": 2030},
            "pay": _PAY,
            "worth": {"role": "confidential", "type": "integer", "lower": -(10**5), "upper": 10**7, "missing": 0},
            "days": {"role": "confidential", "type": "integer", "lower": 0, "upper": 366, "missing": 0},
        },
    }
)
_WIDE = Schema.from_dict(
    {
        "dataset": {"identity": "two years", "unit": "person"},
        "variables": {**_PERSON, "pay2023": _PAY, "pay2024": _PAY},
    }
)
_BETWEEN: dict[str, Any] = {"between": {"year": [2023, 2024]}}
CHANGE_SETTINGS: dict[str, dict[str, Any]] = {
    "growth of persons": {"by": ["region"], **_BETWEEN},
    "growth of persons, all": {**_BETWEEN, "delta": "1e-9"},
    "growth of days": {"of": "days", "by": ["region"], **_BETWEEN},
    "growth of days, all": {"of": "days", "where": {"region": ["N", "E"]}, **_BETWEEN},
    "growth of pay": {"of": "pay", "by": ["region"], "epsilon": "60", **_BETWEEN},
    "growth of worth, delta": {"of": "worth", "by": ["region"], "epsilon": "60", "delta": "1e-9", **_BETWEEN},
    "growth in one row": {"of": ["pay2023", "pay2024"], "by": ["region"], "epsilon": "60"},
    "flows of persons": {"statistic": "flows", "by": ["region"], **_BETWEEN},
    "flows of days, rho": {
        "statistic": "flows",
        "of": "days",
        "by": ["region"],
        "epsilon": None,
        "rho": "0.2",
        **_BETWEEN,
    },
    "flows of pay": {"statistic": "flows", "of": "pay", "by": ["region"], "epsilon": "60", **_BETWEEN},
    "flows in one row": {"statistic": "flows", "of": ["pay2023", "pay2024"], "epsilon": "60"},
}


def change_claims() -> Iterator[tuple[str, Plan[Any], Files, bool]]:
    """Setting, plan, files, and whether what is asked later follows from what was released before."""
    for setting, given in CHANGE_SETTINGS.items():
        for neighbours in (_ADDED, _REPLACED):
            plan = Change(**{"epsilon": "2", "neighbours": neighbours, **given})
            files = _careers(neighbours is _REPLACED) if plan.between else record_files(_WIDE, neighbours)
            adaptive = (plan.epsilon or 0) >= 60
            yield f"{setting}, {'added' if neighbours is _ADDED else 'replaced'}", plan, files, adaptive


def _careers(replaced: bool) -> Files:
    """Families in which one person's rows of all years come, go, or are others."""

    def family(random: Random, count: int) -> Family:
        people = [_career(random, at) for at in range(int(picked(random, (1, 2, 7, 25))))]
        place = int(random.integers(len(people)))
        near = []
        for at in range(count):
            others = [*people[:place], *people[place + 1 :]]
            if replaced or at % 4 != 3:
                others = others if replaced else list(people)
                others.insert(place, _career(random, place if replaced else len(people), strange=True))
            near.append(_frame(others))
        return Family(_frame(people), tuple(near), mutual=replaced)

    return Files(_LONG, family)


def _career(random: Random, person: int, *, strange: bool = False) -> list[dict[str, Any]]:
    """A row for some of the years; a strange person is poor in one and at the bound in the next, here and there."""
    pay, home = float(np.round(np.exp(random.normal(7, 1)), 1)), picked(random, _REGIONS)
    told: list[dict[str, Any]] = []
    for year in _YEARS:
        if random.random() < 0.2 and told:
            continue
        pay = round(pay * float(np.exp(random.normal(0, 0.2))), 1)
        row = {"person": person, "region": home, "year": year, "pay": pay, "worth": round(pay * 3), "days": 200}
        if strange or random.random() < 0.1:
            row["region"] = picked(random, _REGIONS)
        if strange:
            row |= {
                "pay": float(picked(random, (0.0, 0.1, pay, 10.0**6))),
                "worth": int(picked(random, (-(10**5), 0, 1, 10**7))),
                "days": int(picked(random, (0, 1, 366))),
            }
        told.append(row)
    return told


def _frame(people: list[list[dict[str, Any]]]) -> pd.DataFrame:
    rows = [row for person in people for row in person]
    return pd.DataFrame(rows, columns=["person", "region", "year", "pay", "worth", "days"])
