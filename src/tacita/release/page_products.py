"""What the page shows of each product, computed from the published files: cells, columns, means and settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Date, Integer, Numeric, Schema
from tacita.errors import TacitaError
from tacita.implicates import Implicates
from tacita.inference.combine import combine_estimates, rule_for
from tacita.inference.estimate import Estimate
from tacita.inference.survey.tables import ALL
from tacita.pages.charts import error_bars
from tacita.plan.how import How, Worth
from tacita.release.bundle_files import read_thin
from tacita.release.facts import spoken
from tacita.release.microdata import FOLDER, WITHHELD, check_view, verdict_of
from tacita.release.settings import plan_from_record
from tacita.release.survey_tables import file_of
from tacita.release.table_words import table_in_words
from tacita.tables.publish import attributes, without_totals

Floats = NDArray[np.float64]
View = dict[str, Any]

_LISTED = 60  # rows of a table that stands on the page itself
_NEAR = 0.2  # a margin up to this share of its value: marks A and B
_WIDE = 0.5  # beyond this share: mark D
_DRAWN = 15  # cells in a picture: as many as a reader compares at a glance
_BANDS = ((0, 10), (10, 100), (100, 1_000), (1_000, 10_000), (10_000, None))
_SHARES = ((0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, None))
_MEANS = 30  # columns in the table of means: more would be a data file, not a page
_WORST = "D"  # the mark of a value whose margin is above half of it, or unknown
_ROWS = 120  # rows of a survey table; a longer one is a file to open, not to read


def how_of(record: Mapping[str, Any]) -> How | None:
    """The words of the plan that made a product; None for a plan that has none, or that no longer exists."""
    try:
        plan = plan_from_record(record["mechanism"])
    except (TacitaError, LookupError, TypeError):
        return None
    how = getattr(plan, "how", None)
    return how if isinstance(how, How) else None


def worth_of(folder: Path, record: Mapping[str, Any], schema: Schema) -> Worth | None:
    """What the plan that made the files says they are worth, given what was released; None where it says nothing."""
    try:
        ask = getattr(plan_from_record(record["mechanism"]), "worth", None)
    except (TacitaError, LookupError, TypeError):
        return None
    path = folder / "measurements" / f"{record['name']}.json"
    return ask(schema, json.loads(path.read_bytes())) if ask is not None and path.is_file() else None


def methods(records: Sequence[Mapping[str, Any]]) -> str:
    """How the products know the confidential file, each method once."""
    said = [how.knows for how in map(how_of, records) if how is not None]
    # Methods share sentences, which a reader needs once.
    return " ".join(dict.fromkeys(one for knows in said for one in re.split(r"(?<=\.) (?=[A-Z])", knows)))


def settings_of(mechanism: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A plan's settings in words; what is off or empty is left out."""
    kept = {key: value for key, value in mechanism.items() if value not in (None, [], {}, "", "0")}
    return [(key.replace("_", " "), _said(value)) for key, value in kept.items()]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_said(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_said(inner) for inner in value)
    return str(value)


# ---------------------------------------------------------------- tables


def table_view(
    folder: Path, record: Mapping[str, Any], schema: Schema, maps: Callable[[pa.Table, str], list[View]]
) -> View:
    """One published table: a picture of some cells, the margins by size of cell, the mechanism's settings."""
    table = read_thin(folder / "tables" / f"{record['name']}.parquet")
    cells = without_totals(table, record["settings"].get("totals") or ())
    every, quality = cells.num_rows, _quality(cells)
    cells = cells.filter(pc.is_valid(cells["value"]))
    values = cells["value"].to_numpy(zero_copy_only=False).astype(float)
    margins = cells["margin_of_error"].to_numpy(zero_copy_only=False).astype(float)  # NaN where nothing bounds it
    confidence = f"{float(record['settings'].get('confidence', '0.95')):.0%}"
    shown, which = _examples(values, ranked="rank" in cells.column_names)
    cut = bool(record["settings"].get("nonnegative")) and not _below_zero(record["mechanism"], schema, values)
    bars = values[shown].tolist(), margins[shown].tolist()
    labels = _cell_labels(cells, shown)
    how = how_of(record)
    return {
        "record": record,
        "what": table_in_words(record, schema),
        "how": how.knows if how is not None else "",
        "rows": table.num_rows,
        "cells": every,
        "silent": every - cells.num_rows,
        "listed": _values(table, schema) if table.num_rows <= _LISTED and "quality" in table.column_names else None,
        "quality": quality,
        "unbounded": _unbounded(record, margins),
        "worth": _worth(values, margins, every),
        "vague": _vague(values, margins, every),
        "whole": pa.types.is_integer(table["value"].type),
        "confidence": confidence,
        "drawn": _DRAWN,
        "which": which,
        "cut": cut,
        "picture": error_bars(labels, *bars, confidence, floor=0.0 if cut else -math.inf) if labels else None,
        "maps": maps(table, record["title"]),
        "bands": list(_by_size(values, margins, shares=record["mechanism"].get("statistic") == "share")),
        "settings": settings_of(record["mechanism"]),
    }


