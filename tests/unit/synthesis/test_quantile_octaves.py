"""Numbers with wide bounds, by noisy counts of octaves: quantiles, tails that do not run away, and means of wealth."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tacita.data.schema import Schema
from tacita.synthesis import QuantileSynthesis
from tacita.synthesis.quantile.octaves import Octaves, is_wide
from tacita.synthesis.quantile.variables import column_of

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "families", "unit": "family"},
        "variables": {
            "income": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1e9, "scale": 0},
            "worth": {"role": "confidential", "type": "numeric", "lower": -1e8, "upper": 3e9, "scale": 0},
            "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 110},
        },
    }
)
MONEY = {
    "income": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1e9, "scale": 0},
    "worth": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1e9, "scale": 0},
}
INCOME, WORTH = column_of(SCHEMA, "income"), column_of(SCHEMA, "worth")


def wealth(rows: int, seed: int) -> np.ndarray:
    return np.rint(np.exp(np.random.default_rng(seed).normal(11, 2.2, rows)))


def counted(octaves: Octaves, values: np.ndarray) -> np.ndarray:
    return np.bincount(octaves.place(values), minlength=octaves.parts).astype(np.float64)


def test_only_wide_bounds_are_counted_by_octaves() -> None:
    assert [is_wide(column_of(SCHEMA, name)) for name in ("income", "worth", "age")] == [True, True, False]


@pytest.mark.parametrize("column", [INCOME, WORTH], ids=["above 0", "both signs"])
def test_a_value_lies_in_one_part_whatever_its_neighbours(column: object) -> None:
    octaves = Octaves.of(column, Fraction(100))  # type: ignore[arg-type]
    values = np.array([column.bounds[0], 0.0, 0.5, 1.0, 1.5, 2.0, 1000.0, column.bounds[1]])  # type: ignore[attr-defined]
    assert (octaves.edges[octaves.place(values)] <= values).all()
    assert (values < octaves.edges[octaves.place(values) + 1]).all()
    assert octaves.place(values).tolist() == [int(octaves.place(np.array([one]))[0]) for one in values]


def test_without_noise_quantiles_are_those_of_the_records() -> None:
    values = wealth(20_000, 1)
    for worth in (100, 4000, 100_000):
        octaves = Octaves.of(INCOME, Fraction(worth))
        found = octaves.curve(counted(octaves, values), 0.01, values.size, "fitted")
        assert found is not None
        curve, _ = found
        off = [float((values < one).mean()) - share for share, one in zip(curve.shares, curve.values, strict=True)]
        assert np.abs(off).max() < 0.02
        assert curve.shares[-1] > 0.998


def test_noise_that_stands_alone_far_out_is_not_followed() -> None:
    octaves = Octaves.of(INCOME, Fraction(100))
    noisy = counted(octaves, np.rint(np.exp(np.random.default_rng(2).normal(9, 0.7, 1000))))
    noisy[-2] += 60  # twelve scales of the noise
    found = octaves.curve(noisy, 5.0, 1000, "fitted")
    assert found is not None
    assert found[0].values[-1] < 1e5


def test_records_of_both_signs_are_seen() -> None:
    octaves = Octaves.of(WORTH, Fraction(100))
    values = np.concatenate([wealth(900, 3), -np.rint(np.exp(np.random.default_rng(3).normal(8, 1, 100)))])
    found = octaves.curve(counted(octaves, values), 3.0, 1000, "fitted")
    assert found is not None
    assert found[0](np.array([0.05]))[0] < 0 < found[0](np.array([0.15]))[0]


def test_where_noise_hides_all_records_nothing_is_told() -> None:
    octaves = Octaves.of(WORTH, Fraction(100))
    noise = np.random.default_rng(4).laplace(0, 5, octaves.parts)
    assert octaves.curve(noise, 5.0, 30, "fitted") is None


def test_means_of_wealth_are_as_far_off_as_foretold_and_never_run_away() -> None:
    """1,000 families at ε = 4, two numbers, 12 draws."""
    rows, off = 1000, []
    for seed in range(12):
        worth = wealth(rows, 50 + seed)
        frame = pd.DataFrame({"income": np.rint(worth / 20 + wealth(rows, 70 + seed) / 50), "worth": worth, "age": 40})
        plan = QuantileSynthesis(["income", "worth"], "4")
        made = plan.rehearse(frame, SCHEMA, seed=seed).implicates.tables[0].to_pandas()
        off += (made.mean() / frame[["income", "worth"]].mean() - 1).tolist()
    told = (
        QuantileSynthesis(["income", "worth"], "4", rows=rows).forecast(SCHEMA).figures["worth: mean error, heavy tail"]
    )
    assert max(off) < 2
    assert told / 2 < np.median(np.abs(off)) < 1.5 * told


@pytest.mark.parametrize("scale", ["identity", "arcsinh"])
def test_money_is_drawn_by_ranks_where_no_straight_line_goes_through_it(scale: str) -> None:
    random = np.random.default_rng(1)
    income = np.exp(random.normal(11, 1.0, 4000))
    worth = income * np.exp(random.normal(0, 0.2, 4000))
    frame = pd.DataFrame({"income": np.rint(income), "worth": np.rint(worth)})
    plan = QuantileSynthesis(["income", "worth"], "4", scales={"worth": scale})
    signed = {**MONEY, "worth": {**MONEY["worth"], "lower": -1e8}}
    declared = {"dataset": {"identity": "families", "unit": "family"}, "variables": signed}
    model = plan.rehearse(frame, Schema.from_dict(declared), seed=1)
    (group,) = model.released.groups
    assert group.fitted["worth"].parts == ()
    assert group.fitted["worth"].ranks is not None
    file = next(iter(model.implicates))
    ours, theirs = (one.income.corr(one.worth, method="spearman") for one in (frame, file))
    assert theirs == pytest.approx(ours, abs=0.05)


def test_numbers_go_together_within_cells_as_they_do_where_cells_differ() -> None:
    """How the predictor varies between cells moves no rank within one."""
    random = np.random.default_rng(1)
    kind, own = random.integers(0, 4, 8000), random.normal(0, 1, 8000)
    pay = np.exp(9 + 0.8 * own + 0.6 * random.normal(0, 1, 8000))
    frame = pd.DataFrame(
        {
            "kind": np.array(list("abcd"))[kind],
            "income": np.rint(np.exp(8 + 0.4 * kind + 0.6 * own)),
            "worth": np.rint(pay),
        }
    )
    kinds = {"kind": {"role": "confidential", "type": "categorical", "levels": list("abcd")}}
    declared = {"dataset": {"identity": "earners", "unit": "person"}, "variables": {**kinds, **MONEY}}
    plan = QuantileSynthesis(["kind", "income", "worth"], "6")
    file = next(iter(plan.rehearse(frame, Schema.from_dict(declared), seed=1).implicates))
    ours, theirs = (
        np.mean([one.income.corr(one.worth, method="spearman") for _, one in both.groupby("kind")])
        for both in (frame, file)
    )
    assert theirs == pytest.approx(ours, abs=0.1)
