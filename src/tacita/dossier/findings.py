"""Everything one evaluation found, before it is written down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.dossier.attacks import attack_scores
from tacita.dossier.comparators import Compared
from tacita.dossier.files import File
from tacita.dossier.questions import Scope, Skipped
from tacita.dossier.record import FORM, NOTICE, Change, plain, score_record, table_record, table_scores
from tacita.dossier.scoring import Answer
from tacita.dossier.tables import TableCheck
from tacita.dossier.touches import Touch
from tacita.evaluation import Comparison
from tacita.evaluation.risk import PlanAttack
from tacita.privacy import Guarantee


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
    earlier: str = ""
    changes: tuple[Change, ...] = ()

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