def _below_zero(mechanism: Mapping[str, Any], schema: Schema, values: Floats) -> bool:
    """Whether what the table tells of may be negative: then no value of it was set to zero."""
    kinds = [schema[name].kind for name in mechanism.get("of") or () if name in schema]
    return any(one.lower < 0 for one in kinds if isinstance(one, Integer | Numeric)) or bool(np.any(values < 0))


def _values(table: pa.Table, schema: Schema) -> tuple[list[str], list[list[str]]]:
    """The whole of a short table, for readers: labels, value, margin, mark."""
    names = _named_columns(table)
    columns = [table[name].to_pylist() for name in names]
    numbers = zip(*(table[name].to_pylist() for name in ("value", "margin_of_error", "quality")), strict=True)
    shown = [
        ["—" if one is None else _plain(one) for one in (value, margin)] + [mark] for value, margin, mark in numbers
    ]
    heads = [_head(name.removesuffix("_label"), schema) for name in names] + ["Value", "± margin", "Quality"]
    return heads, [[str(part) for part in row] + more for *row, more in zip(*columns, shown, strict=True)]


def _head(name: str, schema: Schema) -> str:
    """A column of a table as the schema calls it; some columns are no variable of the file."""
    return (schema[name].label if name in schema else "") or spoken(name)


def _plain(value: float) -> str:
    """All published digits, and no exponent: those after the eleventh are zeros that a published value ends in.

    >>> _plain(1.34e10), _plain(0.0745), _plain(-183)
    ('13,400,000,000', '0.0745', '-183')
    """
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:,.0f}"


def _quality(table: pa.Table) -> str:
    """How many cells have each mark; empty for tables without marks."""
    marks = table["quality"].to_pylist() if "quality" in table.column_names else []
    return ", ".join(f"{mark} {marks.count(mark):,}" for mark in ("A", "B", "C", "D", "withheld") if mark in marks)


def _unbounded(record: Mapping[str, Any], margins: Floats) -> View | None:
    """Which number has an open tail, and the limit at which it was clamped; None where every value has a margin, or
    lacks it for another reason."""
    facts = {key: one for key, one in record["noise"].items() if isinstance(one, Mapping) and one.get("open")}
    none = np.isnan(margins)
    if not facts or not none.any():
        return None
    of, weights = record["mechanism"].get("of") or [], record["mechanism"].get("weights")
    key, one = next(iter(facts.items()))
    own = of[1:] if key == "below" else of[:1]
    named = " × ".join((*own, *([weights] if weights else [])))
    which = "No value has a margin of error" if none.all() else "Some values have no margin of error"
    return {"which": which, "named": named, "limit": f"{max(abs(one['lower']), abs(one['upper'])):,.10g}"}


def _worth(values: Floats, margins: Floats, every: int) -> str:
    """How many cells are near enough to be used, in words for those who decide."""
    near = int(np.count_nonzero(margins <= _NEAR * np.abs(values)))  # never of a margin that nothing bounds
    silent = every - len(values)
    if not np.isfinite(margins).any():
        return "no cell has a margin of error" if len(values) else "no cell has a value"
    said = f"the margin is at most {_NEAR:.0%} of the value in {near:,} of {every:,} cells"
    return said + (f"; {silent:,} {'has' if silent == 1 else 'have'} no value" if silent else "")


def _vague(values: Floats, margins: Floats, every: int) -> bool:
    """Whether hardly any cell says more than that noise was added: at most one in ten has a margin up to half of it."""
    return every > 0 and bool(np.count_nonzero(margins <= _WIDE * np.abs(values)) * 10 <= every)


def _named_columns(table: pa.Table) -> list[str]:
    """The columns that tell cells apart, in words where there are labels."""
    return [f"{one}_label" if f"{one}_label" in table.column_names else one for one in attributes(table)]


def _examples(values: Floats, *, ranked: bool) -> tuple[NDArray[np.intp], str]:
    """Cells worth showing: "all" of a small table, the "top" of a ranking, else a "ladder" of sizes.

    The largest cells alone would flatter a table: their margins are small beside them.
    """
    order = np.argsort(-values, kind="stable")
    if len(values) <= _DRAWN:
        return order, "all"
    if ranked:
        return order[:_DRAWN], "top"
    if values.max() < 2 or values.min() < 0:  # shares, and numbers of either sign: no ladder of sizes leads to them
        return order[np.linspace(0, len(order) - 1, _DRAWN).astype(int)], "ladder"
    order = order[values[order] >= 1] if (values >= 1).sum() > _DRAWN else order
    sorted_values = values[order]
    rungs = np.geomspace(sorted_values[0], max(sorted_values[-1], 1.0), _DRAWN)
    nearest = np.searchsorted(-sorted_values, -rungs, side="left").clip(0, len(order) - 1)
    return order[np.unique(nearest)], "ladder"


