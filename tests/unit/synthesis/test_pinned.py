"""Totals that files are held to: what they cost, how near they come, and that files keep them."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.data.cells import Amount
from tacita.data.schema import Schema
from tacita.mechanisms.table.noise import Budget
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording
from tacita.synthesis.pinned.adjusting import Values, hold, wanted
from tacita.synthesis.pinned.measuring import Pin, Pinning, worth_pinning

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
    pin = Pinning(np.zeros(4000, dtype=np.int64), 1, replaced, SCHEMA).measure(file, WORTH, budget, heard)
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


def test_noise_that_says_nothing_changes_nothing() -> None:
    adding = np.full(100, 7.0)
    pin = Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (900.0,), 1e4)
    assert wanted(pin, 0, adding, None) == pytest.approx(700.0)
    assert wanted(Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (900.0,), 1.0), 0, adding, None) == pytest.approx(900.0, rel=0.01)
