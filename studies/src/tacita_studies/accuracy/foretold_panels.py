"""What the forecast of `PanelSynthesis` said of totals, gains and losses, entries and exits, in their units.

A plan says how far a total will be off if units are as unlike as businesses usually are, if they are alike, and if a
few are far larger than all others; and how far gains and losses are, if units move as businesses usually do and if they
move three times as far. Here the files are public, and how unlike their units are and how they move is put in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.panel.formal.foresight import flow_error, life_error, total_errors, usual_flow
from tacita.synthesis.panel.layout import Layout
from tacita_studies.accuracy.answers import Panel
from tacita_studies.accuracy.foretold_files import skewness


def of_panel(
    plan: PanelSynthesis, layout: Layout, records: pd.DataFrame, panel: Panel
) -> dict[str, Callable[[float], float]]:
    """The typical error of each statistic, given its value."""
    units, size = records[panel.unit].nunique(), layout.yearly[0].name
    unlike = {one.name: skewness(_of_all_years(records, panel, one.name)) for one in layout.yearly}
    said: dict[str, Callable[[float], float]] = {}
    for name, width in unlike.items():
        share = total_errors(layout, plan.promise, units, width=width)[name]
        said[f"total of {name} by {panel.period}"] = lambda total, share=share: share * total  # type: ignore[misc]
    if len(layout.years) > 1:
        usual = float(records.groupby(panel.period)[size].sum().mean())
        moving = float(np.median(_flows(records, panel, size))) / (usual_flow() * usual)
        flows = flow_error(layout, plan.promise, units, width=unlike[size], moving=moving) * usual
        lives = life_error(plan.promise, layout, units)
        said |= dict.fromkeys((f"creation of {size}", f"destruction of {size}"), lambda _: flows)
        said |= dict.fromkeys(("entry", "exit"), lambda count: min(lives, count))
    return said


def _of_all_years(records: pd.DataFrame, panel: Panel, name: str) -> np.ndarray:
    summed = records.groupby(panel.unit)[name].sum()
    return summed[summed > 0].to_numpy(dtype=np.float64)


def _flows(records: pd.DataFrame, panel: Panel, size: str) -> np.ndarray:
    """Gains and losses of all years, with those of units that come and go."""
    years = records.pivot_table(index=panel.unit, columns=panel.period, values=size, aggfunc="sum").fillna(0)
    moved = years.diff(axis=1).iloc[:, 1:]
    return np.concatenate([moved.clip(lower=0).sum(), -moved.clip(upper=0).sum()])
