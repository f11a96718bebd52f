"""Statistics of several columns, of models and of panels over time.

Coefficients of regressions have their robust variance; the others have none, so no interval comes from them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import SpecError
from tacita_studies.accuracy.answers import Answers, Asked, Floats, Panel, weights_of
from tacita_studies.accuracy.tries import Compare, What

JOINT: tuple[What, ...] = ("correlation", "distance")
FLOWS: tuple[What, ...] = ("entry", "exit", "creation", "destruction")
_LOG = re.compile(r"log\((.+)\)")


# ---------------------------------------------------------------- several columns at once


def over_columns(compare: Compare, original: pd.DataFrame) -> Asked:
    if compare.statistic == "regression":
        fit = partial(_coefficients, compare=compare, levels=_levels(compare, original))
        terms = tuple(name for name, _ in _design(original, compare, _levels(compare, original))[1])
        return Asked(f"regression {compare.model}", terms, fit(original).value, fit, compare.forecast)
    pairs = tuple(combinations(compare.of, 2))
    if compare.statistic == "correlation":
        correlate = partial(_correlations, pairs=pairs)
        names = tuple(" with ".join(pair) for pair in pairs)
        return Asked("rank correlation", names, correlate(original).value, correlate, compare.forecast)
    bins = {name: _bins(original[name]) for name in compare.of}
    tables = {pair: _crossed(original, pair, bins) for pair in pairs}

    def distances(frame: pd.DataFrame) -> Answers:
        """Half the L1 distance of each table of two columns, from 0 to 1."""
        off = [
            float(_crossed(frame, pair, bins).sub(own, fill_value=0).abs().sum() / 2) for pair, own in tables.items()
        ]
        return Answers.alone(np.array([np.mean(off)]))

    return Asked("distance of two-way tables", (f"{len(pairs)} pairs",), np.zeros(1), distances, compare.forecast)


def _correlations(frame: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> Answers:
    ranked = frame[list(dict.fromkeys(name for pair in pairs for name in pair))].rank()
    return Answers.alone(np.array([ranked[one].corr(ranked[other]) for one, other in pairs], dtype=np.float64))


def _bins(column: pd.Series[float]) -> Floats | None:
    """Tenths of a number; None for categories."""
    if not pd.api.types.is_numeric_dtype(column):
        return None
    return np.unique(np.nanquantile(column.to_numpy(dtype=np.float64), np.linspace(0.1, 0.9, 9)))


def _crossed(frame: pd.DataFrame, pair: tuple[str, str], bins: dict[str, Floats | None]) -> pd.Series[float]:
    codes = []
    for name in pair:
        own = bins[name]
        values = frame[name].astype("str") if own is None else pd.Series(np.searchsorted(own, frame[name], "left"))
        codes.append(values.to_numpy())
    return pd.Series(1 / len(frame), index=pd.MultiIndex.from_arrays(codes)).groupby(level=[0, 1]).sum()


# ---------------------------------------------------------------- regressions


def _terms(model: str | None) -> list[str]:
    outcome, _, rest = (model or "").partition("~")
    terms = [outcome.strip(), *(term.strip() for term in rest.split("+"))]
    if not all(terms):
        raise SpecError(f'model: "{model}" is no regression; write it as "log(output) ~ log(labour) + sector"')
    return terms


def modelled(compare: Compare) -> tuple[str, ...]:
    """The columns of its regression."""
    return tuple(_plain(term) for term in _terms(compare.model)) if compare.model else ()


def _plain(term: str) -> str:
    inside = _LOG.fullmatch(term)
    return inside[1].strip() if inside else term


def _levels(compare: Compare, original: pd.DataFrame) -> dict[str, list[str]]:
    """The levels of categories among the terms; the first is the one that others are compared with."""
    names = [_plain(term) for term in _terms(compare.model)[1:]]
    coded = [name for name in names if not pd.api.types.is_numeric_dtype(original[name])]
    return {name: sorted(original[name].astype("str").unique()) for name in coded}


def _design(
    frame: pd.DataFrame, compare: Compare, levels: dict[str, list[str]]
) -> tuple[Floats, list[tuple[str, Floats]]]:
    outcome, *terms = _terms(compare.model)
    columns: list[tuple[str, Floats]] = []
    for term in terms:
        if term in levels:
            own = frame[term].astype("str").to_numpy()
            columns += [(f"{term} {level}", (own == level).astype(np.float64)) for level in levels[term][1:]]
        else:
            columns.append((term, _number(frame, term)))
    return _number(frame, outcome), columns


def _number(frame: pd.DataFrame, term: str) -> Floats:
    values = frame[_plain(term)].to_numpy(dtype=np.float64)
    if _LOG.fullmatch(term) is None:
        return values
    logarithms: Floats = np.log(values, out=np.full(values.shape, np.nan), where=values > 0)
    return logarithms


def _coefficients(frame: pd.DataFrame, compare: Compare, levels: dict[str, list[str]]) -> Answers:
    """Least squares of the records that have all values; the constant is not compared."""
    outcome, columns = _design(frame, compare, levels)
    design = np.column_stack([np.ones(len(frame)), *(values for _, values in columns)])
    there = np.isfinite(outcome) & np.isfinite(design).all(axis=1)
    design, outcome, weights = design[there], outcome[there], weights_of(frame, compare)[there]
    if len(outcome) <= design.shape[1]:
        return Answers.alone(np.full(len(columns), np.nan))
    inverse = np.linalg.pinv(design.T @ (weights[:, None] * design))
    beta = inverse @ (design.T @ (weights * outcome))
    scores = design * (weights * (outcome - design @ beta))[:, None]
    return Answers(beta[1:], np.diagonal(inverse @ (scores.T @ scores) @ inverse)[1:].copy())


# ---------------------------------------------------------------- flows of a panel


def of_panel(compare: Compare, original: pd.DataFrame, panel: Panel | None) -> Asked:
    if panel is None:
        raise SpecError(f'statistic = "{compare.statistic}": is for panels; leave it out of other tries')
    years = np.unique(original[panel.period])
    flow = partial(_flows, compare=compare, panel=panel, years=years)
    of = f" of {compare.of[0]}" if compare.of else ""
    names = tuple(str(year) for year in (years[:-1] if compare.statistic == "exit" else years[1:]))
    return Asked(f"{compare.statistic}{of}", names, flow(original).value, flow, compare.forecast)


def _flows(frame: pd.DataFrame, compare: Compare, panel: Panel, years: NDArray[np.int64]) -> Answers:
    """Units first or last seen in a year; jobs gained or lost since the year before, with units that come and go."""
    what = compare.statistic
    if what in ("entry", "exit"):
        seen = frame.groupby(panel.unit)[panel.period]
        at = (seen.min() if what == "entry" else seen.max()).value_counts()
        counted = at.reindex(years[1:] if what == "entry" else years[:-1], fill_value=0)
        return Answers.alone(np.asarray(counted, dtype=np.float64))
    wide = frame.pivot_table(index=panel.unit, columns=panel.period, values=compare.of[0], aggfunc="sum")
    steps = wide.reindex(columns=years).fillna(0).diff(axis=1).to_numpy()[:, 1:]
    return Answers.alone(np.maximum(steps if what == "creation" else -steps, 0).sum(axis=0))
