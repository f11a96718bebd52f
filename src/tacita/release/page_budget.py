"""The part of the page on the budget: what this release took, what others took, and how firmly the sum holds."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from tacita.privacy import UNCHECKED, Guarantee, Holds, Loss, text
from tacita.privacy.json_form import loss_from_json
from tacita.release.charts import budget_bar
from tacita.release.page_parts import bullets, capital, stop
from tacita.release.words import account_of, firmly


def budget_section(ledger: dict[str, Any], guarantee: Guarantee) -> str:
    losses = {key: loss_from_json(ledger[key]) for key in ("cap", "this_release", "other_releases", "left")}
    names = {
        "this_release": "This release",
        "other_releases": "All other charges to this file",
        "left": "Left for later releases",
        "cap": "Cap set for this file",
    }
    account = account_of(ledger["extract"], guarantee.neighbours)
    firmness = {"this_release": guarantee.holds, "other_releases": _others_hold(account, guarantee, losses)}
    cells = "".join(
        f"<tr><td>{names[key]}</td><td class='number'>"
        f"{escape(firmly(amount(losses[key], losses['cap']), firmness.get(key)))}</td></tr>"
        for key in names
    )
    chart = ""
    if losses["cap"].rho is None:
        this, other, left = (float(losses[key].epsilon) for key in ("this_release", "other_releases", "left"))
        chart = f"<figure>{budget_bar(this, other, left)}</figure>"
    opening = (
        "<p>This rehearsal spent nothing. The figures show what a release would take from an untouched cap.</p>"
        if ledger["rehearsal"]
        else "<p>Losses add up over releases. The ledger keeps the sum and refuses what would pass the cap.</p>"
    )
    return (
        f"<h2>The budget</h2>{opening}{chart}<table><thead><tr><th>Share</th><th class='number'>Privacy loss "
        f"({escape(str(guarantee.neighbours))})</th></tr></thead><tbody>{cells}</tbody></table>"
        f"{_what_the_sum_rests_on(ledger, account, guarantee, losses['other_releases'])}"
    )


def _others_hold(account: Mapping[str, Any], guarantee: Guarantee, losses: Mapping[str, Loss]) -> Holds | None:
    """The sum is as firm as its softest part; if this release is firm, a soft sum is the others' doing."""
    if losses["other_releases"].is_zero or guarantee.holds != "always":
        return None
    found: Holds | None = account.get("holds")
    return found


def _what_the_sum_rests_on(
    ledger: Mapping[str, Any], account: Mapping[str, Any], guarantee: Guarantee, others: Loss
) -> str:
    """Assumptions of earlier releases, which this release does not make: the sum rests on them all the same."""
    if ledger["rehearsal"] or others.is_zero:
        return ""
    if "holds" not in account:
        return "<p>How firmly the other releases hold, and what they assume, was not recorded when they were made.</p>"
    said = []
    if account["holds"] == "asymptotically":
        said.append("At least one release in the sum holds asymptotically only: the sum is not proved.")
    said += [
        capital(one) + stop(one)
        for one in sorted(account.get("assumes", []), key=lambda one: not one.startswith(UNCHECKED))
        if one not in guarantee.assumes
    ]
    if not said:
        return ""
    return f"<p>What other releases took, and so the sum, rests on more than this release does:</p>{bullets(said)}"


def amount(loss: Loss, cap: Loss) -> str:
    if loss.rho is not None or cap.rho is not None:
        return f"ρ = {text(loss.rho or loss.epsilon)}"
    return f"ε = {text(loss.epsilon)}" + (f", δ = {float(loss.delta):.3g}" if cap.delta else "")
