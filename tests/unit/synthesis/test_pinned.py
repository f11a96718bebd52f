"""Totals that files are held to: what they cost, how near they come, and that files keep them."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.data.cells import Amount
from tacita.data.gathered import AddedRows, Here
from tacita.data.schema import Schema
from tacita.mechanisms.table.noise import Budget
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording
from tacita.synthesis.pinned.adjusting import Values, hold, wanted, with_beyond
from tacita.synthesis.pinned.measuring import End, Pin, Pinning, Summing, worth_pinning
from tacita.synthesis.pinned.plain import LIKE_INCOMES, LIKE_WEALTH, Spread, _loosened, likely_off
from tacita.synthesis.quantile.curve import Curve

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "t", "unit": "person"},
        "variables": {
            "w": {"role": "weight", "type": "numeric", "scale": 1, "lower": 0, "upper": 500},
            "worth": {"role": "confidential", "type": "integer", "lower": -(10**6), "upper": 10**8},
        },
    }
)
WORTH = Amount(("w", "worth"))


def _file(rows: int = 4000) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    worth = np.rint(np.exp(random.normal(9, 1.5, rows))) * np.where(random.random(rows) < 0.1, -1, 1)
    return {"w": np.round(random.uniform(1, 30, rows), 1), "worth": worth}


def _measured(budget: Budget, replaced: bool) -> tuple[Pin, Recording]:
    file, heard = _file(), Recording(SeededEntropy(3))
    pin = Pinning(1, replaced, SCHEMA).measure(Here(file), WORTH, budget, heard)
    assert pin is not None
    return pin, heard


@pytest.mark.parametrize("budget", [Budget(Fraction(2)), Budget.of_rho(Fraction(1, 3))], ids=["pure", "Gaussian"])
@pytest.mark.parametrize("replaced", [False, True], ids=["added", "replaced"])
def test_noise_is_what_one_record_can_change_over_its_price(budget: Budget, replaced: bool) -> None:
    pin, heard = _measured(budget, replaced)
    assert pin.lower < 0 < -pin.lower < pin.upper
    octaves, totals = heard.requests
    assert octaves.true.sum() == 4000
    assert (octaves.true >= 0).all()
    assert totals.true.size == 1
    # A record that is replaced leaves one octave and enters one, and goes from one clamp to the other.
    length = pin.upper - pin.lower if replaced else pin.upper
    if budget.gaussian:
        assert octaves.scale[0] ** 2 == pytest.approx((2 if replaced else 1) / (2 * 1 / 3 / 4), rel=1e-3)
        assert pin.spread**2 == pytest.approx(length**2 / (2 * 1 / 3 * 3 / 4), rel=1e-3)
    else:
        assert octaves.scale[0] == pytest.approx((2 if replaced else 1) / (2 / 4), rel=1e-3)
        assert pin.spread == pytest.approx(2**0.5 * length / (2 * 3 / 4), rel=1e-3)


def test_a_total_is_near_and_says_how_near() -> None:
    pin, _ = _measured(Budget(Fraction(1)), True)
    file = _file()
    exact = pin.held(file["w"] * file["worth"]).sum()
    assert abs(pin.totals[0] - exact) < 5 * pin.spread
    assert pin.spread < 0.2 * exact
    assert exact > 0.8 * (file["w"] * file["worth"]).sum()


def test_few_records_are_not_worth_a_total() -> None:
    least = worth_pinning(Budget(Fraction(4)), replaced=True)
    assert least == pytest.approx(20 * 2, rel=0.05)
    assert worth_pinning(Budget(Fraction(4)), replaced=False) == pytest.approx(least / 2, rel=0.1)


@pytest.mark.parametrize("factor", [0.3, 0.8, 1.0, 1.4, 4.0])
def test_files_are_held_to_their_totals(factor: float) -> None:
    file, random = _file(), np.random.default_rng(5)
    order = random.permutation(4000)
    drawn = Values(file["worth"][order], random.random(4000) > 0.2, -1e6, 1e8)
    amounts = file["w"] * drawn.values
    top = float(np.quantile(amounts, 0.999))
    pin = Pin(-top, top, -2 * top, 2 * top, 0.0, 1e12, (factor * float(np.clip(amounts, -top, top).sum()),), 1.0)
    people = Pin(0.0, 500.0, 0.0, 500.0, 0.0, 0.0, (float(file["w"].sum()),), 1.0)
    weights, values = hold(file["w"], (0.5, 500.0), {"worth": drawn}, people, {"worth": pin}, None)
    assert people.held(weights).sum() == pytest.approx(people.totals[0], rel=0.03)
    assert pin.held(weights * values["worth"]).sum() == pytest.approx(pin.totals[0], rel=0.01)
    assert 0.5 <= weights.min() <= weights.max() <= 500
    assert (values["worth"][~drawn.free] == drawn.values[~drawn.free]).all()
    assert ((values["worth"] > 0) == (drawn.values > 0)).all()
    assert values["worth"].max() <= 1e8


def test_weights_above_the_clamp_add_no_more_than_was_seen_there() -> None:
    """A model's tail may run away where nothing was added up; the population must not."""
    weights = np.full(1000, 100.0)
    weights[:20] = 20_000.0
    people = Pin(0.0, 400.0, 0.0, 800.0, 0.0, 600.0, (100_000.0,), 1.0)
    held, _ = hold(weights, (1.0, 1e6), {}, people, {}, None)
    assert people.held(held).sum() == pytest.approx(100_000.0, rel=1e-3)
    assert held.sum() <= 100_000.0 * 1.001 + 600.0
    known = Pin(0.0, np.inf, 0.0, np.inf, 0.0, 0.0, (100_000.0,), 0.0)
    assert hold(weights, (1.0, 1e6), {}, known, {}, None)[0].sum() == pytest.approx(100_000.0), "where it is public"


