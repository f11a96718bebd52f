"""The public page: what was published, what was promised, what it cost, and how to use it.

It is made from the bundle's own files and nothing else, so it cannot show what the bundle does not hold, and
`tacita report` can make it again. Here the facts are gathered; the words are in `pages/templates/report`.

The page has code to copy, in Python, R and Stata. It names the bundle's own files, columns and codes, so it runs as it
stands in the unpacked bundle. Where synthetic files have survey weights the code uses them, and where there is one
file it does not combine. The code itself is in `pages/templates/code`.

The page of a ledger: for the office and its board, made from the ledger alone and the same bytes each time.

It names operators and notes, which no bundle does, so it is not part of a release. Days, not times of day, and nothing
that depends on when it is looked at. The words are in `pages/templates/ledger.html.j2`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import TacitaError
from tacita.inference import snippets
from tacita.ledger import Account, Entry, Ledger
from tacita.ledger.terms import implies
from tacita.mechanisms.eree import requirements
from tacita.mechanisms.table.levels import LEVEL
from tacita.pages import render
from tacita.pages.charts import budget_bar
from tacita.pages.render import code
from tacita.plan.contribution import ONE_ROW, contribution_of
from tacita.privacy import (
    UNCHECKED,
    AddRemoveOne,
    Guarantee,
    Loss,
    NumbersWithin,
    PerRecord,
    ReplaceOne,
    text,
    unchecked_units,
)
from tacita.privacy.json_form import guarantee_from_json, loss_from_json, neighbours_from_json
from tacita.release.bundle_files import bundle_files, corrections, fingerprint, harmless_text, is_text, read_thin
from tacita.release.microdata import FOLDER, csv_name, is_unfit
from tacita.release.page_maps import areas_in, maps_of
from tacita.release.page_products import files_view, methods, table_view, weight_of
from tacita.release.settings import plan_from_record
from tacita.release.table_words import unfit_uses, usage
from tacita.release.words import (
    account_of,
    firmly,
    kind_of_privacy,
    left_open,
    odds_example,
    odds_rows,
    policy_rows,
    up_front,
)
from tacita.tables.publish import attributes, finest_level, summed_over, without_totals
from tacita.tables.statistics import TOTAL

Blocks = list[tuple[str, str]]
_LANGUAGES = (("Python", "py"), ("R", "R"), ("Stata", "do"))


def table_code(folder: Path, records: Sequence[Mapping[str, Any]]) -> Blocks:
    """Code that adds, compares and divides cells of one table of a bundle."""
    # The rule for sums takes independent errors, so a table without worker attributes is the better example.
    # Means and quantiles of cells do not add up at all.
    summable = [one for one in records if (one["settings"].get("statistic") or "count") in ("count", "sum")]
    for record in sorted(summable, key=lambda one: bool(one["settings"].get("worker"))):
        table = read_thin(folder / "tables" / f"{record['name']}.parquet")
        if "measure" in table.column_names:
            continue  # several numbers of each cell, which do not add up with one another
        return code_for_cells(record["name"], table, record["settings"].get("totals") or ())
    return []


def code_for_cells(name: str, table: pa.Table, totals: Sequence[str]) -> Blocks:
    """Compares the first two codes of a table; totals are left out of sums, or they count twice."""
    keys = [one for one in attributes(table) if one != LEVEL]
    cells = without_totals(table, totals)
    codes = [harmless_text(str(one)) for one in cells[keys[0]].unique()[:2].to_pylist()] if keys else []
    if len(codes) < 2:
        return []
    texts = [position for position, field in enumerate(table.schema, start=1) if is_text(field.type)]
    view = {"name": name, "keys": keys, "codes": codes, "texts": texts, "finest": finest_level(table)}
    summed = summed_over(table, totals)
    return [(language, code(f"cells.{form}.j2", total=TOTAL, summed=summed, **view)) for language, form in _LANGUAGES]


@dataclass(frozen=True)
class Example:
    """A number that can be averaged in each language: a numeric column, or whether a category is at one code."""

    column: str
    code: str | None
    texts: tuple[int, ...]
    weight: str | None

    @property
    def code_in_csv(self) -> str:
        return harmless_text(self.code or "")


def files_code(files: Sequence[Path], plan: Mapping[str, Any], schema: Schema) -> dict[str, Any] | None:
    """What a reader is told about combining the synthetic files, and code that does it; None without files."""
    if not files:
        return None
    stored = pq.read_schema(files[0])
    note = json.loads((stored.metadata or {}).get(b"tacita-implicate", b"{}"))
    view: dict[str, Any] = {
        "kind": str(note.get("kind", "partial")),
        "many": len(files),
        "keeps_columns": bool(set(stored.names) - set(note.get("synthesized", ()))),
        "unit": plan["schema"]["dataset"]["unit"],
        "example": _example(plan, schema, stored.names),
    }
    unfit = any(is_unfit(one) for one in plan.get("microdata", []))
    first = csv_name(1, rehearsal=plan["rehearsal"], unfit=unfit)
    before = {"R": f"{snippets.R}\n", "Stata": f"{snippets.STATA}\n"} if len(files) > 1 else {}
    blocks = [
        (language, (before.get(language, "") + code(f"files.{form}.j2", folder=FOLDER, first=first, **view)).strip())
        for language, form in _LANGUAGES
    ]
    return {**view, "blocks": blocks}


def _example(plan: Mapping[str, Any], schema: Schema, names: Sequence[str]) -> Example:
    weights = (weight_of(one["mechanism"], schema, names) for one in plan.get("microdata", []))
    weight = next((one for one in weights if one is not None), None)
    texts = tuple(at for at, name in enumerate(names, start=1) if isinstance(schema[name].kind, Categorical))
    for name in names:
        if name != weight and isinstance(schema[name].kind, Integer | Numeric):
            return Example(name, None, texts, weight)
    name = next((one for one in names if isinstance(schema[one].kind, Categorical)), names[0])
    kind = schema[name].kind
    return Example(name, kind.levels[0] if isinstance(kind, Categorical) else "", texts, weight)


_FEW = 2  # products whose methods a reader can take in at once, on the first sheet
_EMPLOYER_UNITS = ("worker", "establishment")


def render_page(folder: Path, made: Mapping[str, Any]) -> str:
    """The page of the bundle in `folder`; `made` is the manifest's account of how it was made."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ledger = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    guarantee, schema = guarantee_from_json(plan["guarantee"]), Schema.stored(plan["schema"])
    maps = partial(maps_of, plan, schema, areas_in(folder))
    tables, microdata = plan["tables"], plan.get("microdata", [])
    shown = [table_view(folder, record, schema, maps) for record in tables]
    files = [files_view(folder, record, plan, schema) for record in microdata]
    few = len(tables) + len(microdata) <= _FEW
    return render.page(
        "report.html.j2",
        plan=plan,
        made=made,
        date=str(made.get("date") or made["finished"])[:10],  # earlier versions said it to the second
        unit=plan["schema"]["dataset"]["unit"],
        guarantee=guarantee,
        doubts=up_front(guarantee),
        trusted=bool(unchecked_units(guarantee)),
        loss=firmly(guarantee.loss, guarantee.holds),
        kind_of_privacy=kind_of_privacy(guarantee),
        odds=odds_example(guarantee),
        odds_rows=odds_rows(guarantee),
        policy_rows=policy_rows(guarantee, schema, [record["mechanism"] for record in tables]),
        guess=_guess(guarantee),
        left_open=left_open(guarantee),
        lifted=list(_lifted(ledger)),
        corrections=corrections(ledger["extract"]),
        budget=_budget(ledger, guarantee),
        few=few,
        how_tables=methods(tables),
        how_files=methods(microdata),
        tables=shown,
        microdata=files,
        unfit_uses=unfit_uses(shown, files),
        usage=usage(tables),
        file_count=sum(len(record["rows"]) for record in microdata),
        table_code=table_code(folder, tables),
        files_code=files_code(sorted((folder / "microdata").glob("implicate-*.parquet")), plan, schema),
        requirements=_requirements(guarantee),
        checked_by="" if plan["rehearsal"] else _checked_by([*tables, *microdata], schema),
        files=[(path, *fingerprint(folder / path)) for path in bundle_files(folder) if path != "report.html"],
        evidence=_evidence(folder),
    )


