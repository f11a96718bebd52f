"""Several rows of a unit: which are used, what that costs, and that it is what is claimed."""

import json
import os
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.data.confidential import Confidential, engine_of, rows, with_rows_bounded
from tacita.data.schema import Schema
from tacita.errors import SchemaError, TacitaError, UsageError
from tacita.ledger import Ledger
from tacita.mechanisms.eree import SmoothStaircase
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.plan import Plan
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.settings import plan_from_record
from tacita.release.spec import Spec
from tacita.release.verify import checks
from tacita.synthesis import HistogramSynthesis, PairwiseSynthesis, PanelSynthesis, QuantileSynthesis, SurveySynthesis
from tacita.synthesis.selfcheck import SelfCheck

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "visits", "unit": "patient"},
        "variables": {
            "patient": {"role": "id", "entity": "patient"},
            "ward": {"role": "confidential", "type": "categorical", "levels": list("abcd")},
            "days": {"role": "confidential", "type": "integer", "lower": 0, "upper": 9},
        },
    }
)
PATIENT = AddRemoveOne("patient")
ENGINE = ibis.duckdb.connect()  # one for all of the many small files here
Visits = list[tuple[int, str, int]]


def frame(visits: Visits) -> pd.DataFrame:
    return pd.DataFrame(visits, columns=["patient", "ward", "days"])


def kept(visits: Visits, most: int, key: str = "k") -> Visits:
    """The rows that remain, sorted."""
    data = with_rows_bounded(Confidential.from_frame(frame(visits), SCHEMA, engine=ENGINE), "patient", most, key)
    return sorted(tuple(row.values()) for row in engine_of(data).collect(rows(data)).to_pylist())  # type: ignore[misc]


def _lost(recording: Recording, replaying: Replaying) -> float:
    """What the two runs differ in, in units of their noise: ε, where all noise is discrete Laplace."""
    return sum(
        float(np.abs(one.true_d - one.true_d2).sum() / one.scale_d.flat[0])
        for one in compare(recording, replaying)
        if one.true_d.size
    )


def of(who: int, visits: Visits) -> Visits:
    return [visit for visit in visits if visit[0] == who]


some_visits = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from("abcd"), st.integers(0, 2)), min_size=1, max_size=14
)


@settings(max_examples=25, deadline=None)
@given(visits=some_visits, most=st.integers(1, 4), more=st.integers(1, 6), shuffled=st.randoms())
def test_each_unit_keeps_its_own_rows_whatever_the_others_and_the_order(
    visits: Visits, most: int, more: int, shuffled: Any
) -> None:
    found = kept(visits, most)
    for who in {visit[0] for visit in visits}:
        own = of(who, visits)
        assert len(of(who, found)) == min(most, len(own))
        assert of(who, found) == kept(own, most), "a unit alone keeps the same rows"
        for row in set(of(who, found)):
            assert of(who, found).count(row) <= own.count(row)
    other_order = list(visits)
    shuffled.shuffle(other_order)
    assert kept(other_order, most) == found
    stranger: Visits = [(9, "d", 9)] * more
    with_stranger = kept([*visits, *stranger], most)
    assert [visit for visit in with_stranger if visit[0] != 9] == found


def test_the_choice_follows_the_key_and_is_even() -> None:
    visits: Visits = [(who, ward, 0) for who in range(120) for ward in "aaab"]
    drawn = {key: [ward for _, ward, _ in kept(visits, 1, key)] for key in ("one key", "another")}
    assert drawn["one key"] != drawn["another"]
    for wards in drawn.values():
        assert len(wards) == 120
        assert 12 <= wards.count("b") <= 50  # a quarter of 120, not a half: equal rows have a chance each


@pytest.mark.parametrize("relation", [PATIENT, ReplaceOne("patient")], ids=str)
def test_a_hostile_unit_loses_no_more_than_is_claimed(relation: Any) -> None:
    """One patient with twenty visits: without a bound they are worth 20 ε."""
    plan = Bounded(HistogramSynthesis(["ward"], "1/3", neighbours=relation), at_most=3)
    assert plan.guarantee.loss == Loss("1")
    others: Visits = [(who, "abcd"[who % 4], who % 7) for who in range(40)]
    twenty: Visits = [(99, "a", day % 10) for day in range(20)]
    changed: Visits = [] if relation == PATIENT else [(99, "d", day % 10) for day in range(20)]
    recording = Recording(SeededEntropy(5))
    plan.run(Confidential.from_frame(frame(others + twenty), SCHEMA), recording)
    replaying = Replaying(recording)
    plan.run(Confidential.from_frame(frame(others + changed), SCHEMA), replaying)
    assert _lost(recording, replaying) == pytest.approx(float(plan.guarantee.loss.epsilon))