def test_noise_that_says_nothing_changes_nothing() -> None:
    adding = np.full(100, 7.0)
    pin = Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (900.0,), 1e4)
    assert wanted(pin, 0, adding, None) == pytest.approx(700.0)
    assert wanted(Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (900.0,), 1.0), 0, adding, None) == pytest.approx(900.0, rel=0.01)


# ---------------------------------------------------------------- totals of a number whose quantiles are known


def _spread(values: np.ndarray) -> Spread:
    shares = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 15 / 16])
    curve = Curve(shares, np.quantile(values, shares), 0.0, 1e9, careful=True)
    return Spread(curve, 1.0, 1.0, (0.0, 1e9))


def test_a_clamp_is_where_few_records_are_further_out() -> None:
    values = np.rint(np.exp(np.random.default_rng(1).normal(9, 1.5, 4000)))
    above, below = _spread(values).ends(6.0, 4000)
    assert below.clamp == 0
    assert 1 <= np.count_nonzero(values > above.clamp) <= 30
    assert above.most == 1e9
    assert 0 < above.beyond < 0.3 * values.sum()


@pytest.mark.parametrize("replaced", [False, True], ids=["added", "replaced"])
def test_the_noise_of_a_plain_total_is_the_same_wherever_the_clamps_are(replaced: bool) -> None:
    laws, values = set(), np.array([3.0, 50.0, -7.0])
    for above, below in ((End(40.0, 99.0, 0.0), End(0.0, 0.0, 0.0)), (End(7.5, 99.0, 0.0), End(3.0, 9.0, 0.0))):
        heard = Recording(SeededEntropy(1))
        summing = Summing(1, replaced)
        pin = summing.between(AddedRows(values), 1.0, above, below, Budget(Fraction(10)), heard, "total")
        length = above.clamp + below.clamp if replaced else above.clamp
        assert pin.upper - pin.lower == pytest.approx(above.clamp + below.clamp, rel=1e-5)
        assert pin.spread == pytest.approx(2**0.5 * length / 10, rel=1e-5)
        assert abs(pin.totals[0] - np.clip(values, -below.clamp, above.clamp).sum()) < 20 * pin.spread
        laws.add(heard.requests[0].law)
    assert len(laws) == 1


