"""The public page: what was published, what was promised, what it cost, and how to use it.

It is made from the bundle's own files and nothing else, so it cannot show what the bundle does not hold, and
`tacita report` can make it again. Here the facts are gathered; the words are in `pages/templates/report`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacita.ledger.terms import implies
from tacita.mechanisms.eree import requirements
from tacita.pages import render
from tacita.pages.charts import budget_bar
from tacita.privacy import UNCHECKED, AddRemoveOne, Guarantee, Loss, ReplaceOne, text, unchecked_units
from tacita.privacy.json_form import guarantee_from_json, loss_from_json, neighbours_from_json
from tacita.release.bundle_files import bundle_files, fingerprint
from tacita.release.corrections import corrections
from tacita.release.page_products import files_view, methods, table_view
from tacita.release.page_usage import files_code, table_code
from tacita.release.words import account_of, firmly, kind_of_privacy, left_open, odds_example, odds_rows, up_front

_EMPLOYER_UNITS = ("worker", "establishment")


def render_page(folder: Path, made: Mapping[str, Any]) -> str:
    """The page of the bundle in `folder`; `made` is the manifest's account of how it was made."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ledger = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    guarantee = guarantee_from_json(plan["guarantee"])
    tables, microdata = plan["tables"], plan.get("microdata", [])
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
        guess=_guess(guarantee),
        left_open=left_open(guarantee),
        lifted=list(_lifted(ledger)),
        corrections=corrections(ledger["extract"]),
        budget=_budget(ledger, guarantee),
        how_tables=methods(tables),
        how_files=methods(microdata),
        tables=[table_view(folder, record) for record in tables],
        microdata=[files_view(folder, record, plan) for record in microdata],
        file_count=sum(len(record["rows"]) for record in microdata),
        table_code=table_code(folder, tables),
        files_code=files_code(sorted((folder / "microdata").glob("implicate-*.parquet")), plan),
        requirements=_requirements(guarantee),
        files=[(path, *fingerprint(folder / path)) for path in bundle_files(folder) if path != "report.html"],
        evidence=_evidence(folder),
    )


def _guess(guarantee: Guarantee) -> str:
    """Something an attacker may suspect, and that the guarantee covers."""
    relation = guarantee.neighbours
    if isinstance(relation, ReplaceOne):
        return f"this {relation.unit} reported that value"
    if isinstance(relation, AddRemoveOne) and relation.unit != "worker":
        return f"this {relation.unit} is in the file"
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
