"""An audit opens thousands of files on one connection: each must answer as if it were alone."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.audit import desk
from tacita.audit.desk import Desk
from tacita.audit.examples import Example, examples
from tacita.audit.run import Size, _tasks, known_plans
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape, follows
from tacita.plan import check

# One of each way to read a file: sizes, jobs, linked tables, cells, numbers, samples, panels, units with several rows.
READ = {
    "EdgeLaplace": ("workplace", "worker", "two worker attributes"),
    "Table": ("mean, bought, added", "median, added", "count, where, added", "mean, sampling units, replaced"),
    "FileSynthesis": ("rules and dates, replaced",),
    "SurveyLaplace": ("two answers",),
    "SmoothFlows": ("jobs",),
    "PanelSynthesis": ("a row for every year", "within alpha"),
    "Bounded": ("three rows, cells, added",),
    "Change": ("growth of days, added",),
}


@pytest.fixture(autouse=True, scope="module")
def shared_desks() -> None:
    """Files that are alone here have a connection of their own."""


CASES = [one for one in examples() if one.setting in READ.get(one.name, ())]


def _result(example: Example, data: Confidential, seed: int) -> bytes | str:
    try:
        check(example.plan, data)
        result: bytes = example.plan.run(data, Tape(SeededEntropy(seed))).to_bytes()
    except TacitaError as error:
        return str(error)
    return result


@pytest.mark.parametrize("example", CASES, ids=lambda one: f"{one.name}, {one.setting}")
def test_files_on_a_desk_answer_as_if_they_were_alone(example: Example) -> None:
    shared, random = Desk(), np.random.default_rng(5)
    family = example.files.family(random, 2)
    for seed in (1, 2):  # the second time, everything is written already
        for file in family.files:
            alone = Confidential.from_frame(file, example.files.schema)
            there = Confidential.from_frame(file, example.files.schema, engine=shared.engine())
            assert _result(example, there, seed) == _result(example, alone, seed)


def test_every_way_to_read_is_among_the_cases() -> None:
    assert len(CASES) == sum(map(len, READ.values()))


def test_a_file_takes_the_place_of_the_last_one_and_a_desk_has_room_for_a_bounded_number_of_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(desk, "_MOST", 3)
    shared = Desk()
    for number in range(8):
        engine = shared.engine()
        table = engine.table(pa.table({"x": [number]}))
        asked = engine.written((table, number), lambda of=table, limit=number: of.limit(limit + 1))
        assert engine.collect(asked)["x"].to_pylist() == [number]
        assert len(shared.expressions) <= 3
        assert len(shared.forms) == 1


def test_what_follows_from_another_release_is_made_again() -> None:
    first = Tape(SeededEntropy(1))
    assert follows(first, b"one", lambda: "file") == "file"
    second = Tape(first)
    assert follows(second, b"one", lambda: "another file") == "file"
    assert follows(second, b"two", lambda: "another file") == "another file"
    assert follows(SeededEntropy(1), b"one", lambda: "made") == "made"


def test_the_longest_tasks_come_first_and_none_is_left_out() -> None:
    tasks = _tasks(list(known_plans()), Size())
    assert sorted(one.place for one in tasks if not one.is_twin) == list(range(len(examples())))
    work = [(one.canary_trials, one.neighbours) for one in tasks]
    assert work == sorted(work, reverse=True)
    for name in known_plans():
        assert sum(one.neighbours for one in tasks if one.plan == name) >= Size().neighbours