def _cell_labels(table: pa.Table, order: NDArray[np.intp]) -> list[str]:
    """Each cell in words: the labels of its levels, or the codes where there are no labels."""
    names = _named_columns(table)
    shown = table.take(pa.array(order))
    labels = [" · ".join(str(part) for part in row.values() if part) for row in shown.select(names).to_pylist()]
    # The picture has one line per label, so two cells that share one are told apart.
    return [f"{label} ({place})" if labels.count(label) > 1 else label for place, label in enumerate(labels, start=1)]


def _by_size(values: Floats, margins: Floats, *, shares: bool) -> Iterator[tuple[str, str, str, str]]:
    """Size of cells, how many there are, their typical margin, and that beside the typical value."""
    sizes = np.abs(values)
    for low, high in _SHARES if shares else _BANDS:
        inside = (sizes >= low) & (sizes < (np.inf if high is None else high))
        if not inside.any():
            continue
        known = margins[inside & np.isfinite(margins)]
        typical = float(np.median(known)) if known.size else math.nan
        size = float(np.median(sizes[inside]))
        relative = typical / size if size else math.nan
        margin = f"± {100 * typical:.2g} points" if shares else f"± {typical:{',.0f' if typical >= 100 else '.3g'}}"
        share = "—" if math.isnan(relative) else f"{relative:.1%}" if relative < 0.1 else f"{relative:,.0%}"
        yield _band(low, high, shares), f"{int(inside.sum()):,}", margin if known.size else "not bounded", share


def _band(low: float, high: float | None, shares: bool) -> str:
    if high is None:
        return f"{low:.0%} and more" if shares else f"{low:,} and more"
    if not low:
        return f"below {high:.0%}" if shares else f"below {high:,}"
    return f"{low:.0%} to {high:.0%}" if shares else f"{low:,} to {high - 1:,}"


# ---------------------------------------------------------------- synthetic files


def files_view(folder: Path, record: Mapping[str, Any], plan: Mapping[str, Any], schema: Schema) -> View:
    """The synthetic files: their columns, their survey tables or the means they give, the synthesizer's settings."""
    view: View = {
        "record": record,
        "how": how_of(record),
        "check": check_view(record),
        "verdict": verdict_of(record),
        "worth": None,
        "settings": settings_of(record["mechanism"]),
    }
    if record["kind"] == WITHHELD:
        return view | {"m": 0, "agreement": [], "survey_tables": [], "means": []}
    files = Implicates.read(folder / FOLDER, schema)
    weight = weight_of(record["mechanism"], schema, files.columns)
    survey_tables = [_survey_table(folder, record["name"], tuple(by), schema) for by in record.get("tables", ())]
    worth, agrees = worth_of(folder, record, schema), record.get("agrees", ())
    shown = not survey_tables and (worth is None or worth.enough)
    return view | {
        "worth": worth,
        "m": files.m,
        "rows": " or ".join(f"{count:,}" for count in dict.fromkeys(files.rows)),
        "columns": [
            (name, schema[name].label or spoken(name), _domain(schema, name), name in files.synthesized)
            for name in files.columns
        ],
        "survey_tables": survey_tables,
        "weight": weight,
        "agreement": [_agreement(folder, one, record, files) for one in plan["tables"] if one["name"] in agrees],
        "means": list(_means(files, schema, weight)) if shown else [],
    }


def _agreement(folder: Path, table: Mapping[str, Any], record: Mapping[str, Any], files: Implicates) -> tuple[str, ...]:
    """How near the files are to a published table: cells, those within its margin, and where they are furthest off."""
    cells = without_totals(
        pq.read_table(folder / "tables" / f"{table['name']}.parquet"), table["settings"].get("totals") or ()
    )
    cells = cells.filter(pc.is_valid(cells["value"]))
    by = attributes(cells)
    places = {cell: k for k, cell in enumerate(zip(*(cells[name].to_pylist() for name in by), strict=True))} or {(): 0}
    counts = np.zeros(len(places))
    for one in files.tables:
        held = (
            one.group_by(list(by)).aggregate([([], "count_all")]).to_pylist() if by else [{"count_all": one.num_rows}]
        )
        for row in held:
            if (place := places.get(tuple(row[name] for name in by))) is not None:
                counts[place] += row["count_all"] / files.m
    if record["mechanism"].get("rows") is not None:  # files of another length than the confidential one
        released = json.loads((folder / "measurements" / f"{record['name']}.json").read_bytes())
        counts *= released["records"] / record["mechanism"]["rows"]
    off = np.abs(counts - cells["value"].to_numpy().astype(float))
    margins = cells["margin_of_error"].to_numpy(zero_copy_only=False).astype(float)
    furthest = int(off.argmax())
    where = " · ".join(next(cell for cell, place in places.items() if place == furthest)) or "all"
    inside = int((off <= margins).sum())
    return table["title"], f"{len(off):,}", f"{inside:,}", f"{off[furthest]:,.0f} ± {margins[furthest]:,.0f} ({where})"


