"""What the forecasts of `QuantileSynthesis` and `FileSynthesis` said of means and totals, in the units of each.

A plan says of a mean how far it will be off if the number is as alike as ages are, if it is as skewed as incomes, and
if it is as skewed as wealth. Here the files are public, and how skewed a number is is put in: between these, and
beyond, errors grow by ratio; of numbers more alike than ages they are the smaller the less these differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, log
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from attrs import evolve

from tacita.data.schema import Schema
from tacita.synthesis.file import FileSynthesis
from tacita.synthesis.pinned.plain import LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH
from tacita.synthesis.quantile import QuantileSynthesis
from tacita_studies.accuracy.answers import Floats, labels

_NORMAL = NormalDist()
_TOP = 0.01  # of the records: what share of all they have says how skewed a number is
_TOLD = {LIKE_AGES: ", alike", LIKE_INCOMES: "", LIKE_WEALTH: ", heavy tail"}
_SHARED = 2  # of the fewest records that tell more of a number than its middle: with fewer, groups share a model


def of_files(plan: Any, schema: Schema, frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The typical error of each cell of each statistic that the plan speaks about, by the name of the statistic."""
    if not isinstance(plan, QuantileSynthesis | FileSynthesis) or plan.keep:
        return {}
    return {name: cells for name, cells in _of_means(plan, schema, frame) if cells}


def skewness(amounts: Floats) -> float:
    """The σ of log-normal numbers of which the largest hundredth has as much of the total.

    >>> round(skewness(np.ones(1000)), 2)
    0.0
    >>> steps = (np.arange(100_000) + 0.5) / 100_000
    >>> round(skewness(np.exp([1.5 * _NORMAL.inv_cdf(one) for one in steps])), 1)
    1.5
    """
    sizes = np.sort(np.abs(amounts))[::-1]
    above = _TOP * sizes.size
    whole = int(above)
    top = float(sizes[:whole].sum()) + (above - whole) * float(sizes[whole])
    share = min(max(top / float(sizes.sum()), 1e-6), 1 - 1e-6)
    return max(_NORMAL.inv_cdf(share) - _NORMAL.inv_cdf(_TOP), 0.0)


def between(sigma: float, errors: Mapping[float, float]) -> float:
    """The error of a number that is so skewed, from those of others.

    >>> round(between(1.5, {1.0: 0.01, 2.0: 0.04}), 4), round(between(0.5, {1.0: 0.01, 2.0: 0.04}), 4)
    (0.02, 0.005)
    """
    known = sorted(errors)
    if sigma <= known[0]:
        return errors[known[0]] * sigma / known[0]
    above = min(max(int(np.searchsorted(known, sigma)), 1), len(known) - 1)
    low, high = known[above - 1], known[above]
    grows = log(errors[high] / errors[low]) / (high - low) if errors[low] and errors[high] else 0.0
    return errors[low] * exp(grows * (sigma - low))


def _of_means(
    plan: QuantileSynthesis | FileSynthesis, schema: Schema, frame: pd.DataFrame
) -> Iterator[tuple[str, dict[str, float]]]:
    weight = plan.weighed_by(schema)
    weights = np.ones(len(frame)) if weight is None else frame[weight].to_numpy(dtype=np.float64)
    of, weighted = ("mean error", "") if weight is None else ("weighted mean error", ", weighted")
    # Weighted totals are of all records together, and so are those of `FileSynthesis`.
    groups = plan.groups if weight is None and isinstance(plan, QuantileSynthesis) else ()
    models = schema.domain_size(groups) if groups else 1
    cell = labels(frame, groups)
    for name in plan.columns:
        if name == weight or not pd.api.types.is_numeric_dtype(frame[name]):
            continue
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        amounts, counting = np.nan_to_num(values) * weights, np.where(np.isnan(values), 0.0, weights)
        errors, missed = {}, 0.0
        for group in dict.fromkeys(cell.tolist()):
            own = amounts[cell == group]
            there = own[own != 0]
            if not there.size:
                continue
            # One that most records have as 0 is as far off as with only the others, the plan says.
            figures = evolve(plan, rows=there.size * models).forecast(schema).figures
            if f"{name}: {of}" not in figures:
                break
            told = {sigma: figures.get(f"{name}: {of}{how}") for sigma, how in _TOLD.items()}
            error = between(skewness(there), {sigma: one for sigma, one in told.items() if one is not None})
            below = counting[cell == group].sum()
            missed += (error * np.abs(own).sum()) ** 2
            if groups and own.size < _SHARED * figures["fewest records of a number"]:
                continue  # small groups share a model, and nothing is said of one of them
            errors[str(group)] = error * float(np.abs(own).sum()) / below, below
        else:
            by = f" by {', '.join(groups)}" if groups else ""
            if groups:
                yield f"mean of {name}{by}{weighted}", {group: mean for group, (mean, _) in errors.items()}
                yield f"total of {name}{by}{weighted}", {group: mean * size for group, (mean, size) in errors.items()}
            yield f"mean of {name}{weighted}", {"all": missed**0.5 / counting.sum()}
            yield f"total of {name}{weighted}", {"all": missed**0.5}
