"""What an attacker found in what surrounds a release: names of locks, public inputs, long numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.ledger import Ledger
from tacita.ledger.asking import Asked
from tacita.ledger.sqlite_store import SqliteStore, turns
from tacita.mechanisms.table import Table
from tacita.privacy import AddRemoveOne, Loss
from tacita.privacy.json_form import digest
from tacita.release.making import _public_inputs
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.synthesis.panel.formal.sensitivities import WithinAlpha

PERSON = AddRemoveOne("person")
SCHEMA = """
dataset = { identity = "people", unit = "person" }
[variables]
age = { role = "confidential", type = "integer", lower = 0, upper = 99 }
sex = { role = "confidential", type = "categorical", levels = ["a", "b"] }
area = { role = "confidential", type = "categorical", levels = ["a", "b"] }
"""
AGE = {"role": "confidential", "type": "integer", "lower": 0, "upper": 99}


def people(last: int) -> Confidential:
    schema = {"dataset": {"identity": "people", "unit": "person"}, "variables": {"age": AGE}}
    return Confidential.from_frame(pd.DataFrame({"age": [20, 30, 40, last]}), Schema.from_dict(schema))


def test_the_name_of_a_running_release_says_nothing_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lists the folder, or a server's locks, and knows all rows but one must not be able to try out that one."""
    plan = Table("mean", "1", of="age", neighbours=PERSON)
    seen: list[tuple[str, str]] = []

    @contextmanager
    def listed(store: Any, requests: Any) -> Iterator[None]:
        asked = list(requests)
        with turns(store.path, asked):
            seen.extend((digest(one), next(tmp_path.glob(".*.running")).name) for one in asked)
            yield

    monkeypatch.setattr(SqliteStore, "turns", listed)
    for name in ("one", "two"):
        ledger = Ledger.open(tmp_path / f"{name}.ledger", cap=Loss("1"), neighbours=PERSON)
        ledger.release(plan, people(50), label="ages")
    guess = digest(Asked(plan, people(50)).request)
    assert len(seen) == 2
    assert all(guess != name and guess[:32] not in file for name, file in seen)
    assert seen[0][0] != seen[1][0]  # each ledger has a salt of its own


def test_two_runs_of_one_release_still_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Table("mean", "1", of="age", neighbours=PERSON)
    names: list[list[str]] = []

    @contextmanager
    def noted(store: Any, requests: Any) -> Iterator[None]:
        names.append(sorted(requests))
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(SqliteStore, "turns", noted)
    for _ in range(2):
        ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("1"), neighbours=PERSON)
        ledger.annotate("a line more")
        with pytest.raises(KeyboardInterrupt):
            ledger.release(plan, people(50), label="ages")
    assert names[0] == names[1]


@pytest.mark.parametrize("alpha", ["0.3333333333333", "0.25000000000001"])
def test_an_alpha_of_many_digits_has_the_noise_of_its_neighbour(alpha: str) -> None:
    """Products beyond 2^63 wrapped around, and rungs that lie close together had a sixth less noise than they need."""
    ends, shares = [0, 3_000_000, 3_500_000, 4_000_000], [Fraction(1)] * 3
    near = Fraction(alpha).limit_denominator(100)
    long, short = (WithinAlpha(one).ladder(ends, shares, 1) for one in (Fraction(alpha), near))
    assert [float(one) for one in long] == pytest.approx([float(one) for one in short], rel=1e-4)


def test_numbers_that_a_specification_takes_as_public_are_listed(tmp_path: Path) -> None:
    """Public totals are published as they are given: a board must find them among what is taken as public."""
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    counted = {"name": "people", "epsilon": "1", "by": ["area", "sex"], "public_totals": {"area": {"a": 5, "b": 4}}}
    summed = {"name": "ages", "epsilon": "1", "statistic": "sum", "of": "age", "clamp": [0, 80]}
    spec = {
        "title": "People",
        "schema": "people.schema.toml",
        "data": "people.csv",
        "ledger": "people.ledger",
        "cap": {"neighbours": "add-remove", "unit": "person", "epsilon": "2"},
        "table": [counted, summed],
    }
    listed = [one.what for one in _public_inputs(prepare(Spec.parse(spec, tmp_path / "people.toml")))]
    assert listed[1:] == ["The totals by area that people adds up to", "The limits of numbers in ages"]