def test_delta_and_rho_are_priced_by_group_privacy() -> None:
    for count in (1, 2, 5, 20):
        stated = Loss("1.3", delta="1e-7")
        share = stated.per_row(count)
        priced = share.for_rows(count)
        assert priced.epsilon == stated.epsilon
        assert stated.delta * Fraction(999_999, 1_000_000) < priced.delta <= stated.delta
        true = share.delta * sum(Fraction(np.exp(float(share.epsilon) * step)) for step in range(count))
        assert priced.delta >= true * (1 - Fraction(1, 10**9))
        assert Loss(rho="0.9").per_row(count).for_rows(count) == Loss(rho="0.9")
    with pytest.raises(UsageError, match="epsilon"):
        Loss("1000", delta="1e-9").for_rows(7)


def test_plans_that_cannot_be_bounded_say_why() -> None:
    with pytest.raises(UsageError, match="main job"):
        Bounded(SmoothStaircase("0.1", "1", by=["place"]), at_most=2)
    panel = PanelSynthesis({"jobs": "jobs{year}"}, "1", unit="firm", keep=["county"], years=(2000, 2001))
    survey = SurveySynthesis(["pay"], "1", weight="w", by=["field"])
    keeps = QuantileSynthesis(["days"], "1", keep=["ward"], neighbours=ReplaceOne("patient"))
    for plan in (panel, survey, keeps):
        with pytest.raises(UsageError, match="at_most"):
            Bounded(plan, at_most=2)
    for wrong in (0, True, "3", 10**6):
        with pytest.raises(UsageError, match="at_most"):
            Bounded(HistogramSynthesis(["ward"], "1"), at_most=wrong)  # type: ignore[arg-type]
    nameless = Bounded(HistogramSynthesis(["ward"], "1", neighbours=AddRemoveOne("household")), at_most=2)
    with pytest.raises(SchemaError, match='entity = "household"'):
        nameless.reads(SCHEMA)


def test_its_proof_is_there() -> None:
    plan = Bounded(HistogramSynthesis(["ward"], "1", neighbours=PATIENT), at_most=2)
    proof = files("tacita").joinpath(plan.proof).read_text(encoding="utf-8")
    assert all(f"## {heading}" in proof for heading in ("Precondition", "Algorithm", "Claim", "Proof", "Assumes"))
    assert isinstance(plan, Plan)


def test_it_describes_itself_and_can_be_made_again() -> None:
    for inner in (
        HistogramSynthesis(["ward"], "1/5", neighbours=PATIENT),
        PairwiseSynthesis(["ward"], "1/5", delta="1e-9", neighbours=ReplaceOne("patient")),
    ):
        plan = Bounded(inner, at_most=5)
        assert plan_from_record(json.loads(json.dumps(plan.describe()))) == plan


# ---------------------------------------------------------------- in a specification


def specification(folder: Path, **changes: str) -> Path:
    (folder / "visits.schema.toml").write_text(
        '[dataset]\nidentity = "visits"\nunit = "patient"\n'
        '[variables.patient]\nrole = "id"\nentity = "patient"\n'
        '[variables.ward]\nrole = "confidential"\ntype = "categorical"\nlevels = ["a", "b", "c", "d"]\n'
    )
    visits: Visits = [(who, "abcd"[(who + visit) % 4], 0) for who in range(60) for visit in range(5)]
    frame(visits).drop(columns="days").to_parquet(folder / "visits.parquet")
    text = {"cap": "", "product": "", "mechanism": "PairwiseSynthesis", "neighbours": "replace", "delta": "1e-6"}
    text |= changes
    path = folder / "release.toml"
    path.write_text(
        'title = "Visits"\nschema = "visits.schema.toml"\ndata = "visits.parquet"\nledger = "visits.ledger"\n'
        f'[cap]\nneighbours = "{text["neighbours"]}"\nunit = "patient"\nepsilon = "1"\ndelta = "{text["delta"]}"\n'
        f'{text["cap"]}\n[[microdata]]\nname = "visits"\nmechanism = "{text["mechanism"]}"\nepsilon = "1"\n'
        f'columns = ["ward"]\n{text["product"]}\n'
    )
    return path


def test_what_a_product_states_is_what_one_unit_loses(tmp_path: Path) -> None:
    spec = Spec.load(specification(tmp_path, cap="at_most = 5", product='delta = "1e-6"'))
    (product,) = prepare(spec).microdata
    assert isinstance(product.plan, Bounded)
    assert product.plan.plan.guarantee.loss.epsilon == Fraction(1, 5)
    assert product.guarantee.loss <= Loss("1", delta="1e-6")
    assert product.guarantee.loss.epsilon == 1
    said = product.plan.forecast(prepare(spec).schema).sentences[0]
    assert said.startswith("ε = 1, δ = 1e-06 for one patient of up to 5 rows (ε = 0.2, δ = 1.29e-07 per row)")
    assert any("how many rows each patient has is public" in one for one in product.guarantee.assumes)
    finished = run(spec, tmp_path / "bundle")
    assert finished.spent_after == product.guarantee.loss
    assert any("follow from them" in line for line in checks(tmp_path / "bundle"))
    own = Spec.load(specification(tmp_path, cap="at_most = 5", product="at_most = 2"))
    assert prepare(own).microdata[0].plan.describe()["at_most"] == 2


