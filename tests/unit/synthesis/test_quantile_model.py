"""What is drawn from the released numbers: curves, tails, conditional quantiles, files, and that they come back."""

import io
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.quantile import BOUNDS, PLANS, SCHEMA, firms, plan
from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis import QuantileSynthesis
from tacita.synthesis.quantile.curve import Curve, Tail, without_strays
from tacita.synthesis.quantile.model import even_draws, loose_draws
from tacita.synthesis.quantile.numeric import Conditional, Noise
from tacita.synthesis.quantile.own import Own
from tacita.synthesis.quantile.owning import SEEN_BEFORE, masses_of
from tacita.synthesis.quantile.ranks import UNLIKE, Ranks
from tacita.synthesis.quantile.ties import _occurrence, spread_within_step
from tacita.synthesis.quantile.variables import column_of

EVEN = np.linspace(1e-9, 1 - 1e-9, 501)


# ---------------------------------------------------------------- curves


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=31),
    st.sampled_from(["fitted", "exponential", "pareto"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_curve_is_monotone_and_within_bounds(values: list[float], tail: Tail, floored: bool, seed: int) -> None:
    """For any released quantiles, also equal ones, and for any shares that a redraw may give them."""
    random = np.random.default_rng(seed)
    held = np.sort(np.abs(values) if floored else values)
    shares = np.sort(random.uniform(0.001, 0.999, held.size))
    if (np.diff(shares) < 1e-6).any():
        return
    curve = Curve(shares, held, -60.0, 60.0, floor=0.0 if floored else None, tail=tail)
    found = curve(EVEN)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= -1e-9).all()
    assert ((found >= -60) & (found <= 60)).all()
    assert curve(shares) == pytest.approx(held, abs=1e-9)


@pytest.mark.parametrize(
    ("quantile", "index"),
    [(lambda u: -np.log1p(-u), 0.0), (lambda u: (1 - u) ** -0.5, 0.5), (lambda u: (1 - u) ** -0.25, 0.25)],
    ids=["exponential", "Pareto 2", "Pareto 4"],
)
def test_exact_quantiles_continue_in_their_own_tail(quantile: Any, index: float) -> None:
    shares = np.arange(1, 64) / 64
    curve = Curve(shares, quantile(shares), 0.0, 1e9)
    far = np.array([0.99, 0.999, 0.9999])
    assert curve._shape(curve._upper_gaps) == pytest.approx(index, abs=0.02)
    assert curve(far) == pytest.approx(quantile(far), rel=0.1)


def test_scores_of_one_kind_continue_as_a_normal_law_does() -> None:
    """Fitted to gaps, the tails of seven quantiles of a normal number are those of an exponential one, or longer."""
    shares, far = np.arange(1, 8) / 8, np.array([1e-4, 0.01, 0.05, 0.95, 0.99, 0.9999])
    law = NormalDist(0.3, 0.6)
    exact = np.array([law.inv_cdf(one) for one in shares.tolist()])
    curve = Curve(shares, exact, -4.0, 4.0, tail="normal")
    assert curve(far) == pytest.approx([law.inv_cdf(one) for one in far.tolist()], abs=1e-6)
    assert curve(shares) == pytest.approx(exact, abs=1e-9)
    assert (np.diff(curve(EVEN)) >= -1e-9).all()
    one = Curve(np.array([0.5]), np.array([0.0]), -4.0, 4.0, tail="normal")
    assert one(far) == pytest.approx([NormalDist().inv_cdf(share) for share in far.tolist()], abs=1e-6)


def test_point_masses_that_are_drawn_apart_leave_the_less_open() -> None:
    """What quantiles leave open of a total is theirs alone who are no point mass."""
    curve = Curve(np.arange(1, 16) / 16, np.exp(np.linspace(5, 10, 15)), 0.0, 1e6, careful=True)
    noise = Noise(500.0, 0.0, 0.0, (0.1,) * 4)
    column = column_of(SCHEMA, "size")
    own = Own(column, curve, noise, ranked=True, scored=False)
    apart = Own(column, curve, noise, ranked=True, scored=False, masses=((0.0, 0.95),), apart=True)
    assert apart.unsure(0.0, 1e5, 10_000) == pytest.approx(0.05 * own.unsure(0.0, 1e5, 10_000))


def test_several_files_show_that_numbers_do_not_go_together_as_normal_ones_do() -> None:
    """Without noise too: classes tell a correlation only as far as numbers are normal ones."""
    table = np.full((4, 4), 1e6) + 3e6 * np.eye(4)
    ranks = Ranks(np.array([table]), 1.0, np.zeros(1), np.eye(1), (True,))
    drawn = [float(ranks._correlations(np.random.default_rng(k))[0]) for k in range(200)]
    single = float(ranks._correlations(None)[0])
    assert np.std(drawn) == pytest.approx(UNLIKE[4] * (1 - single**2) ** 0.5, rel=0.25)


def test_redrawn_shares_rest_on_as_many_gaps() -> None:
    """A share near 1/16 instead of at it must not halve what the tail is fitted to."""
    values = -np.log1p(-np.arange(1, 16) / 16)
    sizes = set()
    for off in (-0.004, -0.0001, 0.0, 0.0001, 0.004):
        shares = np.arange(1, 16) / 16
        shares[-1] += off
        sizes.add(Curve(shares, values, 0.0, 1e3)._upper_gaps.size)
    assert sizes == {3}


def test_round_values_that_many_share_leave_no_quantile_aside() -> None:
    values = np.rint(np.exp(np.random.default_rng(1).normal(10, 0.6, 50_000)) / 5000) * 5000
    shares = np.arange(1, 128) / 128
    within = np.quantile(values + np.random.default_rng(2).random(50_000), shares)
    assert without_strays(Curve(shares, within, 0.0, 1e6), 1.0).shares.size == shares.size
    far = np.append(within[:-1], 40 * within[-2])
    assert without_strays(Curve(shares, far, 0.0, 1e9), 1.0).shares.size == shares.size - 1


# ---------------------------------------------------------------- conditional quantiles


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["two numbers", "four numbers", "scales", "keep"])
def test_conditional_quantiles_never_cross(name: str, seed: int) -> None:
    """Not for predictors of the file, nor for any others, and also not in the redraws."""
    straight = {"scales": {"size": "log", "pay": "log"}}
    more: dict[str, Any] = {"four numbers": {"rows": 1500}, "scales": straight}.get(name, {})
    model = plan(name, "30" if seed % 2 else "200", **more).rehearse(firms(1500, seed), SCHEMA, seed=seed)
    random = np.random.default_rng(seed)
    checked = 0
    for group in model.released.groups:
        for fitted in group.fitted.values():
            for part in fitted.parts:
                if not isinstance(part.model, Conditional):
                    continue
                width = part.model.design.centre.size
                predictors = random.normal(part.model.design.centre, 10 * part.model.design.units[1], (60, width))
                for one in (part.model, part.model.redrawn(part.noise, predictors, random)):
                    curves = np.array([one.draw(np.full(60, u), predictors) for u in EVEN[::20]])
                    assert np.isfinite(curves).all()
                    assert (np.diff(curves, axis=0) >= -1e-7 * (1 + np.abs(curves[1:]))).all()
                    checked += 1
    assert checked


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("name", PLANS)
def test_files_have_the_types_levels_and_bounds_of_the_schema(name: str) -> None:
    model = plan(name, "3", sets=2).rehearse(firms(300), SCHEMA, seed=4)
    for table in (*model.implicates.tables, *model.sample(1, seed=3).tables):
        frame = table.to_pandas()
        for column in frame:
            kind = SCHEMA[column].kind
            if column in BOUNDS:
                assert frame[column].between(*BOUNDS[column]).all()
                places = getattr(kind, "scale", 0)
                assert np.allclose(frame[column] * 10**places, np.round(frame[column] * 10**places), atol=1e-6)
                assert str(table.schema.field(column).type) == ("double" if places else "int64")
            else:
                assert set(frame[column]) <= set(SCHEMA.levels(column))


