"""Rows that a PostgreSQL server keeps: one moment for all questions, every stored type, and words that say no more than
they may."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import psycopg
import pytest

from support.command_line import SCHEMA, SPEC, Call, write_jobs
from support.engine_rows import stored
from support.postgres_server import Server
from tacita.data.cells import Cells, counted
from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import engine_for
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError

SECRET = "s3cret-of-the-office"


def schema(**kinds: dict[str, object]) -> Schema:
    variables = {name: {"role": "confidential", **kind} for name, kind in kinds.items()}
    return Schema.from_dict({"dataset": {"identity": "rows", "unit": "record"}, "variables": variables})


WARDS = schema(ward={"type": "categorical", "levels": ["a", "b"]})


def sql(server: Server, *statements: str) -> None:
    with psycopg.connect(server.address(), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_all_questions_are_about_one_moment(server: Server) -> None:
    place = stored(server, pd.DataFrame({"ward": ["a", "a", "b"]}))
    data = Confidential.open(place, WARDS)
    before = data.fingerprint()
    table = place.partition("#")[2]
    sql(server, f"INSERT INTO {table} VALUES ('a')", f"DELETE FROM {table} WHERE ward = 'b'")
    data.check(["ward"])
    assert counted(data, Cells(("ward",), {})).tolist() == [2, 1]
    data.refuse_changed()
    assert data._fingerprint_now() == before
    assert Confidential.open(place, WARDS).fingerprint() != before


ODD = {
    "number": ["1", "1.50", "-2", "1e3", "100", None],
    "whole": [1, 2, 3, 4, 5, None],
    "code": ["007", "7", "a,b", 'say "x"', "two\nlines", ""],
    "day": ["2026-01-31", "2026-02-29", "0000-01-01", "no day", "2024-02-29T10:00", None],
}
NUMBER = {"type": "numeric", "lower": -10, "upper": 2000, "scale": 2, "missing": 0}
ODD_SCHEMA = schema(
    number=NUMBER,
    whole={"type": "integer", "lower": 0, "upper": 9, "missing": 0},
    code={"type": "categorical", "levels": ["007", "7", "a,b", 'say "x"', "two\nlines", "none"], "missing": "none"},
    day={"type": "date", "lower": date(2000, 1, 1), "upper": date(2030, 1, 1), "missing": date(2000, 1, 1)},
)


def test_text_is_read_as_duckdb_reads_it(server: Server) -> None:
    frame = pd.DataFrame(ODD).astype({"whole": "Int64"})
    here = Confidential.from_frame(frame, ODD_SCHEMA)
    there = Confidential.open(stored(server, frame), ODD_SCHEMA)
    assert here.fingerprint() == there.fingerprint()
    ours, theirs = (read(data, ["number", "whole", "code", "day"]) for data in (here, there))
    for name, values in ours.items():
        assert sorted(values) == sorted(theirs[name]), name


@pytest.mark.parametrize("kind", ["numeric", "numeric(12,2)", "numeric(60,20)", "double precision", "real", "text"])
def test_a_number_is_the_same_however_it_is_stored(kind: str, server: Server) -> None:
    numbers = pd.DataFrame({"number": [1.5, 100.0, -2.25, 0.0, 1000.75]})
    there = Confidential.open(stored(server, numbers, {"number": kind}), schema(number=NUMBER))
    assert sorted(read(there, ["number"])["number"]) == [-2.25, 0.0, 1.5, 100.0, 1000.75]
    assert there.fingerprint() == Confidential.from_frame(numbers, schema(number=NUMBER)).fingerprint()


@pytest.mark.parametrize(
    ("kind", "values", "levels"),
    [
        ("char(4)", ["ab", "c"], ["ab", "c"]),
        ("smallint", ["1", "20"], ["1", "20"]),
        ("numeric", ["1.50", "100"], ["1.5", "100"]),
        ("numeric(6,2)", ["1.50", "100"], ["1.5", "100"]),
        ("boolean", ["true", "false"], ["true", "false"]),
        ("double precision", ["123456789012345.5", "7.0"], ["123456789012345.5", "7"]),
        ("uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ],
)
def test_codes_are_the_same_however_they_are_stored(
    kind: str, values: list[str], levels: list[str], server: Server
) -> None:
    place = stored(server, pd.DataFrame({"code": values}), {"code": kind})
    data = Confidential.open(place, schema(code={"type": "categorical", "levels": levels}))
    data.check(["code"])
    assert counted(data, Cells(("code",), {})).tolist() == [1] * len(levels)
    assert sorted(read(data, ["code"])["code"]) == list(range(len(levels)))


def test_a_wide_table_is_known_by_all_its_columns(server: Server) -> None:
    wide = pd.DataFrame({f"c{at}": [at, at + 1] for at in range(130)})
    about = schema(**{name: {"type": "integer", "lower": 0, "upper": 200} for name in wide})
    there = Confidential.open(stored(server, wide), about)
    assert there.fingerprint() == Confidential.from_frame(wide, about).fingerprint()


def test_ids_are_known_again_in_a_file(server: Server) -> None:
    about = Schema.from_dict(
        {
            "dataset": {"identity": "rows", "unit": "person"},
            "variables": {"person": {"role": "id", "entity": "person"}},
        }
    )
    there = Confidential.open(stored(server, pd.DataFrame({"person": ["0012", "AB 7", None]})), about)
    here = Confidential.from_frame(pd.DataFrame({"person": ["12", "ab7"]}), about)
    key = "k" * 64
    assert there.sketch(key) == here.sketch(key)
    assert here.shared_units(key, there.sketch(key)) == there.shared_units(key, here.sketch(key)) == ["person"]


# ---------------------------------------------------------------- what is said no to


def _closed(server: Server) -> str:
    place = stored(server, pd.DataFrame({"ward": ["a"]}))
    sql(server, "DO $$ BEGIN CREATE ROLE outsider LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    return place.replace("postgres@", "outsider@")


def _hidden(server: Server) -> str:
    place = _closed(server)
    table = place.partition("#")[2]
    sql(server, f"GRANT SELECT ON {table} TO outsider", f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    return place


def _nested(server: Server) -> str:
    return stored(server, pd.DataFrame({"ward": ["{a}"]}), {"ward": "text[]"})


REFUSED: list[tuple[Callable[[Server], str], type[Exception], str]] = [
    (lambda server: f"postgresql://me:{SECRET}@nowhere/statistics#jobs", UsageError, "a password stands in"),
    (lambda server: f"postgresql://nowhere/statistics?password={SECRET}#jobs", UsageError, "a password stands in"),
    (lambda server: f"postgresql://me:x#{SECRET}@nowhere/statistics#jobs", TacitaError, "data"),
    (lambda server: "postgresql://[nowhere/statistics#jobs", UsageError, "no address of a server"),
    (lambda server: f"{server.address()}#a.b.c", UsageError, "#schema.table"),
    (lambda server: server.address(), UsageError, "#schema.table"),
    (lambda server: f"{server.address()}#public.nothing", SchemaError, "no such table"),
    (lambda server: f"{server.address('nobody_here')}#public.jobs", TacitaError, "no connection to the server"),
    (lambda server: "postgresql://localhost:1/statistics#jobs", TacitaError, "it was not reached"),
    (_closed, RefusedError, "does not let this user read"),
    (_hidden, RefusedError, "row security"),
    (_nested, SchemaError, "holds _text"),
]


@pytest.mark.parametrize(("place", "error", "said"), REFUSED)
def test_what_cannot_be_read_is_said_without_a_secret(
    place: Callable[[Server], str], error: type[Exception], said: str, server: Server
) -> None:
    with pytest.raises(error, match=said) as problem:
        Confidential.open(place(server), WARDS)
    assert SECRET not in str(problem.value)
    assert problem.value.__cause__ is None
    assert problem.value.__suppress_context__ or problem.value.__context__ is None


def test_a_message_of_the_server_is_not_passed_on(server: Server) -> None:
    place = stored(server, pd.DataFrame({"ward": ["a", SECRET]}))
    data = Confidential.open(place, WARDS)
    engine, table = engine_of(data), rows(data)
    with pytest.raises(TacitaError, match="could not finish a query") as problem:
        engine.collect(table.select(number=table.ward.cast("int64")))
    assert SECRET not in str(problem.value)


def test_files_and_tables_of_a_server_do_not_mix(server: Server) -> None:
    with pytest.raises(UsageError, match="bring them to one place"):
        engine_for([f"{server.address()}#job", "worker.parquet"], "duckdb")
    with pytest.raises(UsageError, match="leave engine out"):
        engine_for([f"{server.address()}#job"], "spark")


# ---------------------------------------------------------------- from the command line


def test_a_release_of_a_table_on_a_server(server: Server, tmp_path: Path, tacita: Call) -> None:
    write_jobs(tmp_path / "jobs.parquet")
    place = stored(server, pd.read_parquet(tmp_path / "jobs.parquet"))
    (tmp_path / "jobs.parquet").unlink()
    (tmp_path / "jobs.schema.toml").write_text(SCHEMA)
    (tmp_path / "release.toml").write_text(SPEC.replace('data = "jobs.parquet"', f'data = "{place}"'))
    assert "counts" in tacita("plan", tmp_path / "release.toml").out
    done = tacita("run", tmp_path / "release.toml", "--out", tmp_path / "bundle")
    assert done.code == 0, done.err
    assert tacita("verify", tmp_path / "bundle").code == 0
    published = "".join(path.read_text(errors="replace") for path in (tmp_path / "bundle").rglob("*.json"))
    assert '"engine": "postgresql"' in published
    assert str(server.folder) not in published  # where an office keeps its rows is nobody's business
    assert np.isin(["statistics?", "postgres@"], published).sum() == 0


def test_a_backslash_is_a_backslash_whatever_the_settings_of_a_user_say(server: Server) -> None:
    frame = pd.DataFrame({"ward": ["a\\b", "ab"], "pay": ["1.5", "2"]})
    kinds = {"ward": {"type": "categorical", "levels": ["a\\b", "ab"]}, "pay": NUMBER}
    place = stored(server, frame)
    sql(server, "ALTER DATABASE statistics SET standard_conforming_strings = off")
    try:
        found = read(Confidential.open(place, schema(**kinds)), ["ward", "pay"])  # type: ignore[arg-type]
    finally:
        sql(server, "ALTER DATABASE statistics RESET standard_conforming_strings")
    assert sorted(zip(found["ward"], found["pay"], strict=True)) == [(0, 1.5), (1, 2.0)]
