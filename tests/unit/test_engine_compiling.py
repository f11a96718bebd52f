"""SQL that is kept is what the engine would have written: for other frames, literals and orders of tables."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from tacita.data.engine import compiling, connect
from tacita.data.engine.compiling import sql_of

QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "counts": lambda one, _: one.group_by("k").agg(n=one.count()).order_by("k"),
    "sums of some": lambda one, _: one.filter(one.k.isin(["a", "b"])).agg(s=one.x.clip(-1.5, 2).sum()),
    "joined": lambda one, two: one.join(two, "k").select("k", y=two.x),
    "joined the other way": lambda one, two: two.join(one, "k").select("k", y=one.x),
    "with itself": lambda one, _: one.join(one.view(), "k").agg(n=ibis._.count()),
    "cases": lambda one, _: one.select(v=ibis.cases((one.k == "a", 1), else_=2)).distinct(),
    "windows": lambda one, _: one.select(r=ibis.row_number().over(group_by="k", order_by="x")),
}
LITERALS = [0.0, -0.0, 0, 1, True, "1", Decimal("1.0"), Decimal("1.00"), None, 1.0, b"1"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(compiling, "_known", {})
    return connect("duckdb")


def _frames(engine: Any) -> tuple[Any, Any]:
    frame = pa.table({"k": ["a", "b"], "x": [1.0, 2.0]})
    return engine.table(frame), engine.table(frame)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_other_frames_get_their_own_names(question: Callable[[Any, Any], Any], engine: Any) -> None:
    for _ in range(2):
        for tables in (_frames(engine), reversed(_frames(engine))):
            asked = question(*tables)
            assert sql_of(engine.backend, asked) == engine.backend.compile(asked)


def _files(engine: Any, form: str, folder: Path) -> list[Any]:
    rows = pa.table({"k": ["a", "b"], "x": ["1", "2"]})
    write = pq.write_table if form == "parquet" else pacsv.write_csv
    paths = [folder / f"{name}.{form}" for name in ("one", "two")]
    for path in paths:
        write(rows, path)
    return [engine.read(path, ["k", "x"]) for path in paths]


@pytest.mark.parametrize("form", ["frame", "parquet", "csv"])
def test_what_was_asked_before_is_not_written_again(
    form: str, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _frames(engine) if form == "frame" else _files(engine, form, tmp_path)
    sql_of(engine.backend, QUESTIONS["counts"](first, None))
    asked = QUESTIONS["counts"](second, None)
    expected = engine.backend.compile(asked)
    monkeypatch.setattr(type(engine.backend), "compile", lambda *_: pytest.fail("was written again"))
    assert sql_of(engine.backend, asked) == expected


def test_literals_that_are_equal_and_not_the_same_are_told_apart(engine: Any) -> None:
    for literal in LITERALS:
        table, _ = _frames(engine)
        asked = table.select(v=ibis.literal(literal))
        assert sql_of(engine.backend, asked) == engine.backend.compile(asked), literal


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # by Ibis, of the catalogue
def test_a_table_with_a_name_of_its_own_is_left_to_the_engine(engine: Any) -> None:
    engine.backend.con.execute("CREATE TABLE jobs AS SELECT 'jobs' AS k, 1.0 AS x")
    asked = QUESTIONS["sums of some"](engine.backend.table("jobs"), None)
    assert sql_of(engine.backend, asked) == engine.backend.compile(asked)
    assert compiling._known == {}


def test_what_is_kept_is_bounded(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_MOST", 3)
    for number in range(8):
        table, _ = _frames(engine)
        sql_of(engine.backend, table.limit(number + 1))
        assert len(compiling._known) <= 3


def test_a_key_that_was_drawn_is_put_in_and_not_kept(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "ab" * 32, "cd" * 32

    def asked(key: str) -> Any:
        table, _ = _frames(engine)
        return table.select(v=ibis.literal(key) + table.k, w=ibis.literal(key) + "!")

    question = asked(first)
    assert sql_of(engine.backend, question) == engine.backend.compile(question)
    assert not any(first in f"{shape} {text}" for shape, text in compiling._known.items())
    question = asked(second)
    expected = engine.backend.compile(question)
    monkeypatch.setattr(type(engine.backend), "compile", lambda *_: pytest.fail("was written again"))
    assert sql_of(engine.backend, question) == expected


def test_a_key_inside_of_another_text_is_left_to_the_engine(engine: Any) -> None:
    for key in ("ab" * 32, "cd" * 32):
        table, _ = _frames(engine)
        asked = table.select(v=ibis.literal(key) + table.k, w=ibis.literal(f"x{'ab' * 32}"))
        assert sql_of(engine.backend, asked) == engine.backend.compile(asked)
