"""Cells, margins and totals of a synthetic file have the estimates and standard errors of R's survey package."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.r_reference import rscript
from tacita.data.schema import Schema
from tacita.inference.survey import Count, Design, Mean, Quantile, Ratio, sample_table

STORED = Path(__file__).parents[2] / "data" / "table_reference.json"
FIELDS, GENDERS = ("arts", "law", "maths", "physics"), ("f", "m")
STATISTICS = (Count(), Mean("pay"), Ratio("pay", "hours"), Quantile("pay"))
Cell = tuple[str, str, str, str]

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "doctors", "unit": "person"},
        "variables": {
            "field": {"role": "design", "type": "categorical", "levels": list(FIELDS)},
            "gender": {"role": "design", "type": "categorical", "levels": list(GENDERS)},
        },
    }
)
DESIGNS = {
    "weights": Design(weights="w"),
    "strata": Design(weights="w", strata="field"),
    "fpc": Design(weights="w", strata="field", fpc="fpc"),
    "clusters": Design(weights="w", strata="field", psu="district"),
    "crossed": Design(weights="w", strata=(("field", "gender"),)),
}


def synthetic_file() -> pd.DataFrame:
    """A file that every machine makes alike: fractions of multiples of irrational numbers in place of random ones."""
    row = np.arange(400)
    field = (7 * row + row // 13) % 4
    gender = (3 * row + row // 5) % 2
    first, second = (row * np.sqrt(2)) % 1, (row * np.sqrt(3)) % 1
    return pd.DataFrame(
        {
            "field": np.array(FIELDS)[field],
            "gender": np.array(GENDERS)[gender],
            "district": row % 17,
            "fpc": 300 + 50 * field,
            "w": np.round(2 + 9 * first**2 + field, 6),
            "pay": np.round(1000 * np.exp(field / 4 + first + second / 2), 3),
            "hours": np.round(10 + 30 * second, 2),
        }
    )


def from_r(folder: Path) -> dict[Cell, tuple[float, float]]:
    path = folder / "sample.csv"
    synthetic_file().to_csv(path, index=False)
    script = STORED.with_suffix(".R")
    run = subprocess.run([rscript(), str(script), str(path)], capture_output=True, text=True, check=True)
    lines = (line.split("\t") for line in run.stdout.splitlines())
    return {(one, two, three, four): (float(value), float(error)) for one, two, three, four, value, error in lines}


def stored() -> dict[Cell, tuple[float, float]]:
    content = json.loads(STORED.read_text(encoding="utf-8"))
    return {tuple(one[:4]): (one[4], one[5]) for one in content}  # type: ignore[misc]


def ours(design: str) -> dict[Cell, tuple[float, float]]:
    table = sample_table(synthetic_file(), SCHEMA, ["field", "gender"], STATISTICS, design=DESIGNS[design])
    rows: Any = zip(
        *(table[name] for name in ("statistic", "field", "gender", "estimate", "standard_error")), strict=True
    )
    return {(design, *row[:3]): row[3:] for row in rows}


def compare(reference: dict[Cell, tuple[float, float]], design: str) -> None:
    found = ours(design)
    wanted = {cell: pair for cell, pair in reference.items() if cell[0] == design}
    assert set(found) == set(wanted)
    assert len(found) == 4 * 15
    scale = {cell[1]: wanted[(design, cell[1], "all", "all")][0] for cell in wanted}
    for cell, (value, error) in wanted.items():
        assert found[cell][0] == pytest.approx(value, rel=1e-8), cell
        # A standard error that is zero on paper is rounding error in both: small beside the estimate.
        assert found[cell][1] == pytest.approx(error, rel=1e-8, abs=1e-10 * scale[cell[1]]), cell


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_equal_the_stored_values_of_r(design: str) -> None:
    compare(stored(), design)


def test_the_stored_values_are_what_r_says(tmp_path: Path) -> None:
    live = from_r(tmp_path)
    assert set(live) == set(stored())
    for design in DESIGNS:
        compare(live, design)
