"""The whole study in order: repeated samples in all cases, record-level bounds, real files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tacita_studies.harness.study import Report, Settings
from tacita_studies.hu2024.measure import first_bounds, measure
from tacita_studies.hu2024.methods import everybody, in_short
from tacita_studies.hu2024.page import page
from tacita_studies.hu2024.population import CASES, SAMPLE_SIZE
from tacita_studies.hu2024.real import real_rows
from tacita_studies.hu2024.rows import cell_rows, population_rows, summary_rows


def report(chosen: Settings, *, only: Sequence[str]) -> Report:
    rows = list(population_rows(chosen.seed))
    measured = [measure(case, everybody(only) if case == "informative" else in_short(only), chosen) for case in CASES]
    rows += [*cell_rows(measured[0]), *(row for one in measured for row in summary_rows(one))]
    bounds = first_bounds(everybody(only), chosen.seed)
    if chosen.data is not None:
        rows += real_rows(chosen.data, chosen.seed, chosen.say, in_short(only))
    settings = {
        "replicates": chosen.replicates,
        "sample": SAMPLE_SIZE,
        "seed": chosen.seed,
        "workers": chosen.workers,
        "only": list(only),
        "real_data": chosen.data is not None,
    }
    return Report(rows, settings, partial(page, rows, settings, measured, bounds))
