"""What an attacker found in what a request is: the same again, in another year, and checks that a wrapper passed by."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.ledger import Ledger
from tacita.mechanisms.change import Change
from tacita.mechanisms.table import Table
from tacita.plan import Plan, check
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.synthesis import FileSynthesis, PairwiseSynthesis
from tacita.synthesis.selfcheck import SelfCheck

CODES = {"role": "confidential", "type": "categorical", "levels": ["0", "1"]}
PAIR = ["smokes", "adult"]
RULE = {"when": {"smokes": "1"}, "then": {"adult": "1"}}
DESIGN = {"weight": "w", "psu": ["smokes"]}


def schema(**more: Any) -> Schema:
    variables = {
        "person": {"role": "id", "entity": "person"},
        "smokes": CODES,
        "adult": CODES,
        "tract": {**CODES, "levels": ["a", "b", "c"]},
        "w": {"role": "weight", "type": "integer", "lower": 1, "upper": 9},
    }
    return Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables, **more})


def tree(**counties: str) -> dict[str, Any]:
    return {"hierarchy": {"land": {"column": "tract", "levels": ["county"], "county": counties}}}


def people() -> pd.DataFrame:
    smokes = np.arange(600) % 2
    adult = np.maximum(smokes, np.arange(600) % 3 == 0).astype(int)
    tracts = np.array(["a", "b", "b", "b", "c", "c"])[np.arange(600) % 6]
    return pd.DataFrame({"person": np.arange(600), "smokes": smokes, "adult": adult, "tract": tracts, "w": 1})


COUNTIES = Table("count", "5", by=["tract"], levels=["county"])
PAIRS = PairwiseSynthesis(PAIR, "1", delta="1e-6", neighbours=ReplaceOne("person"))
FILES = FileSynthesis(PAIR, "1", delta="1e-6")


@pytest.mark.parametrize(
    ("plan", "before", "after"),
    [
        (COUNTIES, tree(a="east", b="east", c="west"), tree(a="east", b="west", c="west")),
        (FILES, {}, {"rules": [RULE]}),
        (PAIRS, {}, {"zeros": [{"smokes": "1", "adult": "0"}]}),
        (Bounded(PAIRS, 2), {}, {"zeros": [{"smokes": "1", "adult": "0"}]}),
        (SelfCheck(FILES), {}, {"rules": [RULE]}),
        (Table("count", "5", by=["tract"], weights="w", sampling=True), {}, {"design": DESIGN}),
    ],
    ids=["tree of levels", "rules", "zeros", "several rows", "self-check", "sampling units"],
)
def test_a_result_that_followed_from_another_schema_is_not_the_stored_one(
    tmp_path: Path, plan: Plan[Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Else counties of a corrected tree are published with the counts of the former ones."""
    relation = plan.guarantee.neighbours
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("50", delta="1e-3"), neighbours=relation)
    old, new = (Confidential.from_frame(people(), schema(**more)) for more in (before, after))
    ledger.release(plan, old, label="first")
    assert ledger.quote(plan, old).stored is not None
    assert ledger.quote(plan, new).stored is None


def test_what_a_table_does_not_rely_on_leaves_it_paid_for(tmp_path: Path) -> None:
    plan = Table("count", "1", by=["tract"])
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("1"), neighbours=plan.neighbours)
    ledger.release(plan, Confidential.from_frame(people(), schema()), label="first")
    ruled = schema(**tree(a="east", b="east", c="west"), rules=[RULE], design=DESIGN)
    assert ledger.quote(plan, Confidential.from_frame(people(), ruled)).stored is not None


def test_a_self_check_refuses_the_rules_that_its_synthesizer_cannot_keep() -> None:
    data = Confidential.from_frame(people(), schema(rules=[RULE]))
    check(SelfCheck(FILES), data)
    for plan in (PAIRS, SelfCheck(PAIRS)):
        with pytest.raises(UsageError, match="this method cannot keep what it says of smokes, adult"):
            check(plan, data)


@pytest.mark.parametrize("form", ["float", "decimal"])
def test_places_of_two_years_are_known_however_their_codes_are_stored(tmp_path: Path, form: str) -> None:
    """A code stored as 1.0 passed the check, and the run broke off after it was paid for."""
    years = pd.concat([people().assign(w=2), people().assign(w=3)], ignore_index=True)
    table = pa.Table.from_pandas(years, preserve_index=False)
    codes = [Decimal(one) for one in years.adult] if form == "decimal" else years.adult.astype(float)
    kind = pa.decimal128(5, 2) if form == "decimal" else pa.float64()
    table = table.set_column(2, "adult", pa.array(codes).cast(kind))
    relation = AddRemoveOne("person")
    plan = Change("flows", "400", by=["adult"], between={"w": [2, 3]}, neighbours=relation)
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("400"), neighbours=relation)
    noisy = ledger.release(plan, Confidential.from_frame(table, schema()), label="flows").noisy
    assert [noisy[name].tolist() for name in ("entered", "left")] == [[0, 0], [0, 0]]
