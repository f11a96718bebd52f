"""One valid specification, schema and file for every product: what the fuzzers start from.

The files hold marks that must never show up in a message: `MARK` in every id, `MARKED_NUMBER` among the numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from support import pairwise, panels, pseudo, quantile
from support import survey as surveys
from tacita.data.schema import Schema

MARK, MARKED_NUMBER = "ZZSECRETZZ", 417.25
MARKS = (MARK, "417.25", "41725")
Content = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Start:
    """A specification and a schema as TOML would give them, and rows that fit."""

    name: str
    spec: Content
    schema: Content
    rows: Callable[[], pd.DataFrame]


def _numbered(frame: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """With a marked number and, where the file has an id, marked ids."""
    marked = frame.copy()
    marked.loc[3, column] = MARKED_NUMBER
    if name in marked:
        marked[name] = [f"{MARK}{at}" for at in marked[name]]
    return marked


def jobs() -> pd.DataFrame:
    numbers = np.arange(60)
    return pd.DataFrame(
        {
            "workplace_id": [f"{MARK}{job % 12}" for job in numbers],
            "worker_id": [f"{MARK}w{job}" for job in numbers],
            "place": np.where(numbers % 12 % 3 > 0, "north", "south"),
            "sex": np.where(numbers % 2 > 0, "F", "M"),
            "age": numbers,
            "pay": np.where(numbers == 3, MARKED_NUMBER, 10.0 * numbers),
        }
    )


def sizes() -> pd.DataFrame:
    numbers = np.arange(30)
    return pd.DataFrame(
        {
            "workplace_id": [f"{MARK}{at}" for at in numbers],
            "place": np.where(numbers % 2 > 0, "north", "south"),
            "n": numbers * 7,
        }
    )


JOBS: Content = {
    "dataset": {"identity": "test-jobs", "unit": "establishment", "lineage": ["older-jobs"], "source": "a register"},
    "variables": {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "worker_id": {"role": "id", "entity": "worker"},
        "place": {
            "type": "categorical",
            "role": "workplace",
            "levels": ["north", "south"],
            "labels": {"north": "The North"},
            "label": "Place",
        },
        "sex": {
            "type": "categorical",
            "role": "worker",
            "levels": ["F", "M", "U"],
            "outside": "U",
            "missing": "U",
            "missing_codes": ["9"],
        },
        "age": {"type": "integer", "role": "worker", "lower": 0, "upper": 99, "missing": 0, "missing_codes": [999]},
        "pay": {"type": "numeric", "role": "worker", "lower": 0.0, "upper": 1000.0, "scale": 2, "outside": "error"},
    },
}
SIZES: Content = {
    "dataset": {"identity": "test-sizes", "unit": "establishment"},
    "variables": {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "place": {"type": "categorical", "role": "workplace", "levels": ["north", "south"]},
        "n": {"type": "integer", "role": "size", "lower": 0, "upper": 5000},
    },
}


def _with_id(entity: str, schema: Schema) -> Content:
    """A sample's schema as a person would write it, with an id of the unit."""

    def stated(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stated(one) for key, one in value.items() if one is not None and one != {}}
        return [stated(one) for one in value] if isinstance(value, list | tuple) else value

    content: Content = stated(schema.to_dict())
    content["variables"] = {entity: {"role": "id", "entity": entity}} | {
        name: one for name, one in content["variables"].items() if one.get("role") != "id"
    }
    return content


FIRMS = _with_id("firm", quantile.SCHEMA)
VOTERS = _with_id("person", pairwise.schema())
DOCTORS = _with_id("person", surveys.schema())
SURVEY = _with_id("person", pseudo.SCHEMA)
PANEL = _with_id("firm", panels.wide_schema())


def _persons(frame: pd.DataFrame) -> pd.DataFrame:
    return _numbered(frame.assign(person=[str(at) for at in range(len(frame))]), "pay", "person")


def firms() -> pd.DataFrame:
    return _numbered(quantile.firms(200), "size", "firm")


def voters() -> pd.DataFrame:
    return _persons(pairwise.voters(200))


def doctors() -> pd.DataFrame:
    return _persons(surveys.people(60))


def survey() -> pd.DataFrame:
    return _persons(pseudo.survey(60))


def panel() -> pd.DataFrame:
    return _numbered(panels.wide(200), "pay2003", "firm")


def _release(cap: Content, **product: Any) -> Content:
    return {
        "title": "A release",
        "schema": "x.schema.toml",
        "data": "x.parquet",
        "ledger": "x.ledger",
        "publisher": "An office",
        "cap": cap,
        "public_input": [{"what": "a list", "source": "a register"}],
        **product,
    }


