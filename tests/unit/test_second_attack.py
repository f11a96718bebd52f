"""What an attacker found who knew the first repairs: names, links and words that slipped past them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.checks.rows import _any_number_repeated
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.ledger import Ledger
from tacita.ledger.releasing import _append
from tacita.ledger.sqlite_store import turns
from tacita.plan import claimed
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.synthesis import DirichletSynthesis, HistogramSynthesis

SEX = {"role": "confidential", "type": "categorical", "levels": ["f", "m"]}
PERSON = AddRemoveOne("person")


def schema(identity: str = "people", entity: str = "person", column: str = "pid", **more: Any) -> Schema:
    variables = {column: {"role": "id", "entity": entity}, "sex": SEX, **more}
    return Schema.from_dict({"dataset": {"identity": identity, "unit": "person"}, "variables": variables})


def people(count: int = 40) -> pd.DataFrame:
    return pd.DataFrame({"pid": [f"p{at}" for at in range(count)], "sex": ["f", "m"] * (count // 2)})


def ledger(folder: Path, name: str = "people.ledger") -> Ledger:
    return Ledger.open(folder / name, cap=Loss("1"), neighbours=PERSON)


def test_one_ledger_has_one_turn_whatever_link_it_is_reached_by(tmp_path: Path) -> None:
    ledger(tmp_path)
    (tmp_path / "alias.ledger").symlink_to(tmp_path / "people.ledger")
    with turns(tmp_path / "people.ledger", ["a request"]):
        (held,) = tmp_path.glob(".*.running")
        assert held.name.startswith(".people.ledger.")
    with turns(tmp_path / "alias.ledger", ["a request"]):
        assert [one.name for one in tmp_path.glob(".*.running")] == [held.name]


def test_a_run_that_another_has_begun_is_not_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks two runs may take up one waiting share: the second is refused, and the ledger stays readable."""
    book, data = ledger(tmp_path), Confidential.from_frame(people(), schema())
    plans = [HistogramSynthesis(["sex"], epsilon, neighbours=PERSON) for epsilon in ("0.2", "0.3")]
    seen: list[str] = []

    def twice(store: Any, last: Any, kind: str, **rest: Any) -> Any:
        line = _append(store, last, kind, **rest)
        if kind == "begin" and not seen:
            seen.append(kind)
            with pytest.raises(RefusedError, match="another run of exactly this release has taken it up"):
                _append(store, last, kind, **rest)
        return line

    monkeypatch.setattr("tacita.ledger.releasing._append", twice)
    book.release_all([(plan, f"table {at}") for at, plan in enumerate(plans)], data)
    assert seen == ["begin"]
    assert book.spent(PERSON, "people") == Loss("0.5")
    book.verify()


def test_an_id_outside_the_counted_rows_is_refused_before_the_charge(tmp_path: Path) -> None:
    declared = Schema.from_dict(
        {
            "dataset": {"identity": "people", "unit": "household"},
            "variables": {
                "job": {"role": "id", "entity": "worker"},
                "home": {"role": "id", "entity": "household", "table": "worker"},
                "sex": SEX,
            },
        }
    )
    frames = {
        "job": pd.DataFrame({"job": ["a", "b"], "sex": ["f", "m"]}),
        "worker": pd.DataFrame({"job": ["a", "b"], "home": ["h", "h"]}),
    }
    household = AddRemoveOne("household")
    book = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=household)
    plan = Bounded(HistogramSynthesis(["sex"], "0.5", neighbours=household), at_most=2)
    with pytest.raises(SchemaError, match="home: the household id must stand in the table whose rows are counted"):
        book.release(plan, Confidential.from_frame(frames, declared), label="x")
    assert book.spent(household, "people").is_zero


@pytest.mark.parametrize("name", ["tacita_content", "Tacita_rank"])
def test_no_column_is_called_as_those_that_are_computed(name: str) -> None:
    with pytest.raises(SchemaError, match=rf"variables.{name}: names that begin with tacita_"):
        schema(column=name)


def test_a_name_that_engines_cannot_have_is_refused_by_the_schema() -> None:
    with pytest.raises(SchemaError, match=r"variables.self: no column can have this name .* rename the column"):
        schema(column="self")


def test_two_words_for_one_entity_are_one_entity() -> None:
    with pytest.raises(SchemaError, match="two id columns have the same entity"):
        schema(rowno={"role": "id", "entity": "Person"})


