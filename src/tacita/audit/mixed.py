"""Claims of `FileSynthesis` to be tried: files with every kind of column, also with rules, under both relations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacita.audit.families import Files
from tacita.audit.records import record_files
from tacita.data.schema import Schema
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import FileSynthesis


def _category(*levels: str) -> dict[str, Any]:
    last = levels[-1]
    return {"role": "confidential", "type": "categorical", "levels": list(levels), "outside": last, "missing": last}


MIXED = Schema.from_dict(
    {
        "dataset": {"identity": "mixed", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "sex": _category("F", "M"),
            "region": _category("N", "E", "S", "?"),
            "only": _category("one"),
            "kids": {"role": "confidential", "type": "integer", "lower": 0, "upper": 9, "missing": "own state"},
            "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 110, "missing": 0},
            "worth": {"role": "confidential", "type": "numeric", "lower": -1e6, "upper": 1e8, "missing": "own state"},
        },
    }
)
_DATE = {"role": "confidential", "type": "date", "lower": "1930-01-01", "upper": "2020-12-31", "missing": "own state"}
RULED = Schema.from_dict(
    {
        "dataset": {"identity": "ruled", "unit": "person"},
        "variables": {
            **MIXED.to_dict()["variables"],
            "group": _category("young", "old"),
            "born": _DATE,
            "died": _DATE,
        },
        # Hostile files break rules; whether one does must not matter.
        "rules": [
            {"determines": "group", "from": "age", "bins": {"young": [0, 39], "old": [40, 110]}, "broken": "allow"},
            {"when": {"group": "young"}, "then": {"kids": [0, 1, "missing"], "sex": "F"}, "broken": "allow"},
            {"less": ["born", "died"], "broken": "allow"},
            {"column": "worth", "only_when": {"region": ["N", "E"]}, "broken": "allow"},
        ],
    }
)
COLUMNS = [name for name in MIXED.names if name != "person"]
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "pure": {"delta": "0"},
    "large epsilon": {"epsilon": "30"},
    # Totals are measured where records are many beside the noise.
    "weights": {"weight": "age", "epsilon": "9000", "delta": "0"},
    "weights, Gaussian": {"weight": "age", "epsilon": "30000"},
    "bins given": {"bins": 4, "rows": 50, "epsilon": "1/5"},
}


def mixed_claims() -> Iterator[tuple[str, FileSynthesis, Files]]:
    for setting, given in SETTINGS.items():
        for word, neighbours in (("added", AddRemoveOne("person")), ("replaced", ReplaceOne("person"))):
            plan = FileSynthesis(COLUMNS, **{"epsilon": "2", "neighbours": neighbours, **given})
            yield f"{setting}, {word}", plan, record_files(MIXED, neighbours)
    for word, neighbours in (("added", AddRemoveOne("person")), ("replaced", ReplaceOne("person"))):
        # Tables of three columns are chosen where records are many beside the noise.
        rounds = FileSynthesis(COLUMNS, "300", delta="0", neighbours=neighbours)
        yield f"rounds, {word}", rounds, record_files(MIXED, neighbours, sizes=(40, 120))
        names = [name for name in RULED.names if name != "person"]
        yield (
            f"rules and dates, {word}",
            FileSynthesis(names, "2", neighbours=neighbours),
            record_files(RULED, neighbours),
        )
