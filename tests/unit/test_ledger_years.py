"""Allowances per year inside a cap: what a year may take, what is refused, and what later years have left."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Call, replaced, write_jobs
from support.ledger_fakes import WORKER, FakeData, FakePlan, release
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger, Yearly, store
from tacita.ledger.book import Book
from tacita.ledger.store import Record, store_at
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne

DATA = FakeData()
YEARLY = Yearly(Loss("1"), until=2030)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    def at(year: int, month: int = 6, day: int = 1) -> None:
        moment = datetime(year, month, day, 12, tzinfo=UTC)
        for module in ("store", "ledger"):
            monkeypatch.setattr(f"tacita.ledger.{module}.now", lambda: moment)
        monkeypatch.setattr("tacita.release.outlook.now", lambda: moment)

    at(2026)
    return at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file: these tests move the clock, and a server has its own."""
    return tmp_path / "panel.ledger"


@pytest.fixture
def yearly(path: Path, clock: Any) -> Ledger:
    return Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=YEARLY)


def spend(ledger: Ledger, name: str, epsilon: str, data: FakeData = DATA) -> None:
    release(ledger, FakePlan(name, Loss(epsilon)), data)


# ---------------------------------------------------------------- what a year may take


def test_a_year_takes_no_more_than_its_allowance_and_the_next_begins_anew(yearly: Ledger, clock: Any) -> None:
    spend(yearly, "a", "0.75")
    with pytest.raises(
        RefusedError, match=r"allowance of 2026 .* spent in 2026 is ε = 0.75, asked is ε = 0.5, left is ε"
    ):
        spend(yearly, "b", "0.5")
    spend(yearly, "b", "0.25")
    with pytest.raises(RefusedError, match="wait for 2027"):
        spend(yearly, "c", "0.01")
    clock(2026, 12, 31)
    with pytest.raises(RefusedError, match="wait for 2027"):
        spend(yearly, "c", "0.01")
    clock(2027, 1, 1)
    spend(yearly, "c", "1")
    (account,) = yearly.accounts()
    assert account.by_year == ((2026, Loss("1")), (2027, Loss("1")))
    assert (account.left, account.left_in(2027), account.left_in(2028)) == (Loss("3"), Loss("0"), Loss("1"))
    assert account.left_in(2031).is_zero
    assert "ε = 1 a year until 2030: ε = 1 spent in 2026; ε = 1 spent in 2027" in str(account)
    yearly.verify()


def test_what_is_left_of_a_year_does_not_go_over_to_the_next(yearly: Ledger, clock: Any) -> None:
    clock(2028)
    with pytest.raises(RefusedError, match="left is ε = 1"):
        spend(yearly, "a", "1.5")


def test_a_clock_that_is_put_back_does_not_bring_back_the_allowance_of_a_year(yearly: Ledger, clock: Any) -> None:
    clock(2027)
    spend(yearly, "a", "1")
    clock(2026)
    with pytest.raises(RefusedError, match="the allowance of 2027 does not allow it"):
        spend(yearly, "b", "0.5")
    assert not yearly.quote(FakePlan("b", Loss("0.5")), DATA).shares[0].fits  # type: ignore[arg-type]
    clock(2028)
    spend(yearly, "b", "1")
    yearly.verify()


def test_after_the_horizon_nothing_is_released_until_it_is_decided(yearly: Ledger, clock: Any) -> None:
    clock(2031)
    with pytest.raises(RefusedError, match=r"a year until 2030, and it is 2031\. Have the next years decided"):
        spend(yearly, "a", "0.1")
    yearly.raise_cap(yearly=Yearly(Loss("2"), 2032), reason="board")
    spend(yearly, "a", "2")
    yearly.verify()


def test_a_stored_result_comes_back_in_any_year(yearly: Ledger, clock: Any) -> None:
    plan = FakePlan("a", Loss("1"))
    first = release(yearly, plan)
    clock(2040)
    assert release(yearly, plan) == first


