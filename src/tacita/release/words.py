"""The guarantee in plain words, and the same as JSON: one source for the screen, the page and the records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tacita.data.schema import Integer, Numeric, Schema
from tacita.privacy import (
    UNPROTECTED,
    Guarantee,
    Holds,
    Loss,
    Neighbours,
    NumbersWithin,
    PerRecord,
    ReplaceOne,
    StrongAlpha,
    WeakAlpha,
    text,
    unchecked_units,
    upward,
)
from tacita.privacy.json_form import guarantee_to_json, neighbours_to_json

NO_GUARANTEE = "NO FORMAL GUARANTEE"
_CERTAIN = 99.99  # percent: beyond that a bound hides nothing, and digits would only make it look like one


def guarantee_record(guarantee: Guarantee) -> dict[str, Any]:
    """The whole promise as JSON, with the sentences a reader needs beside the numbers."""
    return {
        **guarantee_to_json(guarantee),
        "in_short": str(guarantee),
        "protects": guarantee.protects,
        "odds": guarantee.odds_factor,
    }


def up_front(guarantee: Guarantee) -> tuple[str, ...]:
    """What a reader must know before any number: what nobody could check, and a bound that is not proved.

    >>> from tacita.privacy import UNCHECKED
    >>> trusted = UNCHECKED + "each row is one whole person; the file has no id of a person, so nothing could check it"
    >>> for one in up_front(Guarantee(ReplaceOne("person"), Loss("18"), "asymptotically", (trusted,))):
    ...     print(one)
    Taken on trust: each row is one whole person; the file has no id of a person, so nothing could check it. All that \
is promised here rests on this.
    Not proved for this file: ε = 18 is a bound in a limit only (asymptotic). What can be learned about one person may \
