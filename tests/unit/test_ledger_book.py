"""The arithmetic of the accounts, against a slow and obvious model of it."""

from copy import deepcopy
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
from tacita.ledger.book import Book
from tacita.ledger.store import Record
from tacita.ledger.terms import DataKey, Tally
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours, ReplaceOne, StrongAlpha, WeakAlpha
from tacita.privacy.json_form import canonical

ACCOUNTS: tuple[Neighbours, ...] = (
    AddRemoveOne("worker"),
    ReplaceOne("worker"),
    StrongAlpha("0.1"),
    WeakAlpha("0.1"),
    WeakAlpha("0.05"),
)
CAP = Loss("1", delta="1e-6")
FIRST = 2 * len(ACCOUNTS) + 2  # the number of the first line after those of `opened`

shares = st.fractions(min_value=0, max_value=1, max_denominator=12)
tiny = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 10**6)])
losses = st.builds(lambda epsilon, delta: Loss(epsilon, delta=delta), shares, tiny)
alphas = st.fractions(min_value=Fraction(1, 1000), max_value=2)
words = st.text(min_size=1).filter(str.strip)
relations = st.one_of(
    st.builds(AddRemoveOne, words),
    st.builds(ReplaceOne, words),
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


def waive_line(number: int, neighbours: Neighbours, reason: str = "board") -> Record:
    return Record(number, "", {"kind": "waive", "neighbours": neighbours_to_json(neighbours), "reason": reason}, {})


def opened(*more: Record) -> list[Record]:
    """A cap for every account, each waived, so that promises that imply different ones can follow one another."""
    caps = [cap_line(number, account, CAP) for number, account in enumerate(ACCOUNTS, start=2)]
    waivers = [waive_line(number, account) for number, account in enumerate(ACCOUNTS, start=2 + len(ACCOUNTS))]
    return [Record(1, "", {"kind": "open"}, {}), *caps, *waivers, *more]


def shares_by_hand(stated: Neighbours, loss: Loss) -> dict[Neighbours, Loss]:
    """The table of implications, written out for the relations of these tests."""
    found = {stated: loss}
    if stated == StrongAlpha("0.1"):
        found |= {WeakAlpha("0.1"): loss, WeakAlpha("0.05"): loss}
    if stated == WeakAlpha("0.1"):
        found |= {WeakAlpha("0.05"): loss}
    if isinstance(stated, StrongAlpha | WeakAlpha):
        found |= {AddRemoveOne("worker"): loss}
    if stated == AddRemoveOne("worker") and loss.delta == 0:
        found[ReplaceOne("worker")] = loss * 2
    return found


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
        asked = shares_by_hand(account, charge)
        fits = True
        for one in ACCOUNTS:
            mine = [shares[one] for shares in (shares_by_hand(*spend[1:]) for spend in family) if one in shares]
            epsilon = sum((loss.epsilon for loss in mine), Fraction(0))
            delta = sum((loss.delta for loss in mine), Fraction(0))
            found = book.spent(one, key)
            assert (found.epsilon, found.delta) == (epsilon, delta)
            if one in asked:
                fits &= epsilon + asked[one].epsilon <= CAP.epsilon and delta + asked[one].delta <= CAP.delta
        assert {cap.neighbours: loss for cap, loss in book.charges(Guarantee(account, charge))} == asked
        assert book.family(key) == {one for spend in family for one in (spend[0].identity, *spend[0].lineage)} - {
            key.identity
        }
        line = reserve_line(FIRST + len(granted), key, account, charge)
        if not fits:
            with pytest.raises(VerificationError, match="does not fit under the cap"):
                deepcopy(book).add(line)
        else:
            book.add(line)
            granted.append((key, account, charge))


@settings(deadline=None)
@given(st.lists(losses, min_size=1, max_size=20))
def test_one_family_never_passes_its_cap(wishes: list[Loss]) -> None:
    book = Book.replay(opened())
    key = DataKey("a", "r1")
    weak = WeakAlpha("0.1")
    for number, charge in enumerate(wishes, start=FIRST):
        if (book.spent(weak, key) + Tally.of(charge)).fits(CAP):
            book.add(reserve_line(number, key, (StrongAlpha("0.1"), weak)[number % 2], charge))
        total = book.spent(weak, key)
        assert total.loss(CAP) <= CAP
        assert total.loss(CAP) + total.left_of(CAP) == CAP


def test_a_line_the_rules_could_not_have_written_is_refused() -> None:
    key = DataKey("a", "r1")
    strong, weak = StrongAlpha("0.1"), WeakAlpha("0.1")
    before = [Record(1, "", {"kind": "open"}, {}), cap_line(2, strong, CAP), reserve_line(3, key, strong, Loss("0.6"))]
    doubly_named = reserve_line(4, key, strong, Loss("0.1"))
    rules: list[tuple[Record, str]] = [
        (reserve_line(4, key, strong, Loss("0.5")), "does not fit under the cap for strong"),
        (reserve_line(4, key, weak, Loss("0.1")), "does not answer the caps of its time"),
        (Record(4, "", {**doubly_named.body, "account": neighbours_to_json(weak)}, doubly_named.private), "the charge"),
        (cap_line(4, strong, Loss("0.5"), "lower"), "only rises"),
        (cap_line(4, strong, Loss("2", delta="1e-6"), ""), "only rises, and with a reason"),
        (cap_line(4, weak, Loss("0.5")), "could not be declared"),  # 0.6 was lost under it already
        (cap_line(4, ReplaceOne("worker"), Loss("9")), "could not be declared"),  # nothing is known about it
        (waive_line(4, strong, " "), "with a reason"),
        (waive_line(4, weak), "waived once"),  # no cap, and nothing that would stand in its way
        (Record(4, "", {"kind": "commit", "reserve": 2, "sha256": "0"}, {}), "not under way"),
        (Record(4, "", {"kind": "gift"}, {}), "unknown kind"),
        (Record(4, "", {"kind": "open"}, {}), "only the first"),
        (Record(4, "", {"kind": "reserve"}, {}), "not an entry that Tacita writes"),
    ]
    for line, rule in rules:
        with pytest.raises(VerificationError, match=f"ledger entry 4: .*{rule}"):
            Book.replay([*before, line])


def test_the_caps_and_waivers_of_the_time_are_what_counts() -> None:
    """The same lines in another order are another history, and may be an impossible one."""
    strong, worker = StrongAlpha("0.1"), AddRemoveOne("worker")
    history: list[Record] = [
        Record(1, "", {"kind": "open"}, {}),
        cap_line(2, strong, CAP),
        cap_line(3, worker, CAP),
        waive_line(4, strong),
        reserve_line(5, DataKey("a", "r1"), worker, Loss("0.5")),
    ]
    assert Book.replay(history).silent_on(strong) == (5,)
    history[3], history[4] = history[4], history[3]
    with pytest.raises(VerificationError, match="does not answer the caps of its time"):
        Book.replay(history)


def test_a_run_ends_once() -> None:
    reserved = reserve_line(FIRST, DataKey("a", "r1"), ACCOUNTS[0], Loss("0.1"))
    ends: list[dict[str, Any]] = [
        {"kind": "commit", "reserve": FIRST, "sha256": "ab"},
        {"kind": "failed", "reserve": FIRST},
    ]
    lines = [Record(number, "", body, {"error": "E"}) for number, body in enumerate(ends, start=FIRST + 1)]
    with pytest.raises(VerificationError, match=f"entry {FIRST + 2}: finishes a run that was not under way"):
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
