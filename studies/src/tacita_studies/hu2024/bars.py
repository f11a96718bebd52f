"""What the study is held to: the printed tables for FBS and FBP, and the sample itself for the default synthesis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacita_studies.harness.results import Row
from tacita_studies.hu2024.methods import DEFAULT
from tacita_studies.hu2024.population import Case
from tacita_studies.hu2024.printed import STATISTICS, Statistic
from tacita_studies.hu2024.rows import AS_PRINTED, COVERED, LENGTHS, MAXIMUM, MEDIAN, SUMMARY


@dataclass(frozen=True)
class Bar:
    """A summary over cells between two limits."""

    method: str
    statistic: Statistic
    metric: str
    least: float | None = None
    most: float | None = None
    epsilon: str = "10.8"
    sets: int | None = None

    def met(self, value: float) -> bool:
        """>>> Bar(DEFAULT, "mean", MEDIAN, most=1.15).met(1.2), Bar("FBS", "mean", LENGTHS, 0.85, 1.15).met(1.1)
        (False, True)
        """
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def value(self, rows: Iterable[Row], case: Case = "informative") -> float | None:
        for row in rows:
            where = row.where
            if (
                row.table == SUMMARY
                and (row.method, row.metric) == (self.method, self.metric)
                and (where["case"], where["statistic"]) == (case, self.statistic)
                and where["epsilon"] == self.epsilon
                and self.sets in (None, where["sets"])
            ):
                return row.ours
        return None

    @property
    def limit(self) -> str:
        parts = [f"at least {self.least:g}"] if self.least is not None else []
        return " and ".join([*parts, f"at most {self.most:g}"] if self.most is not None else parts)


def _bars() -> Iterable[Bar]:
    for statistic in STATISTICS:
        yield Bar(DEFAULT, statistic, MEDIAN, most=1.15)
        yield Bar(DEFAULT, statistic, MAXIMUM, most=1.8)
        yield Bar(DEFAULT, statistic, COVERED, least=22)
        yield Bar(DEFAULT, statistic, MEDIAN, most=1.6, epsilon="3.6")
        yield Bar(DEFAULT, statistic, COVERED, least=22, epsilon="3.6")
    for arm in ("FBS", "FBP"):
        for statistic in STATISTICS:
            yield Bar(arm, statistic, AS_PRINTED, least=20, sets=3)
            yield Bar(arm, statistic, LENGTHS, least=0.85, most=1.15, sets=3)


BARS = tuple(_bars())
