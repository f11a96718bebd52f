"""Models of categories: shares, priors, collapsing cells, limits and parameter draws."""

import sys

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.synthesis.panel import CategoryTree, CollapsingMultinomial, DirichletMultinomial, LifeTable, LogitRegression
from tacita.synthesis.panel.categories import Limits
from tacita.synthesis.panel.predictors import Column, Predictors

ROWS = 40_000


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def free(rows: int, levels: int) -> Limits:
    low = np.zeros(rows, dtype=np.int64)
    return Limits(low, low + levels - 1)


def world(seed: int = 1) -> tuple[np.ndarray, Predictors]:
    """Three categories whose chances depend on a cell and on an ordered number."""
    source = random(seed)
    cell = source.integers(0, 4, ROWS)
    age = source.integers(0, 30, ROWS)
    chance = np.column_stack([np.ones(ROWS), np.exp(0.5 * cell - 1), np.exp(0.4 * np.log1p(age) - 0.5)])
    steps = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    response = np.minimum((source.random(ROWS)[:, None] > steps).sum(axis=1), 2)
    columns = {"cell": Column(cell, 4), "half": Column(cell // 2, 2), "age": Column(age, 30, ordered=True)}
    return response, Predictors(ROWS, columns)


MODELS = {
    "dirichlet": DirichletMultinomial(("cell",), ("half",)),
    "collapsing": CollapsingMultinomial(("cell", "age")),
    "logit": LogitRegression(("cell", "age")),
    "tree": CategoryTree(("cell", "age"), least=50),
}


@pytest.mark.parametrize("name", MODELS)
def test_shares_by_cell_are_those_of_the_data(name: str) -> None:
    response, given = world()
    fitted = MODELS[name].fit(response, 3, given, random())
    drawn = fitted.draw(given, random(2), free(ROWS, 3))
    for cell in range(4):
        here = given.columns["cell"].values == cell
        assert np.allclose(
            np.bincount(drawn[here], minlength=3) / here.sum(),
            np.bincount(response[here], minlength=3) / here.sum(),
            atol=0.025,
        )


@pytest.mark.parametrize("name", MODELS)
def test_no_value_lies_outside_its_limits(name: str) -> None:
    response, given = world()
    fitted = MODELS[name].fit(response, 3, given, random())
    low = random(3).integers(0, 3, ROWS)
    barred = np.zeros((ROWS, 3), dtype=bool)
    barred[low < 2, 2] = True
    drawn = fitted.draw(given, random(2), Limits(low, np.full(ROWS, 2), barred))
    assert (drawn >= low).all()
    assert not barred[np.arange(ROWS), drawn].any()
    assert set(drawn[low == 0]) == {0, 1}


@pytest.mark.parametrize("name", MODELS)
def test_every_file_has_parameters_of_its_own(name: str) -> None:
    """The share of one category varies between files by more than sampling alone."""
    response, given = world()
    few = given.at(np.arange(300))
    fitted = MODELS[name].fit(response[:300], 3, few, random())
    many = given.at(np.arange(20_000))
    shares = [float((fitted.draw(many, random(seed), free(20_000, 3)) == 2).mean()) for seed in range(40)]
    sampling = np.sqrt(0.5 * 0.5 / 20_000)
    assert np.std(shares) > 3 * sampling


def test_a_cell_whose_units_agree_is_not_reproduced() -> None:
    cell = np.repeat([0, 1], [5, 995])
    response = np.where(cell == 0, 0, np.arange(1000) % 4)
    given = Predictors(1000, {"cell": Column(cell, 2), "all": Column(np.zeros(1000, dtype=np.int64), 1)})
    model = DirichletMultinomial(("cell",), ("all",), weight=2.0)
    fitted = model.fit(response, 4, given, random())
    drawn = np.concatenate([fitted.draw(given, random(seed), free(1000, 4))[:5] for seed in range(400)])
    # Two records' worth of the coarser cell, a quarter of which has the value 0 as well.
    assert (drawn != 0).mean() == pytest.approx(2 / 7 * 0.75, abs=0.03)


def test_cells_collapse_when_small_uniform_or_absent() -> None:
    cell = np.repeat([0, 1, 2], [5, 400, 600])
    response = np.where(cell == 1, 1, np.arange(1005) % 2)
    given = Predictors(1005, {"cell": Column(cell, 4)})
    fitted = CollapsingMultinomial(("cell",), most=0.95, least=50).fit(response, 2, given, random())
    asked = Predictors(8000, {"cell": Column(np.repeat([0, 1, 2, 3], 2000), 4)})
    drawn = fitted.draw(asked, random(1), free(8000, 2)).reshape(4, 2000).mean(axis=1)
    whole = response.mean()
    assert drawn[[0, 1, 3]] == pytest.approx(whole, abs=0.06)  # too few, too uniform, never seen
    assert drawn[2] == pytest.approx(0.5, abs=0.06)
    kept = CollapsingMultinomial(("cell",), most=1.0, least=1).fit(response, 2, given, random())
    assert kept.draw(asked, random(1), free(8000, 2)).reshape(4, 2000)[1].mean() == 1.0


def test_values_nobody_has_are_drawn_evenly_where_nothing_else_is_allowed() -> None:
    given = Predictors(3000, {"cell": Column(np.zeros(3000, dtype=np.int64), 1)})
    fitted = CollapsingMultinomial(("cell",)).fit(np.zeros(3000, dtype=np.int64), 4, given, random())
    drawn = fitted.draw(given, random(1), Limits(np.full(3000, 2), np.full(3000, 3)))
    assert set(drawn) == {2, 3}
    assert (drawn == 2).mean() == pytest.approx(0.5, abs=0.05)


def test_small_cells_of_an_ordered_predictor_join_their_neighbours() -> None:
    """Twenty records a year: no year will do alone, and the share rises with the years all the same."""
    year = np.repeat(np.arange(20), 20)
    response = (random(1).random(400) < year / 20).astype(np.int64)
    given = Predictors(400, {"year": Column(year, 20, ordered=True)})
    fitted = CollapsingMultinomial(("year",), least=50).fit(response, 2, given, random())
    shares = np.mean([fitted.draw(given, random(seed), free(400, 2)) for seed in range(200)], axis=0)
    near = [response[np.abs(year - one) <= 1].mean() for one in range(1, 19)]
    assert [shares[year == one].mean() for one in range(1, 19)] == pytest.approx(near, abs=0.05)


def lives(rows: int, years: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last year as codes: 30% leave after each of their first three years, 5% later; most are born late."""
    source = random(seed)
    first = source.integers(0, years, rows)
    last = first.copy()
    for age in range(years):
        stays = (source.random(rows) >= (0.3 if age < 3 else 0.05)) & (last == first + age) & (last < years - 1)
        last[stays] += 1
    return first, last


def test_short_lives_stay_short_in_a_small_group() -> None:
    """Twenty units a year, so no first year has shares of its own; those of all units would double lives."""
    first, last = lives(500, 25, 1)
    given = Predictors(500, {"first": Column(first, 25, ordered=True)})
    limits = Limits(first, np.full(500, 24))
    seen = np.bincount(last - first, minlength=25) / 500
    found = {}
    for model in (LifeTable(("first",)), CollapsingMultinomial(("first",), most=0.5, least=400)):
        fitted = model.fit(last, 25, given, random())
        drawn = np.array([fitted.draw(given, random(seed), limits) for seed in range(60)])
        assert (drawn >= first).all()
        found[type(model)] = np.bincount((drawn - first).ravel(), minlength=25) / drawn.size
    assert found[LifeTable][:3] == pytest.approx(seen[:3], abs=0.03)
    mean = (found[LifeTable] * np.arange(25)).sum()
    assert mean == pytest.approx((last - first).mean(), rel=0.08)
    assert found[CollapsingMultinomial][0] < seen[0] - 0.05


def test_a_large_group_has_the_shares_of_each_first_year() -> None:
    first, last = lives(40_000, 10, 2)
    given = Predictors(40_000, {"first": Column(first, 10, ordered=True)})
    fitted = LifeTable(("first",)).fit(last, 10, given, random())
    drawn = fitted.draw(given, random(3), Limits(first, np.full(40_000, 9)))
    for year in range(10):
        shares = [np.bincount(one[first == year], minlength=10) / (first == year).sum() for one in (drawn, last)]
        assert shares[0] == pytest.approx(shares[1], abs=0.03)


def test_logit_is_the_maximum_of_its_likelihood() -> None:
    """Against statsmodels' multinomial logit, coefficients and their covariance; the prior is weak."""
    discrete = pytest.importorskip("statsmodels.discrete.discrete_model")
    response, given = world()
    few = given.at(np.arange(5000))
    design = few.design(("cell", "age"))
    theirs = discrete.MNLogit(response[:5000], design).fit(disp=False)
    ours = LogitRegression(("cell", "age")).fit(response[:5000], 3, few, random())
    slopes = ours.beta[1:] / ours.spread[1:, None]
    assert slopes == pytest.approx(np.asarray(theirs.params)[1:], abs=0.01)
    ages = (design[:, -1] - ours.centre[-1]) / ours.spread[-1]
    assert ages.std() == pytest.approx(1)
    covariance = np.linalg.inv(ours.root.T @ ours.root)
    spread = np.sqrt(np.diag(covariance)).reshape(ours.beta.shape, order="F")[1:] / ours.spread[1:, None]
    assert spread == pytest.approx(np.asarray(theirs.bse)[1:], rel=0.02)


def test_logit_with_two_categories_and_with_too_many() -> None:
    response, given = world()
    two = LogitRegression(("age",)).fit((response == 2).astype(np.int64), 2, given, random())
    drawn = two.draw(given, random(1), free(ROWS, 2))
    old = given.columns["age"].values > 15
    assert drawn[old].mean() - drawn[~old].mean() > 0.1
    with pytest.raises(UsageError, match="up to 12 categories"):
        LogitRegression(("age",)).fit(response, 40, given, random())


def test_a_tree_follows_an_interaction() -> None:
    source = random(1)
    one, two = source.integers(0, 2, (2, 4000))
    given = Predictors(4000, {"one": Column(one, 2), "two": Column(two, 2)})
    fitted = CategoryTree(("one", "two")).fit(one ^ two, 2, given, random())
    assert (fitted.draw(given, random(2), free(4000, 2)) == one ^ two).all()


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    given = Predictors(2, {"one": Column(np.array([0, 1]), 2)})
    with pytest.raises(UsageError, match=r'pip install "tacita\[trees\]"'):
        CategoryTree(("one",)).fit(np.array([0, 1]), 2, given, random())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DirichletMultinomial(("a",), weight=0), "weight"),
        (lambda: CollapsingMultinomial(("a",), most=0), "most"),
        (lambda: CollapsingMultinomial(("a",), least=0), "least"),
    ],
)
def test_wrong_settings_are_refused(make: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make()  # type: ignore[operator]


def test_a_number_is_no_cell() -> None:
    given = Predictors(2, {"size": Column(np.array([1.0, 2.0]))})
    with pytest.raises(UsageError, match="size: is a number"):
        CollapsingMultinomial(("size",)).fit(np.array([0, 1]), 2, given, random())
