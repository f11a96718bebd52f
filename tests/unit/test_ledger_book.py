"""The arithmetic of the accounts, against a slow and obvious model of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import (
    guarantee_from_json,
    guarantee_to_json,
    loss_from_json,
    loss_to_json,
    neighbours_from_json,
    neighbours_to_json,
)
from tacita.ledger.book import Book, DataKey, Tally
from tacita.ledger.codec import canonical
from tacita.ledger.store import Record
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours, ReplaceOne, StrongAlpha, WeakAlpha

ACCOUNTS: tuple[Neighbours, ...] = (AddRemoveOne("worker"), StrongAlpha("0.1"))
CAP = Loss("1", delta="1e-6")

shares = st.fractions(min_value=0, max_value=1, max_denominator=12)
tiny = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 10**6)])
losses = st.builds(lambda epsilon, delta: Loss(epsilon, delta=delta), shares, tiny)
alphas = st.fractions(min_value=Fraction(1, 1000), max_value=2)
relations = st.one_of(
    st.builds(AddRemoveOne, st.text(min_size=1)),
    st.builds(ReplaceOne, st.text(min_size=1)),
    st.builds(StrongAlpha, alphas),
    st.builds(WeakAlpha, alphas),
)
any_loss = st.one_of(losses, st.builds(lambda rho: Loss(rho=rho), shares))
names = st.sampled_from(["a", "b", "c", "d", "e"])
keys = st.builds(
    DataKey, names, st.sampled_from(["r1", "r2", "r3", "r4", "r5", "r6"]), st.lists(names, max_size=2).map(tuple)
)


def cap_line(number: int, neighbours: Neighbours, cap: Loss, reason: str = "declared") -> Record:
    body = {"kind": "cap", "neighbours": neighbours_to_json(neighbours), "cap": loss_to_json(cap), "reason": reason}
    return Record(number, "", body, {})


def reserve_line(number: int, key: DataKey, account: Neighbours, charge: Loss) -> Record:
    body = {
        "kind": "reserve",
        "label": "x",
        "identity": key.identity,
        "lineage": list(key.lineage),
        "domain": "",
        "plan": {"number": number},
        "guarantee": guarantee_to_json(Guarantee(account, charge)),
        "account": neighbours_to_json(account),
        "charge": loss_to_json(charge),
    }
    return Record(number, "", body, {"fingerprint": key.content})


def opened(*more: Record) -> list[Record]:
    caps = [cap_line(number, account, CAP) for number, account in enumerate(ACCOUNTS, start=2)]
    return [Record(1, "", {"kind": "open"}, {}), *caps, *more]


def reachable(key: DataKey, earlier: list[tuple[DataKey, Neighbours, Loss]]) -> list[tuple[DataKey, Neighbours, Loss]]:
    """Everything that shares a name with `key`, or with something that does, and so on."""
    known = set(key.names)
    while True:
        hit = [spend for spend in earlier if known & set(spend[0].names)]
        grown = known.union(*(spend[0].names for spend in hit))
        if grown == known:
            return hit
        known = grown


@settings(deadline=None)
@given(st.lists(st.tuples(keys, st.sampled_from(ACCOUNTS), losses), max_size=25))
def test_sums_and_families_agree_with_a_search_from_scratch(wishes: list[tuple[DataKey, Neighbours, Loss]]) -> None:
    book = Book.replay(opened())
    granted: list[tuple[DataKey, Neighbours, Loss]] = []
    for key, account, charge in wishes:
        family = reachable(key, granted)
        mine = [loss for _, other, loss in family if other == account]
        epsilon = sum((loss.epsilon for loss in mine), Fraction(0))
        delta = sum((loss.delta for loss in mine), Fraction(0))
        found = book.spent(account, key)
        assert (found.epsilon, found.delta) == (epsilon, delta)
        fits = epsilon + charge.epsilon <= CAP.epsilon and delta + charge.delta <= CAP.delta
        assert (found + Tally.of(charge)).fits(CAP) == fits
        assert book.family(key) == {one for spend in family for one in (spend[0].identity, *spend[0].lineage)} - {
            key.identity
        }
        if fits:
            book.add(reserve_line(4 + len(granted), key, account, charge))
            granted.append((key, account, charge))


@settings(deadline=None)
@given(st.lists(losses, min_size=1, max_size=20))
def test_one_family_never_passes_its_cap(wishes: list[Loss]) -> None:
    book = Book.replay(opened())
    key = DataKey("a", "r1")
    for number, charge in enumerate(wishes, start=4):
        if (book.spent(ACCOUNTS[0], key) + Tally.of(charge)).fits(CAP):
            book.add(reserve_line(number, key, ACCOUNTS[0], charge))
        total = book.spent(ACCOUNTS[0], key)
        assert total.loss(CAP) <= CAP
        assert total.loss(CAP) + total.left_of(CAP) == CAP


def test_a_line_the_rules_could_not_have_written_is_refused() -> None:
    key = DataKey("a", "r1")
    too_much = reserve_line(4, key, ACCOUNTS[0], Loss("1.1"))
    uncapped = reserve_line(4, key, ReplaceOne("worker"), Loss("0.1"))
    lowered = cap_line(4, ACCOUNTS[0], Loss("0.5"), "lower")
    silent = cap_line(4, ACCOUNTS[0], Loss("2", delta="1e-6"), "")
    unreserved = Record(4, "", {"kind": "commit", "reserve": 3, "sha256": "0"}, {})
    unknown = Record(4, "", {"kind": "gift"}, {})
    reopened = Record(4, "", {"kind": "open"}, {})
    malformed = Record(4, "", {"kind": "reserve"}, {})
    for line in (too_much, uncapped, lowered, silent, unreserved, unknown, reopened, malformed):
        with pytest.raises(VerificationError, match="ledger entry 4"):
            Book.replay(opened(line))


def test_a_run_ends_once() -> None:
    reserved = reserve_line(4, DataKey("a", "r1"), ACCOUNTS[0], Loss("0.1"))
    ends: list[dict[str, Any]] = [{"kind": "commit", "reserve": 4, "sha256": "ab"}, {"kind": "failed", "reserve": 4}]
    lines = [Record(number, "", body, {"error": "E"}) for number, body in enumerate(ends, start=5)]
    with pytest.raises(VerificationError, match="entry 6: finishes a run that was not under way"):
        Book.replay(opened(reserved, *lines))


def test_deltas_of_joined_families_that_reach_one_end_all_spending() -> None:
    cap = Loss("1", delta="0.6")
    lines = [
        Record(1, "", {"kind": "open"}, {}),
        cap_line(2, ACCOUNTS[0], cap),
        reserve_line(3, DataKey("east", "r1"), ACCOUNTS[0], Loss("0.1", delta="0.6")),
        reserve_line(4, DataKey("west", "r2"), ACCOUNTS[0], Loss("0.1", delta="0.6")),
    ]
    total = Book.replay(lines).spent(ACCOUNTS[0], DataKey("all", "r3", ("east", "west")))
    with pytest.raises(RefusedError, match="add up to 1 or more"):
        total.loss(cap)
    assert total.left_of(cap) == Loss("0.8")


@settings(deadline=None)
@given(relations, any_loss, st.sampled_from(["always", "asymptotically", "never"]), st.lists(st.text()).map(tuple))
def test_promises_survive_json_exactly(
    neighbours: Neighbours, loss: Loss, holds: Any, assumes: tuple[str, ...]
) -> None:
    guarantee = Guarantee(neighbours, loss, holds, assumes)
    assert neighbours_from_json(neighbours_to_json(neighbours)) == neighbours
    assert loss_from_json(loss_to_json(loss)) == loss
    assert guarantee_from_json(guarantee_to_json(guarantee)) == guarantee


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"kind": "strong-alpha"},
        {"kind": "strong-alpha", "alpha": 0.1},
        {"kind": "add-remove-one", "unit": "a", "x": 1},
    ],
)
def test_unknown_relations_are_not_guessed(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="neighbours: kind must be"):
        neighbours_from_json(wrong)


@pytest.mark.parametrize("wrong", [{}, {"epsilon": "1"}, {"epsilon": 1, "delta": "0"}, {"rho": "1", "epsilon": "1"}])
def test_unknown_losses_are_not_guessed(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="loss: needs either rho"):
        loss_from_json(wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)


@settings(deadline=None)
@given(json_values)
def test_the_canonical_text_is_its_own_canonical_text(value: Any) -> None:
    import json

    assert canonical(json.loads(canonical(value))) == canonical(value)


def test_what_has_no_canonical_text_is_refused() -> None:
    for wrong in (float("nan"), Fraction(1, 3), {"x": b"bytes"}, "\ud800"):
        with pytest.raises(UsageError, match="JSON cannot carry"):
            canonical(wrong)
