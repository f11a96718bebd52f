"""The statistics that are compared: computed from the file itself, and in the same way from each synthetic file.

Totals, means and shares are weighted, with the variance of a sample drawn with replacement. Quantiles have none, so no
interval comes from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from tacita_studies.accuracy.answers import ALL, Answers, Asked, Cells, Floats, Panel, labels, name_of, weights_of
from tacita_studies.accuracy.relations import FLOWS, JOINT, modelled, of_panel, over_columns
from tacita_studies.accuracy.tries import Compare, What

_OF_NUMBERS: tuple[What, ...] = ("mean", "quantile")


def columns_of(compare: Compare) -> tuple[str, ...]:
    """All columns that a file must have for the comparison."""
    weight = [] if compare.weight is None else [compare.weight]
    return (*compare.of, *compare.by, *weight, *modelled(compare))


def restricted(compare: Compare, drawn: Sequence[str], held: Sequence[str], panel: bool) -> Compare | None:
    """The comparison of those of its columns that were drawn; None where a file has nothing to compare."""
    of = tuple(name for name in compare.of if name in drawn)
    least = 2 if compare.statistic in JOINT else min(len(compare.of), 1)
    rest = [name for name in columns_of(compare) if name not in compare.of]
    if len(of) < least or any(name not in held for name in rest) or (compare.statistic in FLOWS and not panel):
        return None
    return compare.model_copy(update={"of": of})


def usual(frame: pd.DataFrame, drawn: Sequence[str], weight: str | None, panel: Panel | None) -> list[Compare]:
    """What is compared where nobody said: numbers, shares of categories, how columns go together; flows of panels."""
    names = [name for name in drawn if name in frame and name not in (weight, panel and panel.period)]
    numbers = tuple(name for name in names if pd.api.types.is_numeric_dtype(frame[name]))
    codes = tuple(name for name in names if name not in numbers and name != (panel and panel.unit))
    if panel is not None:
        return [
            Compare(statistic="total", of=numbers, by=(panel.period,)),
            *(Compare(statistic=flow, of=numbers[:1]) for flow in FLOWS),
        ]
    made = [Compare(statistic=what, of=numbers, weight=weight) for what in _OF_NUMBERS if numbers]
    made += [Compare(statistic="share", of=codes, weight=weight)] if codes else []
    made += [Compare(statistic="correlation", of=numbers)] if len(numbers) > 1 else []
    return made + ([Compare(statistic="distance", of=tuple(names))] if len(names) > 1 else [])


def asked(compare: Compare, original: pd.DataFrame, panel: Panel | None = None) -> Iterator[Asked]:
    """The statistics that a comparison stands for, with their truth in the original."""
    what = compare.statistic
    if what in (*JOINT, "regression"):
        yield over_columns(compare, original)
        return
    if what in FLOWS:
        yield of_panel(compare, original, panel)
        return
    if what == "ratio":
        cells = Cells.of(original, compare.by)
        answer = partial(_ratio, compare=compare, cells=cells)
        name = name_of(compare, " over ".join(compare.of))
        yield Asked(name, cells.names, answer(original).value, answer, compare.forecast)
        return
    for column in compare.of or (None,):
        if what == "share":
            assert column is not None
            cells = Cells.of(original, (*compare.by, column))
            answer = partial(_share, compare=compare, column=column, cells=cells)
        elif what in ("quantile", "rank"):
            assert column is not None
            yield from _of_distribution(compare, column, original)
            continue
        else:
            cells = Cells.of(original, compare.by)
            compute = {"mean": _mean, "variance": _variance}.get(what, _sum)
            answer = partial(compute, compare=compare, column=column, cells=cells)
        yield Asked(name_of(compare, column), cells.names, answer(original).value, answer, compare.forecast)


# ---------------------------------------------------------------- sums, means and shares


def _sum(frame: pd.DataFrame, compare: Compare, column: str | None, cells: Cells) -> Answers:
    values = weights_of(frame, compare)
    if column is not None:
        values = np.nan_to_num(values * frame[column].to_numpy(dtype=np.float64))
    code, n = cells.code(frame), len(frame)
    value = cells.sums(code, values)
    return Answers(value, n / max(n - 1, 1) * (cells.sums(code, values**2) - value**2 / n))


def _mean(frame: pd.DataFrame, compare: Compare, column: str | None, cells: Cells) -> Answers:
    values = frame[column].to_numpy(dtype=np.float64)
    there = ~np.isnan(values)
    weights, code, values = weights_of(frame, compare)[there], cells.code(frame)[there], values[there]
    with np.errstate(divide="ignore", invalid="ignore"):
        below = cells.sums(code, weights)
        value = cells.sums(code, weights * values) / below
        residual = weights * (values - np.append(value, 0.0)[code])
        return Answers(value, cells.sums(code, residual**2) / below**2)


def _variance(frame: pd.DataFrame, compare: Compare, column: str | None, cells: Cells) -> Answers:
    """Of the records of each cell, with one less than their number as divisor, as tables have it."""
    values = frame[column].to_numpy(dtype=np.float64)
    weights, code = weights_of(frame, compare), cells.code(frame)
    away = (values - np.append(_mean(frame, compare, column, cells).value, 0.0)[code]) ** 2
    number = cells.sums(code, weights * ~np.isnan(values))
    return Answers.alone(cells.sums(code, np.nan_to_num(weights * away)) / np.maximum(number - 1, 1))


def _ratio(frame: pd.DataFrame, compare: Compare, cells: Cells) -> Answers:
    above, below = (_sum(frame, compare, column, cells).value for column in compare.of)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Answers.alone(np.where(below == 0, np.nan, above / below))


def _share(frame: pd.DataFrame, compare: Compare, column: str, cells: Cells) -> Answers:
    """Of each level within its group: the cell's weight over the group's."""
    weights, code = weights_of(frame, compare), cells.code(frame)
    groups = [name.rsplit(" × ", 1)[0] if compare.by else ALL for name in cells.names]
    group, _ = pd.factorize(labels(frame, compare.by))
    own, own_squares = np.bincount(group, weights), np.bincount(group, weights**2)
    place = dict(zip(labels(frame, compare.by), group, strict=True))
    at = np.array([place.get(name, -1) for name in groups])
    whole, whole_squares = (np.where(at < 0, np.nan, one[at]) for one in (own, own_squares))
    value, squares = cells.sums(code, weights) / whole, cells.sums(code, weights**2)
    spread = squares * (1 - value) ** 2 + (whole_squares - squares) * value**2
    return Answers(value, spread / whole**2)


# ---------------------------------------------------------------- distributions


def _of_distribution(compare: Compare, column: str, original: pd.DataFrame) -> Iterator[Asked]:
    cells = Cells.of(original, compare.by)
    names = tuple(f"{cell} at {p:g}" if compare.by else f"{p:g}" for cell in cells.names for p in compare.at)
    quantiles = partial(_quantiles, compare=compare, column=column, cells=cells)
    truth = quantiles(original).value
    if compare.statistic == "quantile":
        yield Asked(name_of(compare, column), names, truth, quantiles, compare.forecast)
        return
    sizes = np.repeat(np.bincount(cells.code(original), minlength=len(cells.names)), len(compare.at))
    wanted = sizes * np.tile(compare.at, len(cells.names))
    sorted_values = [np.sort(one) for one in _by_cell(original, compare, column, cells)]

    def ranks(frame: pd.DataFrame) -> Answers:
        """How many records of the original lie below the file's quantile; of a spike, the rank nearest to the wish."""
        answers = quantiles(frame).value
        own = [sorted_values[at // len(compare.at)] for at in range(len(answers))]
        low, high = (
            np.array([np.searchsorted(one, value, side) for one, value in zip(own, answers, strict=True)], float)
            for side in ("left", "right")
        )
        return Answers.alone(np.where(np.isnan(answers), np.nan, np.clip(wanted, low, high)))

    yield Asked(name_of(compare, column), names, wanted.astype(np.float64), ranks, compare.forecast)


def _by_cell(frame: pd.DataFrame, compare: Compare, column: str, cells: Cells) -> list[Floats]:
    values, code = frame[column].to_numpy(dtype=np.float64), cells.code(frame)
    return [values[(code == at) & ~np.isnan(values)] for at in range(len(cells.names))]


def _quantiles(frame: pd.DataFrame, compare: Compare, column: str, cells: Cells) -> Answers:
    values, weights, code = frame[column].to_numpy(dtype=np.float64), weights_of(frame, compare), cells.code(frame)
    result = []
    for at in range(len(cells.names)):
        inside = (code == at) & ~np.isnan(values)
        own, weight = values[inside], weights[inside]
        if not own.size:
            result.append(np.full(len(compare.at), np.nan))
            continue
        order = np.argsort(own, kind="stable")
        passed = np.cumsum(weight[order])
        place = np.searchsorted(passed, np.array(compare.at) * passed[-1])
        result.append(own[order][np.minimum(place, own.size - 1)])
    return Answers.alone(np.concatenate(result))
