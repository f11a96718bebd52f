"""What a self-check found, in words and one picture: for the page, the codebook and the terminal.

Made from what plan.json says of a product and from nothing else. Post-processing of released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from tacita.pages.charts import limit_bars
from tacita.pages.figures import percent
from tacita.release.microdata import WITHHELD
from tacita.synthesis.selfcheck.report import FIT, SPOKEN, UNFIT, Finding, Report, report_from

_UNCHECKED = (
    "No self-check was paid for: nothing here says how near the synthetic files are to the confidential one. Ask "
    "whoever published them before you rely on a result."
)


def verdict_of(record: Mapping[str, Any]) -> str:
    """In a sentence or two, whether the files are any good; `record` is what plan.json says of the product."""
    if not record.get("check"):
        return _UNCHECKED
    report = report_from(record["check"])
    if report.verdict == FIT:
        return "Fit for use: the first file met every limit that was stated for its paid self-check."
    if report.verdict == UNFIT:
        fate = " The files were withheld; only this report is published." if record["kind"] == WITHHELD else ""
        broken = "; ".join(_said(one) for one in report.findings if one.broken)
        return f"NOT FIT FOR USE: the first file failed its paid self-check: {broken}.{fate}"
    open_ones = "; ".join(_said(one) for one in report.findings if not one.met)
    return (
        "Not decided: the paid self-check broke no limit for certain, but its margins do not rule it out for "
        f"{open_ones}."
    )


def _said(one: Finding) -> str:
    return f"{SPOKEN[one.name]}: {_interval(one)} off, limit {percent(one.limit)}"


def _interval(one: Finding) -> str:
    high = "no bound" if one.high is None else percent(one.high)
    return f"{percent(one.value)} ({percent(one.low)} to {high})"


def check_view(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The paragraph and the picture of the page; None where there was no check."""
    if not record.get("check"):
        return None
    report = report_from(record["check"])
    return {
        "verdict": verdict_of(record),
        "paragraph": _paragraph(report, record["mechanism"]["check"]["share"]),
        "picture": _picture(report),
        "rows": [(SPOKEN[one.name], _interval(one), percent(one.limit), _judged(one)) for one in report.findings],
        "unfit": report.verdict == UNFIT,
        "withheld": record["kind"] == WITHHELD,
    }


def _paragraph(report: Report, share: str) -> str:
    found = {one.name: one for one in report.findings}
    said = [
        f"A share of {share} of the budget of the files paid for comparing the first of them with the confidential "
        "file, by a list of checks that was fixed beforehand. Noise was added to each result; the intervals hold all "
        "together with 95% confidence.",
        f"On average a table of one column has {_interval(found['one_way'])} of its records in the wrong cell",
    ]
    if "two_way" in found:
        said[-1] += f", a table of two columns {_interval(found['two_way'])}"
    said[-1] += "."
    if "rank" in found:
        said.append(
            f"The share of records up to any value of any number is off by at most {_interval(found['rank'])}, and "
            f"{_interval(found['beyond'])} of the records have a number beyond all that the file has of it."
        )
    if "mean" in found:
        said.append(
            f"The mean that fares worst is off by {_interval(found['mean'])} of the mean size of its values, extremes "
            "cut off."
        )
    return " ".join(said)


def _judged(one: Finding) -> str:
    return "met" if one.met else "broken" if one.broken else "not decided"


def _picture(report: Report) -> Markup:
    return limit_bars(
        [SPOKEN[one.name] for one in report.findings],
        [one.value for one in report.findings],
        [(one.low, one.high) for one in report.findings],
        [one.limit for one in report.findings],
    )
