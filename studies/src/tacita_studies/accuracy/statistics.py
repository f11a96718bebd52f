"""The statistics that are compared: computed from the file itself, and in the same way from each synthetic file.

Totals, means and shares are weighted, with the variance of a sample drawn with replacement; coefficients of regressions
have their robust variance. The other statistics have none, so no interval comes from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import SpecError
from tacita_studies.accuracy.tries import Compare

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
ALL = "all"
_JOINT, _FLOWS = ("correlation", "distance"), ("entry", "exit", "creation", "destruction")
_LOG = re.compile(r"log\((.+)\)")


@dataclass(frozen=True)
class Panel:
    """The columns of a panel in long form."""

    unit: str
    period: str


@dataclass(frozen=True, eq=False)
class Answers:
    """One number per cell; NaN where a file has no answer. `variance` is NaN where none is known."""

    value: Floats
    variance: Floats

    @classmethod
    def alone(cls, value: Floats) -> Answers:
        return cls(value, np.full(value.shape, np.nan))


@dataclass(frozen=True, eq=False)
class Asked:
    """One statistic of the file: its name, its cells, the truth, and how any other file answers it."""

    name: str
    cells: tuple[str, ...]
    truth: Floats
    answer: Callable[[pd.DataFrame], Answers]
    forecast: str | None = None


def columns_of(compare: Compare) -> tuple[str, ...]:
    """All columns that a file must have for the comparison."""
    modelled = [_plain(term) for term in _terms(compare.model)] if compare.model else []
    weight = [] if compare.weight is None else [compare.weight]
    return (*compare.of, *compare.by, *weight, *modelled)


def restricted(compare: Compare, drawn: Sequence[str], held: Sequence[str], panel: bool) -> Compare | None:
    """The comparison of those of its columns that were drawn; None where a file has nothing to compare."""
    of = tuple(name for name in compare.of if name in drawn)
    least = 2 if compare.statistic in _JOINT else min(len(compare.of), 1)
    rest = [name for name in columns_of(compare) if name not in compare.of]
    if len(of) < least or any(name not in held for name in rest) or (compare.statistic in _FLOWS and not panel):
        return None
    return compare.model_copy(update={"of": of})


def asked(compare: Compare, original: pd.DataFrame, panel: Panel | None = None) -> Iterator[Asked]:
    """The statistics that a comparison stands for, with their truth in the original."""
    what = compare.statistic
    if what in (*_JOINT, "regression"):
        yield _over_columns(compare, original)
        return
    if what in _FLOWS:
        yield _of_panel(compare, original, panel)
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
            answer = partial(_sum if what in ("count", "total") else _mean, compare=compare, column=column, cells=cells)
        yield Asked(name_of(compare, column), cells.names, answer(original).value, answer, compare.forecast)


def name_of(compare: Compare, column: str | None) -> str:
    """>>> name_of(Compare(statistic="mean", of="pay", by="sex", weight="w"), "pay")
    'mean of pay by sex, weighted'
    """
    of = "" if column is None else f" of {column}"
    by = f" by {', '.join(compare.by)}" if compare.by else ""
    return f"{compare.statistic}{of}{by}{'' if compare.weight is None else ', weighted'}"


# ---------------------------------------------------------------- cells


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a crossing that the original has records in."""

    by: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, original: pd.DataFrame, by: Sequence[str]) -> Cells:
        return cls(tuple(by), tuple(sorted(set(labels(original, by)))))

    def code(self, frame: pd.DataFrame) -> Codes:
        """The cell of each record; the number of cells for those in none."""
        place = {name: at for at, name in enumerate(self.names)}
        code, names = pd.factorize(labels(frame, self.by))
        known = np.array([place.get(name, len(self.names)) for name in names], dtype=np.int64)
        return known[code]

    def sums(self, code: Codes, values: Floats) -> Floats:
        return np.bincount(code, values, len(self.names) + 1)[: len(self.names)]


def labels(frame: pd.DataFrame, by: Sequence[str]) -> NDArray[np.object_]:
    """The name of each record's cell."""
    if not by:
        return np.full(len(frame), ALL, dtype=object)
    parts = [frame[name].astype("str").to_numpy(dtype=object) for name in by]
    named = parts[0]
    for part in parts[1:]:
        named = named + " × " + part
    return np.asarray(named, dtype=object)