def test_a_table_says_what_a_unit_loses_and_not_a_row(tmp_path: Path) -> None:
    """Tables said of the loss of one row that it was a patient's, and their bundles did not verify."""
    path = specification(tmp_path, cap="at_most = 5")
    head = path.read_text().split("[[microdata]]")[0]
    path.write_text(f'{head}[[table]]\nname = "visits"\nby = ["ward"]\nepsilon = "1"\n')
    for bundle in ("first", "from what was stored"):
        run(Spec.load(path), tmp_path / bundle)
        said = pd.read_parquet(tmp_path / bundle / "tables" / "visits.parquet")["guarantee"]
        assert set(said) == {"ε = 1 under one patient's record replaced"}
        assert any("follow from them" in line for line in checks(tmp_path / bundle))


@pytest.mark.parametrize(
    "inner",
    [
        Table("count", "1/5", by=["ward"], neighbours=PATIENT),
        HistogramSynthesis(["ward"], "1/5", neighbours=PATIENT),
        SelfCheck(HistogramSynthesis(["ward"], "1/5", neighbours=PATIENT)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_result_shows_the_promise_of_the_bounded_plan(inner: Any) -> None:
    plan = Bounded(inner, at_most=5)
    result = plan.rehearse(frame([(1, "a", 0), (1, "b", 2), (2, "a", 1)]), SCHEMA, seed=1)
    for one in (result, plan.restore(result.to_bytes())):
        shown = one.guarantee if isinstance(inner, Table) else repr(one)
        assert "ε = 1 under one patient added or removed" in shown
        assert one.to_bytes() == result.to_bytes()


def test_without_a_bound_the_same_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="at_most = <rows>"):
        run(Spec.load(specification(tmp_path)), tmp_path / "bundle")
    assert not (tmp_path / "visits.ledger").exists()


def test_a_bound_where_there_can_be_none_is_refused(tmp_path: Path) -> None:
    for changes, words in (({"cap": "at_most = 0"}, "at least 1"), ({"product": 'at_most = "5"'}, "at_most")):
        with pytest.raises(TacitaError, match=words):
            Spec.load(specification(tmp_path, **changes))
    raw = 'neighbours = "strong"\nalpha = "0.1"\nepsilon = "1"\nat_most = 3\n'
    text = specification(tmp_path).read_text().split("[cap]")
    (tmp_path / "strong.toml").write_text(f"{text[0]}[cap]\n{raw}[[microdata]]{text[1].split('[[microdata]]')[1]}")
    with pytest.raises(TacitaError, match="main job"):
        Spec.load(tmp_path / "strong.toml")


# ---------------------------------------------------------------- five rows per family


@pytest.mark.realdata
def test_five_implicates_of_a_family_are_one_family(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "scf2019" / "scfp2019.csv.gz"
    if not path.exists():
        pytest.skip("needs scf2019 in ../shared/data or in the folder that TACITA_DATA names")
    families = pd.read_csv(path, usecols=["YY1", "EDCL", "RACECL"], dtype=str)
    code: dict[str, Any] = {"role": "confidential", "type": "categorical"}
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "scf-2019", "unit": "household"},
            "variables": {
                "YY1": {"role": "id", "entity": "household"},
                "EDCL": {**code, "levels": list("1234")},
                "RACECL": {**code, "levels": list("12")},
            },
        }
    )
    household = AddRemoveOne("household")
    ledger = Ledger.open(tmp_path / "scf.ledger", cap=Loss("1"), neighbours=household)
    stated = HistogramSynthesis(["EDCL", "RACECL"], "1", neighbours=household)
    with pytest.raises(SchemaError, match=r"household\.YY1: one household has more than one row"):
        ledger.release(stated, Confidential.from_frame(families, schema), label="families")
    assert ledger.spent(household, "scf-2019").is_zero
    per_row = HistogramSynthesis(["EDCL", "RACECL"], "0.2", neighbours=household)
    plan = Bounded(per_row, at_most=5)
    ledger.release(plan, Confidential.from_frame(families, schema), label="families")
    assert ledger.spent(household, "scf-2019") == Loss("1")
    # The noise is really that of a fifth: the whole family of five rows then moves the odds by ε = 1.
    one = families["YY1"].iloc[0]
    recording = Recording(SeededEntropy(3))
    plan.run(Confidential.from_frame(families, schema), recording)
    replaying = Replaying(recording)
    plan.run(Confidential.from_frame(families[families["YY1"] != one], schema), replaying)
    assert _lost(recording, replaying) == pytest.approx(1)


def test_rows_of_a_file_with_dates_are_bounded_too() -> None:
    """Days were read as days twice, and every run broke off after it was paid for."""
    born = {"role": "confidential", "type": "date", "lower": "1950-01-01", "upper": "2020-12-31"}
    variables = {"pid": {"role": "id", "entity": "person"}, "born": born}
    schema = Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables})
    frame = pd.DataFrame({"pid": [1, 1, 1, 2], "born": ["1960-05-05"] * 3 + ["1970-07-07"]})
    counted = Table("count", "1000", neighbours=AddRemoveOne("person"))
    assert Bounded(counted, 2).rehearse(frame, schema, seed=1).noisy["count"].tolist() == [3]
