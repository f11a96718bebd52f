"""Everything one evaluation found, before it is written down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacita.dossier.attacks import attack_scores
from tacita.dossier.comparators import Compared
from tacita.dossier.files import File
from tacita.dossier.questions import Answer, Scope, Skipped
from tacita.dossier.record import FORM, NOTICE, Change, plain, score_record, table_record, table_scores
from tacita.dossier.tables import TableCheck
from tacita.dossier.touches import Touch
from tacita.dossier.verdict import Verdict, verdicts
from tacita.evaluation import Comparison, Encoded
from tacita.evaluation.risk import PlanAttack
from tacita.privacy import Guarantee
from tacita.release.evaluation_spec import LimitsSpec


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
        found = (_estimate(files, scales, name, self.weight) for name in listed)
        return [one for one in found if one is not None]

    def variables(self) -> list[Variable]:
        """All columns, the worst first."""
        if self.comparison is None:
            return []
        off = {names[0]: value for names, value in self.marginals(1).items()}
        found = [_variable(self.comparison, name, off.get(name, 0.0)) for name in self.comparison.original.names]
        return sorted(found, key=lambda one: -one.variation)

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
        found = [
            (answer.name.removeprefix("cell error ratio: "), cell, float(ratio))
            for answer in self.answers
            if answer.group == "domains" and isinstance(answer.score.details.get("cells"), Mapping)
            for cell, ratio in answer.score.details["cells"].items()
        ]
        return sorted(found, key=lambda one: -one[2])[:most]

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
