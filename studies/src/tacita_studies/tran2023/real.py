"""Real public files, used as if they were confidential: loans to small firms, incomes of persons, wages of tax units.

Bounds and levels are declared, not read from the rows. The reference is a bootstrap sample of the file itself: what a
fresh draw of the same records would score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.evaluation import compare
from tacita.synthesis.quantile import QuantileSynthesis
from tacita_studies.harness.experiment import timed
from tacita_studies.harness.real import NAICS, TABLE, RealFile, each_file, sector_of
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, in_words
from tacita_studies.kng.layouts import ONE_RECORD
from tacita_studies.tran2023.scores import TABLE_1

SECONDS = "seconds"


@dataclass(frozen=True)
class HeavyTailed:
    """The public schema of a file, and how it is synthesized."""

    identity: str
    variables: Mapping[str, Mapping[str, Any]]
    order: tuple[str, ...]
    groups: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        dataset = {"identity": self.identity, "unit": "record"}
        return Schema.from_dict({"dataset": dataset, "variables": dict(self.variables)})

    def plan(self, epsilon: str) -> QuantileSynthesis:
        return QuantileSynthesis(self.order, epsilon, groups=self.groups, neighbours=ONE_RECORD, **self.options)


def _loans(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["NAICSCode", "JobsRetained", "LoanAmount"], dtype={"NAICSCode": str})
    # An empty cell means that the firm did not say; it counts as no jobs reported.
    return pd.DataFrame(
        {
            "sector": sector_of(frame["NAICSCode"]),
            "loan": frame["LoanAmount"],
            "jobs": frame["JobsRetained"].fillna(0).astype(np.int64),
        }
    )


def _incomes(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["SEX", "AGEP", "PINCP"], dtype={"SEX": str, "PINCP": str})
    adult = frame[frame["AGEP"] >= 15]  # income is asked from 15 on
    return pd.DataFrame(
        {"sex": adult["SEX"], "age": adult["AGEP"], "income": pd.to_numeric(adult["PINCP"])}
    ).reset_index(drop=True)


def _wages(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["MARS", "age_head", "e00200"], dtype={"MARS": str})
    return pd.DataFrame({"status": frame["MARS"], "age": frame["age_head"], "wage": frame["e00200"]})


def _number(kind: str, lower: float, upper: float) -> dict[str, Any]:
    return {"type": kind, "role": "confidential", "lower": lower, "upper": upper}


def _levels(*levels: str) -> dict[str, Any]:
    return {"type": "categorical", "role": "confidential", "levels": list(levels)}


_LOANS = HeavyTailed(
    "ppp_small_states",
    {"sector": _levels(*NAICS), "loan": _number("numeric", 0, 150_000), "jobs": _number("integer", 0, 500)},
    ("loan", "jobs"),
    ("sector",),
    {"scales": {"loan": "log", "jobs": "log"}, "spikes": {"jobs": [0, 1]}},
)
_INCOMES = HeavyTailed(
    "nist_diverse_communities",
    {
        "sex": _levels("1", "2"),
        "age": _number("integer", 15, 99),
        "income": _number("integer", -20_000, 5_000_000),
    },
    ("age", "income"),
    ("sex",),
    {"scales": {"income": "arcsinh"}, "spikes": {"income": [0]}},
)
_WAGES = HeavyTailed(
    "taxcalc_cps",
    {
        "status": _levels("1", "2", "3", "4", "5"),
        "age": _number("integer", 0, 85),
        "wage": _number("numeric", 0, 5_000_000),
    },
    ("age", "wage"),
    ("status",),
    {"scales": {"wage": "log"}, "spikes": {"wage": [0]}},
)
_PLACES = {"national": "national excerpt", "ma": "Massachusetts", "tx": "Texas"}
FILES = (
    RealFile(
        "Loans and jobs of small firms by NAICS sector",
        "ppp_small_states/ppp_under150k_12states.csv.gz",
        _loans,
        _LOANS,
    ),
    *(
        RealFile(f"Income by age and sex, {where}", f"nist_diverse_communities/{code}2019.csv.gz", _incomes, _INCOMES)
        for code, where in _PLACES.items()
    ),
    RealFile("Wages by age and filing status", "taxcalc_cps/cps_core.csv.gz", _wages, _WAGES),
)


def real_rows(data: Path, seed: int, say: Progress, files: Sequence[RealFile[HeavyTailed]] = FILES) -> Iterator[Row]:
    """General utility of bisection at ε = 1 on every file that is there."""
    return each_file(files, data, say, partial(_rows, data=data, seed=seed))


def _rows(one: RealFile[HeavyTailed], data: Path, seed: int) -> Iterator[Row]:
    frame, plan, schema = one.read(data), one.about.plan("1"), one.about.schema
    made, seconds = timed(lambda: plan.rehearse(frame, schema, seed=seed).sample(m=1, seed=seed))
    again = frame.sample(len(frame), replace=True, random_state=seed)
    ours, ideal = compare(frame, made, schema=schema), compare(frame, again, schema=schema)
    said, where = in_words(plan.guarantee), {"mode": "proved", "epsilon": "1"}
    row = partial(Row, TABLE, f"{one.name} ({len(frame):,})", guarantee=said, where=where)
    for metric, measure in TABLE_1.items():
        yield row(metric, measure(ours).value, reference=measure(ideal).value)
    yield row(SECONDS, seconds)
