"""What the dossier's page shows, gathered from the findings; the words are in `pages/templates/dossier`.

One self-contained HTML page that says on every sheet that it is confidential.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tacita.dossier import pictures
from tacita.dossier.findings import Findings, per_file, trends_of
from tacita.dossier.questions import GROUPS, Answer
from tacita.dossier.record import NOTICE
from tacita.pages import render
from tacita.release.words import firmly, up_front

_MOST_PICTURES = 30
_MOST_PAIRS = 15
_MOST_TERMS = 20


def render_dossier(findings: Findings) -> str:
    """The whole page."""
    variables = findings.variables()
    return render.page(
        "dossier.html.j2",
        notice=NOTICE,
        findings=findings,
        verdicts=findings.verdicts(),
        limits=findings.limits,
        estimates=findings.estimates(),
        doubts=() if findings.promise is None else up_front(findings.promise),
        groups=[(title, [_score(one) for one in findings.answers if one.group == of]) for of, title in GROUPS.items()],
        has_holdout=any(one.holdout is not None for one in findings.answers),
        variables=variables,
        distributions=[
            (one, pictures.distribution(findings.comparison, one.name))
            for one in variables[:_MOST_PICTURES]
            if findings.comparison is not None
        ],
        variation=pictures.variation_bars([(one.name, one.variation) for one in variables]) if variables else None,
        pairs=_pairs(findings, [one.name for one in variables]),
        associations=_associations(findings),
        cells=findings.worst_cells(),
        trends=[pictures.trend(details, name, percent="rate" in name) for name, details in trends_of(findings)],
        terms=list(_terms(findings)),
        tables=[
            (check, pictures.error_by_size(check) if check.bands and check.practice else None)
            for check in sorted(findings.tables, key=lambda one: -one.relative)
        ],
        risks=[(one, *_figures(one.score.details)) for one in findings.answers if one.group == "risk"],
        promised=[firmly(one.guarantee.loss, one.guarantee.holds) for one in findings.attacks],
        slowest=[one for one in sorted(findings.answers, key=lambda one: -one.seconds)[:3] if one.seconds >= 1],
    )


def _score(answer: Answer) -> dict[str, Any]:
    left_out = max((len(one.get("left_out") or ()) for one in per_file(answer.score.details)), default=0)
    return {"score": answer.score, "metric": answer.score.metric, "holdout": answer.holdout, "left_out": left_out}


def _pairs(findings: Findings, order: list[str]) -> dict[str, Any] | None:
    """Two-way marginals as a heat map, and the worst of them as a list."""
    marginals = {(names[0], names[1]): value for names, value in findings.marginals(2).items() if len(names) == 2}
    if not marginals:
        return None
    worst = sorted(marginals.items(), key=lambda one: -one[1])[:_MOST_PAIRS]
    return {"picture": pictures.heat_map(marginals, order), "worst": worst, "most_drawn": pictures.MOST_COLUMNS}


def _associations(findings: Findings) -> dict[str, Any] | None:
    """Pairs whose independence test comes out differently."""
    for answer in findings.answers:
        tested, level = (answer.score.details.get(key) for key in ("pairs", "level"))
        if not isinstance(tested, dict) or level is None:
            continue
        differ = [
            (pair, *("< 0.001" if one[side] < 0.001 else f"{one[side]:.3f}" for side in ("original", "synthetic")))
            for pair, one in tested.items()
            if (one["original"] < level) != (one["synthetic"] < level)
        ]
        if differ:
            return {"level": f"{level:g}", "count": len(differ), "rows": differ[:_MOST_PAIRS]}
    return None


def _terms(findings: Findings) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Regressions, term by term, the worst first."""
    for answer in findings.answers:
        terms: dict[str, list[float]] = {}
        for one in per_file(answer.score.details) if answer.group == "analyses" else []:
            for term, value in (one.get("terms") or {}).items():
                terms.setdefault(term, []).append(float(value))
        if terms:
            means = [(term, math.fsum(values) / len(values)) for term, values in terms.items()]
            downwards = answer.score.metric.better == "lower"
            yield answer.name, sorted(means, key=lambda one: -one[1] if downwards else one[1])[:_MOST_TERMS]


def _figures(details: Mapping[str, Any]) -> tuple[list[tuple[str, float]], bool]:
    """The single numbers of a score's details, and whether they are those of the first of several files."""
    files = per_file(details)
    numbers = [
        (str(name), float(value))
        for name, value in (files[0] if files else details).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return numbers, len(files) > 1 and bool(numbers)
