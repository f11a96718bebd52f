"""What a self-check found, held against its limits. Public numbers only: everything here was measured with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from tacita.errors import UsageError
from tacita.plan.fields import Named
from tacita.privacy import exact

Verdict = Literal["fit for use", "not fit for use", "not decided"]
FIT: Verdict = "fit for use"
UNFIT: Verdict = "not fit for use"
OPEN: Verdict = "not decided"

LIMITS = {
    "one_way": Fraction(1, 20),
    "one_way_worst": Fraction(1, 10),
    "two_way": Fraction(3, 25),
    "two_way_worst": Fraction(1, 4),
    "rank": Fraction(1, 20),
    "beyond": Fraction(1, 50),
    "mean": Fraction(1, 10),
}
SPOKEN = {
    "one_way": "tables of one column, on average",
    "one_way_worst": "the worst table of one column",
    "two_way": "tables of two columns, on average",
    "two_way_worst": "the worst table of two columns",
    "rank": "the worst rank of a number",
    "beyond": "confidential records with a number below or above all in the file",
    "mean": "the worst mean of a number",
}
CONFIDENCE = Fraction(19, 20)  # for all findings of a check together


def as_limits(given: Mapping[str, Any]) -> Named[Fraction]:
    """Every limit as an exact share; those that are not given are the usual ones.

    >>> as_limits({"mean": "5%", "rank": 0.5})["mean"]
    Fraction(1, 20)
    """
    if not isinstance(given, Mapping):
        raise UsageError('limits: give shares by name, such as {one_way = 0.05, mean = "10%"}')
    if unknown := sorted(set(given) - set(LIMITS)):
        raise UsageError(f"limits.{unknown[0]}: there is no such check; give {', '.join(LIMITS)}")
    return Named({**LIMITS, **{name: _share(name, value) for name, value in given.items()}})


def _share(name: str, given: Any) -> Fraction:
    written = str(given).strip() if isinstance(given, str | int | float | Fraction) else ""
    try:
        share = exact(written.removesuffix("%").strip(), name) / (100 if written.endswith("%") else 1)
    except UsageError:
        share = Fraction(0)
    if share <= 0 or isinstance(given, bool):
        raise UsageError(f'limits.{name}: must be a share above 0, such as 0.05 or "5%"')
    return share


@dataclass(frozen=True)
class Finding:
    """One thing that was measured: its value, where it lies for certain enough, and the limit that was stated.

    `noisy` is what was released, with noise of the law `noise`; the other numbers follow from it. Without an end
    `high`, nothing bounds it.
    """

    name: str
    value: float
    low: float
    high: float | None
    limit: float
    noisy: int
    noise: Mapping[str, str]

    @property
    def met(self) -> bool:
        return self.high is not None and self.high <= self.limit

    @property
    def broken(self) -> bool:
        return self.low > self.limit


@dataclass(frozen=True)
class Report:
    """All findings; `records` is how many records there are, public or as measured."""

    records: int
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """A limit that is broken beyond the margin decides; one that lies within a margin leaves it open."""
        if any(one.broken for one in self.findings):
            return UNFIT
        return FIT if all(one.met for one in self.findings) else OPEN

    def record(self) -> dict[str, Any]:
        """As JSON values, in words that a reader of plan.json understands."""
        return {"verdict": self.verdict, "records": self.records, "findings": [asdict(one) for one in self.findings]}


def report_from(record: Mapping[str, Any]) -> Report:
    """The report that was recorded so."""
    findings: Sequence[Mapping[str, Any]] = record["findings"]
    return Report(record["records"], tuple(Finding(**one) for one in findings))
