"""What plan.json claims of each product is no more than the ledger's entry sealed for it.

Schema and guarantee are held to the entry, whatever version wrote them, and the guarantee to what its plan loses: an
entry can be written by hand. Proof, forecast, settings and the sentences beside the numbers follow from the plan in the
entry; they are compared where this very code wrote them, since other versions word them otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.ledger.terms import domain_of, softest
from tacita.plan import Plan, claimed
from tacita.privacy import UNPROTECTED, Guarantee, Loss, Neighbours
from tacita.privacy.json_form import guarantee_from_json, neighbours_from_json
from tacita.release.alike import same_document
from tacita.release.plans import forecast_record, plan_as_set, plan_from_record
from tacita.release.words import guarantee_record


def check_claims(plan: dict[str, Any], ledger: dict[str, Any], *, by_this_code: bool) -> None:
    """Refuse a plan.json that says of a product what the entry that pays for it does not bear out."""
    schema, relation = Schema.stored(plan["schema"]), neighbours_from_json(ledger["neighbours"])
    for product in (*plan["tables"], *plan.get("microdata", [])):
        name, made = product["name"], plan_from_record(product["mechanism"])
        paying = [line for line in _finished(ledger) if line["plan"] == product["mechanism"]]
        # Entries of earlier versions sealed the variables alone.
        domains = domain_of(schema, made.relies_on(schema)), domain_of(schema)
        paying = [line for line in paying if line["domain"] in domains]
        if not paying:
            raise VerificationError(f"plan.json: the schema is not the one that the ledger sealed for {name}")
        stated = guarantee_from_json(product["guarantee"])
        if not any(stated in _sealed(line, made, schema, relation) for line in paying):
            raise VerificationError(f"plan.json: the guarantee of {name} is not the one that the ledger sealed")
        if stated.holds != "never" and not _borne_out(stated, claimed(made, schema).under(relation)):
            raise VerificationError(
                f"plan.json: {name} promises less loss, or holds more firmly, than its plan does; its entry in the "
                "ledger was not written by Tacita"
            )
        if by_this_code:
            _check_words(product, made, schema)
    if by_this_code and plan["guarantee"] != guarantee_record(guarantee_from_json(plan["guarantee"])):
        raise VerificationError("plan.json: the words of the promise are not those of its numbers")


def _finished(ledger: dict[str, Any]) -> list[dict[str, Any]]:
    lines = [line["entry"] for line in ledger["extract"]["entries"]]
    finished = {line["reserve"] for line in lines if line["kind"] == "commit"}
    return [line for line in lines if line["kind"] in ("reserve", "disclose") and line["number"] in finished]


def _sealed(line: dict[str, Any], made: Plan[Any], schema: Schema, relation: Neighbours) -> Iterator[Guarantee]:
    """What a bundle may state on the strength of one entry.

    A result that is paid for is published again for nothing, also by a later version, which may word the assumptions
    otherwise than the entry does: what it claims for this plan and schema counts too, unless it claims more.
    """
    sealed, now = guarantee_from_json(line["guarantee"]), claimed(made, schema)
    if line["kind"] == "disclose":
        for one in (sealed, made.guarantee):
            yield Guarantee(relation, Loss.zero(), "never", (UNPROTECTED + line["reason"], *one.assumes))
        return
    yield sealed.under(relation)
    if (now.neighbours, now.loss) == (sealed.neighbours, sealed.loss) and softest((now, sealed)) == now.holds:
        yield now.under(relation)


def _borne_out(stated: Guarantee, plan: Guarantee) -> bool:
    """Whether the plan itself, as this version knows it, loses no more than is stated, and that as firmly."""
    return plan.loss <= stated.loss and softest((stated, plan)) == stated.holds


def _check_words(product: dict[str, Any], made: Plan[Any], schema: Schema) -> None:
    name, described = product["name"], made.describe()  # as it is called now: the entry may have former words
    if product["guarantee"] != guarantee_record(guarantee_from_json(product["guarantee"])):
        raise VerificationError(f"plan.json: the words of the guarantee of {name} are not those of its numbers")
    if product["proof"] != made.proof:
        raise VerificationError(f"plan.json: the proof of {name} is not that of its mechanism")
    if not same_document(product["forecast"], json.loads(json.dumps(forecast_record(made.forecast(schema))))):
        raise VerificationError(f"plan.json: the forecast of {name} is not that of its mechanism")
    if plan_as_set(product["settings"], described).describe() != described:
        raise VerificationError(f"plan.json: the settings of {name} are not those of its mechanism")
