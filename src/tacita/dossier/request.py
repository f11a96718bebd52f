"""What to evaluate, put together from a specification and from what the command line adds to it.

Attacks that run the release's own methods many times, asked for with `--attacks N`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacita.data.schema import Schema
from tacita.dossier.files import MOST_ROWS, original_file
from tacita.dossier.questions import Progress, Skipped
from tacita.errors import TacitaError, UsageError
from tacita.evaluation.risk import PlanAttack, attack_plan
from tacita.plan import Plan
from tacita.release.evaluation_spec import EvaluationSpec, PanelSpec
from tacita.release.folder import named_files
from tacita.release.microdata import FOLDER
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.synthesis.selfcheck import stamped


@dataclass(frozen=True)
class Request:
    """Synthetic files against an original, or a bundle's tables against exact counts, or both."""

    title: str
    schema: Schema | None = None
    original: str | dict[str, str] | None = None
    synthetic: tuple[Path, ...] = ()
    holdout: Path | None = None
    bundle: Path | None = None
    earlier: Path | None = None
    ledger: str | Path | None = None
    asked: EvaluationSpec = field(default_factory=EvaluationSpec)
    categorical: tuple[str, ...] = ()
    most_rows: int = MOST_ROWS
    attacks: int = 0
    """Shadow runs and counted canary runs of each plan; 0 runs no attack."""
    plans: tuple[tuple[str, Plan[Any]], ...] = ()
    """What to attack: each product of the specification by name."""
    named: tuple[Path, ...] = ()
    """Every file that the request stands on, which the dossier must not cover."""


def request_of(
    spec: Path | None,
    *,
    schema: Path | None = None,
    original: Path | None = None,
    synthetic: Sequence[Path] = (),
    holdout: Path | None = None,
    bundle: Path | None = None,
    earlier: Path | None = None,
    questions: Path | None = None,
    categorical: Sequence[str] = (),
    rows: int = MOST_ROWS,
    attacks: int = 0,
) -> Request:
    """The request; an explicit path goes before what the specification names."""
    loaded = Spec.load(spec) if spec is not None else None
    if loaded is not None and schema is not None:
        raise UsageError("--schema: the specification names the schema; leave the option out")
    if attacks and loaded is None:
        raise UsageError("--attacks: needs the specification, which says what to run; give SPEC")
    known: Schema | None = None
    if loaded is not None:
        known = Schema.load(loaded.resolve(loaded.schema_path))
    elif schema is not None:
        known = Schema.load(schema)
    if known is not None and categorical:
        raise UsageError("--categorical: the schema says which columns are categories; leave the option out")
    asked = loaded.evaluation if loaded is not None else EvaluationSpec()
    asked = EvaluationSpec.load(questions) if questions is not None else asked
    if asked.panel is None and loaded is not None and known is not None:
        asked = asked.model_copy(update={"panel": _panel(loaded, known)})
    source: str | dict[str, str] | None = str(original) if original is not None else None
    if source is None and loaded is not None:
        source = loaded.data_source
    # The files of a bundle are looked at with its tables, where the data are one file to compare them with.
    whole = bundle is not None and not synthetic and isinstance(source, str) and (bundle / FOLDER).is_dir()
    return Request(
        title=loaded.title if loaded is not None else f"Synthetic files against {(original or Path()).name}",
        schema=known,
        original=source,
        synthetic=(bundle,) if whole and bundle is not None else tuple(synthetic),
        holdout=holdout,
        bundle=bundle,
        earlier=earlier,
        ledger=loaded.ledger_place if loaded is not None else None,
        asked=asked,
        categorical=tuple(categorical),
        most_rows=rows,
        attacks=attacks,
        plans=_plans(loaded) if attacks and loaded is not None else (),
        named=(
            *(named_files(loaded, known) if loaded is not None and known is not None else ()),
            *(one for one in (schema, original, holdout, bundle, questions, *synthetic) if one is not None),
        ),
    )


def _panel(spec: Spec, schema: Schema) -> PanelSpec | None:
    """Trends of the first yearly number of a synthesizer of panels, without being asked. The unit of a product is that
    of the cap unless it says otherwise, and the schema says which column tells units apart."""
    for settings in (one.options for one in spec.microdata):
        columns, period, years = (settings.get(key) for key in ("columns", "period", "years"))
        if not isinstance(columns, Mapping) or not columns:
            continue
        column = str(next(iter(columns.values())))
        if isinstance(period, str):
            unit = schema.id_for(str(settings.get("unit", spec.cap.unit)))
            return None if unit is None else PanelSpec(unit=unit, period=period, employment=column)
        if isinstance(years, Sequence) and len(years) == 2 and "{year}" in column:
            return PanelSpec(employment=column, years=(years[0], years[1]))
    return None


def _plans(spec: Spec) -> tuple[tuple[str, Plan[Any]], ...]:
    # An attack looks at files, also at those that a self-check would withhold.
    return tuple((product.spec.name, stamped(product.plan)) for product in prepare(spec, rehearsal=True).products)


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
    attacks: list[PlanAttack] = []
    skipped: list[Skipped] = []
    for at, (name, plan) in enumerate(request.plans):
        try:
            attacks.append(
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
    return tuple(attacks), tuple(skipped)


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