@pytest.mark.parametrize("entity", ["Person", " person", "individual", "Respondent", "worker", "natural  person"])
def test_units_are_known_again_under_another_word_for_them(tmp_path: Path, entity: str) -> None:
    book, plan = ledger(tmp_path), HistogramSynthesis(["sex"], "0.5", neighbours=PERSON)
    book.release(plan, Confidential.from_frame(people(), schema()), label="first")
    again = Confidential.from_frame(people()[:-2], schema("others", entity))
    assert book.knows(again)
    with pytest.raises(RefusedError, match="holds units of people"):
        book.release(plan, again, label="second")
    assert not book.knows(Confidential.from_frame(people().assign(pid=lambda one: "q" + one["pid"]), schema()))


def test_an_urn_that_cannot_hold_the_records_is_refused_before_the_charge(tmp_path: Path) -> None:
    replaced = ReplaceOne("person")
    levels = [str(at) for at in range(30)]
    wide = {f"a{at}": {"role": "confidential", "type": "categorical", "levels": levels} for at in range(12)}
    frame = people(200).assign(**dict.fromkeys(wide, "1"))
    book = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=replaced)
    plan = DirichletSynthesis(list(wide), "1", neighbours=replaced)
    with pytest.raises(UsageError, match="so large a domain"):
        book.release(plan, Confidential.from_frame(frame, schema(**wide)), label="x")
    assert book.spent(replaced, "people").is_zero


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint8, np.int32])
def test_ids_of_small_types_do_not_repeat_by_wrapping(kind: Any) -> None:
    low, high = (0, 200) if kind is np.uint8 else (-100, 100)
    ids = np.arange(low, high, dtype=kind)
    assert not _any_number_repeated(ids)
    assert _any_number_repeated(np.append(ids, ids[:1]))


@pytest.mark.parametrize(
    ("ids", "again"),
    [
        ([f"{at:04d}" for at in range(10)], list(range(10))),
        (list(range(10)), [f"{at:04d}" for at in range(10)]),
        (list(range(10)), [f" {at}.0" for at in range(10)]),
        ([float(at) for at in range(10)], [f"0{at}" for at in range(10)]),
        ([f"AB{at}" for at in range(10)], [f"ab {at}\t" for at in range(10)]),
    ],
)
def test_ids_are_known_again_however_they_are_written(tmp_path: Path, ids: list[Any], again: list[Any]) -> None:
    book, plan = ledger(tmp_path), HistogramSynthesis(["sex"], "0.5", neighbours=PERSON)
    book.release(plan, Confidential.from_frame(people(10).assign(pid=ids), schema()), label="first")
    other = Confidential.from_frame(people(10).assign(pid=again)[:-1], schema("others"))
    with pytest.raises(RefusedError, match="holds units of people"):
        book.release(plan, other, label="second")


def test_ids_that_only_look_alike_are_not_the_same(tmp_path: Path) -> None:
    book, plan = ledger(tmp_path), HistogramSynthesis(["sex"], "0.1", neighbours=PERSON)
    book.release(plan, Confidential.from_frame(people(4).assign(pid=["012", "a1", "z", "7"]), schema()), label="first")
    for number, other in enumerate((["120", "a01", " ", "70"], ["1.2", "1a", "x", "77"])):
        frame = people(4).assign(pid=other)
        book.release(plan, Confidential.from_frame(frame, schema(f"others-{number}")), label="second")


def test_a_promise_about_persons_is_checked_on_the_ids_of_individuals(tmp_path: Path) -> None:
    book, plan = ledger(tmp_path), HistogramSynthesis(["sex"], "0.5", neighbours=PERSON)
    twice = people(10).assign(pid=["a", "a", *"bcdefghi"])
    with pytest.raises(SchemaError, match=r"person\.pid: one person has more than one row"):
        book.release(plan, Confidential.from_frame(twice, schema(entity="individual")), label="x")
    assert claimed(plan, schema(entity="individual")) == claimed(plan, schema())


def test_a_file_that_tells_respondents_from_persons_says_whom_it_protects() -> None:
    both = schema(respondent={"role": "id", "entity": "respondent"})
    assert (both.id_for("person"), both.id_for("respondent")) == ("pid", "respondent")
    with pytest.raises(SchemaError, match="individual may mean person or respondent"):
        both.id_for("individual")


@pytest.mark.parametrize("collide", [False, True])
def test_text_ids_repeat_only_where_the_text_does(monkeypatch: pytest.MonkeyPatch, collide: bool) -> None:
    """They are compared by a hash first; two different ids with one hash are still two."""
    if collide:
        monkeypatch.setattr("tacita.data.checks.rows._any_number_repeated", lambda ids: True)
    Confidential.from_frame(people(), schema()).check_unit("pid", "person")
    with pytest.raises(SchemaError, match="more than one row"):
        Confidential.from_frame(pd.concat([people(), people()[:1]]), schema()).check_unit("pid", "person")
