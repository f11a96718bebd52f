"""A small survey for tests of the pseudo posterior: outcome and weight depend on region and sex, and on each other."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.data.schema import Schema

Floats = NDArray[np.float64]

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "survey", "unit": "person"},
        "variables": {
            "region": {"type": "categorical", "role": "public", "levels": ["n", "e", "s"]},
            "sex": {"type": "categorical", "role": "public", "levels": ["f", "m"]},
            "pay": {"type": "numeric", "role": "confidential", "lower": 100, "upper": 100_000},
            "hours": {"type": "numeric", "role": "confidential", "lower": 1, "upper": 100},
            "job": {"type": "categorical", "role": "confidential", "levels": ["none", "part", "full"]},
            "w": {"type": "numeric", "role": "confidential", "lower": 1, "upper": 2000},
        },
    }
)


def survey(records: int, seed: int = 1) -> pd.DataFrame:
    """Persons drawn in proportion to pay times noise, so that weights fall with pay."""
    random = np.random.default_rng(seed)
    region, sex = random.integers(0, 3, records), random.integers(0, 2, records)
    mean = 8.0 + 0.3 * region - 0.2 * sex
    pay = mean + 0.5 * random.standard_normal(records)
    w = 4.5 - 0.8 * (pay - 8.0) + 0.1 * region + 0.4 * random.standard_normal(records)
    job = np.minimum((random.random(records)[:, None] > np.array([0.2, 0.5])).sum(axis=1), 2)
    hours = 2.5 + 0.4 * job + 0.2 * random.standard_normal(records)
    levels = {name: np.array(SCHEMA.levels(name), dtype=object) for name in ("region", "sex", "job")}
    return pd.DataFrame(
        {
            "region": levels["region"][region],
            "sex": levels["sex"][sex],
            "pay": np.round(np.exp(pay), 2),
            "hours": np.round(np.exp(hours), 2),
            "job": levels["job"][job],
            "w": np.round(np.exp(w), 2),
        }
    )


def stretch(log_density: Any, start: Floats, steps: int, seed: int) -> Floats:
    """An ensemble sampler (Goodman and Weare): an independent long run for any density, no tuning.

    `start` has one row per walker; returned are all walkers after the first half of the steps.
    """
    random = np.random.default_rng(seed)
    walkers, d = start.shape
    here, value, kept = start.copy(), log_density(start), []
    half = walkers // 2
    for step in range(steps):
        for move, other in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
            z = (random.random(half) + 1) ** 2 / 2
            partner = here[other][random.integers(0, half, half)]
            new = partner + z[:, None] * (here[move] - partner)
            found = log_density(new)
            taken = np.log(random.random(half)) < (d - 1) * np.log(z) + found - value[move]
            here[move] = np.where(taken[:, None], new, here[move])
            value[move] = np.where(taken, found, value[move])
        if step >= steps // 2 and step % 10 == 0:
            kept.append(here.copy())
    return np.concatenate(kept)
