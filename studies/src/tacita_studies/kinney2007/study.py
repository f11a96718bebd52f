"""The whole study in order: the simulated industry, intervals over repeated panels, real files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tacita_studies.harness.study import Report, Settings
from tacita_studies.kinney2007 import coverage
from tacita_studies.kinney2007.measure import DRAWS, measure
from tacita_studies.kinney2007.methods import EPSILONS, FILES, MAIN, PLAIN, formal
from tacita_studies.kinney2007.page import page
from tacita_studies.kinney2007.real import real_rows
from tacita_studies.kinney2007.rows import coverage_rows, simulated_rows
from tacita_studies.kinney2007.simulation import ESTABLISHMENTS


def report(
    chosen: Settings,
    *,
    establishments: int | None,
    panel_size: int | None,
    large: int | None,
    draws: int | None,
    epsilons: Sequence[str] | None,
) -> Report:
    """Panels of `panel_size` establishments are for the coverage of intervals, `large` is what they are held to.

    `draws` of the noise are made beside the first one, on the same panel.
    """
    methods = (PLAIN, *map(formal, EPSILONS if epsilons is None else epsilons))
    size, again = panel_size or coverage.SIZE, DRAWS if draws is None else draws
    measured = measure(establishments or ESTABLISHMENTS, methods, chosen, again)
    rows = list(simulated_rows(measured))
    inferred = [method for method in methods if method in (PLAIN, formal(MAIN))]
    covered = coverage.coverage(inferred, chosen.replicates, size, large or coverage.LARGE, chosen)
    rows += coverage_rows(covered, inferred, chosen.replicates, size)
    if chosen.data is not None:
        rows += real_rows(chosen.data, methods, chosen.seed, chosen.say)
    settings = {
        "establishments": measured.establishments,
        "files": FILES,
        "panels": chosen.replicates,
        "panel_size": size,
        "other_draws": again,
        "seed": chosen.seed,
        "workers": chosen.workers,
        "methods": [method.name for method in methods],
        "real_data": chosen.data is not None,
    }
    return Report(rows, settings, partial(page, rows, settings, measured))
