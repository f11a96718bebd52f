"""The whole study in order: section 4, its variants, section 5, real data; then the result rows and the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacita.release.folder import written_whole
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, as_document, write_json
from tacita_studies.kng.chain import Gate
from tacita_studies.tran2023 import methods, panel_methods
from tacita_studies.tran2023.method import Method
from tacita_studies.tran2023.page import write_report
from tacita_studies.tran2023.section4 import Experiment, measure, rows_of, variant_rows
from tacita_studies.tran2023.section5 import PanelExperiment, measure_panel, panel_rows, trend_records
from tacita_studies.tran2023.unconditional import quantile_rows
from tacita_studies.tran2023.variants import VARIANTS

VARIANT_REPLICATES = 10


@dataclass(frozen=True)
class Settings:
    replicates: int
    seed: int
    full: bool
    rows: int
    panel_scale: float
    repetitions: int
    data: Path | None
    entrants: Callable[[Method], bool]

    def those_of(self, methods: tuple[Method, ...]) -> tuple[Method, ...]:
        """Who takes part; in the paper's own size nobody sits replicates out."""
        return tuple(replace(one, most=None if self.full else one.most) for one in methods if self.entrants(one))


def write_study(
    out: Path, chosen: Settings, workers: int, say: Progress, *, keep_data: bool, force: bool
) -> dict[str, Any]:
    with written_whole(out, force=force, kind="study") as folder:
        keep = folder if keep_data else None
        reference = methods.non_private()
        gate = Gate() if chosen.full else methods.QUICK_GATE
        entrants = chosen.those_of(methods.section4(gate))
        experiment = Experiment(entrants, chosen.seed, chosen.rows, keep=keep)
        simulated = measure(experiment, chosen.replicates, workers, say, "section 4: the simulation")
        rows: list[Row] = list(rows_of(simulated, reference))
        fewer = chosen.replicates if chosen.full else min(chosen.replicates, VARIANT_REPLICATES)
        for variant in VARIANTS:
            entrants = chosen.those_of(methods.on_variant(variant, gate))
            what = f"variant: {variant.name}"
            found = measure(Experiment(entrants, chosen.seed, chosen.rows, variant), fewer, workers, say, what)
            rows += variant_rows(found, variant, reference)
        rows += quantile_rows(chosen.replicates, chosen.rows, chosen.seed, say)
        on_panel = PanelExperiment(panel_methods.section5(), chosen.repetitions, chosen.panel_scale, chosen.seed, keep)
        panel = measure_panel(on_panel, workers, say)
        rows += panel_rows(panel, on_panel.methods[0])
        if chosen.data is not None:
            from tacita_studies.tran2023.real import real_rows

            rows += real_rows(chosen.data, chosen.seed, say)
        settings = {
            "replicates": chosen.replicates,
            "variant_replicates": fewer,
            "rows": chosen.rows,
            "repetitions": chosen.repetitions,
            "panel_scale": chosen.panel_scale,
            "establishments": len(on_panel.panel()),
            "seed": chosen.seed,
            "full": chosen.full,
            "gate": {"rhat": gate.rhat, "ess": gate.ess, "chains": gate.chains},
            "real_data": chosen.data is not None,
            "reference": reference.name,
            "ours": methods.bisection("1").name,
            "bisection": [methods.bisection(epsilon).name for epsilon in methods.EPSILONS],
        }
        document = as_document("tran2023", settings, rows)
        write_json(folder, document)
        say("writing the page", 1, 1)
        write_report(folder, rows, settings, simulated.first_files, list(trend_records(panel)))
    return document
