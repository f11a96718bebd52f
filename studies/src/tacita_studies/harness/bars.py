"""What a study is held to: a number of its results between two limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tacita_studies.harness.results import Row


@dataclass(frozen=True)
class Bar:
    """`where` are the settings of the row that the bar is about; fewer `replicates` than asked for are no evidence."""

    method: str
    metric: str
    least: float | None = None
    most: float | None = None
    where: Mapping[str, object] = field(default_factory=dict)
    replicates: int = 1

    def met(self, value: float) -> bool:
        """>>> Bar("plain", "employment", most=0.02).met(0.03), Bar("plain", "coverage", 0.9, 0.98).met(0.95)
        (False, True)
        """
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def row(self, rows: Iterable[Row], **other: object) -> Row | None:
        """The row that the bar is about, with `other` settings if asked for; None where that part was left out."""
        wanted = {**self.where, **other}
        return next((row for row in rows if row.is_about(method=self.method, metric=self.metric, **wanted)), None)

    def verdict(self, row: Row | None) -> bool | None:
        """None where there is nothing to judge by."""
        if row is None or row.ours is None or row.replicates < self.replicates:
            return None
        return self.met(row.ours)

    @property
    def limit(self) -> str:
        """>>> Bar("plain", "coverage", 0.9, 0.98).limit
        'at least 0.9 and at most 0.98'
        """
        parts = [f"at least {self.least:g}"] if self.least is not None else []
        return " and ".join([*parts, f"at most {self.most:g}"] if self.most is not None else parts)
