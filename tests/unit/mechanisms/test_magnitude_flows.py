"""Creation, destruction and net change: what is read, what is refused, what comes out."""

import json
from typing import Any

import numpy as np
import pytest

from support.magnitudes import firms, schema
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError
from tacita.mechanisms.magnitude import SmoothFlows
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape
from tacita.tables import publish
from tacita.tables.estimates import estimated


def plan(**given: Any) -> SmoothFlows:
    return SmoothFlows(**{"alpha": "0.1", "epsilon": "4", "of": ["before", "jobs"], "unit": "firm", **given})


def test_flows_and_scales_are_exact() -> None:
    """Gains and losses apart; numbers below eleven count as eleven for the scale; entry and exit are flows."""
    frame = firms(5).assign(place=list("AAABB"), before=[5, 100, np.nan, 30, 2], jobs=[9, 80, 7, np.nan, 2])
    tape = Tape(SeededEntropy(1))
    plan(by=["place"]).run(Confidential.from_frame(frame, schema()), tape)
    seen = tape.draws[0]
    assert seen.confidential["centre"].tolist() == [[4 + 7, 20], [0, 30]]
    assert seen.confidential["scale_num"].tolist() == [180, 30 + 11]
    assert seen.public["scale_den"] == 10


def test_net_is_the_difference_of_what_was_released() -> None:
    result = plan(by=["place"]).rehearse(firms(60), schema(), seed=1)
    assert np.array_equal(result.noisy["net"], result.noisy["creation"] - result.noisy["destruction"])


def test_what_is_stored_comes_back() -> None:
    one = plan(by=["place"])
    result = one.rehearse(firms(60), schema(), seed=1)
    back = one.restore(result.to_bytes())
    assert publish(back, schema()).equals(publish(result, schema()))
    record = json.loads(json.dumps(one.describe()))
    assert record.pop("mechanism") == "SmoothFlows"
    assert SmoothFlows(**record) == one


def test_net_may_be_negative_when_it_is_published() -> None:
    frame = firms(300).assign(before=100, jobs=50, place="A")
    result = plan(by=["place"], epsilon="8").rehearse(frame, schema(), seed=1)
    rows = {row["measure"]: row for row in publish(result, schema()).to_pylist()}
    assert list(rows) == ["creation", "destruction", "net"]
    assert rows["net"]["value"] == pytest.approx(-15_000, abs=rows["net"]["margin_of_error"])
    assert rows["net"]["margin_of_error"] < 200
    assert rows["creation"]["value"] >= 0
    assert isinstance(rows["creation"]["value"], int)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"of": ["jobs"]}, "of: name two columns"),
        ({"of": ["jobs", "jobs"]}, "of: a name is listed twice"),
        ({"of": ["pay", "jobs"]}, "different numbers of decimal places"),
        ({"of": ["profit", "pay"]}, "variables.profit.lower"),
        ({"epsilon": "0.3"}, "epsilon: flows need ε of at least"),
    ],
)
def test_what_cannot_be_promised_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(**given).rehearse(firms(), schema(), seed=1)


def test_intervals_cover_every_flow() -> None:
    count, places = 3000, [f"p{at:03d}" for at in range(150)]
    frame = firms(count, seed=5).assign(place=np.resize(places, count))
    public = schema(place={"levels": places, "outside": places[0]})
    gain = frame.jobs - frame.before
    flows = (gain.clip(lower=0), (-gain).clip(lower=0), gain)
    true = np.concatenate([part.groupby(frame.place).sum().to_numpy() for part in flows])
    covered = []
    for seed in range(40):
        found = estimated(plan(by=["place"]).rehearse(frame, public, seed=seed), 0.95)
        covered.append((found.lower <= true) & (true <= found.upper))
    for part in np.split(np.mean(covered, axis=0), 3):
        assert 0.94 <= part.mean() <= 0.99
