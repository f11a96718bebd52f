"""Growth of magnitudes: its noise is that of two sums, margins hold both together, and what cannot be is refused."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.magnitudes import firms, schema
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError
from tacita.mechanisms.magnitude import SmoothGrowth, SmoothSums
from tacita.noise.entropy import SeededEntropy
from tacita.noise.error import margin_of
from tacita.noise.forcing import Tape
from tacita.noise.plateau import PlateauLaw
from tacita.noise.power import BoxLaw
from tacita.tables import publish
from tacita.tables.estimates import estimated
from tacita.tables.growth_margin import joint_stretch

DRAWS = 150


def plan(**given: Any) -> SmoothGrowth:
    return SmoothGrowth(**{"alpha": "0.1", "epsilon": "4", "of": ["before", "jobs"], "unit": "firm", **given})


def test_what_is_measured_is_what_two_sums_measure() -> None:
    """The proof says so: the same centres, scales and words."""
    frame, both = firms(40), []
    for one in (plan(by=["place"]), SmoothSums("0.1", "4", of=["before", "jobs"], by=["place"], unit="firm")):
        tape = Tape(SeededEntropy(3))
        result = one.run(Confidential.from_frame(frame, schema()), tape)
        told = [{**draw.confidential, **draw.public, "label": ""} for draw in tape.draws]
        both.append((result, told))
    (growth, drawn), (sums, other) = both
    assert [str(one) for one in drawn] == [str(one) for one in other]
    assert np.array_equal(growth.noisy["earlier"], sums.noisy["before"])
    assert np.array_equal(growth.noisy["later"], sums.noisy["jobs"])


def test_what_is_stored_comes_back_and_is_published_the_same() -> None:
    one = plan(by=["place"])
    result = one.rehearse(firms(60), schema(), seed=1)
    assert publish(one.restore(result.to_bytes()), schema()).equals(publish(result, schema()))
    record = json.loads(json.dumps(one.describe()))
    assert record.pop("mechanism") == "SmoothGrowth"
    assert SmoothGrowth(**record) == one


def test_change_and_percent_follow_from_both_totals() -> None:
    frame = firms(300).assign(before=100, jobs=50, place="A")
    rows = {
        row["measure"]: row
        for row in publish(plan(by=["place"], epsilon="8").rehearse(frame, schema(), seed=1), schema()).to_pylist()
    }
    assert list(rows) == ["earlier", "later", "change", "percent"]
    assert rows["change"]["value"] == pytest.approx(rows["later"]["value"] - rows["earlier"]["value"], rel=1e-3)
    assert rows["percent"]["value"] == pytest.approx(-50, abs=rows["percent"]["margin_of_error"])
    assert rows["percent"]["margin_of_error"] < 1


@pytest.mark.parametrize("given", [{"epsilon": "1"}, {"epsilon": "4"}, {"epsilon": "4", "margin_share": "0"}])
def test_margins_hold_both_years_together(given: dict[str, str]) -> None:
    """Whatever the sizes of the two years are to each other; seeds are fixed, and of 95% few are below 90%."""
    frame = firms(200).assign(place=["A", "B"] * 100)
    frame.loc[frame.place == "B", "before"] = 1  # one year has hardly any noise
    jobs, before = (frame.groupby("place")[name].sum().to_numpy() for name in ("jobs", "before"))
    one, data = plan(by=["place"], **given), Confidential.from_frame(frame, schema())
    truth = np.concatenate([before, jobs, jobs - before, 100 * (jobs / before - 1)])
    held = []
    for seed in range(DRAWS):
        found = estimated(one.run(data, SeededEntropy(seed)), 0.95)
        known = np.isfinite(found.value)
        held.append(np.where(known, (found.lower <= truth) & (truth <= found.upper), np.nan))
    for measure in np.split(np.array(held), 4, axis=1):
        assert np.nanmean(measure) >= 0.9


def test_a_fifth_less_room_would_not_hold() -> None:
    """The margin of a change between years of the same size is not wider than it must be."""
    one = plan(epsilon="4")
    law, blur = one.law(), one.blur
    assert blur is not None
    assert isinstance(law, BoxLaw)
    random, draws = np.random.default_rng(1), 40_000
    share = random.beta(law.width + 1, float(law.a), draws)
    reach = float(law.b) * share / (1 - share)
    noise = reach[:, None] * random.uniform(-1, 1, (draws, 2))
    sizes = np.exp(float(blur) * random.laplace(size=(draws, 2)))
    room = joint_stretch(law, blur, 0.95)
    covered = [
        np.mean(np.abs(noise[:, 1] - t * noise[:, 0]) <= factor * room * np.hypot(sizes[:, 1], t * sizes[:, 0]))
        for factor in (1.0, 0.8)
        for t in (0.0, 0.5, 1.0)
    ]
    assert min(covered[:3]) >= 0.949
    assert min(covered[3:]) < 0.94


def test_alone_the_room_is_that_of_one_sum() -> None:
    one = plan(epsilon="1")
    assert isinstance(one.law(), PlateauLaw | BoxLaw)
    assert joint_stretch(one.law(), Fraction(1, 2), 0.95) >= 0.99 * margin_of(one.law(), 0.95, Fraction(1, 2))


def test_an_earlier_total_that_may_be_nothing_has_no_percentage() -> None:
    frame = firms(60).assign(before=0, place="A")
    rows = publish(plan(by=["place"]).rehearse(frame, schema(), seed=2), schema()).to_pylist()
    percent = next(row for row in rows if row["measure"] == "percent")
    assert (percent["value"], percent["margin_of_error"]) == (None, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"of": ["jobs"]}, "of: name two columns"),
        ({"of": ["pay", "jobs"]}, "different numbers of decimal places"),
        ({"of": ["profit", "jobs"]}, "is below 0"),
        ({"of": ["place", "jobs"]}, "place is no number"),
        ({"epsilon": "0.1"}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_rows_are_read(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(**given).forecast(schema())
