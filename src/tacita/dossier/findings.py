"""Everything one evaluation found, before it is written down.

One verdict per product: fit, fit with care, or unfit, by stated limits, and the reason in a sentence.

A limit is met, passed, or passed twice over. What chance alone explains is not held against a product: few cells
outside their margins, a mean within the sampling error of the file, tables as far off as a fresh sample's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.stats import binom

from tacita.dossier.comparators import FRESH, RELEASE, Compared
from tacita.dossier.files import File
from tacita.dossier.questions import Answer, Scope, Skipped
from tacita.dossier.record import FORM, NOTICE, Change, Touch, plain, score_record, table_record, table_scores
from tacita.dossier.request import attack_scores
from tacita.dossier.tables import TableCheck
from tacita.evaluation import Comparison, Encoded
from tacita.evaluation.marginals import total_variation
from tacita.evaluation.risk import PlanAttack
from tacita.evaluation.trends import EMPLOYMENT_TREND
from tacita.pages.render import number, percent
from tacita.privacy import Guarantee
from tacita.release.evaluation_spec import LimitsSpec
from tacita.synthesis.selfcheck.report import FIT, OPEN, UNFIT


@dataclass(frozen=True)
class Variable:
    """One column: how far its distribution is off, and two plain figures of either side."""

    name: str
    kind: str
    variation: float
    missing: tuple[float, float]
    mean: tuple[float, float] | None
    spread: tuple[float, float] | None
    levels: int


@dataclass(frozen=True)
class Estimate:
    """A mean of the original and of the synthetic files, weighted where there are weights, and the totals with it; of
    the weights themselves only the totals."""

    name: str
    original: float
    synthetic: float
    standard_error: float
    totals: tuple[float, float]

    @property
    def off(self) -> float:
        """The relative error of the mean, and of the total where there is no mean."""
        return _off(self.original, self.synthetic)

    @property
    def totals_off(self) -> float:
        return _off(*self.totals)


@dataclass(frozen=True)
class Findings:
    """What a dossier shows; `comparison` is there for the pictures and is never written down."""

    title: str
    moment: str
    version: str
    seconds: float
    files: tuple[File, ...]
    left_out: tuple[str, ...]
    comparison: Comparison | None
    scope: Scope | None
    answers: tuple[Answer, ...]
    skipped: tuple[Skipped, ...]
    compared: tuple[Compared, ...]
    tables: tuple[TableCheck, ...]
    touches: tuple[Touch, ...]
    attacks: tuple[PlanAttack, ...] = ()
    promise: Guarantee | None = None
    """Of the bundle that was evaluated, if one was."""
    product: str = "Synthetic files"
    self_check: str | None = None
    """What the paid self-check of the bundle's files said, if there was one."""
    unsure: bool = False
    """Whether the method's own forecast says that numbers of the bundle's files are for trying out code."""
    limits: LimitsSpec = field(default_factory=LimitsSpec)
    earlier: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def weight(self) -> str | None:
        """The column that every record counts by, where all files have it."""
        if self.comparison is None or self.comparison.schema is None:
            return None
        schema = self.comparison.schema
        named = (schema.design.weight,) if schema.design is not None else schema.by_role("weight")
        return named[0] if len(named) == 1 and named[0] in self.comparison.original.numeric else None

    def verdicts(self) -> list[Verdict]:
        return verdicts(self, self.limits)

    def estimates(self) -> list[Estimate]:
        """Means and totals of all numbers; first what the weights add up to."""
        if self.comparison is None:
            return []
        files = (self.comparison.original, *self.comparison.synthetic)
        scales = [one.rows / one.looked_at for one in self.files[: len(files)]]
        names = self.comparison.original.numeric
        listed = sorted(names, key=lambda name: name != self.weight)
        made = (_estimate(files, scales, name, self.weight) for name in listed)
        return [one for one in made if one is not None]

    def variables(self) -> list[Variable]:
        """All columns, the worst first."""
        if self.comparison is None:
            return []
        off = {names[0]: value for names, value in self.marginals(1).items()}
        described = [_variable(self.comparison, name, off.get(name, 0.0)) for name in self.comparison.original.names]
        return sorted(described, key=lambda one: -one.variation)

    def marginals(self, k: int) -> dict[tuple[str, ...], float]:
        """Total variation of every k-way marginal that a metric has listed in full, averaged over the files."""
        for answer in self.answers:
            files = [one for one in per_file(answer.score.details) if one.get("k") == k and one.get("all")]
            if files:
                sums: dict[tuple[str, ...], float] = {}
                for one in files:
                    for names, value in one["all"]:
                        sums[tuple(names)] = sums.get(tuple(names), 0.0) + value / len(files)
                return sums
        return {}

    def worst_cells(self, most: int = 20) -> list[tuple[str, str, float]]:
        """Table, cell and error ratio of the cells that fit worst, over all domain tables."""
        cells = [
            (answer.name.removeprefix("cell error ratio: "), cell, float(ratio))
            for answer in self.answers
            if answer.group == "domains" and isinstance(answer.score.details.get("cells"), Mapping)
            for cell, ratio in answer.score.details["cells"].items()
        ]
        return sorted(cells, key=lambda one: -one[2])[:most]

    def scores(self) -> list[dict[str, Any]]:
        return [
            *(score_record(answer) for answer in self.answers),
            *table_scores(self.tables),
            *attack_scores(self.attacks),
        ]

    def document(self) -> dict[str, Any]:
        """The dossier as JSON; no rows, no pictures."""
        made: dict[str, Any] = plain(
            {
                "tacita_dossier": FORM,
                "notice": NOTICE,
                "title": self.title,
                "made": self.moment,
                "tacita": self.version,
                "seconds": round(self.seconds, 1),
                "verdicts": [vars(one) for one in self.verdicts()],
                "limits": self.limits.model_dump(),
                "estimates": [vars(one) for one in self.estimates()],
                "weight": self.weight,
                "files": [vars(one) for one in self.files],
                "columns_left_out": list(self.left_out),
                "scores": self.scores(),
                "skipped": [vars(one) for one in self.skipped],
                "variables": [vars(one) for one in self.variables()],
                "pairs": [[*names, value] for names, value in self.marginals(2).items()],
                "worst_cells": self.worst_cells(),
                "comparators": [vars(one) for one in self.compared],
                "tables": [table_record(one) for one in self.tables],
                "touches": [vars(one) for one in self.touches],
            }
        )
        return made