def weight_of(mechanism: Mapping[str, Any], schema: Schema, columns: Sequence[str]) -> str | None:
    """The survey weight of synthetic files, if they have one: a plan that draws it names it, or the schema does."""
    named = (mechanism.get("weight"), *schema.by_role("weight"))
    return next((one for one in named if one is not None and one in columns), None)


def _domain(schema: Schema, name: str) -> str:
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        return f"{len(kind.levels)} codes" if len(kind.levels) > 1 else "one code"
    if isinstance(kind, Date):
        return f"{kind.lower} to {kind.upper}"
    if not isinstance(kind, Integer | Numeric):
        return "identifier"
    low, high = float(kind.lower), float(kind.upper)
    years = isinstance(kind, Integer) and low >= 1000 and high < 2500  # years have no comma
    return f"{low:.0f} to {high:.0f}" if years else f"{_plain(low)} to {_plain(high)}"


def _means(files: Implicates, schema: Schema, weight: str | None) -> Iterator[tuple[str, ...]]:
    """The mean of each number with the interval that the combining rule gives: a first answer, and a check."""
    numeric = [name for name in files.columns if isinstance(schema[name].kind, Integer | Numeric) and name != weight]
    if files.m < 2:
        return
    for name in numeric[:_MEANS]:
        known = [table.filter(table[name].is_valid()) for table in files.tables]
        if min(table.num_rows for table in known) < 2:
            continue
        combined = combine_estimates([_mean(table, name, weight) for table in known], rule_for(files.kind))
        low, high = map(float, combined.interval(0.95))
        if math.isfinite(low) and math.isfinite(high):
            yield name, *(f"{x:,.0f}" if abs(x) >= 10_000 else f"{x:,.4g}" for x in (float(combined.value), low, high))


def _mean(table: pa.Table, name: str, weight: str | None) -> Estimate:
    """The mean and its variance as if records were drawn independently, each with its weight."""
    y = table[name].cast("float64").to_numpy()
    w = np.ones(len(y)) if weight is None else table[weight].cast("float64").to_numpy()
    mean = (w * y).sum() / w.sum()
    return Estimate(mean, ((w * (y - mean)) ** 2).sum() / w.sum() ** 2 * len(y) / (len(y) - 1))


def _survey_table(folder: Path, name: str, by: tuple[str, ...], schema: Schema) -> View:
    """One survey table, read from its published file: a row for each group, a column for each statistic."""
    path = file_of(name, by)
    types = {column: pa.string() for column in (*by, "statistic")}
    table = pa_csv.read_csv(folder / path, convert_options=pa_csv.ConvertOptions(column_types=types))
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in table.to_pylist():
        shown = _estimate(row["value"], row["margin_of_error"]) + " (unreliable)" * (row.get("quality") == _WORST)
        groups.setdefault(tuple(row[one] for one in by), []).append(shown)
    statistics = dict.fromkeys(table["statistic"].to_pylist())
    return {
        "path": path,
        "by": [schema[one].label or spoken(one).lower() for one in by],
        "head": [*(schema[one].label or spoken(one) for one in by), *map(spoken, statistics)],
        "groups": len(groups),
        "rows": [
            [*(_level(schema, one, level) for one, level in zip(by, key, strict=True)), *estimates]
            for key, estimates in list(groups.items())[:_ROWS]
        ],
    }


def _level(schema: Schema, name: str, level: str) -> str:
    if level == ALL:
        return "All"
    kind = schema.categorical(name)
    # In a CSV file a code may stand with an apostrophe in front.
    return kind.label_of(level if level in kind.code else level.removeprefix("'"))


def _estimate(value: float | None, margin: float | None) -> str:
    if value is None:
        return "–"
    digits = ",.0f" if abs(value) >= 1000 else ",.4g"
    if margin is None:
        return f"{value:{digits}}"
    return f"{value:{digits}} ± {margin:{',.0f' if margin >= 1000 else ',.3g'}}"
