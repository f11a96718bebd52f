"""A panel with epsilon: what it promises and says beforehand, files without an impossible record, results."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.panels import YEARS, long_plan, long_schema, plan, to_long, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.errors import UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import Loss, ReplaceOne
from tacita.synthesis.panel import NumberTree, write_panel
from tacita.synthesis.panel.formal.budget import Budget, weight_of
from tacita.synthesis.panel.formal.model import PanelModel
from tacita.synthesis.panel.rules import broken_rules

PLANS: dict[str, dict[str, Any]] = {
    "whole": {},
    "grouped": {"group": "sector"},
    "no status": {"static": [], "change": {}},
    "jobs only": {"columns": {"jobs": "jobs{year}"}, "ratios": {}},
    "lives from rows": {"first": None, "last": None, "static": [], "change": {}},
    "one year": {"years": (2006, 2006), "static": [], "change": {}},
    "two years": {"years": (2005, 2006), "static": [], "change": {}, "sets": 1},
}


def run(epsilon: str = "4", rows: int = 600, seed: int = 5, **changes: Any) -> PanelModel:
    result = plan(epsilon=epsilon, **changes).run(
        Confidential.from_frame(wide(rows), wide_schema()), SeededEntropy(seed)
    )
    assert isinstance(result, PanelModel)
    return result


def test_the_promise_is_for_a_whole_history_and_known_before_data() -> None:
    promise = plan(epsilon="4").guarantee
    assert (promise.neighbours, promise.loss, promise.holds) == (ReplaceOne("firm"), Loss("4"), "always")
    assert "county, industry of every firm are public: a replaced firm keeps them" in promise.assumes
    assert plan(epsilon="4").describe()["epsilon"] == "4"
    assert plan(epsilon=Fraction(1, 2)) == plan(epsilon="0.5")
    assert plan().guarantee.holds == "never"


def test_every_share_of_epsilon_is_said_beforehand() -> None:
    forecast = plan(epsilon="4").forecast(wide_schema())
    shares = {name: value for name, value in forecast.figures.items() if name.startswith("share of epsilon")}
    assert sum(shares.values()) == pytest.approx(1.0)
    said = " ".join(forecast.sentences)
    assert "ε = 4 covers all 7 years of a unit together" in said
    percents = [int(part.split()[-1]) for part in said.split("% of ε")[:-1]] + [
        int(part.split()[-1]) for part in said.split("% for ")[:-1]
    ]
    assert abs(sum(percents) - 100) <= 4


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("units", [1, 1000, 10**7])
def test_the_shares_fill_epsilon_exactly(name: str, units: int) -> None:
    layout = plan(epsilon="1/3", **PLANS[name]).layout(wide_schema())
    parts = dict(Budget.of(layout, Fraction(1, 3), units).parts)
    assert sum(parts.values()) == Fraction(1, 3)
    assert all(part > 0 for part in parts.values())


def test_no_life_weighs_more_than_the_noise_allows_for() -> None:
    budget = Budget.of(plan(epsilon="1").layout(wide_schema()), Fraction(1), 100)
    assert max(count * weight_of(count) for count in range(1, len(YEARS))) == budget.most_weight


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("epsilon", ["0.2", "50"])
def test_no_record_is_impossible(name: str, epsilon: str) -> None:
    model = run(epsilon, **PLANS[name])
    for table in model.implicates.tables:
        assert not any(broken_rules(table, model.layout).values()), broken_rules(table, model.layout)


def test_public_columns_are_as_collected_and_nothing_else_is() -> None:
    model, frame = run("4", group="sector"), wide(600)
    first, second = (table.to_pandas() for table in model.implicates.tables)
    for made in (first, second):
        for name in ("county", "industry"):
            assert made[name].value_counts().to_dict() == frame[name].value_counts().to_dict()
    assert model.implicates.kind == "one-measurement"
    assert set(model.implicates.synthesized) == set(first.columns) - {"county", "industry"}
    assert not first["jobs2003"].equals(second["jobs2003"])


def test_long_files_come_back_long() -> None:
    data = Confidential.from_frame(to_long(wide(600)), long_schema())
    made = long_plan(epsilon="4").run(data, SeededEntropy(3)).implicates.tables[0].to_pandas()
    assert made.firm.nunique() == 600
    assert not made.duplicated(["firm", "year"]).any()
    assert ((made.year >= made.born) & (made.year <= made.gone)).all()


def test_a_result_comes_back_with_the_same_files() -> None:
    model = run("4", group="sector")
    again = plan(epsilon="4", group="sector").restore(model.to_bytes())
    assert isinstance(again, PanelModel)
    assert again.to_bytes() == model.to_bytes()
    assert again.rehearsal
    assert all(one.equals(two) for one, two in zip(model.implicates.tables, again.implicates.tables, strict=True))
    json.dumps(model.measured)
    with pytest.raises(VerificationError, match="Tacita wrote"):
        plan(epsilon="4").restore(b"{}")


def test_a_release_is_paid_for_once(tmp_path: Path) -> None:
    data, firm = Confidential.from_frame(wide(200), wide_schema()), ReplaceOne("firm")
    ledger = Ledger.open(tmp_path / "firms.ledger", cap=Loss("5"), neighbours=firm)
    first, again = (ledger.release(plan(epsilon="4"), data, label="panel") for _ in range(2))
    assert not first.rehearsal
    assert ledger.spent(firm, data) == Loss("4")
    assert first.implicates.tables[0].equals(again.implicates.tables[0])


def test_neither_the_order_of_rows_nor_the_ids_matter() -> None:
    one, frame = plan(epsilon="4", group="sector"), wide(300)
    mixed = frame.sample(frac=1, random_state=3).assign(firm=np.arange(300) + 5)
    runs = [one.run(Confidential.from_frame(each, wide_schema()), SeededEntropy(5)) for each in (frame, mixed)]
    assert runs[0].to_bytes() == runs[1].to_bytes()


def test_with_much_budget_the_files_follow_the_panel() -> None:
    frame = wide(6000, seed=2)
    data = Confidential.from_frame(frame, wide_schema())
    made = plan(epsilon="5000", sets=1).run(data, SeededEntropy(1)).implicates.tables[0].to_pandas()
    lives = [one.groupby(["born", "gone"]).size() for one in (frame, made)]
    assert (lives[0] - lives[1].reindex(lives[0].index, fill_value=0)).abs().max() <= 2
    for year in YEARS:
        jobs = [one[f"jobs{year}"] for one in (frame, made)]
        assert jobs[1].sum() == pytest.approx(jobs[0].sum(), rel=0.05)
        pay = [one[f"pay{year}"].sum() for one in (frame, made)]
        assert pay[1] == pytest.approx(pay[0], rel=0.1)
    moved = [_correlation(one) for one in (frame, made)]
    assert moved[1] == pytest.approx(moved[0], abs=0.03)
    kinds = [one["kind"].value_counts(normalize=True) for one in (frame, made)]
    assert (kinds[0] - kinds[1]).abs().max() < 0.02


def _correlation(frame: pd.DataFrame) -> float:
    both = frame[["jobs2002", "jobs2003"]].dropna()
    return float(np.corrcoef(np.log1p(both.jobs2002), np.log1p(both.jobs2003))[0, 1])


def test_several_files_differ_by_what_the_noise_leaves_open() -> None:
    """The number of entrants of a year is fixed where there is no noise, and varies as much as the noise otherwise."""

    def entrants(epsilon: str) -> list[int]:
        model = run(epsilon, rows=2000, sets=8, columns={"jobs": "jobs{year}"}, ratios={})
        return [int((table["born"].to_numpy() == 2003).sum()) for table in model.implicates.tables]

    assert np.ptp(entrants("100000")) <= 1
    assert np.std(entrants("2")) > 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": 0.5}, "epsilon: give it as a string"),
        ({"epsilon": "1", "models": {"jobs": NumberTree(["county"])}}, "models: a panel with epsilon"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**changes)


def test_a_year_that_is_a_category_is_refused_with_the_way_to_have_both() -> None:
    with pytest.raises(UsageError, match=r"county is the year of a row.* twice under two names"):
        plan(columns={"jobs": "jobs2001"}, ratios={}, period="county").reads(wide_schema())


def test_a_panel_with_a_guarantee_is_not_written_past_the_ledger(tmp_path: Path) -> None:
    data = Confidential.from_frame(wide(100), wide_schema())
    with pytest.raises(UsageError, match="through a ledger"):
        write_panel(plan(epsilon="1"), data, tmp_path / "out")
    assert not (tmp_path / "out").exists()
