"""One suite for engines: every plan gives the same bytes on DuckDB, on Spark and on PostgreSQL for the same noise.

The noise of the run on DuckDB is recorded and played back to the other engine. A plan is tested by having an example
for the audit; those that would only ask the engines the same again are slow tests, and on Spark, which takes seconds
for each question, all but the first of every plan; laws for jobs differ in noise alone, and count as one.
"""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support import mixed_people
from support.engine_rows import on_server, small_spark
from support.panels import long_plan, long_schema, plan, to_long, wide, wide_schema
from support.postgres_server import programs, running
from tacita.audit.examples import Example, examples
from tacita.data.confidential import Confidential, engine_of
from tacita.data.engine import connect
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.mechanisms import eree
from tacita.mechanisms.codes import CodeLists
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.plan import check
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne
from tacita.synthesis.file import FileSynthesis
from tacita.synthesis.pairwise import PairwiseSynthesis

Opening = Callable[[Any, Schema], Confidential]

# Settings by which a plan asks the engine for something else.
_ASKING = (
    "where", "weights", "weight", "sampling", "levels", "worker", "groups", "keep", "period", "group", "spikes",
)  # fmt: skip


GAPS = [f"gap_{at}" for at in range(3)]
SPARK = pytest.param("spark", marks=pytest.mark.spark)
on_every_engine = pytest.mark.parametrize("opening", [SPARK, "postgres"], indirect=True)


@pytest.fixture(scope="module")
def opening(request: pytest.FixtureRequest) -> Iterator[Opening]:
    """How rows are opened on the other engine; one session and one server for all tests."""
    if request.param == "spark":
        if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
            pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
        with small_spark():
            engine = connect("spark")
            yield lambda frame, schema: Confidential.from_frame(frame, schema, engine=engine)
    else:
        pytest.importorskip("psycopg", reason="needs psycopg (the extra postgres)")
        if programs() is None:
            pytest.skip("needs a PostgreSQL server (Debian: postgresql)")
        with running() as server:
            yield lambda frame, schema: on_server(server, frame, schema)


def _asks(example: Example) -> tuple[Any, ...]:
    plan = getattr(example.plan, "plan", example.plan)
    family = type(plan).__module__.rpartition(".")[0]
    settings = (bool(getattr(plan, name, None)) for name in _ASKING)
    return (family, example.name == "Bounded", example.files.schema.identity, getattr(plan, "statistic", ""), *settings)


def _plan(example: Example) -> str:
    return "a law for jobs" if example.name in eree.__all__ else example.name


def _cases(engine: str) -> Iterator[Any]:
    seen: set[Any] = set()
    for example in examples():
        new = {_plan(example)} - seen if engine == "spark" else {example.name, _asks(example)} - seen
        seen |= new
        marks = [pytest.mark.spark] * (engine == "spark") + [pytest.mark.slow] * (not new)
        yield pytest.param(engine, example, id=f"{engine}-{example.name}: {example.setting}", marks=marks)


CASES = [case for engine in ("spark", "postgres") for case in _cases(engine)]


@cache
def rows_of(example: Example) -> Any:
    return example.files.family(np.random.default_rng(5), 1).base


@cache
def recorded(example: Example) -> tuple[Recording, bytes, str]:
    """The run on DuckDB: its noise, its result, and what the ledger would know the file by."""
    data, recording = Confidential.from_frame(rows_of(example), example.files.schema), Recording(SeededEntropy(11))
    check(example.plan, data)
    return recording, example.plan.run(data, recording).to_bytes(), data.fingerprint()


def test_no_plan_is_left_out() -> None:
    for engine, least in (("spark", 18), ("postgres", 60)):
        fast = [case for case in CASES if case.values[0] == engine and pytest.mark.slow not in case.marks]
        assert {_plan(case.values[1]) for case in fast} == {_plan(example) for example in examples()}
        assert len(fast) >= least


# The scope is said because an argument beside the fixture would make it that of one test: a server for each.
@pytest.mark.parametrize(("opening", "example"), CASES, indirect=["opening"], scope="module")
def test_equal_noise_gives_equal_results(example: Example, opening: Opening) -> None:
    recording, result, fingerprint = recorded(example)
    data = opening(rows_of(example), example.files.schema)
    assert data.fingerprint() == fingerprint
    check(example.plan, data)
    replaying = Replaying(recording)
    again = example.plan.run(data, replaying).to_bytes()
    for one in compare(recording, replaying):
        np.testing.assert_array_equal(one.true_d, one.true_d2)
        np.testing.assert_array_equal(one.scale_d, one.scale_d2)
    assert again == result


