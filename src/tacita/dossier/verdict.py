"""One verdict per product: fit, fit with care, or unfit, by stated limits, and the reason in a sentence.

A limit is met, passed, or passed twice over. What chance alone explains is not held against a product: few cells
outside their margins, a mean within the sampling error of the file, tables as far off as a fresh sample's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scipy.stats import binom

from tacita.dossier.comparators import FRESH, RELEASE
from tacita.dossier.tables import TableCheck
from tacita.evaluation.marginals import total_variation
from tacita.evaluation.trends import EMPLOYMENT_TREND
from tacita.pages.figures import number, percent
from tacita.release.evaluation_spec import LimitsSpec
from tacita.synthesis.selfcheck.report import FIT, OPEN, UNFIT

if TYPE_CHECKING:
    from tacita.dossier.findings import Findings

Grade = Literal["fit", "fit with care", "unfit"]
GRADES: tuple[Grade, ...] = ("fit", "fit with care", "unfit")
_BY_CHANCE = 0.01  # so rarely would a right margin leave out as many cells
_CHECKED: dict[str, float] = {FIT: 0.0, OPEN: 1.0, UNFIT: 3.0}  # what is public already is never called better inside
_SAMPLING = 2.0  # standard errors of the file's own mean, within which a difference is no news


@dataclass(frozen=True)
class Measure:
    """One thing that was held against a limit; `size` is 1 at the limit, and beyond 2 the product is unfit."""

    said: str
    size: float

    @property
    def grade(self) -> Grade:
        return GRADES[(self.size > 1) + (self.size > 2)]


@dataclass(frozen=True)
class Verdict:
    """What a product is worth in a word, and why."""

    product: str
    title: str
    grade: Grade
    why: str


def verdicts(findings: Findings, limits: LimitsSpec) -> list[Verdict]:
    """Of the synthetic files first, then of every table, the worst first."""
    judged = []
    if findings.comparison is not None:
        measures = list(_of_files(findings, limits))
        judged.append(_judged("synthetic files", findings.product, measures))
    checks: dict[str, list[TableCheck]] = {}
    for check in findings.tables:
        checks.setdefault(check.product, []).append(check)
    tables = [
        _judged(product, own[0].title.split(" · ")[0] if len(own) > 1 else own[0].title, list(_of_table(own, limits)))
        for product, own in checks.items()
    ]
    return judged + sorted(tables, key=lambda one: -GRADES.index(one.grade))


def _judged(product: str, title: str, measures: Sequence[Measure]) -> Verdict:
    worst = sorted(measures, key=lambda one: -one.size)
    if not worst:
        return Verdict(product, title, "fit with care", "Nothing could be held against a limit.")
    grade = worst[0].grade
    told = [one.said for one in worst if one.size > 1] or [one.said for one in worst]
    said = "; ".join(told[:3])
    more = f", and {len(told) - 3} more" if len(told) > 3 and grade != "fit" else ""
    return Verdict(product, title, grade, f"{said[:1].upper()}{said[1:]}{more}.")


# ---------------------------------------------------------------- tables


def _of_table(checks: Sequence[TableCheck], limits: LimitsSpec) -> Iterator[Measure]:
    for check in checks:
        of = f" ({check.name.split(' · ', 1)[1]})" if len(checks) > 1 and " · " in check.name else ""
        if not check.compared:
            yield Measure(f"no cell has a value that could be compared{of}", 1.5)
            continue
        held = f"cells that hold {percent(check.off)} of the records are" if check.off else "no cell with records is"
        yield Measure(f"{held} off by more than {percent(limits.cell_error)}{of}", check.off / limits.cells_off)
        if check.coverage is not None:
            yield Measure(
                f"{percent(check.coverage)} of {check.margins:,} cells lie within their margin, "
                f"{percent(check.confidence)} promised{of}",
                _shortfall(check.coverage, check.margins, check.confidence, limits.coverage),
            )


def _shortfall(coverage: float, margins: int, confidence: float, limit: float) -> float:
    """How far below the promise, in units of what the limit allows; at most 1 where chance would do as much."""
    allowed = max(confidence - limit, 1e-3) if limit < confidence else 1e-3
    size = max(0.0, confidence - coverage) / allowed
    by_chance = binom.cdf(round(coverage * margins), margins, confidence) > _BY_CHANCE
    return min(size, 1.0) if by_chance else size


# ---------------------------------------------------------------- synthetic files


def _of_files(findings: Findings, limits: LimitsSpec) -> Iterator[Measure]:
    if findings.self_check is not None:
        yield Measure(f"the paid self-check says {findings.self_check}", _CHECKED.get(findings.self_check, 1.0))
    for one in findings.estimates():
        is_sum = one.name == findings.weight
        if is_sum:
            said = f"the weights add up to {number(one.synthetic)}, and to {number(one.original)} in the original"
        else:
            weighted = "weighted mean" if findings.weight else "mean"
            said = (
                f"the {weighted} of {one.name} is {number(one.synthetic)}, and {number(one.original)} in the original"
            )
        known = is_sum or abs(one.synthetic - one.original) > _SAMPLING * one.standard_error
        yield Measure(said, one.off / limits.mean if known else min(one.off / limits.mean, 1.0))
    pairs = total_variation(2).name
    scores = {one.method: one.scores[pairs] for one in findings.compared if pairs in one.scores}
    if RELEASE in scores and FRESH in scores:
        said = f"two-way tables are {percent(scores[RELEASE])} off, those of a fresh sample {percent(scores[FRESH])}"
        yield Measure(said, max(0.0, scores[RELEASE] - scores[FRESH]) / limits.pairs)
    for answer in findings.answers:
        if answer.name == EMPLOYMENT_TREND:
            said = f"employment over time is {percent(answer.score.value)} off"
            yield Measure(said, answer.score.value / limits.trend)
