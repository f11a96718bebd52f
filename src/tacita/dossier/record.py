"""The dossier as JSON, which the next dossier reads to say what has changed.

Every number in it is finite: an open end of a range is null, and a measure without a value is listed as skipped.

Every touch of confidential rows that is known, and whether it was paid for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacita.dossier.questions import Answer
from tacita.dossier.tables import TableCheck
from tacita.errors import UsageError
from tacita.ledger import Ledger

FORM = 1
NOTICE = "Confidential, not for release"
_NOTABLE = 0.05  # a change of less than this share of the scale is called "about the same"


def score_record(answer: Answer) -> dict[str, Any]:
    """One score by name, with what is needed to read it."""
    metric = answer.score.metric
    return {
        "group": answer.group,
        "name": metric.name,
        "value": answer.score.value,
        "standard_error": answer.score.standard_error,
        "on_holdout": None if answer.holdout is None else answer.holdout.value,
        "by_file": list(answer.score.by_implicate),
        "better": metric.better,
        "reference": metric.reference,
        "range": [end if math.isfinite(end) else None for end in metric.range],
        "meaning": metric.meaning,
        "note": answer.score.note,
        "seconds": round(answer.seconds, 2),
    }


def table_record(check: TableCheck) -> dict[str, Any]:
    """One statistic of a published table: its errors."""
    return {**asdict(check), "against_infusion": check.against_infusion}


def table_scores(checks: Sequence[TableCheck]) -> list[dict[str, Any]]:
    """The tables' figures in the form of scores, so that two dossiers can be compared by name."""
    return [
        {
            "group": "tables",
            "name": f"{name}: {check.name}",
            "value": value,
            "standard_error": None,
            "on_holdout": None,
            "by_file": [],
            "better": better,
            "reference": reference,
            "range": [0.0, None],
            "meaning": meaning,
            "note": "",
            "seconds": 0.0,
        }
        for check in checks
        for name, value, better, reference, meaning in (
            (
                "error of cells",
                check.rmse,
                "lower",
                0.0,
                f"root mean squared error of the published cells, in units of {check.unit}",
            ),
            ("total error", check.relative, "lower", 0.0, "sum of absolute errors over the sum of the table"),
            (
                "coverage of margins",
                check.coverage,
                "higher",
                check.confidence,
                "share of cells whose truth lies within the published margin of error",
            ),
        )
        if value is not None
    ]


def write_record(path: Path, document: Mapping[str, Any]) -> None:
    """As JSON, with no number that JSON does not know."""
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Python's own types only; an infinite number is null.

    >>> plain({"a": (1.5, float("inf")), "b": np.float64(2)})
    {'a': [1.5, None], 'b': 2.0}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Change:
    """One score then and now."""

    group: str
    name: str
    before: float | None
    now: float | None
    verdict: str


def read_earlier(path: Path) -> dict[str, Any]:
    """An earlier dossier: its folder, or its dossier.json."""
    file = path / "dossier.json" if path.is_dir() else path
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["tacita_dossier"] != FORM:
            raise UsageError(f"--earlier {path}: was written in a form that this version does not know")
        return dict(record)
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"--earlier {path}: is not a dossier; give the folder that `tacita evaluate` wrote") from None


def changes(earlier: Mapping[str, Any], now: Sequence[Mapping[str, Any]]) -> list[Change]:
    """Scores by name: those that got worse first, then better ones, then new, gone and unchanged ones."""
    before = {one["name"]: one for one in earlier["scores"]}
    made = [_change(before.get(one["name"]), one) for one in now]
    names = {one["name"] for one in now}
    made += [_change(one, None) for name, one in before.items() if name not in names]
    order = ["worse", "better", "new", "no longer measured", "about the same"]
    return sorted(made, key=lambda one: (order.index(one.verdict), one.name))


def _change(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> Change:
    if before is None and now is not None:
        return Change(now["group"], now["name"], None, now["value"], "new")
    if now is None and before is not None:
        return Change(before["group"], before["name"], before["value"], None, "no longer measured")
    assert before is not None
    assert now is not None
    return Change(now["group"], now["name"], before["value"], now["value"], _verdict(before, now))


def _verdict(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    old, new = float(before["value"]), float(now["value"])
    doubt = 2 * math.hypot(before["standard_error"] or 0.0, now["standard_error"] or 0.0)
    low, high = now["range"]
    scale = high - low if low is not None and high is not None else max(abs(old), abs(new))
    relative = max(abs(old), abs(new))
    # Small against the scale or against the score itself: neither is news.
    if abs(new - old) <= max(doubt, min(_NOTABLE * scale, _NOTABLE * relative)):
        return "about the same"
    if now["better"] == "closer":
        reference = float(now["reference"])
        return "better" if abs(new - reference) < abs(old - reference) else "worse"
    return "better" if (new < old) == (now["better"] == "lower") else "worse"


@dataclass(frozen=True)
class Touch:
    """Something that read confidential rows."""

    when: str
    what: str
    paid: str
    state: str


def touches(
    ledger: str | Path | None, moment: str, columns: Sequence[str], tables: Sequence[str], attacks: Sequence[str] = ()
) -> list[Touch]:
    """The ledger's reservations, the check before a run, and this evaluation itself."""
    touched = []
    if ledger is not None and Ledger.is_begun(ledger):
        for entry in Ledger.open(ledger, read_only=True).entries():
            if entry.kind == "reserve" and entry.loss is not None:
                paid = f"paid: {entry.loss} under {entry.neighbours}"
                touched.append(Touch(_minute(entry.time), f"Released: {entry.label}", paid, entry.state))
    touched.append(
        Touch(
            "before each run",
            "Check of the file against its schema: it may only refuse, and its message names columns and rules, "
            "never a value or a count",
            "not paid: seen by the data steward only",
            "",
        )
    )
    parts = [f"columns {', '.join(columns)}"] if columns else []
    parts += [f"exact counts behind {', '.join(tables)}"] if tables else []
    parts += [f"rehearsals of {', '.join(attacks)} for attacks"] if attacks else []
    touched.append(
        Touch(
            _minute(moment),
            f"This dossier: {'; '.join(parts) or 'the rows'}, and everything computed from them here",
            "not paid: it must not be released, in whole or in part",
            "",
        )
    )
    return touched


def _minute(moment: str) -> str:
    return moment[:16].replace("T", "\u00a0").replace("-", "\u2011")  # neither breaks at the end of a line
