"""The whole study in order: the simulated industry, intervals over repeated panels, real files; then rows and page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.release.folder import written_whole
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, as_document, write_json
from tacita_studies.kinney2007.coverage import coverage
from tacita_studies.kinney2007.measure import measure
from tacita_studies.kinney2007.methods import FILES, MAIN, PLAIN, Method
from tacita_studies.kinney2007.page import write_report
from tacita_studies.kinney2007.rows import coverage_rows, simulated_rows


@dataclass(frozen=True)
class Settings:
    """`panels` of `panel_size` establishments are for the coverage of intervals, `large` is what they are held to.

    `draws` of the noise are made beside the first one, on the same panel.
    """

    establishments: int
    panels: int
    panel_size: int
    large: int
    seed: int
    draws: int
    methods: tuple[Method, ...]
    data: Path | None


def write_study(
    out: Path, chosen: Settings, workers: int, say: Progress, *, keep_data: bool, force: bool
) -> dict[str, Any]:
    with written_whole(out, force=force, kind="study") as folder:
        measured = measure(
            chosen.establishments,
            chosen.methods,
            chosen.seed,
            say,
            folder if keep_data else None,
            chosen.draws,
            workers,
        )
        rows: list[Row] = list(simulated_rows(measured))
        inferred = [method for method in chosen.methods if method in (PLAIN, Method(MAIN))]
        found = coverage(inferred, chosen.panels, chosen.panel_size, chosen.large, chosen.seed, workers, say)
        rows += coverage_rows(found, inferred, chosen.panels, chosen.panel_size)
        if chosen.data is not None:
            from tacita_studies.kinney2007.real import real_rows

            rows += real_rows(chosen.data, chosen.methods, chosen.seed, say)
        settings = {
            "establishments": chosen.establishments,
            "files": FILES,
            "panels": chosen.panels,
            "panel_size": chosen.panel_size,
            "other_draws": chosen.draws,
            "seed": chosen.seed,
            "workers": workers,
            "methods": [method.name for method in chosen.methods],
            "real_data": chosen.data is not None,
        }
        document = as_document("kinney2007", settings, rows)
        write_json(folder, document)
        say("writing the page", 1, 1)
        write_report(folder, rows, settings, measured)
    return document