@pytest.mark.parametrize("rows", [500, 4000, 16_000])
def test_a_file_of_another_length_is_held_as_the_records_are(rows: int) -> None:
    values = np.rint(np.exp(np.random.default_rng(1).normal(9, 0.5, 4000)))
    top = float(np.quantile(values, 0.99))
    pin = Pin(0.0, top, 0.0, 1e9, 0.0, 1e9, (float(np.minimum(values, top).sum()),), 1.0)
    file = np.quantile(values, (np.arange(rows) + 0.5) / rows)
    held = _spread(values).held(pin, file, np.ones(rows, dtype=np.bool_), 4000, None)
    # Clamped as one record is, where a file's row stood for eight, all rows would have become an eighth of the clamp.
    assert np.quantile(held, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), rel=0.02)
    weight, stands_for = np.full(rows, 4000 / rows), 4000 / rows
    people = Pin(0.0, 1.0, 0.0, 1.0, 0.0, 0.0, (4000.0,), 0.01).of_files(stands_for)
    number = Values(file, file > 0, 0.0, 1e9)
    kept, _ = hold(weight, (0.0, 1e9), {"pay": number}, people, {"pay": pin.of_files(stands_for)}, None)
    assert kept == pytest.approx(weight, rel=0.1)


@pytest.mark.parametrize("factor", [0.7, 1.5])
def test_far_values_are_bent_until_they_add_up_and_the_body_stays(factor: float) -> None:
    values = np.rint(np.exp(np.random.default_rng(1).normal(9, 1.0, 4000)))
    top = float(np.quantile(values, 0.998))
    true = factor * float(np.minimum(values, top).sum())
    pin = Pin(0.0, top, 0.0, 1e9, 0.0, 1e9, (true,), 1e-3 * true)
    held = _spread(values).held(pin, values, np.ones(4000, dtype=np.bool_), 4000, None)
    assert np.minimum(held, top).sum() == pytest.approx(true, rel=0.02)
    body = values < np.median(values)
    assert (held[body] == values[body]).all()


def test_what_lies_above_a_clamp_is_drawn_around_what_is_expected() -> None:
    values = np.arange(1.0, 1001.0)
    number, each = Values(values, np.ones(1000, dtype=np.bool_), 0.0, 1e9), np.ones(1000)
    pin = Pin(0.0, 900.0, 0.0, 1e9, 0.0, 50_000.0, (0.0,), 1.0)
    above = []
    for seed in range(400):
        drawn = with_beyond(number, each, pin, 0.5, np.random.default_rng(seed))
        assert (drawn[:899] == values[:899]).all(), "what was added up stays"
        above.append(np.maximum(drawn - 900.0, 0.0).sum())
    assert np.mean(above) == pytest.approx(50_000, rel=0.1)
    assert np.log(above).std() == pytest.approx(0.5, rel=0.15)


def test_several_files_have_above_the_clamp_what_may_lie_there() -> None:
    """Bending changes what was added up, and the far ends of it most: it must not take away what was not."""
    values = np.rint(np.exp(np.random.default_rng(1).normal(9, 1.5, 4000)))
    top, spread, free = float(np.quantile(values, 0.998)), _spread(values), np.ones(4000, dtype=np.bool_)
    true = 0.9 * float(np.minimum(values, top).sum())
    pin = Pin(0.0, top, 0.0, 1e9, 0.0, 0.2 * true, (true,), 1e-3 * true)
    held = [spread.held(pin, values, free, 4000, np.random.default_rng(k), 0.1 * true, tailed=True) for k in range(60)]
    above = np.array([np.maximum(one - top, 0.0).sum() for one in held]) / pin.beyond
    assert [np.minimum(one, top).sum() for one in held] == pytest.approx([true] * 60, rel=0.02)
    assert np.mean(above) == pytest.approx(1.0, abs=0.3)
    assert np.log(above).std() > 0.5
    one = spread.held(pin, values, free, 4000, None, 0.1 * true, tailed=True)
    assert np.maximum(one - top, 0.0).sum() <= 1.01 * pin.beyond, "a single file has no more than is expected"


def test_a_single_file_of_fitted_tails_has_above_the_clamp_what_is_expected_there() -> None:
    values = np.minimum(np.rint(np.exp(np.random.default_rng(1).normal(9, 1.0, 4000))), 60_000.0)
    top, spread, free = float(np.quantile(values, 0.99)), _spread(values), np.ones(4000, dtype=np.bool_)
    true = float(np.minimum(values, top).sum())
    pin = Pin(0.0, top, 0.0, 1e9, 0.0, 0.1 * true, (true,), 1e-3 * true)
    one = spread.held(pin, values, free, 4000, None, 0.1 * true, tailed=True, drawn_beyond=False)
    assert np.maximum(one - top, 0.0).sum() == pytest.approx(pin.beyond, rel=0.05)
    assert np.minimum(one, top).sum() == pytest.approx(true, rel=0.02)
    other = spread.held(pin, values, free, 4000, None, 0.1 * true, tailed=True)
    assert np.maximum(other - top, 0.0).sum() < 0.9 * pin.beyond, "its own values are further out where octaves say so"


