"""docs/accuracy.md, made from the rows of results.json and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from tacita_studies.accuracy.rows import FAILED, REFUSED

Json = Mapping[str, Any]
_ABSOLUTE = ("share", "rank correlation", "distance", "regression", "entry", "exit")  # a truth of zero is ordinary here
_HEAD = """# Accuracy on real files

What every plan is worth on public files that nobody here made, at settings that a user would choose. `make accuracy`
measures all of it and writes this page; failures are left in. How files and settings are described, and how to try
files of your own, is in [contributing](../CONTRIBUTING.md#accuracy-on-real-files).

- **error**: of the published number against the file's own, median over cells and draws, and the one that nine in ten
  are within. In percent of the truth; as it is for shares, correlations, distances, coefficients and units that enter
  or leave.
- **covered**: how many of the published 95% margins, or of the intervals of several files, reach the file's number.
  Intervals of synthetic samples are made for the population, so they should reach it in at least 95%.
- **outcome / forecast**: the mean (or median) error over what the forecast said before, where it speaks about the
  statistic.
"""


@dataclass(frozen=True)
class Summary:
    """All rows of one statistic of one try: the medians over cells and draws."""

    median: float
    most: float
    margins: int
    covered: float
    outcome_over_forecast: float

    @classmethod
    def of(cls, rows: Sequence[Json]) -> Summary:
        errors = np.array([error for row in rows if (error := error_of(row)) is not None])
        covered = [row["covered"] for row in rows if row["covered"] is not None]
        foretold = [row for row in rows if row["forecast"] is not None and row["published"] is not None]
        return cls(
            float(np.median(errors)) if errors.size else math.nan,
            float(np.quantile(errors, 0.9, method="higher")) if errors.size else math.nan,
            len(covered),
            float(np.mean(covered)) if covered else math.nan,
            _outcome(foretold),
        )


def _outcome(rows: Sequence[Json]) -> float:
    """The error over what was foretold: mean over mean, or the median where a median was foretold."""
    said = np.array([row["forecast"] for row in rows])
    if not said.sum():
        return math.nan
    off = np.array([abs(row["published"] - row["truth"]) for row in rows])
    median = rows[0]["foretold"] == "median"
    return float(np.median(off[said > 0] / said[said > 0])) if median else float(off.sum() / said.sum())


def is_absolute(statistic: str) -> bool:
    return statistic.removeprefix("table: ").startswith(_ABSOLUTE)


def error_of(row: Json) -> float | None:
    """How far off: infinitely where a cell has no answer, None where nothing can be said in percent."""
    if row["truth"] is None or (row["truth"] == 0 and not is_absolute(row["statistic"])):
        return None
    if row["published"] is None:
        return math.inf
    off = abs(row["published"] - row["truth"])
    if is_absolute(row["statistic"]):
        return float(off)
    return float(off / abs(row["truth"]))


def page(document: Json) -> str:
    """The whole page.

    >>> row = {"plan": "Table", "file": "demo", "setting": "counts", "epsilon": 1.0, "delta": 0.0, "draw": 0,
    ...     "neighbours": "one record replaced", "statistic": "count", "cell": "all", "truth": 100.0,
    ...     "published": 102.0, "margin": 5.0, "covered": True, "forecast": 4.0, "foretold": "mean",
    ...     "seconds": 0.1}
    >>> print(page({"version": "0.1.0", "rows": [row]}).splitlines()[-1])
    | counts | 1 | count | 1 | 2.0%, 2.0% | 100% of 1 | 0.50 |
    """
    rows = [row for row in document["rows"] if row["statistic"] not in (REFUSED, FAILED)]
    refused = [row for row in document["rows"] if row["statistic"] in (REFUSED, FAILED)]
    parts = [_HEAD, _overall(rows, refused), _at_a_glance(rows, refused)]
    for file in dict.fromkeys(row["file"] for row in document["rows"]):
        parts.append(f"## {file}\n")
        own = [row for row in rows if row["file"] == file]
        for plan in dict.fromkeys(row["plan"] for row in document["rows"] if row["file"] == file):
            parts.append(f"### {plan} on {file}\n")
            parts += _said([row for row in refused if (row["file"], row["plan"]) == (file, plan)])
            if mine := [row for row in own if row["plan"] == plan]:
                parts.append(_table(mine))
    return "\n".join(parts).rstrip() + "\n"


def _overall(rows: Sequence[Json], refused: Sequence[Json]) -> str:
    """One paragraph on the whole suite."""
    files, plans = ({row[key] for row in (*rows, *refused)} for key in ("file", "plan"))
    draws = [len({row["draw"] for row in own}) for own in grouped(rows, "file", "plan", "setting", "epsilon").values()]
    covered = [row["covered"] for row in rows if row["covered"] is not None]
    ratios = [
        ratio
        for own in grouped(rows, "file", "plan", "setting", "epsilon", "statistic").values()
        if math.isfinite(ratio := Summary.of(own).outcome_over_forecast)
    ]
    words = f"{len(files)} files, {len(plans)} plans, {len(draws)} tries of plan, setting and ε, "
    words += f"{_span(draws)} of each. " if draws else "none of which came to an answer. "
    if covered:
        words += f"Of {len(covered):,} margins, {100 * np.mean(covered):.1f}% cover. "
    if ratios:
        worse, better = np.mean([ratio > 3 for ratio in ratios]), np.mean([ratio < 1 / 3 for ratio in ratios])
        words += f"Of {len(ratios)} statistics with a forecast, the median of outcome over forecast is "
        words += f"{np.median(ratios):.2f}; {100 * worse:.0f}% are more than three times as far off as foretold, "
        words += f"{100 * better:.0f}% less than a third (single numbers in few draws often are, by chance). "
    words += f"Tries that were refused or failed: {len(grouped(refused, 'file', 'plan', 'setting', 'epsilon'))}."
    return fill(words, 120) + "\n"


def _span(draws: Sequence[int]) -> str:
    """>>> _span([1, 1]), _span([2, 5])
    ('1 draw', '2 to 5 draws')
    """
    least, most = min(draws), max(draws)
    return f"{f'{least} to ' if least < most else ''}{most} draw{'' if most == 1 else 's'}"


def _at_a_glance(rows: Sequence[Json], refused: Sequence[Json]) -> str:
    """A line for each plan on each file, over all its tries at ε up to 10: what is in percent, and what is covered."""
    lines = [
        "At a glance, all tries of a plan on a file together, without those at ε above 10:\n",
        "| file | plan | error in percent: median, nine in ten | covered | outcome / forecast, median | refused |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    usual = [row for row in (*rows, *refused) if row["epsilon"] is None or row["epsilon"] <= 10]
    for (file, plan), own in grouped(usual, "file", "plan").items():
        answered = [row for row in own if row["statistic"] not in (REFUSED, FAILED)]
        percent = Summary.of([row for row in answered if not is_absolute(row["statistic"])])
        tried = grouped(answered, "setting", "epsilon", "statistic").values()
        ratios = [one for rows_ in tried if math.isfinite(one := Summary.of(rows_).outcome_over_forecast)]
        cells = [
            ", ".join(_shown(one, "") for one in (percent.median, percent.most)),
            _covered(Summary.of(answered)),
            f"{np.median(ratios):.2f}" if ratios else "–",
            str(len(grouped([row for row in own if row not in answered], "setting", "epsilon"))),
        ]
        lines.append(f"| {file} | {plan} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _covered(summary: Summary) -> str:
    return f"{100 * summary.covered:.0f}% of {summary.margins:,}" if summary.margins else "–"


def _said(refused: Sequence[Json]) -> Iterable[str]:
    for row in refused:
        words = " ".join(row["cell"].split())
        yield f"- {row['setting']}, {_price(row)}: {row['statistic']}. “{words}”\n"


def _table(rows: Sequence[Json]) -> str:
    lines = [
        "| setting | ε | statistic | cells | error: median, nine in ten | covered | outcome / forecast |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    before = ("", "")
    for (setting, _, statistic), own in grouped(rows, "setting", "epsilon", "statistic").items():
        summary, cells = Summary.of(own), len({row["cell"] for row in own})
        errors = ", ".join(_shown(one, statistic) for one in (summary.median, summary.most))
        ratio = summary.outcome_over_forecast
        said = f"{ratio:.2f}" if math.isfinite(ratio) else "–"
        now = (setting, _price(own[0]))
        tried = now if now != before else ("", "")  # said once
        before = now
        lines.append(f"| {' | '.join((*tried, statistic, str(cells), errors, _covered(summary), said))} |")
    return "\n".join(lines) + "\n"


def grouped(rows: Iterable[Json], *keys: str) -> dict[tuple[Any, ...], list[Json]]:
    groups: dict[tuple[Any, ...], list[Json]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _price(row: Json) -> str:
    if row["epsilon"] is None:
        return "no guarantee"
    return f"{row['epsilon']:g}" + (f", δ = {row['delta']:g}" if row["delta"] else "")


def _shown(error: float, statistic: str) -> str:
    if math.isnan(error):
        return "–"
    if math.isinf(error):
        return "no answer"
    if is_absolute(statistic):
        return f"{error:.3g}"
    return f"{100 * error:.1f}%" if error < 10 else f"{error + 1:,.3g} times"
