"""What the study is held to: the plain version near the truth, the formal one at ε = 4, and intervals that cover."""

from __future__ import annotations

from collections.abc import Iterator

from tacita_studies.harness.bars import Bar
from tacita_studies.harness.results import Rows
from tacita_studies.kinney2007.coverage import COEFFICIENTS
from tacita_studies.kinney2007.methods import MAIN, PLAIN, formal
from tacita_studies.kinney2007.rows import COVERED, DISTANCES, IMPOSSIBLE, K_MARGINAL, OTHER_DRAWS, largest, within

LEAST_PANELS = 100
MARGINALS = ("multi-unit status", "first year", "last year")
CORRELATION = "correlation of employment with the year before"
FORMAL = formal(MAIN).name


def _bars() -> Iterator[Bar]:
    for name in MARGINALS:
        yield Bar(PLAIN.name, largest(name), most=0.005)
    yield Bar(PLAIN.name, largest(CORRELATION), most=0.02)
    yield Bar(PLAIN.name, largest("employment"), most=0.02)
    for name in ("job creation", "job destruction"):
        yield Bar(PLAIN.name, largest(name), most=0.10)
    yield Bar(PLAIN.name, IMPOSSIBLE, most=0)
    yield Bar(FORMAL, within("employment"), least=24)
    yield Bar(FORMAL, within("job creation"), least=24)
    for name in ("entry", "exit"):
        yield Bar(FORMAL, largest(name), most=0.05)
    yield Bar(FORMAL, K_MARGINAL, least=900)
    yield Bar(FORMAL, IMPOSSIBLE, most=0)
    for name in COEFFICIENTS[1:]:
        yield Bar(PLAIN.name, COVERED, 0.90, 0.98, {"coefficient": name}, replicates=LEAST_PANELS)


BARS = tuple(_bars())


def draws_that_hold(rows: Rows) -> tuple[int, int]:
    """How many draws of the noise there are, the first with the others, and in how many every formal limit holds."""
    bars = [bar for bar in BARS if bar.method == FORMAL and bar.metric != IMPOSSIBLE]
    others = rows.of(OTHER_DRAWS)
    numbers = sorted({row.where["draw"] for row in others})
    draws = [rows.of(DISTANCES), *([row for row in others if row.where["draw"] == one] for one in numbers)]
    verdicts = [[bar.verdict(bar.row(draw)) for bar in bars] for draw in draws]
    whole = [one for one in verdicts if None not in one]
    return len(whole), sum(map(all, whole))
