"""How firmly a sum holds, what it assumes, and what a bundle may tell about the way it was made."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import FILE_ALONE, WORKER, FakeData, FakePlan, release
from tacita.errors import RefusedError, UsageError, VerificationError, spent
from tacita.ledger import Ledger, verify_extract
from tacita.privacy import AddRemoveOne, Guarantee, Loss

DATA: Any = FakeData()


@dataclass(frozen=True)
class Assuming(FakePlan):
    assumes: tuple[str, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, self.loss, self.holds, self.assumes)


SOFT = Assuming("soft", holds="asymptotically", assumes=("the sample is large", "bounds are public"))
FIRM = Assuming("firm", assumes=("bounds are public",))


# ---------------------------------------------------------------- sums


def test_a_sum_holds_no_more_firmly_than_its_softest_part_and_says_so_everywhere(ledger: Ledger) -> None:
    release(ledger, SOFT, label="soft")
    release(ledger, FIRM, label="firm")
    (account,) = ledger.accounts()
    assert account.holds == "asymptotically"
    assert account.assumes == ("the sample is large", "bounds are public")
    assert "ε = 0.2 of ε = 1 spent (asymptotically)" in str(account)
    assert "spent ε = 0.2 (asymptotically)" in str(ledger.quote(FakePlan("next"), DATA))
    extract = ledger.extract("firm")  # of the release that always holds: the account it counts in does not
    verify_extract(extract)
    assert extract["accounts"][0]["holds"] == "asymptotically"
    assert extract["accounts"][0]["assumes"] == ["the sample is large", "bounds are public"]


def test_families_do_not_soften_one_another(ledger: Ledger) -> None:
    release(ledger, SOFT)
    release(ledger, FIRM, FakeData("hospital stays", "rows-h"))
    assert [account.holds for account in ledger.accounts()] == ["asymptotically", "always"]
    release(ledger, FIRM, FakeData("both", "rows-b", ("jobs-2026", "hospital stays")))
    assert {account.holds for account in ledger.accounts()} == {"asymptotically"}


# ---------------------------------------------------------------- caps that take only firm promises


def test_a_firm_cap_refuses_an_asymptotic_plan_without_a_trace(path: Path) -> None:
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="always")
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"takes only promises that always hold \(entry 2\).*holds asymptotically"):
        release(ledger, SOFT)
    assert path.read_bytes() == before
    release(ledger, FIRM)
    ledger.raise_cap(Loss("2"), reason="board")
    with pytest.raises(RefusedError, match="only promises that always hold"):
        release(Ledger.open(path), SOFT)
    ledger.verify()


def test_a_cap_becomes_firm_later_unless_something_soft_was_counted(ledger: Ledger, path: Path) -> None:
    release(ledger, FIRM)
    with pytest.raises(RefusedError, match="only promises that always hold"):
        ledger.admit([SOFT], DATA, cap=Loss("1"), neighbours=WORKER, holds="always")
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="always")
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER)  # and stays so
    assert [entry.kind for entry in ledger.entries()].count("cap") == 2
    with pytest.raises(RefusedError, match="only promises that always hold"):
        release(ledger, SOFT)
    ledger.verify()


def test_a_cap_cannot_become_firm_after_something_soft(ledger: Ledger, path: Path) -> None:
    release(ledger, SOFT)
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="holds asymptotically"):
        Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="always")
    assert path.read_bytes() == before


def test_firmness_sealed_by_hand_against_the_rules_is_noticed(ledger: Ledger) -> None:
    release(ledger, SOFT)
    with ledger._store.writing() as writer:
        facts = {key: writer.records()[1].body[key] for key in ("neighbours", "cap", "reason")}
        writer.append("cap", {**facts, "holds": "always"})
    with pytest.raises(VerificationError, match="firmer than what was released before it"):
        ledger.verify()


def test_only_always_can_be_asked_of_a_cap(path: Path) -> None:
    with pytest.raises(UsageError, match='holds: must be "always"'):
        Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="asymptotically")  # type: ignore[arg-type]


# ---------------------------------------------------------------- what has no guarantee

BARE: Any = Assuming("bare", loss=Loss.zero(), holds="never", assumes=("nothing bounds it",))
REASON = "The board let it pass for validation inside the office."


def disclose(ledger: Ledger, plan: Any = BARE, data: Any = DATA, reason: str = REASON) -> Any:
    return ledger.disclose(plan, data, label="plain files", reason=reason)


def test_a_disclosure_has_a_line_of_its_own_a_reason_and_no_price(ledger: Ledger) -> None:
    release(ledger, FIRM, label="firm")
    result = disclose(ledger)
    entry = ledger.entries()[-2]
    assert (entry.kind, entry.label, entry.loss, entry.holds) == ("disclose", "plain files", None, "never")
    assert entry.state == f"disclosed, NO GUARANTEE: {REASON}"
    assert ledger.spent(WORKER, DATA) == Loss("0.1")
    assert disclose(ledger).to_bytes() == result.to_bytes()  # drawn once
    assert len([entry for entry in ledger.entries() if entry.kind == "disclose"]) == 1
    with pytest.raises(RefusedError, match=f'for another reason; give that one, "{REASON}"'):
        disclose(ledger, reason="another")
    ledger.verify()


def test_beside_a_disclosure_no_sum_of_the_file_bounds_anything_and_every_extract_says_so(ledger: Ledger) -> None:
    release(ledger, FIRM, label="before")
    disclose(ledger)
    release(ledger, FakePlan("after"), label="after")
    release(ledger, FIRM, FakeData("hospital stays", "rows-h"), label="elsewhere")
    jobs, stays = ledger.accounts()
    assert (jobs.holds, stays.holds) == ("never", "always")
    assert "spent (bounds nothing: more was disclosed without a guarantee)" in str(jobs)
    for label, told in (("before", True), ("after", True), ("plain files", True), ("elsewhere", False)):
        extract = ledger.extract(label)
        verify_extract(extract)
        ledger.verify(extract)
        lines = [line["entry"] for line in extract["entries"] if line["entry"]["kind"] == "disclose"]
        assert [line["reason"] for line in lines] == ([REASON] if told else [])
        assert [line["guarantee"]["holds"] for line in lines] == (["never"] if told else [])
        assert {one["holds"] for one in extract["accounts"]} == {"never" if told else "always"}


def test_a_firm_cap_and_a_disclosure_exclude_each_other(path: Path) -> None:
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="always")
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"takes only promises that always hold.*has no guarantee"):
        disclose(ledger)
    assert path.read_bytes() == before
    other = Ledger.open(path.with_name("other.ledger"), cap=Loss("1"), neighbours=WORKER)
    disclose(other)
    for unit in ("worker", "firm"):
        with pytest.raises(RefusedError, match="takes only promises that always hold"):
            Ledger.open(path.with_name("other.ledger"), cap=Loss("1"), neighbours=AddRemoveOne(unit), holds="always")


@pytest.mark.parametrize(
    ("plan", "reason", "error"),
    [
        (FIRM, REASON, "reason: this plan has a guarantee"),
        (BARE, " ", "reason: must say why this may leave without a guarantee"),
    ],
)
def test_the_door_is_for_what_has_no_guarantee_and_asks_why(
    ledger: Ledger, path: Path, plan: Any, reason: str, error: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match=error):
        disclose(ledger, plan, reason=reason)
    with pytest.raises(RefusedError, match=r"no guarantee.*Ledger.disclose\(plan, data, label=…, reason=…\)"):
        release(ledger, BARE)
    assert path.read_bytes() == before


def test_a_disclosure_that_fails_is_on_record_and_costs_nothing(ledger: Ledger) -> None:
    with pytest.raises(OSError, match="disk") as failed:
        disclose(ledger, Assuming("bare", loss=Loss.zero(), holds="never", error=OSError("disk")))
    assert not spent(failed.value)
    assert ledger.entries()[2].state == f"failed (OSError), NO GUARANTEE: {REASON}"
    assert ledger.spent(WORKER, DATA).is_zero
    assert not ledger.interrupted()


@pytest.mark.parametrize("change", [{"reason": " "}, {"kind": "reserve"}, {"promised": True}])
def test_a_disclosure_sealed_by_hand_against_the_rules_is_noticed(ledger: Ledger, change: dict[str, Any]) -> None:
    disclose(ledger)
    release(ledger, FIRM)
    with ledger._store.writing() as writer:
        records = writer.records()
        kept = ("label", "identity", "lineage", "domain", "plan", "guarantee", "reason")
        facts = {key: records[2].body[key] for key in kept} | {"label": "again", "reason": change.get("reason", "why")}
        if "promised" in change:
            facts["guarantee"] = records[4].body["guarantee"]
        if "kind" in change:
            facts |= {key: records[4].body[key] for key in ("account", "charge")}
        writer.append(change.get("kind", "disclose"), facts, {"fingerprint": "rows-a"})
    with pytest.raises(VerificationError, match="ledger entry 7"):
        ledger.verify()


# ---------------------------------------------------------------- what is public


def test_a_public_line_has_a_day_and_the_ledger_itself_the_exact_time(ledger: Ledger) -> None:
    with pytest.raises(OSError, match="disk"):
        release(ledger, FakePlan(error=OSError("disk")), label="mine")
    release(ledger, FakePlan(), label="mine")
    extract = ledger.extract("mine")
    assert {len(line["entry"]["time"]) for line in extract["entries"]} == {len("2026-01-01")}
    assert not re.search(r"\d\d:\d\d", json.dumps(extract))
    assert [line["entry"]["kind"] for line in extract["entries"]] == ["open", "cap", "reserve", "commit"]
    assert "unfinished" not in json.dumps(extract)
    assert "OSError" not in json.dumps(extract)
    assert all(re.search(r"T\d\d:\d\d:\d\d", entry.time) for entry in ledger.entries())


@FILE_ALONE
def test_lines_of_the_version_before_are_read_as_they_are(ledger: Ledger) -> None:
    """They have exact times, earlier attempts and no word of beginning in their public text."""
    release(ledger, FakePlan("new"))
    with ledger._store.writing() as writer:
        new = dict(writer.records()[2].body)
    old = {key: value for key, value in new.items() if key not in ("number", "previous", "kind", "time", "private")}
    old |= {"time": "2026-01-01T12:00:00+00:00", "after_unfinished": []}
    with ledger._store.writing() as writer:
        writer.append("reserve", old, {"fingerprint": "rows-old"})
    assert ledger.entries()[4].state == "reserved, never finished, counts as spent"
    assert [entry.number for entry in ledger.interrupted()] == [5]
    ledger.verify()