@pytest.mark.parametrize("name", PLANS)
def test_what_is_stored_comes_back_and_gives_the_same_files(name: str) -> None:
    given = plan(name, sets=2)
    model = given.rehearse(firms(200), SCHEMA, seed=6)
    back = given.restore(model.to_bytes())
    assert back.to_bytes() == model.to_bytes()
    assert back.measured == model.measured
    assert back.rehearsal
    for ours, theirs in zip(back.implicates.tables, model.implicates.tables, strict=True):
        assert ours.equals(theirs)
    assert back.sample(1, seed=9).tables[0].equals(model.sample(1, seed=9).tables[0])
    assert not back.sample(1, seed=10).tables[0].equals(model.sample(1, seed=9).tables[0])


def test_other_bytes_are_not_taken_for_a_model() -> None:
    sink = io.BytesIO()
    table = pa.table({"a": [1]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(VerificationError, match="not one that Tacita wrote"):
        plan("one number").restore(sink.getvalue())


def test_kept_rows_are_the_collected_ones_in_an_order_of_their_own() -> None:
    frame = firms(120)
    found = next(iter(plan("keep").rehearse(frame, SCHEMA, seed=1).implicates))
    keys = ["sector", "age"]
    ordered = frame.sort_values(keys)[keys].reset_index(drop=True)
    assert found.sort_values(keys)[keys].reset_index(drop=True).equals(ordered)
    assert not found[keys].reset_index(drop=True).equals(frame[keys])
    shuffled = plan("keep").rehearse(frame.sample(frac=1, random_state=1), SCHEMA, seed=1)
    assert shuffled.to_bytes() == plan("keep").rehearse(frame, SCHEMA, seed=1).to_bytes()


def test_the_order_of_rows_does_not_matter() -> None:
    frame = firms(300)
    for name in ("groups", "point mass", "category first", "four numbers"):
        one = plan(name).rehearse(frame, SCHEMA, seed=2)
        two = plan(name).rehearse(frame.iloc[::-1], SCHEMA, seed=2)
        assert one.to_bytes() == two.to_bytes(), name


def test_much_budget_gives_the_file_s_own_distribution() -> None:
    frame = firms(4000)
    found = next(
        iter(plan("four numbers", "60", rows=4000, spikes={"jobs": [0]}).rehearse(frame, SCHEMA, seed=1).implicates)
    )
    for name in ("size", "pay", "jobs"):
        for u in (0.1, 0.25, 0.5, 0.75, 0.9):
            assert (found[name] <= frame[name].quantile(u)).mean() == pytest.approx(
                (frame[name] <= frame[name].quantile(u)).mean(), abs=0.04
            )
    assert np.corrcoef(found["size"], found.pay)[0, 1] == pytest.approx(
        np.corrcoef(frame["size"], frame.pay)[0, 1], abs=0.05
    )


@pytest.mark.parametrize("spikes", [{}, {"spikes": {"jobs": [0]}}])
def test_point_masses_keep_their_share(spikes: dict[str, Any]) -> None:
    """40 percent of the firms have no jobs: by ties that can be cut anywhere, or declared."""
    frame = firms(3000)
    found = next(
        iter(plan("one number", "8", columns=["jobs"], rows=3000, **spikes).rehearse(frame, SCHEMA, seed=1).implicates)
    )
    assert (found.jobs == 0).mean() == pytest.approx((frame.jobs == 0).mean(), abs=0.03)
    assert found.jobs.max() > 10


def test_a_number_that_few_records_have_does_not_run_away() -> None:
    """Sixty of a thousand records have one; its bounds are a thousand times as wide as its values."""
    variables = {
        "wages": {"role": "confidential", "type": "integer", "lower": 0, "upper": 5_000_000},
        "trade": {"role": "confidential", "type": "integer", "lower": -1_000_000, "upper": 20_000_000},
    }
    schema = Schema.from_dict({"dataset": {"identity": "tax", "unit": "person"}, "variables": variables})
    ratios = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame({"wages": random.lognormal(10, 0.8, 1000), "trade": random.lognormal(9, 1, 1000)}).round()
        frame.loc[60:, "trade"] = 0
        (file,) = QuantileSynthesis(["wages", "trade"], "2").rehearse(frame, schema, seed=seed).sample(m=1, seed=seed)
        ratios.append(file["trade"].mean() / frame["trade"].mean())
    assert max(abs(one) for one in ratios) < 8
    assert 0.3 < np.median(ratios) < 2


def test_a_limit_that_many_share_is_not_passed() -> None:
    """Pay that is known up to a limit only, close to that of the year before: planes would spread it far beyond."""
    pay = {"role": "confidential", "type": "numeric", "scale": 2, "lower": 0, "upper": 10**7}
    about = {"dataset": {"identity": "t", "unit": "person"}, "variables": {"before": pay, "now": pay}}
    random, rows = np.random.default_rng(1), 8000
    before = random.gamma(4, 5000, rows)
    now = before * np.exp(random.normal(0, 0.12, rows))
    frame = pd.DataFrame({"before": np.minimum(before, 25_862.32), "now": np.minimum(now, 25_243.55)}).round(2)
    model = QuantileSynthesis(["before", "now"], "2").rehearse(frame, Schema.from_dict(about), seed=1)
    drawn = model.implicates.frames[0].to_pandas()
    assert drawn.now.mean() == pytest.approx(frame.now.mean(), rel=0.03)
    assert drawn.now.max() < 2 * 25_243.55


def test_a_point_mass_that_was_found_need_not_be_as_clear_again() -> None:
    values = np.where(np.arange(2000) < 350, 0.0, 7.0 + np.arange(2000))
    column, epsilon = column_of(SCHEMA, "pay"), Fraction(1, 70)
    counted = [
        [bool(masses_of(values, column, epsilon, 2000, SeededEntropy(seed), "x", clear)) for seed in range(20)]
        for clear in (SEEN_BEFORE, 6)
    ]
    assert sum(counted[0]) > 17 > sum(counted[1])


def _earners(rows: int) -> tuple[pd.DataFrame, Schema]:
    """Pay that goes with hours; the others work longer, and are paid the same all the same."""
    random = np.random.default_rng(3)
    kind = random.choice(["one", "other"], rows)
    hours = 5 * np.exp(random.normal(0, 0.7, rows) + 0.3 * (kind == "other"))
    pay = 500 * np.exp(0.8 * np.log(hours) - 0.24 * (kind == "other") + random.normal(0, 0.4, rows))
    confidential = {"role": "confidential", "type": "integer", "lower": 0}
    variables = {
        "kind": {"role": "confidential", "type": "categorical", "levels": ["one", "other"]},
        "hours": {**confidential, "upper": 1000},
        "pay": {**confidential, "upper": 10**6},
    }
    schema = Schema.from_dict({"dataset": {"identity": "t", "unit": "person"}, "variables": variables})
    return pd.DataFrame({"kind": kind, "hours": np.rint(hours), "pay": np.rint(pay)}).astype({"hours": int}), schema


@pytest.mark.parametrize("rows", [12_000, 24_000])
def test_ranks_go_together_and_cells_keep_their_own_level_in_files_of_any_size(rows: int) -> None:
    frame, schema = _earners(rows)
    found = next(iter(QuantileSynthesis(["kind", "hours", "pay"], "6").rehearse(frame, schema, seed=1).implicates))
    ranks = [one.hours.corr(one.pay, method="spearman") for one in (frame, found)]
    assert ranks[1] == pytest.approx(ranks[0], abs=0.08)
    medians = [one.groupby("kind").pay.median() for one in (frame, found)]
    assert (medians[1] / medians[0]).to_list() == pytest.approx([1.0, 1.0], abs=0.08)


def test_groups_have_their_own_models() -> None:
    frame = firms(3000).assign(size=lambda all: np.where(all.sector == "b", 500 + all["size"], all["size"]))
    found = next(iter(plan("groups", "8").rehearse(frame, SCHEMA, seed=1).implicates))
    medians = found.groupby("sector")["size"].median()
    assert medians["b"] > 450
    assert medians["a"] < 100
    counts = found.sector.value_counts()
    assert counts["a"] == pytest.approx((frame.sector == "a").sum(), abs=60)


def test_a_single_file_follows_the_numbers_and_several_differ() -> None:
    model = plan("two numbers", "1", rows=2000).rehearse(firms(2000), SCHEMA, seed=1)
    single = [next(iter(model.sample(1, seed=seed)))["size"].mean() for seed in range(6)]
    several = [one["size"].mean() for one in model.sample(6, seed=1)]
    assert np.std(single) < 0.2 * np.std(several)


@pytest.mark.parametrize("draws", [even_draws, loose_draws])
@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_draws_are_even_in_every_dimension(draws: Any, rows: int) -> None:
    u = draws(rows, 4, np.random.default_rng(1))
    assert u.shape == (rows, 4)
    assert ((u > 0) & (u < 1)).all()
    if rows == 1000:
        for column in u.T:
            assert np.abs(np.sort(column) - (np.arange(rows) + 0.5) / rows).max() < 0.01


# ---------------------------------------------------------------- scales and ties


@pytest.mark.parametrize("scale", ["identity", "log", "arcsinh"])
@pytest.mark.parametrize("name", ["size", "jobs", "pay"])
def test_scales_come_back_to_every_value_of_the_schema(name: str, scale: Any) -> None:
    column = column_of(SCHEMA, name, scale)
    low, high = BOUNDS[name]
    values = np.unique(np.round(np.linspace(low, high, 997) / column.step) * column.step)
    bounds = column.range("fitted")
    for part in (0.001, 0.5, 0.999):
        modelled = column.modelled(values + part * column.step)
        assert column.published(modelled) == pytest.approx(values, abs=1e-9)
        assert ((modelled >= bounds.lower) & (modelled <= bounds.upper)).all()
    wild = column.published(np.array([-np.inf, -1e300, 1e300, np.inf]))
    assert set(wild.tolist()) == {low, high}


def test_parts_of_a_step_stay_with_their_records() -> None:
    random = np.random.default_rng(1)
    record = random.integers(0, 3, (80, 2)).astype(float)

    def spread(rows: Any) -> set[tuple[float, ...]]:
        parts = spread_within_step(rows[:, 0], 1.0, rows, SeededEntropy(4), "x")
        assert ((parts >= rows[:, 0]) & (parts < rows[:, 0] + 1)).all()
        return {(*row, part) for row, part in zip(rows.tolist(), parts.tolist(), strict=True)}

    whole = spread(record)
    assert len(whole) == 80, "equal records must get different parts"
    assert spread(record[::-1]) == whole
    for at in range(80):
        assert spread(np.delete(record, at, axis=0)) < whole
    assert spread(record[:0]) == set()


def test_records_with_equal_words_are_still_told_apart() -> None:
    record = np.array([[1.0], [2.0], [1.0], [2.0], [2.0]])
    assert _occurrence(np.zeros(5, dtype=np.uint64), record).tolist() == [0, 0, 1, 1, 2]
    assert _occurrence(record[:, 0].astype(np.uint64), record).tolist() == [0, 0, 1, 1, 2]
