"""How the page writes the numbers of rows."""

from __future__ import annotations

import math

from tacita_studies.harness.page import Markup, escaped, shown
from tacita_studies.harness.results import Row


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
