"""Result rows by what they are about, and how the page writes their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tacita_studies.harness.results import Markup, Row, escaped, shown


class Found:
    """Rows by what they are about."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._by_key = {(row.table, row.method, row.metric, row.where.get("sic3")): row for row in self.rows}

    def row(self, name: str, method: str, metric: str, sic3: str | None = None) -> Row | None:
        return self._by_key.get((name, method, metric, sic3))

    def value(self, name: str, method: str, metric: str) -> float:
        found = self.row(name, method, metric)
        return math.nan if found is None or found.ours is None else found.ours

    def methods(self, name: str, mode: str | None = None) -> list[str]:
        """Methods of a table in their order, of one mode or of all."""
        return list(
            dict.fromkeys(
                row.method for row in self.rows if row.table == name and mode in (None, row.where.get("mode"))
            )
        )

    def metrics(self, name: str) -> list[str]:
        return list(dict.fromkeys(row.metric for row in self.rows if row.table == name))


def number(row: Row | None) -> Markup:
    if row is None or row.ours is None or not math.isfinite(row.ours):
        return Markup("–")
    error = "" if row.se is None else f' <span class="note">± {escaped(_short(row.se))}</span>'
    return Markup(f"{escaped(figures(row.ours))}{error}")


def beside(row: Row | None) -> Markup:
    """Our number, and the printed one below it."""
    ours = number(row).text
    if row is None or row.paper is None:
        return Markup(ours)
    return Markup(f'{ours}<br><span class="note">paper {f"{row.paper:g}"}</span>')


def resampled(row: Row | None) -> Markup:
    ours = number(row).text
    if row is None or row.reference is None:
        return Markup(ours)
    return Markup(f'{ours}<br><span class="note">resample {escaped(figures(row.reference))}</span>')


def figures(value: float) -> str:
    return (
        "0"
        if value == 0
        else f"{value:.4f}"
        if abs(value) < 0.1
        else f"{value:.3f}"
        if abs(value) < 1
        else shown(value)
    )


def _short(value: float) -> str:
    return f"{value:.1g}" if abs(value) < 10 else shown(value)
