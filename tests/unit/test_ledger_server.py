"""A ledger on a server, beyond the contract that it shares with files: guards, authors, roles, moving, restarts."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SPEC, Call
from support.ledger_fakes import WORKER, FakeData, FakePlan, FakeResult, release
from support.postgres_server import Server, ServerLedger, running
from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger import Ledger, Yearly
from tacita.ledger.founding import create, sql
from tacita.ledger.store import ledger_name, now, server_address, store_at
from tacita.privacy import Loss, ReplaceOne

ON_A_SERVER = pytest.mark.parametrize("path", ["server"], indirect=True)


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://meier:secret-91@db.office/statistics#jobs",
        "postgresql://db.office/statistics?password=secret-91",
        "postgresql:///statistics?sslpassword=secret-91#jobs",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError, match=r"a password stands in the address.*pgpass") as refusal:
        Ledger.open(address)
    assert "secret-91" not in str(refusal.value)


@pytest.mark.parametrize("name", ["Jobs", "1jobs", "jobs;drop", 'jobs"', "pg_jobs", "j" * 41])
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name after # must be small letters"):
        server_address(f"postgresql://db.office/statistics#{name}")


def test_a_ledger_without_a_name_and_a_service_are_known() -> None:
    assert server_address("postgres:///?service=statistics") == ("postgres:///?service=statistics", "tacita")
    assert ledger_name("postgresql://db.office/statistics#jobs") == "jobs"


def test_a_server_that_is_not_there_is_said_to_be_away(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(TacitaError, match="ledger jobs: the server was not reached"):
        Ledger.open(f"postgresql://postgres@/statistics?host={tmp_path}#jobs")


def test_without_its_driver_a_server_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "tacita.ledger.postgres_store", raising=False)
    with pytest.raises(UsageError, match=r"needs psycopg; .* tacita\[postgres\]"):
        Ledger.open("postgresql://db.office/statistics#jobs")


# ---------------------------------------------------------------- guards


@ON_A_SERVER
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {name}.entries SET body = '{{}}' WHERE number = 3",
        "DELETE FROM {name}.entries WHERE number = 4",
        "TRUNCATE {name}.entries CASCADE",
        "INSERT INTO {name}.entries SELECT 9, body, private, hash FROM {name}.entries WHERE number = 4",
        "INSERT INTO {name}.entries SELECT 3, body, private, hash FROM {name}.entries WHERE number = 4",
        "UPDATE {name}.results SET content = ''",
        "DELETE FROM {name}.results",
    ],
)
def test_the_server_refuses_to_forget_even_for_its_administrator(
    ledger: Ledger, path: ServerLedger, statement: str
) -> None:
    import psycopg

    release(ledger, FakePlan())
    before = path.read_bytes()
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        path.sql(statement)
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        path.sql("SET session_replication_role = replica", statement)
    assert path.read_bytes() == before


@ON_A_SERVER
def test_a_result_that_no_entry_announces_is_refused(ledger: Ledger, path: ServerLedger) -> None:
    import psycopg

    release(ledger, FakePlan())
    with pytest.raises(psycopg.errors.RaiseException, match="belongs to the entry that announces it"):
        path.sql("INSERT INTO {name}.results VALUES (3, '')")


@ON_A_SERVER
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {name}.entries DISABLE TRIGGER entries_kept",
        "ALTER TABLE {name}.entries ENABLE TRIGGER entries_in_order",
        "DROP TRIGGER results_kept ON {name}.results",
        "CREATE OR REPLACE FUNCTION {name}.kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "ALTER FUNCTION {name}.entry() RESET search_path",
    ],
)
def test_verify_notices_guards_that_were_altered(ledger: Ledger, path: ServerLedger, statement: str) -> None:
    ledger.verify()
    path.sql(statement)
    with pytest.raises(VerificationError, match="guards on the server were altered"):
        ledger.verify()


@ON_A_SERVER
def test_verify_notices_what_was_changed_past_the_guards(ledger: Ledger, path: ServerLedger) -> None:
    release(ledger, FakePlan())
    path.sql(
        "ALTER TABLE {name}.entries DISABLE TRIGGER entries_kept",
        "UPDATE {name}.entries SET private = replace(private, 'postgres', 'meier') WHERE number = 3",
        "ALTER TABLE {name}.entries ENABLE ALWAYS TRIGGER entries_kept",
    )
    with pytest.raises(VerificationError, match="entry 3: the hash chain is broken"):
        ledger.verify()


# ---------------------------------------------------------------- who and when


@ON_A_SERVER
def test_each_entry_says_who_was_logged_in_whatever_the_client_says(ledger: Ledger) -> None:
    ledger.annotate("checked", operator="A. Meier")
    assert [entry.operator for entry in ledger.entries()] == ["postgres", "postgres", "A. Meier (as postgres)"]
    with ledger._store.writing() as writer:
        writer.append("note", {}, {"text": "by another hand", "author": "rossi"})
    assert ledger.entries()[-1].operator == "postgres"


@ON_A_SERVER
@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda writer: setattr(writer, "_author", {"author": "rossi"}), "author of an entry is who is logged in"),
        (lambda writer: setattr(writer, "_author", {}), "author of an entry is who is logged in"),
        (lambda writer: setattr(writer, "moment", writer.moment.replace(year=2020)), "time of an entry is the time of"),
    ],
)
def test_a_client_that_claims_to_be_another_or_of_another_time_is_refused(
    ledger: Ledger, forge: Callable[[Any], None], message: str
) -> None:
    def forged() -> None:
        with ledger._store.writing() as writer:
            forge(writer)
            writer.append("note", {}, {"text": "x"})

    with pytest.raises(RefusedError, match=message):
        forged()
    assert len(ledger.entries()) == 2


@ON_A_SERVER
def test_the_year_of_an_allowance_is_the_servers(path: ServerLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    year = now().year
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WORKER, yearly=Yearly(Loss("0.2"), year + 2))
    release(ledger, FakePlan("a", Loss("0.2")))
    monkeypatch.setattr("tacita.ledger.store.now", lambda: now().replace(year=year + 1))
    with pytest.raises(RefusedError, match=f"the allowance of {year} does not allow it"):
        release(ledger, FakePlan("b", Loss("0.2")))


# ---------------------------------------------------------------- roles

ACTIONS: dict[str, Callable[[Ledger], object]] = {
    "release": lambda ledger: release(ledger, FakePlan("new")),
    "disclose": lambda ledger: ledger.disclose(
        FakePlan("bare", holds="never"),  # type: ignore[arg-type]
        FakeData(),  # type: ignore[arg-type]
        label="bare",
        reason="board",
    ),
    "raise": lambda ledger: ledger.raise_cap(Loss("2"), reason="board"),
    "waive": lambda ledger: ledger.waive(WORKER, reason="board"),
    "overlap": lambda ledger: ledger.waive_overlap("a", "b", reason="board"),
    "supersede": lambda ledger: ledger.supersede([3], reason="wrong"),
    "annotate": lambda ledger: ledger.annotate("seen"),
    "verify": lambda ledger: ledger.verify(),
}
MAY = {
    "operator": {"release", "annotate", "verify"},
    "steward": {"raise", "waive", "overlap", "supersede", "annotate", "verify"},
    "board": {"annotate", "verify"},
    "reader": {"verify"},
}


def person(server: Server, path: ServerLedger, name: str, *roles: str) -> str:
    """The same ledger as someone with these roles reaches it."""
    granted = [f'GRANT "{path.name}_{role}" TO {name}' for role in roles]
    path.sql(f"CREATE ROLE {name} LOGIN", *granted)
    return server.ledger(path.name, name)


@ON_A_SERVER
@pytest.mark.parametrize("role", MAY)
def test_each_role_may_do_its_own_work_and_no_other(
    server: Server, ledger: Ledger, path: ServerLedger, role: str
) -> None:
    release(ledger, FakePlan())
    create(path, roles=True)
    own = Ledger.open(person(server, path, f"{path.name}_{role}_1", role))
    for action, act in ACTIONS.items():
        before = len(ledger.entries())
        if action in MAY[role]:
            act(own)
        else:
            with pytest.raises(RefusedError, match=r"the server refused|opened for reading only"):
                act(own)
            assert len(ledger.entries()) == before
    ledger.verify()


@ON_A_SERVER
def test_a_disclosure_needs_both_an_operator_and_a_steward(server: Server, ledger: Ledger, path: ServerLedger) -> None:
    create(path, roles=True)
    own = Ledger.open(person(server, path, f"{path.name}_both", "operator", "steward"))
    ACTIONS["disclose"](own)
    assert [entry.kind for entry in ledger.entries()][-2:] == ["disclose", "commit"]


@ON_A_SERVER
def test_nobody_without_a_role_sees_a_line(server: Server, ledger: Ledger, path: ServerLedger) -> None:
    create(path, roles=True)
    with pytest.raises(RefusedError, match="you have no role in it"):
        Ledger.open(person(server, path, f"{path.name}_nobody"))


@ON_A_SERVER
def test_roles_cannot_touch_what_is_written_nor_speak_for_others(
    server: Server, ledger: Ledger, path: ServerLedger
) -> None:
    import psycopg

    create(path, roles=True)
    own = ServerLedger(person(server, path, f"{path.name}_ops", "operator", "steward", "board"))
    refused = psycopg.errors.InsufficientPrivilege
    for statement in (
        "UPDATE {name}.entries SET body = ''",
        "DELETE FROM {name}.entries",
        "TRUNCATE {name}.entries CASCADE",
        "ALTER TABLE {name}.entries DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION {name}.kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "DROP POLICY operator ON {name}.entries",
        "SET session_replication_role = replica",
        "SET SESSION AUTHORIZATION postgres",
    ):
        with pytest.raises(refused):
            own.sql(statement)


@ON_A_SERVER
def test_an_operator_runs_under_a_cap_that_a_steward_declared(server: Server, path: ServerLedger) -> None:
    create(path, roles=True)
    operator = person(server, path, f"{path.name}_op", "operator")
    steward = person(server, path, f"{path.name}_st", "steward")
    with pytest.raises(RefusedError, match="row-level security"):
        Ledger.open(operator, cap=Loss("9"), neighbours=WORKER)
    Ledger.open(steward, cap=Loss("1"), neighbours=WORKER)
    release(Ledger.open(operator, cap=Loss("1"), neighbours=WORKER), FakePlan())
    with pytest.raises(RefusedError, match="row-level security"):
        Ledger.open(operator, cap=Loss("9"), neighbours=ReplaceOne("worker"))
    entries = Ledger.open(path).entries()
    assert [entry.operator.rpartition("_")[2] for entry in entries] == ["postgres", "st", "op", "op"]


@ON_A_SERVER
def test_the_printed_script_makes_what_the_command_makes(server: Server, path: ServerLedger) -> None:
    path.sql(sql(path, roles=True).replace("{", "{{").replace("}", "}}"))
    assert not Ledger.is_begun(path)
    steward = person(server, path, f"{path.name}_st", "steward")
    Ledger.open(steward, cap=Loss("1"), neighbours=WORKER).verify()
    create(path, roles=True)  # again changes nothing
    assert len(Ledger.open(path).entries()) == 2


# ---------------------------------------------------------------- moving, restarts


@ON_A_SERVER
def test_a_file_moves_to_a_server_with_its_chain_results_and_budget(tmp_path: Path, path: ServerLedger) -> None:
    old = tmp_path / "old.ledger"
    file = Ledger.open(old, cap=Loss("1"), neighbours=WORKER)
    first = release(file, FakePlan(loss=Loss("0.7")))
    published = file.extract("tables")
    create(path, moved=old)
    ledger = Ledger.open(path)
    assert ledger.entries() == file.entries()
    assert release(ledger, FakePlan(loss=Loss("0.7"))).content == first.content
    release(ledger, FakePlan("next", Loss("0.3")))
    ledger.verify(published)
    assert old.stat().st_mode & 0o222 == 0
    with pytest.raises(RefusedError, match="is there already"):
        create(path, moved=old)


@ON_A_SERVER
def test_settings_that_would_lose_a_spend_are_refused_or_corrected(ledger: Ledger, path: ServerLedger) -> None:
    path.sql("ALTER DATABASE statistics SET synchronous_commit = off")
    try:
        with ledger._store.writing() as writer:
            assert writer._connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    finally:
        path.sql("ALTER DATABASE statistics RESET synchronous_commit")


def test_a_server_that_restarts_during_a_run_costs_no_result_and_one_without_fsync_is_refused(
    server: Server,
) -> None:
    with running() as own:
        ledger = Ledger.open(own.ledger("jobs"), cap=Loss("1"), neighbours=WORKER)

        @dataclass(frozen=True)
        class Restarting(FakePlan):
            def run(self, data: object, entropy: Any) -> FakeResult:
                own.kill()
                own.start()
                return super().run(data, entropy)

        result = release(ledger, Restarting())
        assert release(ledger, FakePlan()).content == result.content
        assert ledger.spent(WORKER, "jobs-2026") == Loss("0.1")
        own.kill()
        own.start(fsync="off")
        with pytest.raises(RefusedError, match="fsync = off"):
            release(ledger, FakePlan("next"))
        ledger.verify()


# ---------------------------------------------------------------- the command line


@ON_A_SERVER
def test_a_whole_release_from_a_server_says_nothing_of_where_it_is(
    folder: Path, path: ServerLedger, tacita: Call
) -> None:
    spec = folder / "release.toml"
    spec.write_text(SPEC.replace('ledger = "jobs.ledger"', f'ledger = "{path}"'))
    made = tacita("ledger", "create", path, "--roles", "--cap", spec)
    assert made.code == 0, made.err
    assert f'GRANT "{path.name}_operator" TO' in made.out
    assert tacita("plan", spec).code == 0
    run = tacita("run", spec, "--out", folder / "bundle")
    assert run.code == 0, run.err
    assert tacita("verify", folder / "bundle", "--ledger", path).code == 0
    assert tacita("ledger", "show", path).out.count("postgres") >= 2
    page = folder / "ledger.html"
    assert tacita("ledger", "show", path, "--html", page).code == 0
    assert path.name in page.read_text()
    assert json.loads((folder / "bundle" / "plan.json").read_text())["spec"]["ledger"] == path.name
    for file in (folder / "bundle").rglob("*"):
        if file.is_file():
            assert b"postgresql://" not in file.read_bytes()
    again = tacita("run", spec, "--out", folder / "again")
    assert again.code == 0, again.err
    assert Ledger.open(path).entries()[-1].kind == "commit"


def test_a_specification_with_a_password_is_refused(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    spec.write_text(SPEC.replace('ledger = "jobs.ledger"', 'ledger = "postgresql://m:secret-91@db/s#jobs"'))
    said = tacita("plan", spec)
    assert said.code == 2
    assert "a password stands in the address" in said.err
    assert "secret-91" not in said.err + said.out


@pytest.mark.parametrize("option", ["--roles", "--script", "--move"])
def test_what_is_for_servers_is_refused_for_files(tmp_path: Path, tacita: Call, option: str) -> None:
    rest = [tmp_path / "old.ledger"] if option == "--move" else []
    said = tacita("ledger", "create", tmp_path / "new.ledger", option, *rest)
    assert said.code == 2
    assert f"{option}: is for a server" in said.err
    assert not (tmp_path / "new.ledger").exists()


def test_a_script_needs_no_server(tacita: Call) -> None:
    said = tacita("ledger", "create", "postgresql://db.office/statistics#jobs", "--roles", "--script")
    assert said.code == 0
    assert 'CREATE ROLE "jobs_steward" NOLOGIN' in said.out
    assert store_at("jobs.ledger").name == "jobs.ledger"
