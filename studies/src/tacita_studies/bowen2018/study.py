"""The whole study in order: the simulated file, real files; then the result rows and the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.release.folder import written_whole
from tacita_studies.bowen2018.measure import measure
from tacita_studies.bowen2018.methods import EPSILONS, SETS, everybody
from tacita_studies.bowen2018.page import write_report
from tacita_studies.bowen2018.rows import file_rows, fresh_rows, method_rows
from tacita_studies.bowen2018.simulation import ROWS, simulate, voters
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, as_document, write_json


@dataclass(frozen=True)
class Settings:
    replicates: int
    seed: int
    full: bool
    rows: int | None
    powers: tuple[int, ...] | None
    only: tuple[str, ...]
    data: Path | None


def write_study(
    out: Path, chosen: Settings, workers: int, say: Progress, *, keep_data: bool, force: bool
) -> dict[str, Any]:
    size, about = chosen.rows or ROWS, voters()
    with written_whole(out, force=force, kind="study") as folder:
        rows: list[Row] = list(file_rows(simulate(size), about))
        measured = measure(
            size,
            chosen.replicates,
            chosen.seed,
            workers,
            say,
            powers=chosen.powers or tuple(EPSILONS),
            keep=folder if keep_data else None,
            full=chosen.full,
            only=chosen.only,
        )
        rows += [*fresh_rows(measured), *method_rows(measured, everybody(), about)]
        if chosen.data is not None:
            from tacita_studies.bowen2018.real import real_rows

            rows += real_rows(chosen.data, chosen.seed, say, 3 if chosen.full else 1)
        settings = {
            "replicates": chosen.replicates,
            "rows": size,
            "sets": SETS,
            "seed": chosen.seed,
            "full": chosen.full,
            "epsilons": [EPSILONS[power] for power in measured.powers],
            "real_data": chosen.data is not None,
        }
        document = as_document("bowen2018", settings, rows)
        write_json(folder, document)
        say("writing the page", 1, 1)
        write_report(folder, rows, settings)
    return document
