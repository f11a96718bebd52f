"""Code lists that the schema names and nobody has: bought from the file through the ledger, and written beside it.

Like `run`, this opens the confidential file. What it writes is the result of a plan.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.schema.reading import read_toml
from tacita.errors import SchemaError, SpecError, naming
from tacita.ledger import Ledger
from tacita.mechanisms.codes import CodeLists, FoundCodes
from tacita.plan import Bounded, Plan
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.release.folder import check_page, write_page
from tacita.release.spec import Spec


@dataclass(frozen=True)
class Wanted:
    """The lists that are missing, the schema of these columns alone, and the plan that finds their codes."""

    spec: Spec
    schema: Schema
    files: Mapping[str, Path]
    plan: Plan[FoundCodes]

    @property
    def label(self) -> str:
        return f"codes of {', '.join(self.files)}"


def wanted(spec: Spec, epsilon: str, delta: str) -> Wanted:
    """What would be bought; touches no data."""
    path = spec.resolve(spec.schema_path)
    content = read_toml(path, f"schema {path.name}", SchemaError, if_missing="file not found; correct the path")
    with naming(schema=path.name):
        schema, files = _missing_lists(content, path.parent)
    relation = spec.cap.relation
    if not isinstance(relation, AddRemoveOne | ReplaceOne):
        raise SpecError(
            f'cap.neighbours: under "{spec.cap.neighbours}" the attributes of establishments are public, and codes of '
            "their workers are not found; write the code list by hand"
        )
    price, most = Loss(epsilon, delta=delta), spec.cap.at_most
    row = price if most is None else price.per_row(most)
    plan: Plan[FoundCodes] = CodeLists(tuple(files), row.epsilon, row.delta, neighbours=relation)
    plan = plan if most is None else Bounded(plan, most)
    plan.forecast(schema)  # refuses what no noise exists for
    return Wanted(spec, schema, files, plan)


def _missing_lists(content: Mapping[str, Any], folder: Path) -> tuple[Schema, dict[str, Path]]:
    variables = content.get("variables")
    entries = {
        name: entry
        for name, entry in (variables.items() if isinstance(variables, Mapping) else ())
        if isinstance(entry, Mapping)
    }
    files: dict[str, Path] = {}
    kept = {name: entry for name, entry in entries.items() if entry.get("role") == "id"}
    for name, entry in entries.items():
        listed = entry.get("levels_file")
        if not isinstance(listed, str) or (folder / listed).exists():
            continue
        if not isinstance(entry.get("outside"), str) or entry["outside"] == "error":
            raise SchemaError(
                f"variables.{name}.outside: is missing; codes that few records have are not found, so name the level "
                'that they become, such as outside = "other"'
            )
        files[name] = folder / listed
        levels = [entry["outside"], *(one for one in [entry.get("missing")] if isinstance(one, str))]
        rest = {key: value for key, value in entry.items() if key not in ("levels_file", "labels")}
        kept[name] = {**rest, "levels": list(dict.fromkeys(levels))}
    if not files:
        raise SchemaError(
            'variables: every code list is there; name one that is not, such as levels_file = "region.csv", with '
            'outside = "other", for each column whose codes are to be found'
        )
    if len(set(files.values())) < len(files):
        raise SchemaError("levels_file: two columns name one file that is not there; name one file for each")
    return Schema.from_dict({"dataset": content.get("dataset"), "variables": kept}), files


def buy(want: Wanted) -> FoundCodes:
    """Pay for the codes, find them and write the lists; asked again it costs nothing."""
    spec, place = want.spec, want.spec.ledger_place
    for path in want.files.values():
        check_page(path, None, force=False, option="levels_file")
    with naming(data=spec.data_names, schema=Path(spec.schema_path).name):
        data = Confidential.open(spec.data_source, want.schema, engine=spec.engine)
    cap: dict[str, Any] = {
        "cap": spec.cap.loss,
        "neighbours": spec.cap.relation,
        "holds": spec.cap.holds,
        "yearly": spec.cap.yearly,
    }
    Ledger.foresee(place, [want.plan], data, **cap)  # before [cap] is declared: a cap that is declared stays
    found = Ledger.open(place, **cap).release(want.plan, data, label=f"{spec.title}: {want.label}")
    for name, path in want.files.items():
        write_page(path, _listed((*listed_of(want, found, name), *want.schema.levels(name))))
    return found


def listed_of(want: Wanted, found: FoundCodes, name: str) -> tuple[str, ...]:
    """The codes that were found of a column and were not declared before."""
    known = {*want.schema.levels(name), *want.schema.categorical(name).missing_codes}
    return tuple(code for code in found.of(name) if code not in known)


def _listed(levels: tuple[str, ...]) -> str:
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\n").writerows([("code", "label"), *((level, level) for level in levels)])
    return sheet.getvalue()
