"""A release tried out before it is paid for, on mock measurements of the same shape.

A charge is the last thing before the rows. Everything after them (publishing, names, charts, records, the page,
writing) is done once beforehand with made-up values in a hidden folder beside the target, so that a level that breaks
the codebook or a name too long for the disk costs nothing. Small on purpose: it must not be felt beside the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tacita.data.schema import Identifier, Schema
from tacita.errors import TacitaError, UsageError
from tacita.implicates import Implicates, Synthetic
from tacita.measured import Measured
from tacita.release.bundle import Budget
from tacita.release.folder import scratch
from tacita.release.making import as_release, made
from tacita.release.mock import mock_tables
from tacita.release.plans import PlannedMicrodata, PlannedRelease, PlannedTable

_CELLS = 2_000  # of one mock table
_ROWS = 50  # of one mock file


def try_out(planned: PlannedRelease, out: Path) -> None:
    """Make and write the whole release from mock measurements; an error here has cost nothing."""
    try:
        # The tables made from synthetic files are left out: they need sampling designs that mock rows do not have.
        results = [
            *(_mock_counts(table, planned.schema) for table in planned.tables),
            *(_mock_files(files, planned.schema) for files in planned.microdata),
        ]
        bare = _without_survey_tables(planned)
        cost = planned.guarantee.loss
        release = as_release(
            bare, *made(bare, results), budget=Budget(cost, cost, cost), ledger_extract={}, seed=0, source="mock values"
        )
        with scratch(out) as folder:
            release.write(folder / "trial")
    except TacitaError:
        raise
    except Exception as problem:
        raise UsageError(
            f"the release cannot be made: on mock values of the same shape, publishing or writing it failed "
            f"({type(problem).__name__}: {problem}). Names of products, titles, levels and labels are what it is made "
            "of beside the numbers; correct what is unusual there. Nothing was spent"
        ) from problem


def _without_survey_tables(planned: PlannedRelease) -> PlannedRelease:
    bare = tuple(replace(files, spec=files.spec.model_copy(update={"tables": ()})) for files in planned.microdata)
    return replace(planned, microdata=bare)


def _mock_counts(table: PlannedTable, schema: Schema) -> Any:
    """Noisy counts as the plan would return them: fewer cells, in which every declared level comes up if it can."""
    spec, plan = table.spec, table.plan
    described = plan.describe()
    cells = prod(len(schema.levels(name)) for name in spec.worker)
    most = max((len(schema.levels(name)) for name in spec.by), default=1)
    rows = max(min(most, _CELLS // cells), 1)
    keys = {name: np.arange(rows, dtype=np.int32) % len(schema.levels(name)) for name in spec.by}
    values = np.arange(rows * cells, dtype=np.int64).reshape(rows, cells)
    largest = None
    if described.get("margin_share", "0") != "0":
        largest = values[:, :1] if described.get("definition") == "strong" else values
    measured = Measured(
        keys=keys,
        worker=tuple(spec.worker),
        values=values,
        error=None,  # type: ignore[arg-type]  # the plan knows it, and gives it back below
        plan=described,
        guarantee=str(table.guarantee),
        rehearsal=True,
        largest=largest,
    )
    return plan.restore(measured.to_bytes())


@dataclass(frozen=True)
class _MockFiles:
    """Synthetic files in which nothing is synthesized."""

    implicates: Implicates
    rehearsal: bool = True

    @property
    def measured(self) -> Mapping[str, Any]:
        return {}

    def to_bytes(self) -> bytes:
        return b""


def _mock_files(files: PlannedMicrodata, schema: Schema) -> Synthetic:
    rows = mock_tables(schema, seed=0)[schema.row].slice(0, _ROWS)
    reads = [name for name in files.plan.reads(schema) if name in rows.column_names]
    columns = [name for name in reads if not isinstance(schema[name].kind, Identifier)] or reads
    rows = rows.select(columns)
    return _MockFiles(Implicates((rows,), schema, tuple(columns), "one-measurement"))
