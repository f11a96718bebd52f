"""Do 95 percent intervals from several files of one release cover? A mean, a share below a value, and a slope.

Measured at ε = 1 for two numbers and n = 2,000 with 300 to 400 replicates: means 92 to 97.5 percent (92 to 93.5 for the
mean of an exponential variable, whose tail is fitted to noisy gaps: an estimate that is low then has a short interval),
shares 97 to 98.5, slopes 93 to 96; at ε = 4 95, 97.5 and 93. Where the spread changes with the predictor a slope is
covered in 85 percent only: the spread's own slope is biased towards none at this budget.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.inference import OneMeasurement, combine
from tacita.inference.estimate import Estimate
from tacita.privacy import AddRemoveOne
from tacita.synthesis import QuantileSynthesis

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "simulated", "unit": "firm"},
        "variables": {
            "size": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 1000, "scale": 2},
            "pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 3000, "scale": 2},
        },
    }
)
# Size 10 + Exp(30), pay 20 + 1.5·size + Exp(20): means 40 and 100, slope 1.5.
LIMIT = 122.0


def simulated(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng([seed, 11])
    size = 10 + random.exponential(30, rows)
    return pd.DataFrame({"size": size.round(2), "pay": (20 + 1.5 * size + random.exponential(20, rows)).round(2)})


def share_below() -> float:
    """P(pay ≤ limit) by summing over size: pay − 35 is 1.5·Exp(30) + Exp(20), two exponentials of means 45 and 20."""
    away = LIMIT - 35
    return float(1 - (45 * np.exp(-away / 45) - 20 * np.exp(-away / 20)) / 25)


TRUTH = np.array([40.0, 100.0, share_below(), 1.5])


def analysis(frame: pd.DataFrame) -> Estimate:
    x, y = frame["size"].to_numpy(), frame["pay"].to_numpy()
    rows, share, away = len(x), (y <= LIMIT).mean(), x - x.mean()
    slope = (away * y).sum() / (away**2).sum()
    rest = y - y.mean() - slope * away
    variance = ((away * rest) ** 2).sum() / (away**2).sum() ** 2
    return Estimate(
        np.array([x.mean(), y.mean(), share, slope]),
        np.array([x.var() / rows, y.var() / rows, share * (1 - share) / rows, variance]),
    )


def redrawn(model: Any, m: int, seed: int) -> Implicates:
    return model.sample(m, seed=seed)


def as_they_stand(model: Any, m: int, seed: int) -> Implicates:
    """Files that all follow the same noisy numbers."""
    frames = tuple(model.sample(1, seed=1000 * seed + one).tables[0] for one in range(m))
    return Implicates(frames, SCHEMA, ("size", "pay"), "one-measurement")


def covered(files: Callable[..., Implicates], replicates: int, rows: int, m: int) -> np.ndarray:
    hits = np.zeros(4)
    for seed in range(replicates):
        given = QuantileSynthesis(["size", "pay"], "1", rows=rows, neighbours=AddRemoveOne("record"))
        model = given.rehearse(simulated(rows, seed), SCHEMA, seed=seed)
        lower, upper = combine(files(model, m, seed), analysis, OneMeasurement()).interval(0.95)
        hits += (lower <= TRUTH) & (upper >= TRUTH)
    return hits / replicates


def test_intervals_cover() -> None:
    """50 replicates: a true 93 percent falls below 0.8 less than once in 500 times; the seeds are fixed."""
    assert (covered(redrawn, 50, 1500, 8) >= 0.8).all()


def test_files_that_follow_the_noise_do_not_cover() -> None:
    """So the test can fail: without the redraw the intervals know nothing of the noise."""
    assert covered(as_they_stand, 30, 1500, 5)[:2].max() < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("m", [5, 20])
def test_intervals_cover_over_many_replicates(m: int) -> None:
    found = covered(redrawn, 400, 2000, m)
    assert (found[:2] >= 0.89).all()  # a true 0.92 to 0.95, three standard errors down
    assert (found[2:] >= 0.91).all()