exceed it.
    """
    doubts = [f"Taken on trust: {one}. All that is promised here rests on this." for one in unchecked_units(guarantee)]
    unit = getattr(guarantee.neighbours, "unit", "unit")
    if guarantee.holds == "never":
        reasons = [one.removeprefix(UNPROTECTED) for one in guarantee.assumes if one.startswith(UNPROTECTED)]
        why = f" It was made all the same, for this reason on record: {'; '.join(reasons)}" if reasons else ""
        doubts.append(
            f"{NO_GUARANTEE}. Nothing bounds what this release shows about one {unit}: no noise protects it, and "
            f"what it holds about one {unit} may be true.{why}"
        )
    if guarantee.holds == "asymptotically":
        doubts.append(
            f"Not proved for this file: {guarantee.loss} is a bound in a limit only (asymptotic). What can be learned "
            f"about one {unit} may exceed it."
        )
    return tuple(doubts)


def firmly(amount: Loss | str, holds: Holds | None) -> str:
    """A loss as it may stand anywhere: one that is not proved never stands alone.

    >>> firmly(Loss("18"), "asymptotically"), firmly(Loss("1"), "always"), firmly(Loss.zero(), "never")
    ('ε = 18 (asymptotic, not proved)', 'ε = 1', 'not bounded (no guarantee)')
    """
    if holds == "never":
        return "not bounded (no guarantee)"
    return f"{amount}{' (asymptotic, not proved)' if holds == 'asymptotically' else ''}"


def account_of(extract: Mapping[str, Any], neighbours: Neighbours) -> Mapping[str, Any]:
    """The ledger's own account of a relation, with how firmly all that was added up `holds` and what it `assumes`.

    Empty for a rehearsal; an older ledger did not say how firmly.
    """
    relation = neighbours_to_json(neighbours)
    return next((one for one in extract.get("accounts", []) if one["neighbours"] == relation), {})


def odds_example(guarantee: Guarantee) -> str:
    """What the loss means for someone who holds a suspicion, as two percentages.

    >>> from tacita.privacy import Loss
    >>> odds_example(Guarantee(StrongAlpha("0.1"), Loss("1")))
    'Someone who gives a guess even odds (50%) before seeing the release may hold it at most 73% likely afterwards.'
    """
    if guarantee.holds == "never" or guarantee.loss.rho is not None:
        return ""
    after = 100 / (1 + math.exp(-guarantee.loss.epsilon))
    shown = f"{after:.0f}%" if after < 99 else f"{after:.4g}%"
    tail = f", except with probability {float(guarantee.loss.delta):.2g}" if guarantee.loss.delta else ""
    who = "Someone who gives a guess even odds (50%) before seeing the release"
    if guarantee.holds != "always":
        who = "If the bound held for this file: s" + who[1:]
    if after >= _CERTAIN:
        return f"{who} may be all but certain of it afterwards{tail}."
    return f"{who} may hold it at most {shown} likely afterwards{tail}."


def odds_rows(guarantee: Guarantee) -> tuple[tuple[str, str, str], ...]:
    """A belief before the release, and the range it may lie in afterwards; empty where no pure bound is proved.

    >>> from tacita.privacy import Loss
    >>> odds_rows(Guarantee(StrongAlpha("0.1"), Loss("1")))[1]
    ('10%', '3.9%', '23%')
    >>> odds_rows(Guarantee(StrongAlpha("0.1"), Loss("1000")))[1]
    ('10%', 'less than 0.1%', 'more than 99.9%')
    """
    loss = guarantee.loss
    if guarantee.holds != "always" or loss.rho is not None or loss.delta:
        return ()
    factor = math.exp(-loss.epsilon)  # never the other way round: that overflows at an ε of 710

    def least(odds: float) -> float:
        return odds * factor / (1 + odds * factor)

    return tuple(
        (_percent(belief), _percent(least(belief / (1 - belief))), _percent(1 - least((1 - belief) / belief)))
        for belief in (0.01, 0.1, 0.5, 0.9)
    )


def _percent(share: float) -> str:
    """Two digits that tell, and never a rounded 0% or 100%.

    >>> _percent(0.5), _percent(0.0367), _percent(0.99995)
    ('50%', '3.7%', 'more than 99.9%')
    """
    if share < 0.001:
        return "less than 0.1%"
    if share > 0.999:
        return "more than 99.9%"
    return f"{100 * share:.0f}%" if 0.0995 <= share <= 0.99 or share == 0.01 else f"{100 * share:.1f}%"


def promise_in_short(guarantee: Guarantee) -> str:
    """For records that have room for a few sentences: the doubts first, then the promise."""
    said = () if guarantee.holds == "never" else (f"{guarantee}. Protected: {guarantee.protects}.",)
    return " ".join((*up_front(guarantee), *said))


def left_open(guarantee: Guarantee) -> tuple[str, ...]:
    """What a release leaves open, under its own promise."""
    if guarantee.holds != "never":
        return not_protected(guarantee.neighbours)
    unit = getattr(guarantee.neighbours, "unit", "unit")
    return (f"Everything: what the files show about any one {unit}, and about all together, is not bounded.",)


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def not_protected(neighbours: Neighbours) -> tuple[str, ...]:
    """What the promise leaves open. A board signs this list as much as the promise itself."""
    general = (
        "What is true of many at once: patterns of whole places, sectors or groups are what a release is for.",
        "What can be learned elsewhere. The promise is about what this release adds, not about what is already known.",
    )
    if isinstance(neighbours, StrongAlpha | WeakAlpha):
        factor = text(1 + neighbours.alpha)
        own: tuple[str, ...] = (
            "That an establishment exists, where it is and what it does: the list of establishments and their "
            "attributes is public.",
            f"Roughly how large an establishment is. Sizes are hidden within a factor {factor}; "
            "a release may show whether an establishment has 50 workers or 5,000.",
            "Several establishments at once at the same level: a firm with k establishments is protected "
            "with k times the loss.",
        )
        if isinstance(neighbours, WeakAlpha):
            own += (
                "The size of an establishment against someone who already knows the make-up of its workforce; "
                "the weak definition assumes no such knowledge.",
            )
        return own + general
    if isinstance(neighbours, NumbersWithin):
        return (
            f"That {_a(neighbours.unit)} exists, when it was there and its categories: these are the same in "
            "neighbouring files, so the promise says nothing about them.",
            f"Roughly how large its numbers are. They are hidden within a factor {text(1 + neighbours.alpha)}.",
            *general,
        )
    if isinstance(neighbours, PerRecord):
        return (
            f"Large numbers as well as small ones: the loss grows with the number of {_a(neighbours.unit)}, without "
            f"bound, below {text(neighbours.offset)} with its square and above ever slower. It is "
            f"{neighbours.policy_in_words} for the number v.",
            f"That {_a(neighbours.unit)} is in the file, and its categories: these are taken as public.",
            *general,
        )
    if isinstance(neighbours, ReplaceOne):
        return (f"The number of units ({neighbours.unit}): it is treated as public.", *general)
    if neighbours.unit == "worker":
        return (
            "Employers. The size and make-up of one establishment can show almost exactly, "
            "since many workers together are not hidden.",
            *general,
        )
    return general


def policy_rows(
    guarantee: Guarantee, schema: Schema, mechanisms: Iterable[Mapping[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """What units of several sizes lose by all these mechanisms, as they describe themselves, up to the largest number
    that the schema allows; empty where all units lose the same."""
    relation, rho = guarantee.neighbours, guarantee.loss.rho
    if guarantee.holds == "never" or not isinstance(relation, PerRecord) or rho is None:
        return ()
    kinds = [schema[one["of"]].kind for one in mechanisms]
    largest = max(float(kind.upper) for kind in kinds if isinstance(kind, Integer | Numeric))
    below = [float(relation.reference) * 10.0**power for power in range(-2, 4)]
    named = {f"{one:,.10g}": one for one in below if one < largest}
    named[f"{largest:,.10g}, the largest that the schema allows"] = largest
    return tuple((name, f"ρ = {upward(float(rho) * relation.policy(one))}") for name, one in named.items())


def kind_of_privacy(guarantee: Guarantee) -> str:
    """The name of the definition, as the literature has it."""
    neighbours, loss = guarantee.neighbours, guarantee.loss
    if guarantee.holds == "never":
        return "none: no formal guarantee"
    if isinstance(neighbours, StrongAlpha | WeakAlpha):
        weak = "weak " if isinstance(neighbours, WeakAlpha) else ""
        return f"{weak}(α, ε{', δ' if loss.delta else ''}) employer-employee privacy"
    if isinstance(neighbours, NumbersWithin):
        return f"(α, ε{', δ' if loss.delta else ''}) privacy of numbers"
    if isinstance(neighbours, PerRecord):
        return "per-record zero-concentrated differential privacy"
    if loss.rho is not None:
        return "zero-concentrated differential privacy"
    kind = "approximate differential privacy" if loss.delta else "pure differential privacy"
    return kind if guarantee.holds == "always" else f"{kind}, in a limit only"