_STRONG = {"neighbours": "strong", "alpha": "0.1", "epsilon": "2"}


def _table(mechanism: str, cap: Content | None = None, **more: Any) -> Content:
    table = {"name": "places", "title": "Jobs by place", "by": ["place"], "mechanism": mechanism, "epsilon": "1"} | more
    return _release(cap or _STRONG, excel=True, table=[table])


def _files(mechanism: str, unit: str, neighbours: str = "replace", **more: Any) -> Content:
    cap = {"neighbours": neighbours, "unit": unit, "epsilon": "9", "delta": "1e-6"}
    files = {"name": "files", "title": "Files", "mechanism": mechanism, "epsilon": "1"} | more
    return _release(cap, microdata=[files])


_WORKER = {"neighbours": "add-remove", "unit": "worker", "epsilon": "2"}
_PANEL: Content = {
    "keep": ["county", "industry"],
    "years": [2000, 2006],
    "columns": {"jobs": "jobs{year}", "pay": "pay{year}"},
    "first": "born",
    "last": "gone",
    "static": ["kind"],
    "change": {"switched": ["kind", ["switched"]]},
    "coarser": {"state": ["county", 2]},
    "ratios": {"pay": ["jobs", 5, 80]},
    "sets": 1,
}
_QUANTILE: Content = {
    "columns": ["size", "jobs", "pay"],
    "groups": ["sector"],
    "sets": 2,
    "spikes": {"jobs": [0]},
    "scales": {"size": "log"},
    "shares": {"size": "1", "jobs": "1", "pay": "5"},
    "predictors": {"pay": ["size"]},
    "tails": {"pay": "pareto"},
}
_OUTCOME: Content = {"columns": ["pay"], "weight": "w"}

STARTS: tuple[Start, ...] = tuple(
    Start(f"{at}-{(spec.get('table') or spec['microdata'])[0]['mechanism']}", spec, schema, rows)
    for at, (spec, schema, rows) in enumerate(
        [
            (_table("SmoothStaircase", margin_share="1/5", totals=["place"]), JOBS, jobs),
            (_table("SmoothVector", worker=["sex"], confidence="0.9"), JOBS, jobs),
            (_table("SmoothLaplace", _STRONG | {"delta": "1e-3"}, delta="1e-4", where={"sex": ["F"]}), JOBS, jobs),
            (_table("SmoothGamma", calibration="proved", rank=True, integers=False, nonnegative=False), JOBS, jobs),
            (_table("SmoothStudent"), SIZES, sizes),
            (_table("LogLaplace"), SIZES, sizes),
            (_table("EdgeLaplace", _WORKER | {"per_year": "1", "until": datetime.now(UTC).year}), JOBS, jobs),
            (_table("TruncatedLaplace", _WORKER | {"unit": "establishment"}, theta=50), JOBS, jobs),
            (_files("QuantileSynthesis", "firm", "add-remove", **_QUANTILE), FIRMS, firms),
            (_files("PairwiseSynthesis", "person", columns=["registered", "voted", "age"],
                    cuts={"age": [18, 25, 45, 65]}, delta="1e-9", sets=2), VOTERS, voters),
            (_files("FileSynthesis", "person", "add-remove", columns=["registered", "voted", "age"], delta="1e-9",
                    check={"share": "0.1", "limits": {"mean": "5%", "rank": 0.2}, "fail": "withhold"}), VOTERS, voters),
            (_files("StepsSynthesis", "person", columns=["registered", "voted", "sex"]), VOTERS, voters),
            (_files("HistogramSynthesis", "person", columns=["registered", "voted"]), VOTERS, voters),
            (_files("IndependentSynthesis", "person", columns=["registered", "voted"]), VOTERS, voters),
            (_files("DirichletSynthesis", "person", columns=["registered", "voted"]), VOTERS, voters),
            (_files("SurveySynthesis", "person", by=["field", "gender"], sets=2, tables=[["field", "gender"]],
                    **_OUTCOME), DOCTORS, doctors),
            (_files("CensoredPosterior", "person", by=["region", "sex"], sets=1, **_OUTCOME), SURVEY, survey),
            (_files("PseudoPosterior", "person", by=["region", "sex"], draws=200, **_OUTCOME), SURVEY, survey),
            (_files("PanelSynthesis", "firm", **_PANEL), PANEL, panel),
        ]
    )
)  # fmt: skip
