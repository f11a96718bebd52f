"""Result rows: the facts of the file beside Table 2, every metric of every method, printed numbers beside them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pandas as pd

from tacita.evaluation import chi_square_agreement, compare
from tacita_studies.bowen2018.bars import specks_of_margins
from tacita_studies.bowen2018.measure import Measured
from tacita_studies.bowen2018.methods import EPSILONS, Method
from tacita_studies.bowen2018.person_file import PersonFile
from tacita_studies.bowen2018.printed import (
    AGREEMENT,
    ALONE,
    COVERED,
    L1,
    ONE_OVER_E,
    SECONDS,
    SIGNIFICANT,
    SIGNS,
    SPECKS,
    TABLE_2,
    TV2,
    E,
    printed,
)
from tacita_studies.bowen2018.simulation import ROWS, cell_sizes
from tacita_studies.harness.results import Row, mean_and_se

FRESH = "Fresh sample of the same law"
TABLES = {
    SPECKS: "Figure 2",
    TV2: "Two-way tables",
    L1: "Section 3.3, L1",
    AGREEMENT: "Table 4",
    ALONE: "Table 4",
    SIGNS: "Table 5",
    COVERED: "Table 6",
}
LEAST = "All of ε spent on one-way tables"
_ALL_ON_MARGINS = "arithmetic, no release: what noise on one-way tables alone leaves with δ = 1e-9"
_NOT_PRIVATE = "none: the law itself is sampled again; what any method may hope for"


def file_rows(frame: pd.DataFrame, about: PersonFile) -> Iterator[Row]:
    """Table 2, the number of associated pairs, and the rarest level."""
    whole = len(frame) == ROWS  # cell sizes of a smaller file have nothing to stand beside
    for size, count in cell_sizes(frame).items():
        yield Row("Table 2", "simulated file", f"cells of size {size}", count, paper=TABLE_2[size] if whole else None)
    tests = chi_square_agreement(0.05)(compare(frame, [frame], schema=about.schema))
    found = sum(tests.details["confusion"][key] for key in ("+ +", "- +"))
    pairs = len(list(combinations(about.names, 2)))
    yield Row("Table 4", "simulated file", f"pairs associated at 0.05, of {pairs}", found, paper=SIGNIFICANT)
    rarest = min(float(frame[name].value_counts(normalize=True).min()) for name in about.names)
    yield Row("Table 1", "simulated file", "share of the rarest level", rarest)
    for power in (ONE_OVER_E, E):
        least = specks_of_margins(frame, EPSILONS[power])
        yield Row("Figure 2", LEAST, SPECKS, least, guarantee=_ALL_ON_MARGINS, where={"power": power, "level": None})


def method_rows(measured: Measured, methods: tuple[Method, ...], about: PersonFile) -> Iterator[Row]:
    for power in measured.powers:
        epsilon = EPSILONS[power]
        for method in methods:
            guarantee = method.guarantee(about, epsilon)
            where = {"epsilon": epsilon, "power": power, "mode": method.mode}
            for metric, level in measured.fresh:
                values = measured.values(method.file, power, metric, level)
                if not values:
                    continue
                mean, se = mean_and_se(values)
                yield Row(
                    TABLES[metric],
                    method.name,
                    _named(metric, level),
                    mean,
                    se,
                    printed(method.printed, power, metric, level or 0.05),
                    reference=measured.fresh[metric, level],
                    replicates=len(values),
                    guarantee=guarantee,
                    where={**where, "level": level},
                )
            if values := measured.values(method.file, power, SPECKS):
                seconds = measured.seconds(method.file, power)
                count = len(values)
                yield Row("Time", method.name, SECONDS, seconds, replicates=count, guarantee=guarantee, where=where)


def fresh_rows(measured: Measured) -> Iterator[Row]:
    for (metric, level), value in measured.fresh.items():
        name = _named(metric, level)
        yield Row(TABLES[metric], FRESH, name, value, guarantee=_NOT_PRIVATE, where={"level": level})


def _named(metric: str, level: float | None) -> str:
    return metric if level is None else f"{metric}, at {level:g}"