def test_several_products_must_fit_the_year_together(yearly: Ledger, path: Path) -> None:
    before = path.read_bytes()
    plans = [(FakePlan(name, Loss("0.6")), name) for name in ("a", "b")]
    with pytest.raises(RefusedError, match=r"allowance of 2026 .* asked is ε = 1.2"):
        yearly.release_all(plans, DATA)  # type: ignore[arg-type]
    assert path.read_bytes() == before


def test_families_that_turn_out_to_be_one_share_the_year(yearly: Ledger) -> None:
    spend(yearly, "a", "0.6", FakeData("one", "rows-1"))
    spend(yearly, "a", "0.3", FakeData("two", "rows-2"))
    with pytest.raises(RefusedError, match=r"spent in 2026 is ε = 0.9"):
        spend(yearly, "a", "0.2", FakeData("three", "rows-3", ("one", "two")))
    spend(yearly, "a", "0.1", FakeData("three", "rows-3", ("one", "two")))


def test_the_allowance_of_another_relation_counts_too(yearly: Ledger, path: Path) -> None:
    replace = ReplaceOne("worker")
    Ledger.open(path, cap=Loss("9"), neighbours=replace, yearly=Yearly(Loss("1"), 2030))
    with pytest.raises(RefusedError, match=r"one worker's record replaced it is ε = 1 a year .* asked is ε = 1.5"):
        spend(yearly, "a", "0.75")  # twice the loss where one is replaced
    spend(yearly, "a", "0.5")


def test_an_account_in_rho_has_an_allowance_in_rho(path: Path, clock: Any) -> None:
    ledger = Ledger.open(path, cap=Loss(rho="1"), neighbours=WORKER, yearly=Yearly(Loss(rho="0.2"), 2030))
    release(ledger, FakePlan("a", Loss(rho="0.15")))
    with pytest.raises(RefusedError, match="allowance of 2026"):
        release(ledger, FakePlan("b", Loss(rho="0.1")))
    clock(2027)
    release(ledger, FakePlan("b", Loss(rho="0.1")))
    ledger.verify()


def test_delta_is_bounded_by_the_cap_alone(path: Path, clock: Any) -> None:
    ledger = Ledger.open(path, cap=Loss("5", delta="1e-6"), neighbours=WORKER, yearly=YEARLY)
    release(ledger, FakePlan("a", Loss("0.5", delta="1e-6")))
    clock(2027)
    with pytest.raises(RefusedError, match="the budget does not allow it"):
        release(ledger, FakePlan("b", Loss("0.5", delta="1e-9")))
    release(ledger, FakePlan("b", Loss("0.5")))
    ledger.verify()


# ---------------------------------------------------------------- the terms


@pytest.mark.parametrize(
    ("terms", "error", "message"),
    [
        (Yearly(Loss("2"), 2030), RefusedError, "is ε = 10 for the 5 years from 2026 on"),
        (Yearly(Loss("1"), 2031), RefusedError, "would not last"),
        (Yearly(Loss("1"), 2025), UsageError, "until: 2025 is over"),
        (Yearly(Loss("0"), 2030), UsageError, "per_year: must be above 0"),
        (Yearly(Loss(rho="1"), 2030), UsageError, "of the kind of the cap"),
        (Yearly(Loss("1", delta="1e-9"), 2030), UsageError, "δ has none"),
    ],
)
def test_an_allowance_that_the_cap_cannot_keep_up_is_refused(
    path: Path, clock: Any, terms: Yearly, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=terms)
    assert not path.exists()
    ledger = Ledger.open(path, cap=Loss("5"), neighbours=WORKER)
    before = path.read_bytes()
    with pytest.raises(error, match=message):
        ledger.raise_cap(yearly=terms, reason="board")
    with pytest.raises(error, match=message):
        Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=terms)
    assert path.read_bytes() == before


