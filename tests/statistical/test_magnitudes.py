"""Do published sums have the noise that their proof speaks of? Fresh system entropy, one declared failure rate."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from support.goodness_of_fit import WRONG, cells_p_value, fits, values_p_value
from support.laws_by_hand import plateau_masses
from support.magnitudes import firms, schema
from tacita.data.confidential import Confidential
from tacita.mechanisms.magnitude import SmoothSums
from tacita.mechanisms.magnitude.flows_design import NetLaw, least_noise
from tacita.noise.entropy import SystemEntropy
from tacita.noise.power import PowerLaw

pytestmark = pytest.mark.fresh
CELLS, TIMES = 5000, 20
LEVELS = [f"p{at:04d}" for at in range(CELLS)]
SCHEMA = schema(place={"levels": LEVELS, "outside": LEVELS[0]})
LARGEST, OTHER = 130, 77  # steps; S = 13


def _file() -> Confidential:
    """Cells of two firms each, all alike."""
    frame = firms(2 * CELLS).assign(place=np.tile(LEVELS, 2), sector=1)
    frame["pay"] = np.repeat([LARGEST / 100, OTHER / 100], CELLS)
    frame["jobs"] = np.repeat([LARGEST, OTHER], CELLS)
    return Confidential.from_frame(pd.DataFrame(frame), SCHEMA)


def _noise(plan: SmoothSums) -> NDArray[np.int64]:
    data = _file()
    runs = [plan.run(data, SystemEntropy()).noisy for _ in range(TIMES)]
    return np.concatenate([np.column_stack([noisy[name] for name in plan.of]) for noisy in runs]) - LARGEST - OTHER


def _p_value(noise: NDArray[np.int64], plan: SmoothSums) -> float:
    law: Any = plan.law()
    reach = int(12 * 13 * law.mean_abs())
    edges = (np.arange(-reach, reach + 2) - 0.5) / 13
    ends = law.cdf(edges[[0, -1]])
    chances = np.concatenate([ends[:1], plateau_masses(law, edges), 1 - ends[1:]])
    return cells_p_value(noise, -reach, chances)


@pytest.mark.parametrize(("of", "epsilon"), [(["pay"], "2"), (["jobs", "pay"], "1")])
def test_every_sum_has_its_noise(of: list[str], epsilon: str) -> None:
    plan = SmoothSums("0.1", epsilon, of=of, by=["place"], unit="firm")
    noise = _noise(plan)
    for at in range(len(of)):
        assert fits(_p_value(noise[:, at], plan))


@pytest.mark.parametrize("factor", WRONG)
def test_noise_a_fifth_off_is_rejected(factor: Fraction) -> None:
    class Wrong(SmoothSums):
        def scales(self, largest: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
            above, below = super().scales(largest)
            return above * factor.numerator, below * factor.denominator

    plan = Wrong("0.1", "2", of=["pay"], by=["place"], unit="firm")
    assert not fits(_p_value(_noise(plan)[:, 0], plan))


@pytest.mark.parametrize("law", [PowerLaw(Fraction(3), Fraction(2)), least_noise(Fraction("0.1"), Fraction(2))])
def test_the_error_of_the_net_flow_has_the_law_that_margins_use(law: PowerLaw) -> None:
    draws = law.on_grid(np.zeros((100_000, 2), int), np.full(100_000, 10**8), 1, SystemEntropy(), "flows") / 1e8
    net = draws[:, 0] - draws[:, 1]
    assert fits(values_p_value(net, NetLaw(law).cdf))
    assert not fits(values_p_value(0.8 * net, NetLaw(law).cdf))
