"""The whole study in order: repeated samples in both cases, record-level bounds, real files; then rows and page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.release.folder import written_whole
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, as_document, write_json
from tacita_studies.hu2024.bounds import first_bounds
from tacita_studies.hu2024.measure import measure
from tacita_studies.hu2024.methods import everybody, in_short
from tacita_studies.hu2024.page import write_report
from tacita_studies.hu2024.population import CASES, SAMPLE_SIZE
from tacita_studies.hu2024.rows import cell_rows, population_rows, summary_rows


@dataclass(frozen=True)
class Settings:
    replicates: int
    seed: int
    only: tuple[str, ...]
    data: Path | None


def write_study(
    out: Path, chosen: Settings, workers: int, say: Progress, *, keep_data: bool, force: bool
) -> dict[str, Any]:
    with written_whole(out, force=force, kind="study") as folder:
        keep = folder if keep_data else None
        rows: list[Row] = list(population_rows(chosen.seed))
        found = [
            measure(case, methods, chosen.replicates, chosen.seed, workers, say, keep)
            for case in CASES
            for methods in (everybody(chosen.only) if case == "informative" else in_short(chosen.only),)
        ]
        rows += cell_rows(found[0])
        for one in found:
            rows += summary_rows(one)
        bounds = first_bounds(everybody(chosen.only), chosen.seed)
        if chosen.data is not None:
            from tacita_studies.hu2024.real import real_rows

            rows += real_rows(chosen.data, chosen.seed, say, in_short(chosen.only))
        settings = {
            "replicates": chosen.replicates,
            "sample": SAMPLE_SIZE,
            "seed": chosen.seed,
            "workers": workers,
            "only": list(chosen.only),
            "real_data": chosen.data is not None,
        }
        document = as_document("hu2024", settings, rows)
        write_json(folder, document)
        say("writing the page", 1, 1)
        write_report(folder, rows, settings, found, bounds)
    return document