def test_an_allowance_that_comes_later_counts_what_was_spent_before(path: Path, clock: Any) -> None:
    clock(2025)
    ledger = Ledger.open(path, cap=Loss("5"), neighbours=WORKER)
    spend(ledger, "a", "2")
    clock(2026)
    spend(ledger, "b", "0.75")
    with pytest.raises(RefusedError, match="with what was spent before, the cap of ε = 5 would not last"):
        Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=Yearly(Loss("1"), 2029))
    Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=Yearly(Loss("1"), 2028))
    assert ledger.entries()[-1].label == "from here on ε = 1 a year until 2028"
    with pytest.raises(RefusedError, match=r"spent in 2026 is ε = 0.75"):
        spend(ledger, "c", "0.5")
    ledger.verify()


def test_other_terms_are_refused_and_earlier_ones_still_open_the_ledger(yearly: Ledger, path: Path) -> None:
    with pytest.raises(
        RefusedError, match=r"allows ε = 1 a year until 2030 \(entry 2\), not ε = 0.5 a year until 2030"
    ):
        Ledger.open(path, cap=Loss("5"), neighbours=WORKER, yearly=Yearly(Loss("0.5"), 2030))
    Ledger.open(path, cap=Loss("5"), neighbours=WORKER)  # says nothing of years: those of the ledger hold
    yearly.raise_cap(Loss("8"), yearly=Yearly(Loss("2"), 2029), reason="board", operator="A. Meier")
    before = path.read_bytes()
    for cap, terms in (("5", YEARLY), ("8", YEARLY), ("8", Yearly(Loss("2"), 2029)), ("5", None)):
        Ledger.open(path, cap=Loss(cap), neighbours=WORKER, yearly=terms)
    assert path.read_bytes() == before
    with pytest.raises(UsageError, match="nothing would change"):
        yearly.raise_cap(yearly=Yearly(Loss("2"), 2029), reason="board")
    with pytest.raises(UsageError, match="nothing would change"):
        yearly.raise_cap(reason="board")
    spend(yearly, "a", "2")
    yearly.verify()


def test_raising_the_cap_keeps_the_allowance(yearly: Ledger) -> None:
    yearly.raise_cap(Loss("9"), reason="board")
    (account,) = yearly.accounts()
    assert account.yearly == YEARLY


# ---------------------------------------------------------------- a ledger that lies


def lines(path: Path) -> list[Record]:
    with store_at(path, read_only=True).reading() as reader:
        return reader.records()


def test_a_line_that_passes_its_year_is_noticed(yearly: Ledger, path: Path, clock: Any) -> None:
    spend(yearly, "a", "1")
    clock(2027)
    spend(yearly, "b", "1")
    records = lines(path)
    Book.replay(records)
    for day, message in (("2026-12-31", "allowance of its year"), ("2031-01-01", "allowance of its year")):
        moved = [
            Record(one.number, one.hash, {**one.body, "time": day}, one.private) if one.number == 5 else one
            for one in records
        ]
        with pytest.raises(VerificationError, match=f"entry 5: .*{message}"):
            Book.replay(moved)


def test_a_line_that_drops_the_allowance_is_noticed(yearly: Ledger, path: Path) -> None:
    first = lines(path)[1]
    dropped = {key: value for key, value in first.body.items() if key != "yearly"} | {"number": 3}
    raised = dropped | {"cap": {"epsilon": "9", "delta": "0"}}
    for body in (dropped, raised):
        with pytest.raises(VerificationError, match="entry 3"):
            Book.replay([*lines(path), Record(3, "", body, {})])


