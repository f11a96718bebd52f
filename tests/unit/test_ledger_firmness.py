"""How firmly a sum holds, what it assumes, and what a bundle may tell about the way it was made."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import WORKER, FakeData, FakePlan, release
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.privacy import Guarantee, Loss

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
