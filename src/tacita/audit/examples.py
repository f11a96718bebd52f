"""Examples of every plan of the package, each with files to try it on, and those that other packages add.

One entry is one claim: a plan with settings. Third-party packages name a function in the entry point group
`tacita.plans` that returns a list of `Example`; `record_files` makes hostile files from a schema alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tacita import synthesis
from tacita.audit.changes import change_claims
from tacita.audit.families import Files
from tacita.audit.jobs import Form, job_files
from tacita.audit.mixed import COLUMNS, MIXED, mixed_claims
from tacita.audit.panels import YEARS, panel_files
from tacita.audit.records import record_files
from tacita.audit.statistics import statistic_claims
from tacita.data.schema import Schema
from tacita.errors import TacitaError
from tacita.lazy import third_party
from tacita.mechanisms import eree, magnitude
from tacita.mechanisms.slow import SlowSums
from tacita.mechanisms.survey import SurveyLaplace
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis.selfcheck import SelfCheck


@dataclass(frozen=True, eq=False)
class Example:
    """A plan with settings and where its files come from. `adaptive`: what it asks later follows from what it released
    before, or it draws by rejection, so that the same random words lead elsewhere: only handing over outputs compares
    two files then, and replaying words does not."""

    setting: str
    plan: Any
    files: Files
    adaptive: bool = False

    @property
    def name(self) -> str:
        return type(self.plan).__name__


@cache
def examples() -> tuple[Example, ...]:
    """All of them, those of other packages last."""
    own = (*_tables(), *_magnitudes(), *_slowly(), *_quantiles(), *_cells(), *_bounded(), *_surveys(), *_panels())
    own += tuple(_checked())
    own += tuple(Example(*claim) for claim in (*statistic_claims(), *change_claims()))
    own += tuple(Example(*claim, adaptive=True) for claim in mixed_claims())
    return (*own, *third_party())


# ---------------------------------------------------------------- employer-employee tables

_BASE = {"alpha": "0.1", "epsilon": "6", "theta": 25}
_WORKPLACE = {"by": ["place", "sector"]}
_CROSSED = {"by": ["place"], "worker": ["sex"]}
TABLE_SETTINGS: dict[str, dict[str, Any]] = {
    "workplace": _WORKPLACE,
    "all jobs": {},
    "worker": _CROSSED,
    "two worker attributes": {**_WORKPLACE, "worker": ["sex", "age"]},
    "where": {"by": ["place"], "where": {"sex": ["F", "U"]}},
    "worker and where": {"by": ["place"], "worker": ["age"], "where": {"sex": ["M"]}},
    "weak": {**_WORKPLACE, "definition": "weak"},
    "weak, worker": {**_CROSSED, "definition": "weak"},
    "weak, two worker attributes": {**_WORKPLACE, "worker": ["sex", "age"], "definition": "weak"},
    "margin paid": {**_WORKPLACE, "margin_share": "1/5"},
    "margin paid, weak, worker": {**_CROSSED, "margin_share": "1/5", "definition": "weak"},
    "paper": {**_WORKPLACE, "calibration": "paper"},
    "paper, margin paid": {**_WORKPLACE, "calibration": "paper", "margin_share": "1/5"},
    "alpha 1/4": {**_WORKPLACE, "alpha": "1/4"},
    "alpha 1/4, worker": {**_CROSSED, "alpha": "1/4"},
    "epsilon 1/2": {**_WORKPLACE, "epsilon": "1/2"},
    "epsilon 2": {**_WORKPLACE, "epsilon": "2"},
}


def _tables() -> Iterator[Example]:
    for name in eree.__all__:
        mechanism = getattr(eree, name)
        if inspect.isclass(mechanism) and hasattr(mechanism, "guarantee"):
            for at, (setting, given) in enumerate(TABLE_SETTINGS.items()):
                plan = table_plan(mechanism, given)
                if plan is None:
                    continue
                # Linked tables take the most work to check, so they have every fourth claim.
                few: Form = "flat" if plan.worker or plan.where else "size"
                forms: tuple[Form, ...] = (few, "flat", few, "linked")
                yield Example(setting, plan, job_files(forms[at % 4], plan.guarantee.neighbours))


def table_plan(mechanism: Callable[..., Any], given: dict[str, Any]) -> Any:
    """The plan with these settings, or None where it has none of them, refuses them, or is not feasible."""
    accepted = inspect.signature(mechanism).parameters
    if not set(given) <= set(accepted):
        return None
    try:
        plan = mechanism(**{key: value for key, value in (_BASE | given).items() if key in accepted})
    except TacitaError:
        return None
    return plan if plan.feasible and plan.guarantee.holds != "never" else None


# ---------------------------------------------------------------- magnitudes of firms

_PLACED: dict[str, Any] = {"by": ["county", "industry"]}
MAGNITUDE_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "SmoothSums": {
        "one number": {"of": ["pay2000"], **_PLACED},
        "jobs": {"of": ["jobs2001"], **_PLACED, "alpha": "1/4"},
        "two numbers": {"of": ["pay2000", "jobs2000"], "by": ["county"]},
        "three numbers, all firms": {"of": ["pay2000", "jobs2000", "jobs2001"]},
        "margin not paid": {"of": ["pay2000", "pay2001"], **_PLACED, "margin_share": "0"},
        "two numbers apart": {"of": ["pay2000", "jobs2000"], "by": ["county"], "epsilon": "1"},
        "three numbers, much": {"of": ["pay2000", "jobs2000", "jobs2001"], "by": ["county"], "epsilon": "6"},
        "small epsilon": {"of": ["pay2000"], "epsilon": "1/2", "by": ["industry"]},
        "where": {"of": ["pay2000"], "by": ["industry"], "where": {"county": ["0101", "0201"]}},
    },
    "SmoothGrowth": {
        "jobs": {"of": ["jobs2000", "jobs2001"], **_PLACED},
        "pay, all firms, apart": {"of": ["pay2000", "pay2001"], "epsilon": "1", "alpha": "1/4"},
        "margin not paid": {"of": ["jobs2000", "jobs2003"], "by": ["county"], "margin_share": "0"},
    },
    "SmoothFlows": {
        "jobs": {"of": ["jobs2000", "jobs2001"], **_PLACED},
        "pay, all firms": {"of": ["pay2001", "pay2002"], "alpha": "1/4"},
        "margin not paid": {"of": ["jobs2000", "jobs2003"], "by": ["county"], "margin_share": "0"},
        "large epsilon": {"of": ["pay2000", "pay2001"], **_PLACED, "epsilon": "8"},
    },
}


def magnitude_plan(mechanism: Callable[..., Any], given: dict[str, Any]) -> Any:
    return mechanism(**{"alpha": "0.1", "epsilon": "2", "unit": "firm", **given})


def _magnitudes() -> Iterator[Example]:
    for name, settings in MAGNITUDE_SETTINGS.items():
        for setting, given in settings.items():
            plan = magnitude_plan(getattr(magnitude, name), given)
            yield Example(setting, plan, panel_files(plan.guarantee.neighbours))


SLOW_SETTINGS: dict[str, dict[str, Any]] = {
    "log": {"of": "pay2000", **_PLACED, "offset": "20", "reference": "100"},
    "square root": {"of": "jobs2001", "by": ["county"], "scaling": "square-root", "offset": "1", "reference": "10"},
    "fourth root, all firms": {"of": "pay2001", "scaling": "fourth-root", "offset": "1/2", "reference": "50"},
}


def _slowly() -> Iterator[Example]:
    for setting, given in SLOW_SETTINGS.items():
        plan = SlowSums("0.5", unit="firm", **given)
        yield Example(setting, plan, panel_files(plan.guarantee.neighbours))


# ---------------------------------------------------------------- one row per unit

_FIRMS = Schema.from_dict(
    {
        "dataset": {"identity": "firms", "unit": "firm"},
        "variables": {
            "firm": {"role": "id", "entity": "firm"},
            "sector": {"role": "public", "type": "categorical", "levels": ["a", "b", "c"]},
            "age": {"role": "public", "type": "integer", "lower": 0, "upper": 60, "missing": 0},
            "legal": {"role": "confidential", "type": "categorical", "levels": ["own", "ltd"], "missing": "own"},
            "size": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000, "scale": 2, "missing": 0},
            "jobs": {"role": "confidential", "type": "integer", "lower": 0, "upper": 500, "missing": 0},
            "pay": {"role": "confidential", "type": "numeric", "lower": -100, "upper": 3000, "scale": 1, "missing": 0},
        },
    }
)
_FIRM_ADDED, _FIRM = AddRemoveOne("firm"), ReplaceOne("firm")
QUANTILE_SETTINGS: dict[str, dict[str, Any]] = {
    "one number": {"columns": ["size"]},
    "one number, rows given": {"columns": ["size"], "rows": 60},
    "two numbers": {"columns": ["size", "pay"]},
    "tails": {"columns": ["size", "pay"], "rows": 60, "tails": {"pay": "pareto"}},
    "scales": {"columns": ["size", "pay"], "scales": {"size": "log", "pay": "arcsinh"}},
    "groups": {"columns": ["size", "pay"], "groups": ["sector"]},
    "category first": {"columns": ["legal", "size", "pay"]},
    "category last": {"columns": ["size", "legal"], "groups": ["sector"]},
    "point mass": {"columns": ["size", "jobs"], "spikes": {"jobs": [0, 1]}},
    "replace": {"columns": ["size", "pay"], "neighbours": _FIRM},
    "replace, groups": {"columns": ["size"], "groups": ["sector"], "neighbours": _FIRM},
    "keep": {"columns": ["size", "pay"], "keep": ["sector", "age"], "neighbours": _FIRM},
}


def _quantiles() -> Iterator[Example]:
    for setting, given in QUANTILE_SETTINGS.items():
        plan = synthesis.QuantileSynthesis(**{"epsilon": "2", "neighbours": _FIRM_ADDED, **given})
        files = record_files(_FIRMS, plan.neighbours, fixed=tuple(given.get("keep", ())))
        yield Example(setting, plan, files, adaptive=True)


def _category(*levels: str) -> dict[str, Any]:
    last = levels[-1]
    return {"role": "confidential", "type": "categorical", "levels": list(levels), "outside": last, "missing": last}


_PERSONS = Schema.from_dict(
    {
        "dataset": {"identity": "persons", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "sex": _category("F", "M"),
            "voted": _category("yes", "no"),
            "registered": _category("no", "yes"),
            "region": _category("N", "E", "S", "?"),
            "only": _category("one"),
            "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 100, "scale": 1, "missing": 0},
        },
    }
)
_ATTRIBUTES = ["sex", "voted", "registered", "region", "only", "pay"]
_CUTS: dict[str, Any] = {"cuts": {"pay": [10, 50]}}
_ZEROS: dict[str, Any] = {"zeros": [{"registered": "no", "voted": "yes"}]}
_PERSON_ADDED, _PERSON = AddRemoveOne("person"), ReplaceOne("person")
CELL_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "PairwiseSynthesis": {
        "all pairs": {"select": "all"},
        "private pairs": {"select": "private"},
        "small epsilon": {"epsilon": "0.1"},
    },
    "StepsSynthesis": {
        "default": {},
        "six layers": {"layers": 6},
        "threshold": {"layers": 3, "threshold": "2", **_ZEROS},
        "least": {"rule": "least"},
        "public election": {"election": "public"},
        "deviance": {"criterion": "deviance", "stop": "never", "layers": 2},
        "no layers": {"layers": 0},
        "large epsilon": {"epsilon": "20"},
    },
    "HistogramSynthesis": {"clip": {}, "project": {"negative": "project", **_ZEROS}, "small": {"epsilon": "1/3"}},
    "IndependentSynthesis": {"default": {}, "impossible cells": _ZEROS, "large epsilon": {"epsilon": "20"}},
    "DirichletSynthesis": {"rows given": {"rows": 40}, "two files": {"rows": 25, "sets": 2, **_ZEROS}},
}


def _cells() -> Iterator[Example]:
    for name, settings in CELL_SETTINGS.items():
        for setting, given in settings.items():
            for neighbours in (_PERSON_ADDED, _PERSON):
                more = {**_CUTS, "epsilon": "1", "neighbours": neighbours, **given}
                plan = getattr(synthesis, name)(_ATTRIBUTES, **more)
                adaptive = name in ("PairwiseSynthesis", "StepsSynthesis", "DirichletSynthesis")
                label = f"{setting}, {'added' if neighbours is _PERSON_ADDED else 'replaced'}"
                yield Example(label, plan, record_files(_PERSONS, neighbours), adaptive)


# ---------------------------------------------------------------- several rows per unit


def _bounded() -> Iterator[Example]:
    for neighbours in (_PERSON_ADDED, _PERSON):
        files = record_files(_PERSONS, neighbours, sizes=(1, 2, 9), rows=7)
        word = "added" if neighbours is _PERSON_ADDED else "replaced"
        histogram = synthesis.HistogramSynthesis(_ATTRIBUTES, "1/3", neighbours=neighbours, **_CUTS)
        pairs = synthesis.PairwiseSynthesis(_ATTRIBUTES, "1/5", delta="1e-10", neighbours=neighbours, **_CUTS)
        quantiles = synthesis.QuantileSynthesis(["sex", "pay"], "1", neighbours=neighbours)
        yield Example(f"three rows, cells, {word}", Bounded(histogram, 3), files, adaptive=True)
        yield Example(f"two rows, pairs, {word}", Bounded(pairs, 2), files, adaptive=True)
        yield Example(f"five rows, numbers, {word}", Bounded(quantiles, 5), files, adaptive=True)


# ---------------------------------------------------------------- surveys

_SURVEY = Schema.from_dict(
    {
        "dataset": {"identity": "survey", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "g": {"role": "public", "type": "categorical", "levels": ["a", "b", "c"]},
            "h": {"role": "public", "type": "categorical", "levels": ["u", "v"]},
            "y": {"role": "confidential", "type": "integer", "lower": 1, "upper": 10**6, "missing": 1},
            "t": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 99, "scale": 2, "missing": 0},
            "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 5000, "scale": 3},
        },
        "design": {"weight": "w", "strata": ["g"], "public": ["g", "h"], "one_psu": "certainty"},
    }
)
_SAMPLES = (25, 60, 250)
SURVEY_SETTINGS: dict[str, dict[str, Any]] = {
    "one outcome": {"columns": ["y"]},
    "two outcomes": {"columns": ["y", "t"], "transforms": {"t": "log1p"}, "law": "normal"},
    "delta": {"columns": ["y", "t"], "transforms": {"t": "log1p"}, "law": "normal", "delta": "1e-9"},
    "any law": {"columns": ["y", "t"], "epsilon": "4"},
    "any law, delta": {"columns": ["y", "t"], "epsilon": "4", "delta": "1e-9"},
    "any law, with totals": {"columns": ["y", "t"], "epsilon": "60"},
    "any law, with totals, delta": {"columns": ["t"], "epsilon": "90", "delta": "1e-9"},
    "large epsilon": {"columns": ["y"], "epsilon": "40"},
    "large epsilon, delta": {"columns": ["y"], "epsilon": "40", "delta": "1e-9"},
}


def _surveys() -> Iterator[Example]:
    files = record_files(_SURVEY, _PERSON, fixed=("g", "h"), sizes=_SAMPLES)
    for setting, given in SURVEY_SETTINGS.items():
        common: dict[str, Any] = {"weight": "w", "by": ["g"], "keep": ["h"], "epsilon": "1", "neighbours": _PERSON}
        yield Example(setting, synthesis.SurveySynthesis(**common | given), files, adaptive=True)
    for setting, delta in {"normal, with totals": "0", "normal, with totals, delta": "1e-9"}.items():
        common = {"weight": "w", "by": [], "keep": ["g", "h"], "neighbours": _PERSON, "delta": delta}
        lawful = synthesis.SurveySynthesis(["y"], "40", law="normal", **common)
        yield Example(setting, lawful, record_files(_SURVEY, _PERSON, fixed=("g", "h"), sizes=(420,)), adaptive=True)
    for word, neighbours in (("added", _PERSON_ADDED), ("replaced", _PERSON)):
        weighted = synthesis.QuantileSynthesis(["y", "w"], "90", neighbours=neighbours)
        many = record_files(_SURVEY, neighbours, fixed=("g", "h"), sizes=(60,))
        yield Example(f"weighted totals, {word}", weighted, many, adaptive=True)
    for sets in (1, 2):
        plan = synthesis.CensoredPosterior(["y"], "4", weight="w", by=["g"], sets=sets, neighbours=_PERSON)
        few = record_files(_SURVEY, _PERSON, fixed=("g", "h"), sizes=(8, 25))
        yield Example(f"{sets} files", plan, few, adaptive=True)
    pseudo = synthesis.PseudoPosterior(["y"], "10.8", weight="w", by=["g"], sets=3, draws=100, neighbours=_PERSON)
    yield Example("asymptotic", pseudo, record_files(_SURVEY, _PERSON, fixed=("g", "h"), sizes=(250,)), adaptive=True)
    for setting, means in {"counts": [], "two answers": ["y", "t"]}.items():
        laplace = SurveyLaplace(["g", "h"], "2", means=means, replicates=4, neighbours=_PERSON)
        yield Example(setting, laplace, record_files(_SURVEY, _PERSON, fixed=("g", "h"), sizes=_SAMPLES[:2]))


# ---------------------------------------------------------------- panels

_WIDE: dict[str, Any] = {"columns": {"jobs": "jobs{year}", "pay": "pay{year}"}}
_LONG: dict[str, Any] = {"columns": {"jobs": "jobs", "pay": "pay"}, "period": "year"}
_LIVES: dict[str, Any] = {"first": "born", "last": "gone"}
_STATIC: dict[str, Any] = {"static": ["kind"], "change": {"switched": ("kind", ("switched",))}}
PANEL_SETTINGS: dict[str, dict[str, Any]] = {
    "whole": {**_WIDE, **_LIVES, **_STATIC},
    "grouped": {**_WIDE, **_LIVES, "coarser": {"sector": ("industry", 2)}, "group": "sector"},
    "lives from rows": _WIDE,
    "a row for every year": {**_LONG, **_LIVES},
    "within alpha": {**_WIDE, **_LIVES, **_STATIC, "alpha": "0.1"},
    "within alpha, grouped": {
        **_WIDE,
        **_LIVES,
        "coarser": {"sector": ("industry", 2)},
        "group": "sector",
        "alpha": "1/4",
    },
}


def _panels() -> Iterator[Example]:
    for setting, given in PANEL_SETTINGS.items():
        more = {"unit": "firm", "keep": ["county", "industry"], "years": (YEARS[0], YEARS[-1]), **given}
        plan = synthesis.PanelSynthesis(epsilon="4", **more)
        files = panel_files(plan.guarantee.neighbours, long="period" in given)
        yield Example(setting, plan, files, adaptive=True)


# ---------------------------------------------------------------- files that are checked

_MUCH: dict[str, Any] = {"share": "3/4"}  # far more than anybody would pay, so that a leak of the check shows


def _checked() -> Iterator[Example]:
    """A synthesizer of each kind with a self-check, under every relation that it knows. The quickest comes first, as
    the canary takes hundreds of runs of it."""
    for word, neighbours in (("added", _PERSON_ADDED), ("replaced", _PERSON)):
        pairs = synthesis.PairwiseSynthesis(_ATTRIBUTES, "1", neighbours=neighbours, **_CUTS)
        withheld = SelfCheck(pairs, fail="withhold", limits={"two_way": "0.01"}, **_MUCH)
        yield Example(f"withheld, {word}", withheld, record_files(_PERSONS, neighbours), adaptive=True)
        several = record_files(_PERSONS, neighbours, sizes=(1, 2, 9), rows=5)
        yield Example(f"two rows, {word}", Bounded(SelfCheck(pairs, **_MUCH), 2), several, adaptive=True)
        kinds: dict[str, dict[str, Any]] = {"all kinds": {"rows": 50}, "pure": {"delta": "0"}}
        for setting, given in kinds.items():
            mixed = synthesis.FileSynthesis(COLUMNS, "2", neighbours=neighbours, **given)
            files = record_files(MIXED, neighbours)
            yield Example(f"{setting}, {word}", SelfCheck(mixed, **_MUCH), files, adaptive=True)
    quantiles = synthesis.QuantileSynthesis(["size", "pay"], "2", neighbours=_FIRM_ADDED)
    yield Example("numbers", SelfCheck(quantiles, **_MUCH), record_files(_FIRMS, _FIRM_ADDED), adaptive=True)
    weighted = synthesis.QuantileSynthesis(["y", "w"], "2", neighbours=_PERSON)
    yield Example("weights", SelfCheck(weighted, **_MUCH), record_files(_SURVEY, _PERSON), adaptive=True)
    for alpha in (None, "0.1"):
        more: dict[str, Any] = {"unit": "firm", "keep": ["county", "industry"], "years": (YEARS[0], YEARS[-1])}
        panel = synthesis.PanelSynthesis(epsilon="4", alpha=alpha, **more, **_WIDE, **_LIVES)
        firms = panel_files(panel.guarantee.neighbours)
        yield Example(f"panel{', within alpha' if alpha else ''}", SelfCheck(panel, **_MUCH), firms, adaptive=True)