def test_one_transaction_has_one_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a charge that is checked in the old year could be written down in the new one."""
    moments = iter(datetime(2026 + year, 1, 1, tzinfo=UTC) for year in range(50))
    Ledger.open(path, cap=Loss("5"), neighbours=AddRemoveOne("worker"))
    monkeypatch.setattr(store, "now", lambda: next(moments))
    with store_at(path).writing() as writer:
        assert {writer.append("note", {}, {"text": "x"}).body["time"] for _ in range(3)} == {"2026-01-01"}


# ---------------------------------------------------------------- the command line


def test_plan_says_what_is_left_for_later_years_and_run_refuses_beyond(folder: Path, tacita: Call, clock: Any) -> None:
    replaced('epsilon = "2"\n', 'epsilon = "4"\nper_year = "1.25"\nuntil = 2028\n')(folder)
    spec, ledger = folder / "release.toml", folder / "jobs.ledger"
    said = tacita("plan", spec).out
    assert (
        "ε = 1.25 a year until 2028: ε = 0.25 would be left of 2026; for 2027 to 2028, ε = 3 of the cap is left" in said
    )
    assert tacita("run", spec, "--out", folder / "one").code == 0
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 4 else "south")
    said = tacita("plan", spec)
    assert "does not fit what is left of 2026 under strong α = 0.1 neighbours (ε = 0.25)" in said.out
    assert said.code == 3
    before = ledger.read_bytes()
    refused = tacita("run", spec, "--out", folder / "two")
    assert refused.code == 3
    assert "the allowance of 2026 does not allow it" in refused.err
    assert ledger.read_bytes() == before
    clock(2028)
    said = tacita("plan", spec).out
    assert "ε = 0.25 would be left of 2028; 2028 is the last year that is planned" in said
    assert tacita("run", spec, "--out", folder / "two").code == 0
    checked = tacita("verify", folder / "two", "--ledger", ledger)
    assert checked.code == 0, checked.err
    page = folder / "ledger.html"
    assert tacita("ledger", "show", ledger, "--html", page).code == 0
    text = page.read_text().replace("\u00a0", " ")
    assert "Allowance inside the cap: ε = 1.25 a year until 2028." in text
    assert "ε = 4 under strong α = 0.1 neighbours, ε = 1.25 a year until 2028" in text  # the decision
    who = ("--reason", "Board", "--operator", "A. Meier")
    assert tacita("ledger", "raise", ledger, "--per-year", "2", *who).code == 2
    assert tacita("ledger", "raise", ledger, *who).code == 2
    assert tacita("ledger", "raise", ledger, "--per-year", "9", "--until", "2029", *who).code == 3
    done = tacita("ledger", "raise", ledger, "--epsilon", "9", "--per-year", "2", "--until", "2030", *who)
    assert "The cap for strong α = 0.1 neighbours is ε = 9 now, with ε = 2 a year until 2030." in done.out
    write_jobs(folder / "jobs.parquet", lambda job: "north" if job % 5 else "south")
    assert tacita("run", spec, "--out", folder / "three").code == 0  # the specification from before


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('per_year = "1"', "per_year and until go together"),
        ("until = 2030", "per_year and until go together"),
        ("per_year = 0.5\nuntil = 2030", "put quotes around it"),
        ('per_year = "0"\nuntil = 2030', "per_year: must be above 0"),
        ('per_year = "3"\nuntil = 2030', "no more than epsilon"),
        ('per_year = "1"\nuntil = "2030"', "until"),
        ('per_year = "1"\nuntil = 30', "until"),
        ('per_year = "1/2"\nuntil = 2030', "[cap] allows ε = 0.5 a year"),
        ('per_year = "1"\nuntil = 2025', "until: 2025 is over"),
        ('per_year = "1"\nuntil = 2040', "would not last"),
    ],
)
def test_terms_that_cannot_be_are_refused_before_anything_is_made(
    folder: Path, tacita: Call, clock: Any, keys: str, message: str
) -> None:
    replaced('epsilon = "2"\n', f'epsilon = "2"\n{keys}\n')(folder)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code in (2, 3)
    assert message in said.err
    assert not (folder / "jobs.ledger").exists()
    planned = tacita("plan", folder / "release.toml")
    assert planned.code == said.code
    assert planned.code == 2 or "would refuse" in planned.out
