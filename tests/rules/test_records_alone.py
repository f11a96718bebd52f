"""A record has the same code, cell and clamp whether it is alone or in a file of ten or of thirty thousand others.

Matrix products switch their kernel at a million multiplications, which 31,250 rows with 16 predictors and two
directions reach: one more row then rounded all others anew. Every step that codes numbers is tried at that border.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Numeric, Schema
from tacita.mechanisms.kng.line import Lattice, TailLattice
from tacita.mechanisms.survey.laplace import _Grid
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.comparison.pseudo.lattice import Lattice as CostLattice
from tacita.synthesis.panel.formal.lattice import Steps
from tacita.synthesis.panel.formal.ratios import Range as LogRange
from tacita.synthesis.panel.formal.sums import octaves, whole
from tacita.synthesis.quantile.design import Design, anchor_weights, cell_of
from tacita.synthesis.quantile.fitting import _along
from tacita.synthesis.quantile.sharing import cells_for
from tacita.synthesis.quantile.variables import Column
from tacita.synthesis.selfcheck.yardstick import Number, centred
from tacita.synthesis.survey.columns import Measure
from tacita.synthesis.survey.measuring import Range

Floats = NDArray[np.float64]
Coding = Callable[[Floats], Any]

PREDICTORS = 16
BORDER = 10**6 // (2 * PREDICTORS)
SIZES = (1, 2, 3, 7, 10, BORDER, BORDER + 1)

_random = np.random.default_rng(20261115)
ROWS = _random.integers(0, 4, (BORDER + 1, PREDICTORS)) + np.round(_random.normal(0, 1, (BORDER + 1, PREDICTORS)), 3)
DESIGN = Design.of(_random.integers(0, 4, size=(2001, PREDICTORS)).astype(np.float64))
WIDE = Numeric(0.5, 1e6, scale=2)
LOGS = LogRange.public(10_000, 10_000_000).narrowed(np.arange(128), 1.0, 10_000)


def _positive(rows: Floats) -> Floats:
    """Skewed positive numbers, one per record."""
    return np.maximum(np.abs(rows[:, 0] * rows[:, 1] * 37.0), 0.5)


CHECKED = Number.of("x", _positive(ROWS[:2000]))
(CENTRED,) = centred("x", "w", {"x": _positive(ROWS[:2000]), "w": np.abs(ROWS[:2000, 3])}, lambda ends: 0.0)


def _sums(rows: Floats) -> Any:
    counts = _positive(rows).astype(np.int64)
    return octaves(counts + 1) * 10**8 + whole(counts, 50)


def _logs(rows: Floats) -> Floats:
    return rowwise.log1p(_positive(rows)) - rowwise.log1p(np.abs(rows[:, 2]))


CODINGS: dict[str, Coding] = {
    "quantile: coordinates": DESIGN.coordinates,
    "quantile: scales": DESIGN.scales,
    "quantile: cells": lambda rows: cell_of(DESIGN.coordinates(rows)[:, :2], DESIGN.cuts[:2]),
    "quantile: cells of scales": lambda rows: cell_of(DESIGN.scales(rows), DESIGN.scale_cuts),
    "quantile: anchors": lambda rows: anchor_weights(DESIGN.coordinates(rows)[:, :2]),
    "quantile: middle distance": lambda rows: rowwise.exp(_along(DESIGN.scales(rows), np.array([0.1, 0.7, -0.3]))),
    "quantile: log scale": lambda rows: Column("x", WIDE, "log").modelled(_positive(rows)),
    "quantile: arcsinh scale": lambda rows: Column("x", WIDE, "arcsinh").modelled(_positive(rows)),
    "quantile: shares": lambda rows: cells_for(ROWS[:500], (), 3, 10_000, 1.0).of(rows, np.zeros((len(rows), 0), int)),
    "lattice": lambda rows: Lattice.spread(0.0, 1e6).place(_positive(rows)),
    "lattice of a tail": lambda rows: TailLattice(1.0, 1e6, gap=3.7).place(_positive(rows)),
    "lattice of a lower tail": lambda rows: TailLattice(100.0, 0.0, gap=3.7).place(_positive(rows)),
    "cuts": lambda rows: Attribute("x", WIDE, (1.0, 10.0, 33.3)).code(_positive(rows)),
    "self-check: bins": lambda rows: CHECKED.code(_positive(rows)),
    "self-check: ranks": lambda rows: CHECKED.places(_positive(rows)),
    "self-check: means": lambda rows: CENTRED.steps({"x": _positive(rows), "w": np.abs(rows[:, 3])}),
    "survey: log": lambda rows: Measure("x", WIDE, "log").forward(_positive(rows)),
    "survey: log1p": lambda rows: Measure("x", WIDE, "log1p").forward(_positive(rows)),
    "survey: steps": lambda rows: Range(-0.3, 9.1).steps(Measure("x", WIDE, "log").forward(_positive(rows))),
    "survey table": lambda rows: _Grid(0.5, 1e6).steps(_positive(rows), 1.37),
    "censored posterior": lambda rows: CostLattice(-3.0, 0.07, 257, (0.3,), (0.1, 0.2), 0.5, 1.0).places(
        rows[:, 0], rows[:, 1], 0.3
    ),
    "panel: range": lambda rows: LogRange.public(10_000, 10_000_000).of(_logs(rows)),
    "panel: steps of logs": lambda rows: LOGS.steps(_logs(rows)),
    "panel: deviations": lambda rows: LOGS.deviation(_logs(rows) - 0.37),
    "panel: rows and moves": lambda rows: LOGS.row(_logs(rows)) * 100 + LOGS.move(_logs(rows)),
    "panel: octaves and sums": _sums,
    "panel: steps of sizes": lambda rows: Steps.of(
        np.floor(_positive(rows)).astype(np.int64), np.floor(_positive(rows) * 1.3).astype(np.int64)
    ),
}


def _same(found: Any, expected: Any) -> bool:
    return np.asarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("name", CODINGS)
def test_a_record_is_coded_alike_in_every_file(name: str) -> None:
    """To the last bit: the files are the first rows, the last rows, and single records of the longest one."""
    code = CODINGS[name]
    whole = np.asarray(code(ROWS))
    for size in SIZES:
        assert _same(code(ROWS[:size].copy()), whole[:size]), f"the first {size}"
        assert _same(code(ROWS[-size:].copy()), whole[-size:]), f"the last {size}"
    for at in range(0, len(ROWS), 1009):
        assert _same(code(ROWS[at : at + 1].copy()), whole[at : at + 1]), at
    order = np.random.default_rng(1).permutation(len(ROWS))
    assert _same(code(ROWS[order]), whole[order]), "in another order"


def test_the_engine_reads_a_record_alike_in_every_file() -> None:
    """Bounds, rounding, missing codes and levels, as `reading.read` gives them to every synthesizer."""
    kinds: dict[str, Any] = {
        "amount": {"type": "numeric", "lower": -2.0, "upper": 3.0, "scale": 2, "missing": 0, "missing_codes": [1.0]},
        "count": {"type": "integer", "lower": 0, "upper": 3, "missing": 1},
        "level": {"type": "categorical", "levels": ["0", "1", "2", "3"], "outside": "0", "missing": "0"},
    }
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "r", "unit": "person"},
            "variables": {name: {"role": "confidential", **kind} for name, kind in kinds.items()},
        }
    )
    frame = pd.DataFrame({"amount": ROWS[:, 0], "count": ROWS[:, 1] * 3, "level": np.floor(ROWS[:, 2])})

    def coded(rows: pd.DataFrame) -> dict[str, Floats]:
        return read(Confidential.from_frame(rows, schema), kinds)

    whole = coded(frame)
    for size in (1, 10, BORDER):
        for rows in (slice(0, size), slice(len(frame) - size, len(frame))):
            found = coded(frame.iloc[rows])
            assert all(_same(found[name], whole[name][rows]) for name in kinds), size
