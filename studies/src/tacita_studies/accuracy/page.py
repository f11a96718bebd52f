"""docs/accuracy.md, made from its lines and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import fill

import numpy as np

from tacita_studies.accuracy.lines import COLUMNS, NOTHING, Line, shown_margins, shown_percent

_HEAD = """# Accuracy on real files

What every plan is worth on public files that nobody here made, at settings that a user would choose. `make accuracy`
measures all of it and writes this page; failures are left in. How files and settings are described, and how to try
files of your own, is in [contributing](../CONTRIBUTING.md#accuracy-on-real-files).

- **measured**: on which day, and in how many draws. A run of a part of the suite leaves the other tries as they were.
- **error**: of the published number against the file's own, median over cells and draws, and the one that nine in ten
  are within. In percent of the truth; as it is for shares, correlations, distances, coefficients and units that enter
  or leave.
- **covered**: how many of the published 95% margins, or of the intervals of several files, reach the file's number.
  Intervals of synthetic samples are made for the population, so they should reach it in at least 95%.
- **outcome / forecast**: the mean (or median) error over what the forecast said before, where it speaks about the
  statistic.
"""


def page(lines: Sequence[Line]) -> str:
    """The whole page.

    >>> line = Line("demo", "Table", "counts", "1", "2026-11-19, 2 draws", "count", "1", "2.0%, 2.5%",
    ...     "50% (1 of 2)", "0.50")
    >>> print(page([line]).splitlines()[-1])
    | counts | 1 | 2026-11-19, 2 draws | count | 1 | 2.0%, 2.5% | 50% (1 of 2) | 0.50 |
    """
    parts = [_HEAD, _overall(lines), _at_a_glance(lines)]
    for file, those in groupby(lines, key=lambda one: one.file):
        parts.append(f"## {file}\n")
        for plan, own in groupby(those, key=lambda one: one.plan):
            every = list(own)
            parts.append(f"### {plan} on {file}\n")
            parts += _said([one for one in every if not one.answered])
            if answered := [one for one in every if one.answered]:
                parts.append(_table(answered))
    return "\n".join(parts).rstrip() + "\n"


def _overall(lines: Sequence[Line]) -> str:
    """One paragraph on the whole suite."""
    answered = [one for one in lines if one.answered]
    files, plans, tries = (len({at(one) for one in lines}) for at in (_file, _plan, _tried))
    days, draws = _span_of_days(answered), sorted({int(one.measured.split(", ")[1].split(" ")[0]) for one in answered})
    held, of = _margins(answered)
    ratios = [one.over_forecast for one in answered if one.over_forecast is not None]
    words = f"{files} files, {plans} plans, {tries} tries of plan, setting and ε, "
    words += f"{_span(draws)} of each, {days}. " if draws else "none of which came to an answer. "
    if of:
        words += f"Of {of:,} margins, {100 * held / of:.1f}% cover. "
    if ratios:
        worse, better = np.mean([ratio > 3 for ratio in ratios]), np.mean([ratio < 1 / 3 for ratio in ratios])
        words += f"Of {len(ratios)} statistics with a forecast, the median of outcome over forecast is "
        words += f"{np.median(ratios):.2f}; {100 * worse:.0f}% are more than three times as far off as foretold, "
        words += f"{100 * better:.0f}% less than a third (single numbers in few draws often are, by chance). "
    words += f"Tries that were refused or failed: {len({one.tried for one in lines if not one.answered})}."
    return fill(words, 120) + "\n"


def _file(one: Line) -> str:
    return one.file


def _plan(one: Line) -> str:
    return one.plan


def _tried(one: Line) -> tuple[str, ...]:
    return one.tried


def _span(draws: Sequence[int]) -> str:
    """>>> _span([1]), _span([2, 5])
    ('1 draw', '2 to 5 draws')
    """
    least, most = min(draws), max(draws)
    return f"{f'{least} to ' if least < most else ''}{most} draw{'' if most == 1 else 's'}"


def _span_of_days(lines: Iterable[Line]) -> str:
    days = sorted({day for one in lines for day in re.findall(r"\d{4}-\d\d-\d\d", one.measured)})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "earlier"


def _margins(lines: Iterable[Line]) -> tuple[int, int]:
    held, of = np.sum([one.margins for one in lines] or [(0, 0)], axis=0).tolist()
    return held, of


def _at_a_glance(lines: Sequence[Line]) -> str:
    """A line for each plan on each file, over all its tries at ε up to 10: what is in percent, and what is covered."""
    words = "At a glance, all tries of a plan on a file together, without those at ε above 10; errors are those of the "
    rows = [
        fill(words + "statistic in the middle, of those that are in percent:", 120) + "\n",
        "| file | plan | measured | error: median, nine in ten | covered | outcome / forecast, median | refused |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    usual = [one for one in lines if one.epsilon <= 10 or one.epsilon == np.inf]
    for (file, plan), those in groupby(usual, key=lambda one: (one.file, one.plan)):
        own = list(those)
        errors = [one.errors for one in own if one.answered and one.errors is not None]
        ratios = [one.over_forecast for one in own if one.over_forecast is not None]
        middle = np.quantile(errors, 0.5, axis=0, method="higher").tolist() if errors else ()
        cells = [
            _span_of_days(own),
            ", ".join(map(shown_percent, middle)) or NOTHING,
            shown_margins(*_margins(own)),
            f"{np.median(ratios):.2f}" if ratios else NOTHING,
            str(len({one.tried for one in own if not one.answered})),
        ]
        rows.append(f"| {file} | {plan} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _said(refused: Iterable[Line]) -> Iterable[str]:
    for one in refused:
        yield f"- {one.setting}; {one.price}; {one.measured}: {one.statistic}. “{one.cells}”\n"


def _table(lines: Iterable[Line]) -> str:
    rows = [f"| {' | '.join(COLUMNS)} |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    before = ("", "", "", "")
    for one in lines:
        tried = (one.setting, one.price, one.measured) if one.tried != before else ("", "", "")  # said once
        before = one.tried
        rows.append(f"| {' | '.join((*tried, one.statistic, one.cells, one.error, one.covered, one.outcome))} |")
    return "\n".join(rows) + "\n"
