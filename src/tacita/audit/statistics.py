"""Tables of any file to try: every statistic, as it is and with weights, sampling and clamps that are bought."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacita.audit.families import Files
from tacita.audit.records import record_files
from tacita.data.schema import Schema
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.plan import Statistic
from tacita.plan import Plan
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, ReplaceOne

_ADDED, _REPLACED = AddRemoveOne("person"), ReplaceOne("person")


def _category(*levels: str) -> dict[str, Any]:
    last = levels[-1]
    return {"role": "confidential", "type": "categorical", "levels": list(levels), "outside": last, "missing": last}


INCOMES = Schema.from_dict(
    {
        "dataset": {"identity": "incomes", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "sex": _category("F", "M"),
            "region": _category("N", "E", "S", "?"),
            "age": {"role": "confidential", "type": "integer", "lower": 17, "upper": 90, "missing": 17},
            "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10**6, "scale": 2, "missing": 0},
            "worth": {"role": "confidential", "type": "integer", "lower": -(10**5), "upper": 10**7, "missing": 0},
            "w": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 5000, "scale": 1, "missing": 0},
            "hours": {"role": "confidential", "type": "integer", "lower": 5, "upper": 80, "missing": "own state"},
        },
        "hierarchy": {
            "geography": {
                "column": "region",
                "levels": ["part", "country"],
                "part": {"N": "mainland", "E": "mainland", "S": "islands", "?": "islands"},
            },
        },
    }
)
_VILLAGES = Schema.from_dict(
    {
        "dataset": {"identity": "villages", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "village": {**_category("a", "b", "c", "d"), "role": "design"},
            "h": _category("u", "v"),
            "y": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**6, "missing": 0},
            "t": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 99, "scale": 2, "missing": 0},
            "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 5000, "scale": 3},
        },
        "design": {"weight": "w", "psu": ["village"], "one_psu": "certainty"},
    }
)
STATISTIC_SETTINGS: dict[str, dict[str, Any]] = {
    "count": {"by": ["sex", "region"]},
    "count, everybody": {},
    "count, where": {"where": {"sex": ["F"]}},
    "count, delta": {"by": ["region"], "delta": "1e-9"},
    "count, rho": {"by": ["region"], "epsilon": None, "rho": "0.1"},
    "mean, rho": {"statistic": "mean", "of": "age", "by": ["sex"], "epsilon": None, "rho": "0.1"},
    "count, weights": {"by": ["region"], "weights": "w", "epsilon": "40"},
    "count, levels": {"by": ["sex", "region"], "levels": ["part", "country"]},
    "count, levels, delta": {"by": ["region"], "levels": ["country"], "delta": "1e-9", "division": "best"},
    "sum, levels": {"statistic": "sum", "of": "age", "by": ["region"], "levels": ["part", "country"]},
    "mean, levels": {"statistic": "mean", "of": "age", "by": ["region"], "levels": ["part", "country"]},
    "share, levels": {"statistic": "share", "of": "sex", "by": ["region"], "levels": ["part"], "delta": "1e-9"},
    "ratio, levels": {
        "statistic": "ratio",
        "of": ["pay", "age"],
        "by": ["region"],
        "levels": ["country"],
        "epsilon": "90",
    },
    "sum": {"statistic": "sum", "of": "age", "by": ["region"]},
    "sum, everybody": {"statistic": "sum", "of": "age"},
    "sum, bought": {"statistic": "sum", "of": "worth", "by": ["sex"], "epsilon": "40"},
    "sum, bought, delta": {"statistic": "sum", "of": "pay", "by": ["sex"], "epsilon": "40", "delta": "1e-9"},
    "sum, weights": {"statistic": "sum", "of": "pay", "weights": "w", "epsilon": "40"},
    "mean": {"statistic": "mean", "of": "age", "by": ["sex"]},
    "mean, where": {"statistic": "mean", "of": "age", "where": {"region": ["N", "E"]}},
    "mean, missing": {"statistic": "mean", "of": "hours", "by": ["sex"]},
    "sum, missing": {"statistic": "sum", "of": "hours"},
    "median, missing": {"statistic": "median", "of": "hours"},
    "mean, clamp": {"statistic": "mean", "of": "pay", "by": ["sex"], "clamp": [0, 500]},
    "mean, declared": {"statistic": "mean", "of": "worth", "by": ["sex"], "clamp": "declared"},
    "mean, bought": {"statistic": "mean", "of": "pay", "by": ["sex"], "epsilon": "40"},
    "mean, delta": {"statistic": "mean", "of": "age", "by": ["sex"], "delta": "1e-9"},
    "mean, weights": {"statistic": "mean", "of": "pay", "by": ["sex"], "weights": "w", "epsilon": "60"},
    "variance": {"statistic": "variance", "of": "age", "by": ["sex"]},
    "variance, bought": {"statistic": "variance", "of": "worth", "epsilon": "40"},
    "variance, delta": {"statistic": "variance", "of": "age", "delta": "1e-9"},
    "share": {"statistic": "share", "of": "region", "by": ["sex"]},
    "ratio": {"statistic": "ratio", "of": ["pay", "age"], "by": ["sex"], "epsilon": "60"},
    "median": {"statistic": "median", "of": "pay", "by": ["sex"]},
    "median, few values": {"statistic": "median", "of": "age", "by": ["region"], "where": {"sex": ["M"]}},
    "median, delta": {"statistic": "median", "of": "worth", "delta": "1e-9"},
    "quantiles": {"statistic": "quantiles", "of": "worth", "quantiles": ["0.1", "0.95"], "by": ["sex"]},
    "count, sampling": {"by": ["region"], "weights": "w", "sampling": True, "epsilon": "60"},
    "sum, sampling, delta": {
        "statistic": "sum",
        "of": "pay",
        "by": ["sex"],
        "weights": "w",
        "sampling": True,
        "epsilon": "60",
        "delta": "1e-9",
    },
    "mean, sampling": {
        "statistic": "mean",
        "of": "worth",
        "by": ["sex"],
        "weights": "w",
        "sampling": True,
        "epsilon": "80",
    },
    "median, sampling": {"statistic": "median", "of": "age", "weights": "w", "sampling": True, "epsilon": "80"},
    "quantiles, weights": {"statistic": "quantiles", "of": "age", "weights": "w", "epsilon": "60"},
}


def statistic_claims() -> Iterator[tuple[str, Plan[Any], Files, bool]]:
    """Setting, plan, files, and whether what is asked later follows from what was released before."""
    for setting, given in STATISTIC_SETTINGS.items():
        for neighbours in (_ADDED, _REPLACED):
            plan = Table(**{"epsilon": "2", "neighbours": neighbours, **given})
            label = f"{setting}, {'added' if neighbours is _ADDED else 'replaced'}"
            # Clamps are read from what was released before, and draws of values reject words.
            adaptive = plan.statistic in ("median", "quantiles") or "bought" in setting or (plan.epsilon or 0) >= 40
            yield label, plan, record_files(INCOMES, neighbours), adaptive
    visits = Table("mean", "1/3", of="age", by=["sex"], neighbours=_ADDED)
    several = record_files(INCOMES, _ADDED, sizes=(1, 2, 9), rows=7)
    yield "three rows, mean", Bounded(visits, 3), several, True
    clustered: dict[Statistic, tuple[str, ...]] = {"count": (), "sum": ("y",), "mean": ("y",), "ratio": ("y", "t")}
    for statistic, of in clustered.items():
        for neighbours in (_ADDED, _REPLACED):
            plan = Table(statistic, "80", of=of, by=["h"], weights="w", sampling=True, neighbours=neighbours)
            label = f"{statistic}, sampling units, {'added' if neighbours is _ADDED else 'replaced'}"
            yield label, plan, record_files(_VILLAGES, neighbours), True
