"""The whole study in order: section 4, its variants, one variable alone, section 5, real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tacita_studies.harness.experiment import Method
from tacita_studies.harness.study import Report, Settings
from tacita_studies.kng.chain import Gate
from tacita_studies.tran2023 import methods
from tacita_studies.tran2023.page import page
from tacita_studies.tran2023.panel_private import section5
from tacita_studies.tran2023.real import real_rows
from tacita_studies.tran2023.section4 import FileMethod, Replicates, measure, rows_of, variant_rows
from tacita_studies.tran2023.section5 import PanelExperiment, measure_panel, panel_rows, trend_records
from tacita_studies.tran2023.simulation import VARIANTS
from tacita_studies.tran2023.unconditional import quantile_rows

VARIANT_REPLICATES = 10


def report(
    chosen: Settings, *, size: int, panel_scale: float, repetitions: int, takes_part: Callable[[Method], bool]
) -> Report:
    def those_of(everybody: tuple[FileMethod, ...]) -> tuple[FileMethod, ...]:
        """Who takes part; in the paper's own size nobody sits replicates out."""
        return tuple(replace(one, most=None if chosen.full else one.most) for one in everybody if takes_part(one))

    reference = methods.non_private()
    gate = Gate() if chosen.full else methods.QUICK_GATE
    experiment = Replicates(those_of(methods.section4(gate)), size, seed=chosen.seed, keep=chosen.keep)
    simulated = measure(experiment, chosen.replicates, chosen.workers, chosen.say, "section 4: the simulation")
    rows = list(rows_of(simulated, reference))
    fewer = chosen.replicates if chosen.full else min(chosen.replicates, VARIANT_REPLICATES)
    for variant in VARIANTS:
        on_variant = Replicates(those_of(methods.on_variant(variant, gate)), size, variant, seed=chosen.seed)
        measured = measure(on_variant, fewer, chosen.workers, chosen.say, f"variant: {variant.name}")
        rows += variant_rows(measured, variant, reference)
    rows += quantile_rows(chosen.replicates, size, chosen.seed, chosen.say)
    by_section5 = section5()
    on_panel = PanelExperiment(by_section5, repetitions, panel_scale, seed=chosen.seed, keep=chosen.keep)
    panel = measure_panel(on_panel, chosen.workers, chosen.say)
    rows += panel_rows(panel, by_section5[0])
    if chosen.data is not None:
        rows += real_rows(chosen.data, chosen.seed, chosen.say)
    settings = {
        "replicates": chosen.replicates,
        "variant_replicates": fewer,
        "rows": size,
        "repetitions": repetitions,
        "panel_scale": panel_scale,
        "establishments": len(on_panel.panel()),
        "seed": chosen.seed,
        "full": chosen.full,
        "gate": {"rhat": gate.rhat, "ess": gate.ess, "chains": gate.chains},
        "real_data": chosen.data is not None,
        "reference": reference.name,
        "ours": methods.bisection("1").name,
        "bisection": [methods.bisection(epsilon).name for epsilon in methods.EPSILONS],
    }
    return Report(rows, settings, partial(page, rows, settings, simulated.first_files, list(trend_records(panel))))
