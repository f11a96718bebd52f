"""`tc.Table` with levels: every level is measured and published, all sums agree, margins hold and never widen."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.errors import UsageError
from tacita.mechanisms.table.levels import TableLevels
from tacita.privacy import AddRemoveOne

TRACTS = [f"{state}{county}{tract}" for state in "AB" for county in "123" for tract in "1234"]
SECTORS = ["11", "12", "21"]
PERSON = AddRemoveOne("person")


def _schema() -> tc.Schema:
    category = {"role": "confidential", "type": "categorical"}
    return tc.Schema.from_dict(
        {
            "dataset": {"identity": "t", "unit": "person"},
            "variables": {
                "tract": {**category, "levels": TRACTS},
                "sector": {**category, "levels": SECTORS, "labels": {"11": "Farms", "12": "Woods", "21": "Mines"}},
                "sex": {**category, "levels": ["F", "M"]},
                "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 500, "scale": 0},
                "change": {"role": "confidential", "type": "integer", "lower": -50, "upper": 50},
            },
            "hierarchy": {
                "geography": {
                    "column": "tract",
                    "levels": ["county", "state", "nation"],
                    "prefix": {"county": 2, "state": 1},
                },
                "activity": {"column": "sector", "levels": ["division", "economy"], "prefix": {"division": 1}},
            },
        }
    )


SCHEMA = _schema()


def _frame(rows: int = 6_000) -> pd.DataFrame:
    random = np.random.default_rng(3)
    tracts = random.choice(TRACTS, rows, p=random.dirichlet(np.full(len(TRACTS), 0.5)))
    return pd.DataFrame(
        {
            "tract": tracts,
            "sector": random.choice(SECTORS, rows, p=[0.7, 0.28, 0.02]),
            "sex": random.choice(["F", "M"], rows),
            "pay": random.integers(0, 501, rows),
            "change": random.integers(-50, 51, rows),
        }
    )


FRAME = _frame()
BY_LEVEL = {"tract": slice(3), "county": slice(2), "state": slice(1), "division": slice(1), "sector": slice(2)}


def _plan(statistic: str = "count", **settings: Any) -> tc.Table:
    defaults = {"by": ["tract", "sector"], "levels": ["county", "state", "nation"], "neighbours": PERSON}
    return tc.Table(statistic, "1", **(defaults | settings))  # type: ignore[arg-type]


def _published(plan: tc.Table, seed: int = 1, **publishing: Any) -> pd.DataFrame:
    return tc.publish(plan.rehearse(FRAME, SCHEMA, seed=seed), SCHEMA, **publishing).to_pandas()


def _code(codes: pd.Series, level: str) -> pd.Series:
    """A code of the finest level at a coarser one, written without the package."""
    return codes.str[BY_LEVEL[level]] if level in BY_LEVEL else pd.Series("Total", index=codes.index)


def _check_sums(table: pd.DataFrame, finest: str) -> None:
    """Every level is the sum of the finest cells, to the last digit."""
    cells = table[table["level"] == finest]
    for name, rows in table.groupby("level"):
        place, sector = str(name).split(" × ")
        sums = cells.groupby([_code(cells["tract"], place), _code(cells["sector"], sector)])["value"].sum()
        published = rows.set_index(["tract", "sector"])["value"]
        assert published.index.is_unique
        assert sorted(sums.index) == sorted(published.index)
        np.testing.assert_allclose(published.to_numpy(), sums.reindex(published.index).to_numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("publishing", [{}, {"nonnegative": False}, {"integers": False, "nonnegative": False}])
@pytest.mark.parametrize("levels", [["county", "state", "nation"], ["state", "division", "economy"], ["nation"]])
def test_counts_of_every_level_are_sums_of_the_finest_cells(levels: list[str], publishing: dict[str, bool]) -> None:
    table = _published(_plan(levels=levels), **publishing)
    _check_sums(table, "tract × sector")
    if not publishing:
        assert table["value"].dtype == np.int64
        assert (table["value"] >= 0).all()


@pytest.mark.parametrize("settings", [{"of": "pay"}, {"of": "change"}, {"of": "pay", "delta": "1e-6"}])
def test_sums_of_every_level_agree_to_the_last_digit(settings: dict[str, Any]) -> None:
    _check_sums(_published(_plan("sum", **settings)), "tract × sector")


def test_no_cell_stands_twice_and_every_row_says_its_level() -> None:
    table = _published(_plan(levels=["county", "nation", "economy"]))
    assert not table.duplicated(["level", "tract", "sector"]).any()
    sizes = table["level"].value_counts().to_dict()
    assert sizes == {
        "tract × sector": 72, "county × sector": 18, "nation × sector": 3,
        "tract × economy": 24, "county × economy": 6, "nation × economy": 1,
    }  # fmt: skip
    coarse = table[table["level"] == "nation × sector"]
    assert coarse["tract"].tolist() == ["Total"] * 3
    assert coarse["sector_label"].tolist() == ["Farms", "Woods", "Mines"]


@pytest.mark.parametrize("division", ["best", "equal"])
def test_margins_cover_at_every_level_and_are_no_wider_than_those_of_the_level_alone(division: str) -> None:
    plan = _plan(division=division)
    split = plan.split(SCHEMA)
    assert split is not None
    assert sum(split.shares) == 1
    inside: dict[str, list[bool]] = {}
    for seed in range(60):
        table = _published(plan, seed=seed, nonnegative=False)
        for name, rows in table.groupby("level"):
            place, sector = str(name).split(" × ")
            truth = FRAME.groupby([_code(FRAME["tract"], place), _code(FRAME["sector"], sector)]).size()
            exact = truth.reindex(rows.set_index(["tract", "sector"]).index, fill_value=0).to_numpy()
            inside.setdefault(str(name), []).extend((abs(rows["value"] - exact) <= rows["margin_of_error"]).tolist())
            alone = plan.budget.share(dict(zip(split.levels.names, split.shares, strict=True))[str(name)])
            # A value rounded away from its estimate may need one more.
            assert (rows["margin_of_error"] <= alone.law(_reach()).margin(Fraction(19, 20)) + 1).all()
    for name, held in inside.items():
        assert np.mean(held) > 0.92, name


def _reach() -> Any:
    from tacita.mechanisms.table.noise import Reach

    return Reach.of_one(1, 1)


def test_the_forecast_names_each_level_with_its_share_and_meets_the_error() -> None:
    plan = _plan()
    forecast = plan.forecast(SCHEMA)
    assert forecast.cells == 72 + 18 + 6 + 3
    assert len(forecast.sentences) == 4
    errors = []
    for seed in range(40):
        table = _published(plan, seed=seed, nonnegative=False, integers=False)
        cells = table[table["level"] == "tract × sector"].set_index(["tract", "sector"])["value"]
        truth = FRAME.groupby(["tract", "sector"]).size().reindex(cells.index, fill_value=0)
        errors.extend(abs(cells - truth).tolist())
    assert np.median(errors) == pytest.approx(forecast.figures["median_error, tract × sector"], rel=0.25)


QUOTIENTS: dict[str, dict[str, Any]] = {
    "mean": {"of": "pay"},
    "share": {"of": "sex"},
    "ratio": {"of": ["change", "pay"]},
    "weighted": {"of": "change", "weights": "pay"},
}


def _exact(kind: str, place: str, sector: str) -> pd.Series:
    """A mean, share or ratio of every cell of a level, written without the package."""
    by = [_code(FRAME["tract"], place), _code(FRAME["sector"], sector)]
    if kind == "share":
        counts = FRAME.groupby([*by, FRAME["sex"]]).size().unstack(fill_value=0)
        return counts.div(counts.sum(axis=1), axis=0).stack()
    above, below = {
        "mean": (FRAME["pay"], FRAME["pay"] * 0 + 1),
        "ratio": (FRAME["change"], FRAME["pay"]),
        "weighted": (FRAME["change"] * FRAME["pay"], FRAME["pay"]),
    }[kind]
    return above.groupby(by).sum() / below.groupby(by).sum()


@pytest.mark.parametrize("kind", QUOTIENTS)
def test_means_shares_and_ratios_of_every_level_cover_and_coarser_ones_are_surer(kind: str) -> None:
    statistic = "mean" if kind == "weighted" else kind
    plan = _plan(statistic, **QUOTIENTS[kind])
    held: dict[str, list[bool]] = {}
    margins: dict[str, list[float]] = {}
    keys = ["tract", "sector", *(["sex"] if kind == "share" else [])]
    for seed in range(25):
        table = _published(plan, seed=seed)
        if kind == "share":
            told = table[table["level"] == "nation × sector × sex"].groupby("sector")["value"].sum()
            assert told.to_numpy() == pytest.approx(1, abs=1e-3)
        for name, rows in table.groupby("level"):
            place, sector = str(name).split(" × ")[:2]
            rows = rows.set_index(keys)
            exact = _exact(kind, place, sector).reindex(rows.index)
            shown = rows["value"].notna() & exact.notna()
            near = (rows["value"] - exact).abs() <= rows["margin_of_error"]
            held.setdefault(str(name), []).extend(near[shown].tolist())
            margins.setdefault(str(name), []).extend(rows["margin_of_error"][shown].tolist())
    order = [name for name in held if held[name]]
    for name in order:
        assert len(held[name]) < 100 or np.mean(held[name]) > 0.92, name
    widths = {name: np.nanmedian(margins[name]) for name in order}
    nation, tract = (
        next(one for name, one in widths.items() if name.startswith(level)) for level in ("nation", "tract")
    )
    assert nation < tract / 2


def test_a_level_s_mean_is_surer_than_the_same_level_by_itself() -> None:
    """What the levels below know of it is used: at the tracts the levels above are."""
    plan = _plan("mean", of="pay")
    split = plan.split(SCHEMA)
    assert split is not None
    joint, alone = _published(plan), _published(tc.Table("mean", 1 / Fraction(4), of="pay", by=["tract", "sector"]))
    cells = joint[joint["level"] == "tract × sector"].set_index(["tract", "sector"])["margin_of_error"]
    apart = alone.set_index(["tract", "sector"])["margin_of_error"]
    both = cells.notna() & apart.notna()
    assert both.sum() > 10
    assert np.median(cells[both] / apart[both]) < 1


def test_noise_of_means_at_every_level_is_as_large_as_its_law_says() -> None:
    plan, errors = _plan("mean", of="pay", levels=["nation"]), []
    exact = FRAME.groupby(["tract", "sector"])["pay"].sum().to_dict()
    true = np.array([exact.get((tract, sector), 0) for tract in TRACTS for sector in SECTORS])
    for seed in range(120):
        result = plan.rehearse(FRAME, SCHEMA, seed=seed)
        errors.append(result.noisy["above"][len(SECTORS) :] * result.facts["mean"]["step"] - true)
    _, law = result.facts["mean"]["laws"]
    assert float(law["scale"]) * result.facts["mean"]["step"] == pytest.approx(500 / (1 / 2))  # half of ε = 1
    assert np.var(errors) == pytest.approx(2 * 1000**2, rel=0.12)


def test_the_forecast_of_means_names_each_level() -> None:
    figures = _plan("mean", of="pay").forecast(SCHEMA).figures
    assert figures["median_error_at_1000, nation × sector"] > 0
    gaussian = _plan("share", of="sex", delta="1e-6").forecast(SCHEMA)
    assert len(gaussian.sentences) == 4
    assert all("points" in one for one in gaussian.sentences)


def test_exact_counts_of_levels_are_sums_of_whole_numbers() -> None:
    levels = TableLevels.of(SCHEMA, ("sex", "tract"), ("state",))
    cells = np.arange(48)
    by_state, finest = levels.sums(cells)
    assert finest.tolist() == cells.tolist()
    assert by_state.tolist() == cells.reshape(2, 2, 12).sum(axis=2).ravel().tolist()
    assert levels.names == ("sex × state", "sex × tract")


def test_what_has_no_levels_is_refused_before_anything_is_spent() -> None:
    for levels in (["division"], ["region"], ["tract"]):
        with pytest.raises(UsageError, match=f"levels: {levels[0]} is no level"):
            _plan(by=["tract"], levels=levels).forecast(SCHEMA)
    with pytest.raises(UsageError, match="counts, sums, means, shares and ratios"):
        _plan("median", of="pay")
    with pytest.raises(UsageError, match="leave totals and rank out"):
        _published(_plan(), totals=["tract"])
