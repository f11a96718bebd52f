"""What to ask: every metric that applies to the files at hand, and for the others why they do not.

`answer` asks them one by one: values, how long each took, and the questions that had no answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tacita.data.schema import Schema
from tacita.errors import TacitaError, UsageError
from tacita.evaluation import Comparison, Metric, Score
from tacita.evaluation.association import chi_square_agreement
from tacita.evaluation.cellwise import Tabulation, cell_coverage, cell_rmse_ratio
from tacita.evaluation.propensity import general_metrics, pmse, pmse_ratio
from tacita.evaluation.regression import Regression, holdout_nrmse, regression_metrics
from tacita.evaluation.risk import (
    Dominance,
    PPercent,
    attribute_disclosure,
    given_away_cells,
    nearest_record,
    replicated_uniques,
    sensitive_cells,
    uniques,
)
from tacita.evaluation.trends import Panel, WidePanel, trend_metrics
from tacita.implicates import Kind
from tacita.inference import Rule, rule_for
from tacita.release.evaluation_spec import EvaluationSpec, PanelSpec

Group = Literal["general", "domains", "analyses", "trends", "risk"]
GROUPS: dict[Group, str] = {
    "general": "The file as a whole",
    "domains": "Cells that users will ask for",
    "analyses": "Analyses that users will run",
    "trends": "Trends over time",
    "risk": "Empirical risk",
}
_MOST_KNOWN, _MOST_TARGETS, _MOST_TABLES = 4, 3, 6
_MOST_LEVELS, _MOST_CELLS = 200, 500
_FEWEST_PARAMETERS, _MOST_PARAMETERS = 50, 500
_WORK = 35_000_000_000  # rows times squared parameters of one pass: well under a minute for a fit on two cores


@dataclass(frozen=True)
class Question:
    """One metric to compute; `on_holdout` asks it a second time against rows that the synthesizer never saw."""

    group: Group
    metric: Metric
    on_holdout: bool = False


@dataclass(frozen=True)
class Skipped:
    """Something the dossier does not answer, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Scope:
    """The choices behind the questions, declared or filled in, so that the dossier can state them."""

    known: tuple[str, ...]
    targets: tuple[str, ...]
    tables: tuple[tuple[str, ...], ...]
    regressions: tuple[Regression, ...]
    contributions: tuple[tuple[tuple[str, ...], str], ...]
    panel: Panel | WidePanel | None
    declared: bool
    kind: Kind | None = None
    """How the synthetic files were made, which decides how they are combined; None where they do not say."""

    @property
    def rule(self) -> Rule | None:
        return None if self.kind is None else rule_for(self.kind)


def scope_of(comparison: Comparison, asked: EvaluationSpec, kind: Kind | None = None) -> Scope:
    """What was declared, and sensible choices for what was not."""
    names = comparison.original.names
    for key in ("known", "targets"):
        _check_columns(key, getattr(asked, key), names)
    for table in asked.tables:
        _check_columns("tables", table, names)
    for one in asked.contributions:
        _check_columns("contributions", (*one.by, one.value), names)
    known = asked.known or _default_known(comparison)
    targets = asked.targets or tuple(
        name for name in _by_role(comparison.schema, names, "confidential") or names if name not in known
    )
    return Scope(
        known=known,
        targets=targets[:_MOST_TARGETS] if not asked.targets else asked.targets,
        tables=asked.tables or _default_tables(comparison),
        regressions=tuple(_model(comparison, formula) for formula in asked.regressions),
        contributions=tuple((one.by, one.value) for one in asked.contributions),
        panel=None if asked.panel is None else _panel(asked.panel),
        declared=bool(asked.known or asked.targets or asked.tables),
        kind=kind if len(comparison.synthetic) > 1 else None,
    )


def _panel(given: PanelSpec) -> Panel | WidePanel:
    if given.years is not None:
        return WidePanel.of(given.columns)
    assert given.unit is not None  # the specification has made sure
    assert given.period is not None
    return Panel(given.unit, given.period, given.employment)


def questions(comparison: Comparison, scope: Scope) -> tuple[tuple[Question, ...], tuple[Skipped, ...]]:
    """All the questions about the files, in the order of the dossier; trends are asked separately."""
    return tuple(_asked(comparison, scope)), tuple(_not_asked(comparison, scope))


def trend_questions(panel: Panel | WidePanel) -> tuple[Question, ...]:
    """Trends are asked of a comparison of their own, since it has to keep the identifier."""
    return tuple(Question("trends", metric) for metric in trend_metrics(panel))


def _asked(comparison: Comparison, scope: Scope) -> Iterator[Question]:
    has_holdout = comparison.holdout is not None
    for metric in _general(comparison):
        yield Question("general", metric, on_holdout=has_holdout)
    if len(comparison.original.names) > 1:
        # For full synthesis nothing is published that combines chi-square statistics alone.
        yield Question("general", chi_square_agreement(rule=None if scope.kind == "full" else scope.rule))
    for by in scope.tables:
        table = Tabulation(by, "share")
        yield Question("domains", cell_rmse_ratio(table, scope.rule))
        yield Question("domains", cell_coverage(table, rule=scope.rule))
    for model in scope.regressions:
        for metric in regression_metrics(model, rule=scope.rule):
            yield Question("analyses", metric)
        if has_holdout:
            yield Question("analyses", holdout_nrmse(model))
    if scope.known:
        yield Question("risk", uniques(scope.known))
        yield Question("risk", replicated_uniques(scope.known))
        for target in scope.targets:
            yield Question("risk", attribute_disclosure(scope.known, target))
    for by, value in scope.contributions:
        for rule in (PPercent(), Dominance()):
            yield Question("risk", sensitive_cells(by, value, rule))
            yield Question("risk", given_away_cells(by, value, rule))
    if has_holdout:
        yield Question("risk", nearest_record())


