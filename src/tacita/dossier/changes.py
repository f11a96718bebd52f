"""Growth and flows from the confidential rows themselves. Confidential throughout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import ibis
import numpy as np
import pandas as pd

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.pairs import moved
from tacita.dossier.exact import celled
from tacita.mechanisms.change import Change
from tacita.tables.changes import FLOWS, GROWTH

By = tuple[str, ...]


def exact_changes(plan: Change, data: Confidential) -> dict[str, Callable[[By], pd.DataFrame]]:
    """For each measure that a plan publishes, its cells by any attributes of the table."""
    names = GROWTH if plan.statistic == "growth" else FLOWS if plan.of or plan.weights else FLOWS[2:]
    return {name: partial(_cells, plan, data, name) for name in names}


def _cells(plan: Change, data: Confidential, name: str, by: By) -> pd.DataFrame:
    pairs = replace(plan.pairs(data.schema), by=by)
    units = moved(
        data,
        pairs,
        {
            "before": lambda before, _: before,
            "after": lambda _, after: after,
            "gain": lambda before, after: ibis.greatest(after - before, 0),
            "loss": lambda before, after: ibis.greatest(before - after, 0),
            "one": lambda *_: ibis.literal(1),
        },
    )
    had, has = units.before >= 0, units.after >= 0
    stayed = had & has & units.stayed

    def total(chosen: np.ndarray, place: np.ndarray, which: str) -> np.ndarray:
        return rowwise.sums(place[chosen], units.sums[which][chosen], pairs.cells.count(data.schema))

    earlier, later = total(had, units.before, "before"), total(has, units.after, "after")
    entry, leaving = total(has & ~stayed, units.after, "after"), total(had & ~stayed, units.before, "before")
    steps = {
        "earlier": earlier,
        "later": later,
        "change": later - earlier,
        "net": later - earlier,
        "entry": entry,
        "exit": leaving,
        "creation": entry + total(stayed, units.after, "gain"),
        "destruction": leaving + total(stayed, units.after, "loss"),
    }
    if name == "percent":
        value = 100.0 * (later - earlier) / np.where(earlier > 0, earlier, np.nan)
    else:
        value = steps[name] * pairs.steps(data.schema).size
    return celled(data.schema, by, value, total(had, units.before, "one").astype(np.float64))
