"""The lines of docs/accuracy.md: made from rows of results.json, or read from the page of an earlier run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita_studies.accuracy.rows import FAILED, REFUSED

Json = Mapping[str, Any]
_ABSOLUTE = ("share", "rank correlation", "distance", "regression", "entry", "exit")  # a truth of zero is ordinary here
NOTHING, NO_ANSWER = "–", "no answer"
_NO_GUARANTEE = "no guarantee"
COLUMNS = (
    "setting", "ε", "measured", "statistic", "cells", "error: median, nine in ten", "covered", "outcome / forecast",
)  # fmt: skip
_SECTION = re.compile(r"### (?P<plan>\S+) on (?P<file>.+)")
_REFUSAL = re.compile(
    rf"- (?P<setting>.+); (?P<price>[^;]+); (?P<measured>[^;]+): (?P<statistic>{REFUSED}|{FAILED})\. “(?P<cells>.*)”"
)


@dataclass(frozen=True)
class Line:
    """A statistic of a try as the page prints it; of a try that was refused or failed, `cells` has the words."""

    file: str
    plan: str
    setting: str
    price: str
    measured: str
    statistic: str
    cells: str
    error: str = NOTHING
    covered: str = NOTHING
    outcome: str = NOTHING

    @property
    def tried(self) -> tuple[str, str, str, str]:
        return self.file, self.plan, self.setting, self.price

    @property
    def answered(self) -> bool:
        return self.statistic not in (REFUSED, FAILED)

    @property
    def epsilon(self) -> float:
        """Infinite without a guarantee, where everything is as accurate as it can be."""
        return math.inf if self.price == _NO_GUARANTEE else float(self.price.split(",")[0])

    @property
    def errors(self) -> tuple[float, float] | None:
        """The median error and the one that nine in ten are within, where they are in percent.

        >>> Line("adult", "Table", "counts", "1", "", "mean of age", "2", "4.0%, 12 times").errors
        (0.04, 11.0)
        """
        if is_absolute(self.statistic) or self.error in (NOTHING, f"{NOTHING}, {NOTHING}"):
            return None
        median, most = re.split(r", (?=\d|no)", self.error)
        return _number(median), _number(most)

    @property
    def margins(self) -> tuple[int, int]:
        """How many held the truth, and of how many.

        >>> Line("adult", "Table", "counts", "1", "", "count", "960", covered="96% (922 of 960)").margins
        (922, 960)
        """
        if self.covered == NOTHING:
            return 0, 0
        held, of = re.findall(r"[\d,]+", self.covered.partition("(")[2])
        return int(held.replace(",", "")), int(of.replace(",", ""))

    @property
    def over_forecast(self) -> float | None:
        return None if self.outcome == NOTHING else float(self.outcome.replace(",", ""))


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
    """The error over what was foretold: mean over mean, or the median where a median was foretold, with 1 where no
    error was foretold and there is none."""
    said = np.array([row["forecast"] for row in rows])
    if not said.sum():
        return math.nan
    off = np.array([abs(row["published"] - row["truth"]) for row in rows])
    if rows[0]["foretold"] != "median":
        return float(off.sum() / said.sum())
    exact = np.where(off > 0, np.inf, 1.0)
    return float(np.median(np.divide(off, said, out=exact, where=said > 0)))


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


def measured(documents: Iterable[Json]) -> list[Line]:
    """The lines of what was measured; each with the day of its document, the earliest where a try is in several."""
    rows = [{"day": one.get("date", "earlier"), **row} for one in documents for row in one["rows"]]
    lines = []
    for own in grouped(rows, "file", "plan", "setting", "epsilon", "delta").values():
        draws = len({row["draw"] for row in own})
        when = f"{min(row['day'] for row in own)}, {draws} draw{'' if draws == 1 else 's'}"
        for (statistic,), those in grouped(own, "statistic").items():
            row, summary = those[0], Summary.of(those)
            about = (row["file"], row["plan"], row["setting"], _price(row), when, statistic)
            if statistic in (REFUSED, FAILED):
                lines += [Line(*about, " ".join(one["cell"].split())) for one in those]
                continue
            error = ", ".join(_shown(one, statistic) for one in (summary.median, summary.most))
            over = summary.outcome_over_forecast
            told = NOTHING if math.isnan(over) else f"{over:.2f}"
            held = round(summary.covered * summary.margins) if summary.margins else 0
            lines.append(
                Line(
                    *about, str(len({one["cell"] for one in those})), error, shown_margins(held, summary.margins), told
                )
            )
    return lines


def printed(page: str) -> list[Line]:
    """The lines of a page. What `accuracy.page` printed is read as it was."""
    lines: list[Line] = []
    where: dict[str, str] = {}
    for text in page.splitlines():
        if found := _SECTION.fullmatch(text):
            where, tried = found.groupdict(), ["", "", ""]
        elif where and (found := _REFUSAL.fullmatch(text)):
            lines.append(Line(**where, **found.groupdict()))
        elif where and text.startswith("| ") and not text.startswith(("| setting |", "| ---")):
            cells = [one.strip() for one in text.strip("|").split(" | ")]
            tried = cells[:3] if cells[0] else tried  # said once
            lines.append(Line(where["file"], where["plan"], *tried, *cells[3:]))
    return lines


def kept(before: Iterable[Line], now: Sequence[Line], suite: Mapping[str, Sequence[tuple[str, str]]]) -> list[Line]:
    """Lines of tries that were not measured now, with those that were, in the order of the suite: of each file the
    plans and names of its tries. What the suite no longer tries of a file goes."""
    fresh = {one.tried for one in now}
    stay = [
        one for one in before
        if one.tried not in fresh and (one.file not in suite or (one.plan, one.setting) in suite[one.file])
    ]  # fmt: skip

    def place(one: Line) -> tuple[Any, ...]:
        tries = suite.get(one.file, ())
        at = tries.index((one.plan, one.setting)) if (one.plan, one.setting) in tries else len(tries)
        return one.file, one.plan, at, one.epsilon

    return sorted((*stay, *now), key=place)


def grouped(rows: Iterable[Json], *keys: str) -> dict[tuple[Any, ...], list[Json]]:
    groups: dict[tuple[Any, ...], list[Json]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def shown_margins(held: int, of: int) -> str:
    return f"{100 * held / of:.0f}% ({held:,} of {of:,})" if of else NOTHING


def _price(row: Json) -> str:
    if row["epsilon"] is None:
        return _NO_GUARANTEE
    return f"{row['epsilon']:g}" + (f", δ = {row['delta']:g}" if row["delta"] else "")


def _shown(error: float, statistic: str) -> str:
    if math.isnan(error):
        return NOTHING
    if math.isinf(error):
        return NO_ANSWER
    return f"{error:.3g}" if is_absolute(statistic) else shown_percent(error)


def shown_percent(error: float) -> str:
    if math.isinf(error):
        return NO_ANSWER
    return f"{100 * error:.1f}%" if error < 10 else f"{error + 1:,.3g} times"


def _number(error: str) -> float:
    if error == NO_ANSWER:
        return math.inf
    if error.endswith(" times"):
        return float(error.removesuffix(" times").replace(",", "")) - 1
    return float(error.removesuffix("%")) / 100