def _weights(frame: pd.DataFrame, compare: Compare) -> Floats:
    return np.ones(len(frame)) if compare.weight is None else frame[compare.weight].to_numpy(dtype=np.float64)


# ---------------------------------------------------------------- sums, means and shares


def _sum(frame: pd.DataFrame, compare: Compare, column: str | None, cells: Cells) -> Answers:
    values = _weights(frame, compare)
    if column is not None:
        values = np.nan_to_num(values * frame[column].to_numpy(dtype=np.float64))
    code, n = cells.code(frame), len(frame)
    value = cells.sums(code, values)
    return Answers(value, n / max(n - 1, 1) * (cells.sums(code, values**2) - value**2 / n))


def _mean(frame: pd.DataFrame, compare: Compare, column: str, cells: Cells) -> Answers:
    values = frame[column].to_numpy(dtype=np.float64)
    there = ~np.isnan(values)
    weights, code, values = _weights(frame, compare)[there], cells.code(frame)[there], values[there]
    with np.errstate(divide="ignore", invalid="ignore"):
        below = cells.sums(code, weights)
        value = cells.sums(code, weights * values) / below
        residual = weights * (values - np.append(value, 0.0)[code])
        return Answers(value, cells.sums(code, residual**2) / below**2)


def _share(frame: pd.DataFrame, compare: Compare, column: str, cells: Cells) -> Answers:
    """Of each level within its group: the cell's weight over the group's."""
    weights, code = _weights(frame, compare), cells.code(frame)
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
    values, weights, code = frame[column].to_numpy(dtype=np.float64), _weights(frame, compare), cells.code(frame)
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


# ---------------------------------------------------------------- several columns at once


def _over_columns(compare: Compare, original: pd.DataFrame) -> Asked:
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
    return np.log(values, out=np.full(values.shape, np.nan), where=values > 0)


def _coefficients(frame: pd.DataFrame, compare: Compare, levels: dict[str, list[str]]) -> Answers:
    """Least squares of the records that have all values; the constant is not compared."""
    outcome, columns = _design(frame, compare, levels)
    design = np.column_stack([np.ones(len(frame)), *(values for _, values in columns)])
    there = np.isfinite(outcome) & np.isfinite(design).all(axis=1)
    design, outcome, weights = design[there], outcome[there], _weights(frame, compare)[there]
    if len(outcome) <= design.shape[1]:
        return Answers.alone(np.full(len(columns), np.nan))
    inverse = np.linalg.pinv(design.T @ (weights[:, None] * design))
    beta = inverse @ (design.T @ (weights * outcome))
    scores = design * (weights * (outcome - design @ beta))[:, None]
    return Answers(beta[1:], np.diagonal(inverse @ (scores.T @ scores) @ inverse)[1:].copy())


# ---------------------------------------------------------------- flows of a panel


def _of_panel(compare: Compare, original: pd.DataFrame, panel: Panel | None) -> Asked:
    if panel is None:
        raise SpecError(f'statistic = "{compare.statistic}": is for panels; leave it out of other tries')
    years = np.unique(original[panel.period])
    flow = partial(_flows, compare=compare, panel=panel, years=years)
    of = f" of {compare.of[0]}" if compare.of else ""
    names = tuple(str(year) for year in (years[:-1] if compare.statistic == "exit" else years[1:]))
    return Asked(f"{compare.statistic}{of}", names, flow(original).value, flow, compare.forecast)


def _flows(frame: pd.DataFrame, compare: Compare, panel: Panel, years: NDArray[np.int64]) -> Answers:
    """Units first or last seen in a year; jobs gained or lost since the year before, of all units, new ones included."""
    what = compare.statistic
    if what in ("entry", "exit"):
        seen = frame.groupby(panel.unit)[panel.period]
        at = (seen.min() if what == "entry" else seen.max()).value_counts()
        return Answers.alone(at.reindex(years[1:] if what == "entry" else years[:-1], fill_value=0).to_numpy(float))
    wide = frame.pivot_table(index=panel.unit, columns=panel.period, values=compare.of[0], aggfunc="sum")
    steps = wide.reindex(columns=years).fillna(0).diff(axis=1).to_numpy()[:, 1:]
    return Answers.alone(np.maximum(steps if what == "creation" else -steps, 0).sum(axis=0))