def _general(comparison: Comparison) -> tuple[Metric, ...]:
    """General utility, with the models that have interactions held to a size that the files allow.

    Their cost grows with the rows and with the square of the parameters; interactions that are left out are named in
    the score's details, and their number in the dossier.
    """
    rows = sum(pair.rows for pair in comparison.pairs) * (1 if comparison.holdout is None else 2)
    limit = max(_FEWEST_PARAMETERS, min(_MOST_PARAMETERS, math.isqrt(_WORK // rows)))
    held = (
        pmse(interactions=True, limit=limit),
        pmse("lasso", interactions=True, limit=limit),
        pmse_ratio(interactions=True, limit=limit),
    )
    by_name = {metric.name: metric for metric in held}
    return tuple(by_name.get(metric.name, metric) for metric in general_metrics())


def _not_asked(comparison: Comparison, scope: Scope) -> Iterator[Skipped]:
    if not scope.regressions:
        yield Skipped("Regressions", 'none was declared; add regressions = ["income ~ age + sex"] to [evaluation]')
    if scope.panel is None:
        yield Skipped(
            "Trends over time",
            "no panel was declared; add panel = { unit, period, employment } to [evaluation], or for one row per unit "
            'panel = { employment = "emp{year}", years = [2001, 2010] }',
        )
    if not scope.tables:
        yield Skipped("Cells by domain", "there is no category with few enough levels; declare tables = [[…]]")
    if not scope.known:
        yield Skipped(
            "Uniques and attribute disclosure",
            "no category is declared as known to an intruder; add known = […] to [evaluation]",
        )
    if not scope.contributions:
        yield Skipped(
            "Dominant contributors (p% and (n, k) rules)",
            'no table of establishments was declared; add contributions = [{ by = ["sector"], value = "jobs" }]',
        )
    if comparison.holdout is None:
        yield Skipped(
            "Nearest records, and every score against rows that the synthesizer never saw",
            "there is no hold-out file; give one with --holdout",
        )


def _model(comparison: Comparison, formula: str) -> Regression:
    """A category or a 0/1 response asks for a logistic model."""
    model = Regression.from_formula(formula)
    _check_columns("regressions", (model.response, *model.columns), comparison.original.names)
    if comparison.original.column(model.response).kind == "categorical":
        return Regression(model.response, model.predictors, family="logistic")
    return model


def _check_columns(key: str, wanted: tuple[str, ...], names: tuple[str, ...]) -> None:
    if strangers := [name for name in wanted if name not in names]:
        raise UsageError(
            f"evaluation.{key}: {strangers[0]} is not in every file; the common columns are {', '.join(names)}"
        )


def _by_role(schema: Schema | None, names: tuple[str, ...], *roles: str) -> tuple[str, ...]:
    return () if schema is None else tuple(name for name in names if schema[name].role in roles)


def _small_categories(comparison: Comparison, most: int = _MOST_LEVELS) -> list[str]:
    columns = (comparison.original.column(name) for name in comparison.original.names)
    return [one.name for one in columns if one.kind == "categorical" and 2 <= len(one.levels) <= most]


def _default_known(comparison: Comparison) -> tuple[str, ...]:
    small = _small_categories(comparison)
    declared = _by_role(comparison.schema, comparison.original.names, "public", "workplace")
    public = [name for name in small if name in declared]
    return tuple((public or small)[:_MOST_KNOWN])


def _default_tables(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    small = _small_categories(comparison)
    size = {name: len(comparison.original.column(name).levels) for name in small}
    pairs = [pair for pair in combinations(small[:4], 2) if size[pair[0]] * size[pair[1]] <= _MOST_CELLS]
    return (*((name,) for name in small[:3]), *pairs)[:_MOST_TABLES]


# ---------------------------------------------------------------- asking them


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Answer:
    """A score with its place in the dossier; `holdout` is the same score against rows kept out of the synthesis."""

    group: Group
    score: Score
    holdout: Score | None
    seconds: float

    @property
    def name(self) -> str:
        return self.score.metric.name


def answer(
    comparison: Comparison, asked: Sequence[Question], progress: Progress, done: int, total: int
) -> tuple[list[Answer], list[Skipped]]:
    """Ask every question of one comparison; a question without a defined answer is named, not dropped."""
    answers: list[Answer] = []
    skipped: list[Skipped] = []
    for number, question in enumerate(asked):
        progress(question.metric.name, done + number, total)
        start = time.perf_counter()
        try:
            score = question.metric(comparison)
            holdout = question.metric.on_holdout(comparison) if question.on_holdout else None
        except TacitaError as error:
            skipped.append(Skipped(question.metric.name, str(error)))
        except (ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            # One fit that fails must not cost the other answers; its message may quote values, its kind does not.
            skipped.append(Skipped(question.metric.name, f"the computation failed ({type(error).__name__})"))
        else:
            answers.append(Answer(question.group, score, holdout, time.perf_counter() - start))
    return answers, skipped
