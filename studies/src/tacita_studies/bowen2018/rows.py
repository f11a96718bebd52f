"""Result rows: the facts of the file beside Table 2, every metric of every method, printed numbers beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import pandas as pd

from tacita.evaluation import chi_square_agreement, compare
from tacita_studies.bowen2018 import printed as paper
from tacita_studies.bowen2018.bars import specks_of_margins
from tacita_studies.bowen2018.measure import MeasuredFile, measure
from tacita_studies.bowen2018.methods import EPSILONS, SETS, PersonMethod, everybody
from tacita_studies.bowen2018.simulation import ROWS, PersonFile, cell_sizes, simulate, voters
from tacita_studies.harness.results import Row, mean_and_se
from tacita_studies.harness.study import Report, Settings

FRESH = "Fresh sample of the same law"
TABLES = {
    paper.SPECKS: "Figure 2",
    paper.TV2: "Two-way tables",
    paper.L1: "Section 3.3, L1",
    paper.AGREEMENT: "Table 4",
    paper.ALONE: "Table 4",
    paper.SIGNS: "Table 5",
    paper.COVERED: "Table 6",
}
LEAST = "All of ε spent on one-way tables"
_ALL_ON_MARGINS = "arithmetic, no release: what noise on one-way tables alone leaves with δ = 1e-9"
_NOT_PRIVATE = "none: the law itself is sampled again; what any method may hope for"


def report(chosen: Settings, *, size: int | None, powers: Sequence[int] | None, only: Sequence[str]) -> Report:
    """The whole study in order: the simulated file, then real files."""
    from tacita_studies.bowen2018.page import page
    from tacita_studies.bowen2018.real import real_rows

    whole, about = size or ROWS, voters()
    rows = list(file_rows(simulate(whole), about))
    measured = measure(whole, powers or tuple(EPSILONS), only, chosen)
    rows += [*fresh_rows(measured), *method_rows(measured, everybody(), about)]
    if chosen.data is not None:
        rows += real_rows(chosen.data, chosen.seed, chosen.say, 3 if chosen.full else 1)
    settings = {
        "replicates": chosen.replicates,
        "rows": whole,
        "sets": SETS,
        "seed": chosen.seed,
        "full": chosen.full,
        "epsilons": [EPSILONS[power] for power in measured.powers],
        "real_data": chosen.data is not None,
    }
    return Report(rows, settings, partial(page, rows, settings))


def file_rows(frame: pd.DataFrame, about: PersonFile) -> Iterator[Row]:
    """Table 2, the number of associated pairs, and the rarest level."""
    whole = len(frame) == ROWS  # cell sizes of a smaller file have nothing to stand beside
    for size, count in cell_sizes(frame).items():
        yield Row(
            "Table 2", "simulated file", f"cells of size {size}", count, paper=paper.TABLE_2[size] if whole else None
        )
    tests = chi_square_agreement(0.05)(compare(frame, [frame], schema=about.schema))
    associated = sum(tests.details["confusion"][key] for key in ("+ +", "- +"))
    pairs = len(list(combinations(about.names, 2)))
    yield Row("Table 4", "simulated file", f"pairs associated at 0.05, of {pairs}", associated, paper=paper.SIGNIFICANT)
    rarest = min(float(frame[name].value_counts(normalize=True).min()) for name in about.names)
    yield Row("Table 1", "simulated file", "share of the rarest level", rarest)
    for power in (paper.ONE_OVER_E, paper.E):
        least = specks_of_margins(frame, EPSILONS[power])
        yield Row(
            "Figure 2", LEAST, paper.SPECKS, least, guarantee=_ALL_ON_MARGINS, where={"power": power, "level": None}
        )


def method_rows(measured: MeasuredFile, methods: tuple[PersonMethod, ...], about: PersonFile) -> Iterator[Row]:
    for power in measured.powers:
        epsilon = EPSILONS[power]
        for method in methods:
            said, where = method.guarantee(about, epsilon), {"epsilon": epsilon, "power": power, "mode": method.mode}
            for metric, level in measured.fresh:
                if values := measured.values(method.file, power, metric, level):
                    mean, se = mean_and_se(values)
                    beside = paper.printed(method.printed, power, metric, level or 0.05)
                    name, ideal, count = _named(metric, level), measured.fresh[metric, level], len(values)
                    here = {**where, "level": level}
                    yield Row(TABLES[metric], method.name, name, mean, se, beside, None, ideal, count, said, here)
            if values := measured.values(method.file, power, paper.SPECKS):
                seconds, count = measured.seconds(method.file, power), len(values)
                yield Row("Time", method.name, paper.SECONDS, seconds, replicates=count, guarantee=said, where=where)


def fresh_rows(measured: MeasuredFile) -> Iterator[Row]:
    for (metric, level), value in measured.fresh.items():
        name = _named(metric, level)
        yield Row(TABLES[metric], FRESH, name, value, guarantee=_NOT_PRIVATE, where={"level": level})


def _named(metric: str, level: float | None) -> str:
    return metric if level is None else f"{metric}, at {level:g}"
