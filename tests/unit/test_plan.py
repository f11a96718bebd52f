"""The base of plans: what is refused before a plan exists, and names that stand for one thing only."""

from typing import Any

import pandas as pd
import pytest

from tacita.audit.examples import Example
from tacita.comparison import HistogramSynthesis
from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms import eree, magnitude
from tacita.privacy import AddRemoveOne, Guarantee, Loss, ReplaceOne
from tacita.release import mechanisms
from tacita.synthesis import PairwiseSynthesis, QuantileSynthesis

PERSON = AddRemoveOne("person")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PairwiseSynthesis(columns=["a"], attributes=["b"], epsilon="1"), "columns: is given twice"),
        (lambda: PairwiseSynthesis(["a"], "1", cuts=[("a", [1]), ("a", [2])]), "cuts: a column is named twice"),
        (lambda: QuantileSynthesis(["a"], "1", shares=[("a", "1"), ("a", "2")]), "shares: a column is named twice"),
        (lambda: PairwiseSynthesis({"a", "b"}, "1"), "columns: give a list"),
        (lambda: Guarantee(PERSON, Loss("1"), "sometimes"), "holds: must be one of"),  # type: ignore[arg-type]
        (lambda: Guarantee(PERSON, Loss("1"), assumes="all is well"), "assumes: must be a tuple"),  # type: ignore[arg-type]
        (lambda: ReplaceOne(3), "unit: must be a word"),  # type: ignore[arg-type]
        (lambda: AddRemoveOne(" "), "unit: must be a word"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_could_be_read_in_two_ways_is_refused(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


def test_names_that_are_known_before_a_mechanism_is_loaded_are_its_own() -> None:
    plans = {name for name in eree.__all__ if hasattr(getattr(eree, name), "guarantee")}
    assert set(mechanisms.JOB_MECHANISMS) == plans
    measures = {getattr(magnitude, name).measures: name for name in magnitude.__all__}
    assert measures == mechanisms.MAGNITUDE_MECHANISMS
    for name in mechanisms.TABLE_MECHANISMS:
        assert mechanisms.mechanism_named(name).__name__ == name


def test_a_registered_plan_does_not_take_the_name_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    false = type("HistogramSynthesis", (HistogramSynthesis,), {})
    example = Example("false friend", false(["a"], "1"), None)  # type: ignore[arg-type]
    monkeypatch.setattr(mechanisms, "third_party", lambda: iter([example]))
    with pytest.raises(UsageError, match="there is one of that name"):
        mechanisms.synthesizer_names()


@pytest.mark.parametrize("unit", ["worker", "workplace", "person"])
def test_the_rows_of_linked_tables_are_jobs_whatever_the_unit_is(unit: str) -> None:
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "linked", "unit": unit},
            "variables": {
                "worker_id": {"role": "id", "entity": "worker"},
                "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
            },
        }
    )
    one, other = (
        Confidential.from_frame(
            {
                "job": pd.DataFrame({"worker_id": [1, 2], "sex": sexes}),
                "worker": pd.DataFrame({"worker_id": [1, 2]}),
            },
            schema,
        )
        for sexes in (["F", "F"], ["F", "M"])
    )
    assert set(rows(one).columns) == {"worker_id", "sex"}
    assert one.fingerprint() != other.fingerprint()
    one.check(["sex"])
