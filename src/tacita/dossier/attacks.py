"""Attacks that run the release's own methods many times, asked for with `--attacks N`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacita.dossier.files import original_file
from tacita.dossier.questions import Progress, Skipped
from tacita.dossier.request import Request
from tacita.errors import TacitaError
from tacita.evaluation.risk import PlanAttack, attack_plan

_SEED = 2026  # so that the same files give the same dossier


def attacked(request: Request, progress: Progress) -> tuple[tuple[PlanAttack, ...], tuple[Skipped, ...]]:
    """Every product that can be attacked; the others with the reason."""
    what = "Membership inference and the canary experiment"
    if not request.attacks:
        return (), (
            Skipped(what, "both run the release's methods many times on altered rows; add --attacks N to a SPEC"),
        )
    if not isinstance(request.original, str) or request.schema is None:
        return (), (Skipped(what, "they need one confidential file with a schema; the data here are linked tables"),)
    progress("Reading the original", 0, 1)
    frame = original_file(request.original, request.schema, request.most_rows)[1].to_pandas()
    found: list[PlanAttack] = []
    skipped: list[Skipped] = []
    for at, (name, plan) in enumerate(request.plans):
        try:
            found.append(
                attack_plan(
                    name,
                    plan,
                    frame,
                    request.schema,
                    runs=request.attacks,
                    seed=_SEED,
                    progress=lambda step, at=at: progress(step, at, len(request.plans)),  # type: ignore[misc]
                )
            )
        except TacitaError as error:
            skipped.append(Skipped(f"Attacks on {name}", str(error)))
    return tuple(found), tuple(skipped)


def attack_scores(attacks: Sequence[PlanAttack]) -> list[dict[str, Any]]:
    """The attacks' figures in the form of scores, so that two dossiers can be compared by name."""
    scores = []
    for one in attacks:
        metrics = [(one.canary.metric, one.canary.epsilon)]
        if one.membership is not None:
            metrics.append((one.membership.metric, one.membership.advantage))
        scores += [
            {
                "group": "risk",
                "name": f"{metric.name}: {one.product}",
                "value": value,
                "standard_error": None,
                "on_holdout": None,
                "by_file": [],
                "better": metric.better,
                "reference": metric.reference,
                "range": [end if math.isfinite(end) else None for end in metric.range],
                "meaning": metric.meaning,
                "note": "",
                "seconds": round(one.seconds, 2),
            }
            for metric, value in metrics
        ]
    return scores
