"""Real public files, used as if they were confidential: loans to small firms, incomes of persons, wages of tax units.

Bounds and levels are declared, not read from the rows. The reference is a bootstrap sample of the file itself: what a
fresh draw of the same records would score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tacita.evaluation import compare
from tacita.schema import Schema
from tacita.synthesis.quantile import QuantileSynthesis
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, in_words
from tacita_studies.tran2023.scores import TABLE_1

TABLE = "Real data"
SECONDS = "seconds"

# Two-digit NAICS sectors; "99" is unclassified, and a firm without a code joins it.
_NAICS = ("11", "21", "22", "23", "31", "32", "33", "42", "44", "45", "48", "49", "51", "52", "53", "54", "55", "56",
          "61", "62", "71", "72", "81", "92", "99")  # fmt: skip


@dataclass(frozen=True)
class RealFile:
    """A file, its public schema, and how it is synthesized."""

    name: str
    path: str
    read: Callable[[Path], pd.DataFrame]
    variables: Mapping[str, Mapping[str, Any]]
    order: tuple[str, ...]
    groups: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return Schema.from_dict(
            {"dataset": {"identity": self.path.split("/")[0], "unit": "record"}, "variables": dict(self.variables)}
        )

    def plan(self, epsilon: str) -> QuantileSynthesis:
        return QuantileSynthesis(order=self.order, epsilon=epsilon, groups=self.groups, **self.options)


def _loans(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["NAICSCode", "JobsRetained", "LoanAmount"], dtype={"NAICSCode": str})
    sector = frame["NAICSCode"].str[:2]
    # An empty cell means that the firm did not say; it counts as no jobs reported.
    return pd.DataFrame(
        {
            "sector": sector.where(sector.isin(_NAICS), "99"),
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


_INCOME = {
    "sex": _levels("1", "2"),
    "age": _number("integer", 15, 99),
    "income": _number("integer", -20_000, 5_000_000),
}
_INCOME_OPTIONS = {"scales": {"income": "arcsinh"}, "spikes": {"income": [0]}}

FILES = (
    RealFile(
        "Loans and jobs of small firms by NAICS sector",
        "ppp_small_states/ppp_under150k_12states.csv.gz",
        _loans,
        {
            "sector": _levels(*_NAICS),
            "loan": _number("numeric", 0, 150_000),
            "jobs": _number("integer", 0, 500),
        },
        ("loan", "jobs"),
        ("sector",),
        {"scales": {"loan": "log", "jobs": "log"}, "spikes": {"jobs": [0, 1]}},
    ),
    *(
        RealFile(
            f"Income by age and sex, {where}",
            f"nist_diverse_communities/{code}2019.csv.gz",
            _incomes,
            _INCOME,
            ("age", "income"),
            ("sex",),
            _INCOME_OPTIONS,
        )
        for code, where in (("national", "national excerpt"), ("ma", "Massachusetts"), ("tx", "Texas"))
    ),
    RealFile(
        "Wages by age and filing status",
        "taxcalc_cps/cps_core.csv.gz",
        _wages,
        {
            "status": _levels("1", "2", "3", "4", "5"),
            "age": _number("integer", 0, 85),
            "wage": _number("numeric", 0, 5_000_000),
        },
        ("age", "wage"),
        ("status",),
        {"scales": {"wage": "log"}, "spikes": {"wage": [0]}},
    ),
)


def real_rows(data: Path, seed: int, say: Progress, files: Sequence[RealFile] = FILES) -> Iterator[Row]:
    """General utility of bisection at ε = 1 on every file that is there."""
    for number, one in enumerate(files):
        say("real data", number, len(files))
        if (data / one.path).exists():
            yield from _rows(one, data, seed)


def _rows(one: RealFile, data: Path, seed: int) -> Iterator[Row]:
    frame, plan = one.read(data / one.path), one.plan("1")
    begun = time.perf_counter()
    made = plan.rehearse(frame, one.schema, seed=seed).sample(m=1, seed=seed)
    seconds = time.perf_counter() - begun
    again = frame.sample(len(frame), replace=True, random_state=seed)
    ours, ideal = compare(frame, made, schema=one.schema), compare(frame, again, schema=one.schema)
    name, guarantee, where = (
        f"{one.name} ({len(frame):,})",
        in_words(plan.guarantee),
        {"mode": "proved", "epsilon": "1"},
    )
    for metric, measure in TABLE_1.items():
        yield Row(
            TABLE, name, metric, measure(ours).value, reference=measure(ideal).value, guarantee=guarantee, where=where
        )
    yield Row(TABLE, name, SECONDS, seconds, guarantee=guarantee, where=where)