@on_every_engine
@pytest.mark.parametrize("form", ["wide", "long"])
def test_a_panel_without_a_guarantee_is_the_same_on_every_engine(form: str, opening: Opening) -> None:
    frame, schema, given = wide(120), wide_schema(), plan(group="sector", epsilon=None)
    if form == "long":
        frame, schema, given = to_long(frame), long_schema(), long_plan(group="sector", epsilon=None)
    first, second = (
        given.run(data, SeededEntropy(5)).to_bytes()
        for data in (Confidential.from_frame(frame, schema), opening(frame, schema))
    )
    assert first == second


@on_every_engine
@pytest.mark.parametrize("synthesis", [PairwiseSynthesis, FileSynthesis])
def test_records_of_a_synthetic_file_stay_in_the_engine(
    synthesis: Any, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sent for has counts, and how many at most follows from the schema alone."""
    cuts = {"cuts": {"kids": [1, 3]}} if synthesis is PairwiseSynthesis else {}
    plan = synthesis(["sex", "group", "kids"], "1", neighbours=AddRemoveOne("person"), **cuts)
    cells = (1 + 2) * (1 + 3) * (1 + 10)  # of all tables together
    for rows in (400, 800):
        data = opening(mixed_people.people(rows), mixed_people.schema())
        engine, answers = engine_of(data), []
        sound = engine.collect
        monkeypatch.setattr(engine, "collect", lambda asked, ask=sound, to=answers: to.append(ask(asked)) or to[-1])
        plan.run(data, SeededEntropy(3))
        assert {name for one in answers for name in one.column_names} <= {"records", *GAPS, "cell", "value", "n"}
        assert all(one.num_rows < cells < rows for one in answers)


@on_every_engine
def test_codes_that_nobody_has_a_list_of_are_the_same_on_every_engine(opening: Opening) -> None:
    """The audit has no example of these: what is counted is not known before."""
    codes = np.array(["0111", "0112", " 0112", "0200", "99", None], dtype=object)
    frame = pd.DataFrame({"code": np.repeat(codes, [300, 200, 150, 90, 1, 40])})
    about = {"dataset": {"identity": "codes", "unit": "person"}}
    column = {"role": "confidential", "type": "categorical", "levels": ["0111"], "missing": "0111", "outside": "0111"}
    schema, recording = Schema.from_dict(about | {"variables": {"code": column}}), Recording(SeededEntropy(9))
    lists = CodeLists(["code"], "1", "1e-6", neighbours=AddRemoveOne("person"))
    first = lists.run(Confidential.from_frame(frame, schema), recording)
    replaying = Replaying(recording)
    assert lists.run(opening(frame, schema), replaying).to_bytes() == first.to_bytes()
    for one in compare(recording, replaying):
        np.testing.assert_array_equal(one.true_d, one.true_d2)
    assert {"0111", "0112"} <= set(first.of("code")) <= {"0111", "0112", "0200"}


VISITS = Schema.from_dict(
    {
        "dataset": {"identity": "visits", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "ward": {"role": "confidential", "type": "categorical", "levels": ["a", "b"]},
        },
    }
)


@on_every_engine
def test_a_unit_with_several_rows_is_refused_and_bounded_on_every_engine(opening: Opening) -> None:
    frame = pd.DataFrame({"person": ["p1", "p1", "p1", "p2", "p3"], "ward": ["a", "a", "b", "b", "a"]})
    single = Table("count", by=["ward"], epsilon="1", neighbours=AddRemoveOne("person"))
    with pytest.raises(SchemaError, match="more than one row"):
        check(single, opening(frame, VISITS))
    bounded, recording = Bounded(single, 2), Recording(SeededEntropy(7))
    first = bounded.run(Confidential.from_frame(frame, VISITS), recording)
    replaying = Replaying(recording)
    assert bounded.run(opening(frame, VISITS), replaying).to_bytes() == first.to_bytes()
    assert [one.true_d2.sum() for one in compare(recording, replaying)][-1] == 4  # two of three rows, and one each
