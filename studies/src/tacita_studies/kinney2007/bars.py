"""What the study is held to: the plain version near the truth, the formal one at ε = 4, and intervals that cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tacita_studies.harness.results import Row
from tacita_studies.kinney2007.coverage import COEFFICIENTS
from tacita_studies.kinney2007.methods import MAIN, PLAIN, Method
from tacita_studies.kinney2007.rows import COVERED, IMPOSSIBLE, K_MARGINAL, largest, within

LEAST_PANELS = 100
MARGINALS = ("multi-unit status", "first year", "last year")
CORRELATION = "correlation of employment with the year before"


@dataclass(frozen=True)
class Bar:
    """A number between two limits; `coefficient` for coverage."""

    method: str
    metric: str
    least: float | None = None
    most: float | None = None
    coefficient: str | None = None

    def met(self, value: float) -> bool:
        """>>> Bar("plain", "employment", most=0.02).met(0.03), Bar("plain", COVERED, 0.9, 0.98).met(0.95)
        (False, True)
        """
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def verdict(self, row: Row) -> bool | None:
        """None where too few panels were drawn to judge coverage by."""
        if row.ours is None or (self.metric == COVERED and row.replicates < LEAST_PANELS):
            return None
        return self.met(row.ours)

    def row(self, rows: Iterable[Row]) -> Row | None:
        """The row that the bar is about; there is none where the method or the part was left out."""
        for row in rows:
            here = (row.method, row.metric) == (self.method, self.metric)
            if here and self.coefficient in (None, row.where.get("coefficient")):
                return row
        return None

    @property
    def limit(self) -> str:
        parts = [f"at least {self.least:g}"] if self.least is not None else []
        return " and ".join([*parts, f"at most {self.most:g}"] if self.most is not None else parts)


def _bars() -> Iterator[Bar]:
    plain, formal = PLAIN.name, Method(MAIN).name
    for name in MARGINALS:
        yield Bar(plain, largest(name), most=0.005)
    yield Bar(plain, largest(CORRELATION), most=0.02)
    yield Bar(plain, largest("employment"), most=0.02)
    for name in ("job creation", "job destruction"):
        yield Bar(plain, largest(name), most=0.10)
    yield Bar(plain, IMPOSSIBLE, most=0)
    yield Bar(formal, within("employment"), least=24)
    yield Bar(formal, within("job creation"), least=24)
    for name in ("entry", "exit"):
        yield Bar(formal, largest(name), most=0.05)
    yield Bar(formal, K_MARGINAL, least=900)
    yield Bar(formal, IMPOSSIBLE, most=0)
    for name in COEFFICIENTS[1:]:
        yield Bar(plain, COVERED, least=0.90, most=0.98, coefficient=name)


BARS = tuple(_bars())
