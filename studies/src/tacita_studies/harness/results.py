"""Result rows: every number of a study, with the paper's beside it.

>>> row = Row("Workload 1", "SmoothGamma", "L1 ratio", ours=0.81, paper=3.0, paper_says="within a factor of 3")
>>> row.as_json()["paper"], row.as_json()["se"]
(3.0, None)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacita.privacy import Guarantee


@dataclass(frozen=True)
class Row:
    """One number of a study, with the paper's number beside it where the paper prints one.

    `paper_says` keeps the printed words where the number is a bound or a round figure. `where` holds the settings
    the number belongs to (ε, α, stratum …), so that a reader of the JSON file need not parse names.
    """

    table: str
    method: str
    metric: str
    ours: float | None
    se: float | None = None
    paper: float | None = None
    paper_says: str | None = None
    reference: float | None = None
    replicates: int = 1
    guarantee: str = "not a release: a fact about the simulated file"
    where: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "method": self.method,
            "metric": self.metric,
            "paper": _finite(self.paper),
            "ours": _finite(self.ours),
            "se": _finite(self.se),
            "reference": _finite(self.reference),
            "replicates": self.replicates,
            "guarantee": self.guarantee,
            "paper_says": self.paper_says,
            **self.where,
        }

    def is_about(self, **wanted: object) -> bool:
        """Whether its table, method, metric and settings are the wanted ones; a setting that it lacks is None."""
        own = {"table": self.table, "method": self.method, "metric": self.metric}
        return all((own[key] if key in own else self.where.get(key)) == value for key, value in wanted.items())


def _finite(value: float | None) -> float | None:
    """JSON has no infinity and no NaN; a number that does not exist is null."""
    return None if value is None or not math.isfinite(value) else float(value)


class Rows:
    """Result rows, found by what they are about.

    >>> rows = Rows([Row("Table 1", "A", "length", 2.0, where={"epsilon": "1"}), Row("Table 1", "B", "length", 3.0)])
    >>> rows.value("A", "length", epsilon="1"), rows.value("A", "length", epsilon="2"), rows.methods("Table 1")
    (2.0, None, ['A', 'B'])
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)
        self._by_name: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self._rows:
            self._by_name[row.method, row.metric].append(row)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self, method: str, metric: str, **where: object) -> list[Row]:
        return [row for row in self._by_name.get((method, metric), ()) if row.is_about(**where)]

    def row(self, method: str, metric: str, **where: object) -> Row | None:
        return next(iter(self.all(method, metric, **where)), None)

    def value(self, method: str, metric: str, **where: object) -> float | None:
        row = self.row(method, metric, **where)
        return None if row is None else row.ours

    def of(self, table: str, **where: object) -> list[Row]:
        """The rows of a table."""
        return [row for row in self._rows if row.table == table and row.is_about(**where)]

    def methods(self, table: str, **where: object) -> list[str]:
        """The methods of a table, in their order."""
        return list(dict.fromkeys(row.method for row in self.of(table, **where)))

    def metrics(self, table: str, **where: object) -> list[str]:
        return list(dict.fromkeys(row.metric for row in self.of(table, **where)))


def in_words(guarantee: Guarantee) -> str:
    """One plain sentence for a guarantee.

    >>> from tacita.privacy import Loss, StrongAlpha
    >>> in_words(Guarantee(StrongAlpha("0.1"), Loss("1")))
    "ε = 1 under strong α = 0.1 neighbours: an attacker's odds change by at most a factor 2.72"
    """
    if guarantee.holds == "never":
        return "none: this method has no guarantee"
    return f"{guarantee}: {guarantee.odds_factor}"


def mean_and_se(values: ArrayLike) -> tuple[float, float | None]:
    """The mean and its standard error, which one value alone does not have.

    >>> mean_and_se([1.0, 2.0, 3.0])
    (2.0, 0.577...)
    >>> mean_and_se([4.0])
    (4.0, None)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return float(array.mean()), None
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size))


def ratio_and_se(numerator: ArrayLike, denominator: ArrayLike) -> tuple[float, float | None]:
    """Ratio of two independent means, with its standard error to first order (the delta method)."""
    (top, top_se), (bottom, bottom_se) = mean_and_se(numerator), mean_and_se(denominator)
    if bottom == 0:
        return math.nan, None
    ratio = top / bottom
    if top_se is None or bottom_se is None or top == 0:
        return ratio, None
    return ratio, ratio * math.hypot(top_se / top, bottom_se / bottom)