def _checked_by(records: Sequence[Mapping[str, Any]], schema: Schema) -> str:
    """The id by which every run that assumes one record of each unit has checked it; empty where there is none."""
    found = set()
    for record in records:
        try:
            plan = plan_from_record(record["mechanism"])
        except (TacitaError, LookupError, TypeError):  # a plan that no longer exists
            return ""
        if ONE_ROW in plan.guarantee.assumes:
            asked = contribution_of(plan, schema)
            found.add(None if asked is None else asked.id_column(schema))
    return next(iter(found)) or "" if len(found) == 1 else ""


def _guess(guarantee: Guarantee) -> str:
    """Something an attacker may suspect, and that the guarantee covers."""
    relation = guarantee.neighbours
    if isinstance(relation, ReplaceOne):
        return f"this {relation.unit} reported that value"
    if isinstance(relation, AddRemoveOne) and relation.unit != "worker":
        return f"this {relation.unit} is in the file"
    if isinstance(relation, NumbersWithin):
        return f"the numbers of this {relation.unit} are these, and not {float(1 + relation.alpha):g} times as large"
    return "this person holds a job there"


def _lifted(ledger: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Promises that the ledger once made for this file and that were lifted; the ledger's sealed lines say which."""
    lines = [line["entry"] for line in ledger["extract"].get("entries", [])]
    paid = [guarantee_from_json(line["guarantee"]) for line in lines if line["kind"] == "reserve"]
    for line in lines:
        if line["kind"] == "waive":
            relation = neighbours_from_json(line["neighbours"])
            yield {**line, "relation": relation, "kept": all(implies(one, relation) for one in paid)}


def _budget(ledger: Mapping[str, Any], guarantee: Guarantee) -> dict[str, Any]:
    """What this release took, what others took, and how firmly the sum holds."""
    losses = {key: loss_from_json(ledger[key]) for key in ("this_release", "other_releases", "left", "cap")}
    account = account_of(ledger["extract"], guarantee.neighbours)
    amounts = {key: _amount(loss, losses["cap"]) for key, loss in losses.items()}
    amounts["this_release"] = firmly(amounts["this_release"], guarantee.holds)
    others = not losses["other_releases"].is_zero
    if others and guarantee.holds == "always":
        # The sum is as firm as its softest part; if this release is firm, a soft sum is the others' doing.
        amounts["other_releases"] = firmly(amounts["other_releases"], account.get("holds"))
    shares = [float(losses[key].epsilon) for key in ("this_release", "other_releases", "left")]
    return {
        **amounts,
        "rehearsal": ledger["rehearsal"],
        "picture": None if losses["cap"].rho is not None else budget_bar(*shares),
        "others_soft": account.get("holds", "always") == "asymptotically",
        "others_bare": account.get("holds", "always") == "never" and guarantee.holds != "never",
        # The sum rests on what earlier releases assume, also where this one does not.
        "rests_on_others": others and not ledger["rehearsal"],
        "firmness_known": "holds" in account,
        "others_assume": [
            one
            for one in sorted(account.get("assumes", []), key=lambda one: not one.startswith(UNCHECKED))
            if one not in guarantee.assumes
        ],
    }


def _amount(loss: Loss, cap: Loss) -> str:
    if loss.rho is not None or cap.rho is not None:
        return f"ρ = {text(loss.rho or loss.epsilon)}"
    return f"ε = {text(loss.epsilon)}" + (f", δ = {float(loss.delta):.3g}" if cap.delta else "")


def _requirements(guarantee: Guarantee) -> list[tuple[str, str, str]]:
    """Which of the three statutory requirements of employer-employee data are met, and at what level."""
    if guarantee.holds == "never":
        return []
    if isinstance(guarantee.neighbours, NumbersWithin | PerRecord):
        return []  # numbers of units are hidden, of whatever kind; of a worker's whole job nothing is proved
    if isinstance(guarantee.neighbours, AddRemoveOne | ReplaceOne) and guarantee.neighbours.unit not in _EMPLOYER_UNITS:
        return []
    met = requirements(guarantee).items()
    return [(name, answer.level(guarantee.loss.epsilon), answer.note) for name, answer in met]


def _evidence(folder: Path) -> dict[str, Any] | None:
    """What the bundle's evidence says about the version that made it."""
    if not (folder / "evidence.json").is_file():
        return None
    evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    tried = sum(one["neighbours_tried"] for one in evidence["plans"])
    return {**evidence, "methods": len(evidence["plans"]), "tried": tried}


_DECISIONS = {
    "cap": "Cap",
    "waive": "Promise lifted",
    "overlap": "Overlap let pass",
    "supersede": "Correction",
    "note": "Note",
}


def ledger_page(ledger: Ledger, name: str) -> str:
    """The page of a ledger that is called `name`."""
    entries, head = ledger.entries(), ledger.verify()
    releases = [one for one in entries if one.kind in ("reserve", "disclose")]
    decisions = [one for one in entries if one.kind in _DECISIONS]
    return render.page(
        "ledger.html.j2",
        name=name,
        head=head,
        count=len(entries),
        first=entries[0].time[:10],
        last=entries[-1].time[:10],
        accounts=[_account(one) for one in ledger.accounts()],
        releases=[_release(one) for one in releases],
        decisions=[_decision(one) for one in decisions],
        interrupted=[one.number for one in ledger.interrupted()],
    )


def _account(one: Account) -> dict[str, Any]:
    return {
        "of": ", ".join(one.identities) or "No file yet",
        "relation": one.neighbours,
        "cap": one.cap,
        "spent": firmly(one.spent, one.holds),
        "left": one.left,
        "share": _share(one.spent, one.cap),
        "holds": one.holds,
        "yearly": one.yearly,
        "years": [(str(year), str(spent), str(one.left_in(year))) for year, spent in one.by_year],
        "waived": one.waived,
        "silent": one.silent,
        "assumes": one.assumes,
    }


def _share(spent: Loss, cap: Loss) -> float:
    """How much of the cap is gone, in percent: of whichever part of the loss is nearest to its end."""
    pairs: Iterator[tuple[Any, Any]] = iter(
        ((spent.epsilon, cap.epsilon), (spent.delta, cap.delta), (spent.rho, cap.rho))
    )
    return min(100.0, max((100 * float(part / whole) for part, whole in pairs if whole), default=0.0))


def _release(one: Entry) -> tuple[Any, ...]:
    loss = firmly(one.loss or "", one.holds) if one.loss or one.kind == "disclose" else ""
    return one.number, one.time[:10], one.label, one.identity, loss, one.state


def _decision(one: Entry) -> tuple[Any, ...]:
    amount = ", ".join(part for part in (one.loss and f"{one.loss} under {one.neighbours}", one.state) if part)
    return one.number, one.time[:10], _DECISIONS[one.kind], amount, one.label, one.operator or None