def per_file(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Each synthetic file's own details, where a metric keeps them; a trend keeps numbers there instead."""
    return [one for one in details.get("files", ()) if isinstance(one, Mapping)]


def _estimate(files: Sequence[Encoded], scales: Sequence[float], name: str, weight: str | None) -> Estimate | None:
    means, totals, errors = [], [], []
    for file, scale in zip(files, scales, strict=True):
        values = file.numbers[name]
        known = ~np.isnan(values)
        weights = np.ones(file.rows) if weight in (None, name) else np.nan_to_num(file.numbers[str(weight)])
        values, weights = values[known], weights[known]
        below = float(weights.sum())
        if not below:
            return None
        totals.append(scale * float((weights * values).sum()))
        means.append(totals[-1] / scale / below)
        errors.append(float(np.sqrt(((weights * (values - means[-1])) ** 2).sum())) / below)
    both = _pair(totals)
    return Estimate(name, *(both if name == weight else _pair(means)), errors[0], both)


def _variable(comparison: Comparison, name: str, variation: float) -> Variable:
    column, files = comparison.original.column(name), [comparison.original, *comparison.synthetic]
    missing = [float(file.missing(name).mean()) for file in files]
    mean = spread = None
    if column.kind == "numeric":
        moments = [_moments(file.numbers[name]) for file in files]
        if all(one is not None for one in moments):
            mean = _pair([one[0] for one in moments if one is not None])
            spread = _pair([one[1] for one in moments if one is not None])
    return Variable(name, column.kind, variation, _pair(missing), mean, spread, len(column.levels))


def _off(original: float, synthetic: float) -> float:
    return abs(synthetic - original) / (abs(original) or 1.0)


def _moments(values: Any) -> tuple[float, float] | None:
    known = values[~np.isnan(values)]
    return (float(known.mean()), float(known.std())) if known.size else None


def _pair(values: Sequence[float]) -> tuple[float, float]:
    """The original's figure, and the mean of the synthetic files' figures."""
    return values[0], math.fsum(values[1:]) / max(len(values) - 1, 1)


def trends_of(findings: Findings) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The trends that were measured, with what a picture needs."""
    for answer in findings.answers:
        if answer.group == "trends" and "periods" in answer.score.details:
            yield answer.name, answer.score.details


Grade = Literal["fit", "fit with care", "unfit"]
GRADES: tuple[Grade, ...] = ("fit", "fit with care", "unfit")
_BY_CHANCE = 0.01  # so rarely would a right margin leave out as many cells
_CHECKED: dict[str, float] = {FIT: 0.0, OPEN: 1.0, UNFIT: 3.0}  # what is public already is never called better inside
_OPEN, _NOTHING = 1.5, 3.0  # sizes of what makes a table fit with care, and unfit, whatever the limits are
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
            said = "no cell has a value that could be compared" if check.published else "no cell has a published value"
            yield Measure(f"{said}{of}", _OPEN if check.published else _NOTHING)
            continue
        held = f"cells that hold {percent(check.off)} of the records are" if check.off else "no cell with records is"
        yield Measure(f"{held} off by more than {percent(limits.cell_error)}{of}", check.off / limits.cells_off)
        if check.empty:
            said = f"cells that hold {percent(check.empty)} of the records have no published value{of}"
            yield Measure(said, check.empty / limits.cells_off)
        if check.coverage is None:
            yield Measure(f"no cell has a margin{of}", _NOTHING)
        else:
            if check.loose:
                said = f"cells that hold {percent(check.loose)} of the records have no margin, or one above"
                yield Measure(f"{said} {percent(limits.margin)} of the value{of}", check.loose / limits.cells_off)
            inside = f"{percent(check.coverage)} of {check.margins:,} cells lie within their margin"
            if check.margins == 1:
                inside = f"the one cell with a margin {'lies' if check.coverage else 'does not lie'} within it"
            yield Measure(
                f"{inside}, {percent(check.confidence)} promised{of}",
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
    if findings.unsure:
        yield Measure("by the method's own forecast, which the public page has, numbers are for trying out code", _OPEN)
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