def test_a_tail_is_taken_for_half_as_long_again_as_quantiles_show() -> None:
    """By ratio it is halfway to a Pareto law of index 2: sizes of firms and incomes are that heavy far out."""
    shares = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 15 / 16])
    exponential = Spread(Curve(shares, -10 * np.log1p(-shares), 0.0, 1e9, careful=True), 1.0, 1.0, (0.0, 1e9))
    fitted, pareto = exponential.curve(np.array([1 - 1e-3])), exponential.curve.values[-1] * (1e-3 * 16) ** -0.5
    assert exponential._far(np.array([1e-3])) == pytest.approx(np.sqrt(fitted * pareto))
    assert (exponential._far(np.array([0.2])) == exponential.curve(np.array([0.8]))).all(), (
        "quantiles are what they are"
    )


def test_several_files_have_no_more_above_the_clamp_on_average_than_one() -> None:
    chances = -np.log1p(-(np.arange(1000) + 0.5) / 1000) - 1  # evenly, of an exponential law around its mean
    for spread in (10.0, 400.0):
        pin = Pin(0.0, 900.0, 0.0, 1e9, 0.0, 100.0, (5000.0,), spread)
        above = np.array([_loosened(pin, 0.0, float(one)).beyond for one in chances])
        assert above.mean() == pytest.approx(_loosened(pin, 0.0, None).beyond, rel=0.01)
        assert above.min() >= 0
        assert above.std() > 0.9 * min(spread, pin.beyond)


@pytest.mark.parametrize("factor", [0.994, 1.006])
def test_where_counts_are_in_doubt_and_tails_are_not_ranks_move_a_little_and_no_value_far(factor: float) -> None:
    """Most values lie close together at the top, as those of a study that ends: drawn in, none would be left there."""
    random = np.random.default_rng(1)
    values = np.sort(np.concatenate([random.integers(0, 4200, 2500), random.integers(4800, 5000, 2500)]).astype(float))
    shares = np.linspace(0, 1, 34)[1:-1]
    cuts = np.quantile(values, shares)
    spread = Spread(Curve(shares, cuts, 0.0, 20_000.0), 1.0, 1.0, (0.0, 20_000.0), cuts, 20.0)
    true = factor * float(values.sum())
    pin = Pin(0.0, 5500.0, 0.0, 20_000.0, 0.0, 500.0, (true,), 1e-4 * true)
    held = spread.held(pin, values, np.ones(5000, dtype=np.bool_), 5000, None)
    assert held.sum() == pytest.approx(true, rel=1e-3)
    assert held.max() == pytest.approx(values.max(), rel=0.01)
    both = (np.searchsorted(np.sort(some), cuts) / 5000 for some in (values, held))
    assert np.abs(np.subtract(*both)).max() < 0.012


def test_a_total_that_is_off_by_noise_alone_does_not_outweigh_a_model_that_is_known_to_be_near() -> None:
    adding = np.full(100, 7.0)
    pin = Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (950.0,), 100.0)
    assert wanted(pin, 0, adding, None, doubt=10.0) == pytest.approx(700.0, abs=5)
    assert wanted(Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (1500.0,), 100.0), 0, adding, None, doubt=10.0) > 1300


def test_a_total_that_is_mostly_noise_changes_nothing() -> None:
    values = np.arange(1.0, 1001.0)
    pin = Pin(0.0, 900.0, 0.0, 1e9, 0.0, 1e9, (600_000.0,), 400_000.0)
    assert (_spread(values).held(pin, values, np.ones(1000, dtype=np.bool_), 1000, None) == values).all()


def test_the_forecast_of_a_mean_grows_with_noise_and_with_skewness_and_falls_with_records() -> None:
    assert likely_off(LIKE_INCOMES, 6, 1000) < likely_off(LIKE_WEALTH, 6, 1000)
    assert likely_off(LIKE_WEALTH, 6, 1000) > likely_off(LIKE_WEALTH, 6, 10_000) > likely_off(LIKE_WEALTH, 1, 10_000)
    assert likely_off(LIKE_WEALTH, 6, 1000, bought=True) > 1.05 * likely_off(LIKE_WEALTH, 6, 1000)
