"""Columns that are counted where they are give the numbers that arrays give; only counts are sent for."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.mixed_people import COLUMNS, people, schema
from tacita.data import elsewhere
from tacita.data.coding import Cross, InCell, InList, States
from tacita.data.confidential import Confidential
from tacita.data.elsewhere import Elsewhere
from tacita.data.engine import connect, divided, exactly, nearest
from tacita.data.engine.backends import DuckEngine
from tacita.data.gathered import Here
from tacita.data.reading import read
from tacita.data.schema import Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.file import FileSynthesis
from tacita.synthesis.file.columns import Grid, Number, Shape
from tacita.synthesis.pairwise import PairwiseSynthesis

PERSON = AddRemoveOne("person")
ROWS = 700
SETS = [(0,), (3,), (0, 1), (2, 4), (4, 5), (0, 3, 6), (6, 5, 1)]


@pytest.fixture(scope="module")
def data() -> Confidential:
    return Confidential.from_frame(people(ROWS), schema())


def codings() -> list[Any]:
    variables = schema()
    cuts = {"kids": (1.0, 3.0), "age": (18.0, 30.5, 65.0)}
    plain = [Attribute(name, variables[name].kind, cuts.get(name, ())) for name in COLUMNS[:5]]
    hours = Number("hours", Grid(0, 100, 1.0), True, Shape(ROWS), (20, 38), (40,))
    worth = Number("worth", Grid(-(10**6), 10**9, 1.0), False, Shape(ROWS), (-500, 1, 20_000, 90_000), (0,))
    return [*plain, hours, worth]


def test_codes_and_counts_are_those_of_arrays(data: Confidential) -> None:
    here, there = Here(read(data, COLUMNS)), Elsewhere(data, tuple(COLUMNS))
    assert here.records == there.records == ROWS
    for one, two in zip(here.coded(codings()).tables(SETS), there.coded(codings()).tables(SETS), strict=True):
        assert one.sum() == ROWS
        np.testing.assert_array_equal(one, two)
    for name in COLUMNS:
        np.testing.assert_array_equal(np.sort(here.values(name)), np.sort(there.values(name)))


def test_more_tables_than_fit_in_a_question_are_asked_for_in_several(
    data: Confidential, monkeypatch: pytest.MonkeyPatch
) -> None:
    coded = Elsewhere(data, tuple(COLUMNS)).coded(codings())
    at_once = list(coded.tables(SETS))
    monkeypatch.setattr(elsewhere, "_AT_ONCE", 2)
    for one, two in zip(at_once, coded.tables(SETS), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("names", [["worth"], ["hours"], ["kids", "worth"], []])
@pytest.mark.parametrize("size", [1.0, 1 / 3, 0.1 + 0.2, 7919.37, 2.0**-22])
def test_octaves_and_steps_are_those_of_arrays(data: Confidential, names: list[str], size: float) -> None:
    here, there = (one.added(names) for one in (Here(read(data, COLUMNS)), Elsewhere(data, tuple(COLUMNS))))
    for count in (1, 12, 40):
        np.testing.assert_array_equal(here.octaves(size, count), there.octaves(size, count))
    for low, high in ((-(10**4), 10**6), (0, 1 << 22), (-5, 0)):
        np.testing.assert_array_equal(here.steps(size, low, high), there.steps(size, low, high))


def test_cells_are_those_of_arrays(data: Confidential) -> None:
    """Cells are combinations that occur: counts, sums and values by cell, and codes of the cell itself."""
    names = ["sex", "group"]
    sizes = [len(schema().levels(name)) for name in names]
    both = (Here(read(data, COLUMNS)), Elsewhere(data, tuple(COLUMNS)))
    for asked in (names, ["group"], []):
        (levels, counts), (levels_there, counts_there) = (
            one.combinations(asked, [len(schema().levels(name)) for name in asked]) for one in both
        )
        np.testing.assert_array_equal(levels, levels_there)
        np.testing.assert_array_equal(counts, counts_there)
        assert counts.sum() == ROWS
    levels, counts = both[0].combinations(names, sizes)
    cross = Cross(tuple(names), tuple(sizes), levels)
    codes = [InCell(len(cross)), InList("works", 2), *codings()[3:]]
    found = []
    for one in both:
        apart, values = one.by(cross), one.by(cross).values_by_cell("hours")
        coded = apart.coded(codes)
        (alone, crossed) = coded.tables([(0,), (1, 0, 3)])
        np.testing.assert_array_equal(alone, counts)
        centred = apart.less({"worth": 1000.5}).added(["kids", "worth"])
        steps, sums = centred.steps(7.7, -100, 10**6), coded.sums([(2,), (1, 3), (3, 3)], 1)
        assert steps.shape == (len(cross),)
        assert sums.shape == (len(cross), 3)
        np.testing.assert_array_equal(sums.sum(axis=0, keepdims=True), one.coded(codes).sums([(2,), (1, 3), (3, 3)], 1))
        sorted_ = np.lexsort(values)
        found.append([crossed, steps, sums, *(part[sorted_] for part in values)])
    for here, there in zip(*found, strict=True):
        np.testing.assert_array_equal(here, there)


def test_steps_by_cell_add_up_to_those_of_all(data: Confidential) -> None:
    columns, cell = read(data, COLUMNS), np.arange(ROWS) % 3
    apart = Here(columns, cell, 3).added(["worth"]).steps(10.0, -50, 50_000)
    assert apart.shape == (3,)
    np.testing.assert_array_equal(apart.sum(keepdims=True), Here(columns).added(["worth"]).steps(10.0, -50, 50_000))


def test_a_gap_without_a_rule_is_refused_in_both_ways() -> None:
    gaps = Confidential.from_frame(people(20).assign(age=[None, *range(19)]), schema())
    with pytest.raises(UsageError, match="age: a value is missing") as there:
        Elsewhere(gaps, tuple(COLUMNS))
    with pytest.raises(UsageError) as here:
        read(gaps, COLUMNS)
    assert str(there.value) == str(here.value)


NUMBERS = [0.1, 0.1 + 0.2, 1 / 3, -1e-9, 2.0**-70, 123456789.123456789, -(2.0**52) - 1, 1e300, 5e-300, 0.0]


def test_a_float_reaches_the_engine_to_the_last_bit() -> None:
    engine = connect("duckdb")
    table = engine.table(pd.DataFrame({"x": [1.0]}))
    (found,) = engine.collect(table.select(**{f"n{k}": exactly(one) for k, one in enumerate(NUMBERS)})).to_pylist()
    assert list(found.values()) == NUMBERS


def test_rounding_and_division_are_those_of_numpy() -> None:
    values = np.concatenate(
        [np.arange(-4.0, 4.25, 0.25), np.nextafter([0.5, -0.5, 2.5], 0.0), [2.0**52 + 1, -(2.0**53), 2.0**51 + 0.5]]
    )
    engine = connect("duckdb")
    table = engine.table(pd.DataFrame({"x": values}))
    np.testing.assert_array_equal(engine.collect(table.select(n=nearest(table.x)))["n"].to_numpy(), np.rint(values))
    for by in (1 / 3, 0.1 + 0.2, 2.0**-22, 1e12 / 7, 1e-12 / 7):
        np.testing.assert_array_equal(engine.collect(table.select(n=divided(table.x, by)))["n"], values / by)


def test_states_without_cuts_are_one() -> None:
    kind, engine = Integer(0, 9), connect("duckdb")
    assert Attribute("x", kind).states == States(())
    table = engine.table(pd.DataFrame({"x": [1, 2]}))
    assert engine.collect(table.select(n=States(()).of(table.x)))["n"].to_pylist() == [0, 0]
    assert Attribute("x", Numeric(0, 9, scale=1), (0.3,)).states == States((0.3,))


def weighted() -> tuple[pd.DataFrame, Schema]:
    entry = {"role": "weight", "type": "numeric", "lower": 0, "upper": 50, "scale": 2}
    changed = {**schema().to_dict(), "variables": {**schema().to_dict()["variables"], "weight": entry}}
    return people(ROWS).assign(weight=np.random.default_rng(3).uniform(1, 40, ROWS).round(2)), Schema.from_dict(changed)


@pytest.mark.parametrize(
    "plan",
    [
        PairwiseSynthesis(["sex", "group", "age"], "1", cuts={"age": [30, 65]}, neighbours=PERSON),
        PairwiseSynthesis(["sex", "group", "kids", "age"], "1", cuts={"age": [30], "kids": [1]}, select="private"),
        FileSynthesis([*COLUMNS, "weight"], "8", neighbours=PERSON),
        FileSynthesis(COLUMNS, "8", keep=[["sex", "group", "works"]]),
    ],
    ids=["pairs", "chosen pairs", "weighted file", "file"],
)
def test_only_counts_are_sent_for_and_the_result_is_the_same(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, variables = weighted()
    expected = plan.run(Confidential.from_frame(frame, variables), SeededEntropy(4)).to_bytes()
    data, sent = Confidential.from_frame(frame, variables), []
    sound = DuckEngine.collect
    monkeypatch.setattr(DuckEngine, "elsewhere", True)
    monkeypatch.setattr(DuckEngine, "collect", lambda *given: sent.append(sound(*given)) or sent[-1])
    assert plan.run(data, SeededEntropy(4)).to_bytes() == expected
    counts = {("cell", "n"), ("value", "n"), ("place", "n"), ("total",)}
    assert len(sent) > 1
    for one in sent:
        names = tuple(one.column_names)
        assert names in counts or names[0] == "records", "a column of the file"
        assert names[-1] != "n" or sum(one["n"].to_pylist()) >= one.num_rows
