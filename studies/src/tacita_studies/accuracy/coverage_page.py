"""The page of the suite of tables, made from the rows of coverage.json and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from tacita_studies.accuracy.lines import grouped

Json = Mapping[str, Any]
LEAST, MOST = 0.94, 0.99  # of margins of 95% that should hold the truth
NEAR, FAR = 1.5, 3.0  # factors between the median error and what was foretold
_HEAD = """# Margins and forecasts of tables, at size

Every table of the suite is rehearsed many times on its file. `make accuracy ACCURACY=--tables` measures all of it and
writes this page; the tables are in `studies/src/tacita_studies/accuracy/tables`.

- **covered**: how many of the published 95% margins reach the file's own number; 94 to 99 in a hundred is wanted. A
  margin that says more than it must is wide, not wrong. Those of quantiles do so by nature: records that share a value
  are all held or none, and where values may stand in heaps, which nobody knows before, the two ends are drawn further
  out. Where a clamp was bought, margins of cells without a large record hold what the largest may have.
- **without margin**: values that are published without one, because nothing public bounds what lies above a limit.
- **empty**: cells of which nothing is said.
- **error / forecast**: the median error over the one that `tacita plan` foretells, once what no plan can know is put
  in: the limit of a record that the run bought, how many records a cell has, where between the limits they lie, how
  large a share is; of quantiles in ranks. Within a factor of 1.5 is wanted. A value that many records share has fewer
  errors in ranks than foretold, often none. What noise makes negative is published as 0 where it cannot be, so half of
  the errors of a cell are foretold to be no larger than the cell. Values without a margin are left out, since no
  forecast speaks of an open tail, and tables of which most cells are empty or most values have no margin are not judged
  by the few that have one.
"""


def coverage_page(document: Json) -> str:
    """The whole page.

    >>> row = {"file": "demo", "plan": "Table", "setting": "counts", "epsilon": 1.0, "statistic": "table: count by sex",
    ...     "cells": 2, "draws": 200, "margins": 400, "covered": 384, "open": 0, "silent": 0, "outcome": 1.1,
    ...     "error": 0.01, "words": ""}
    >>> print(coverage_page({"rows": [row]}).splitlines()[-1])
    | counts | 1 | count by sex | 2 | 96.0% of 400 | 0 | 0 | 1.0% | 1.10 |
    """
    refused = [row for row in document["rows"] if row["statistic"] == "refused"]
    rows = [row for row in document["rows"] if row["statistic"] != "refused"]
    parts = [_HEAD, _overall(rows), _by_statistic(rows)]
    for (file,), own in grouped(rows, "file").items():
        often = _span([row["draws"] for row in own])
        parts += [f"## {file}\n", f"{often} rehearsals of each table.\n", _listed(own)]
        parts += [_said(row) for row in refused if row["file"] == file]
    return "\n".join(parts).rstrip() + "\n"


def statistic_of(row: Json) -> str:
    """Its kind: what coverage is counted by.

    >>> statistic_of({"statistic": "table: mean of pay by sex, weighted", "plan": "Table"})
    'mean, weighted'
    """
    told = row["statistic"].removeprefix("table: ")
    kind = told.split(" ")[0]
    if row["plan"] == "Change":
        kind = told.split(" ")[2]
    weighted = ", weighted" if told.endswith(", weighted") else ""
    return f"{kind}{weighted}" + ("" if row["plan"] in ("Table", "Change") else f", {row['plan']}")


def _overall(rows: Sequence[Json]) -> str:
    tables = grouped(rows, "file", "setting", "epsilon")
    kinds = [_share(own) for own in _kinds(rows).values()]
    told = [one for one in kinds if not math.isnan(one)]
    held = sum(LEAST <= one <= MOST for one in told)
    short = sum(one < LEAST for one in told)
    often = _span([row["draws"] for row in rows])
    words = f"{len(tables)} tables of {len(grouped(rows, 'file'))} files, {often} rehearsals of each. Of {len(told)} "
    words += f"statistics of a file, the margins of {held} hold between 94% and 99%, and those of {short} less. "
    return fill(words + _foretold(rows), 120) + "\n"


def _span(numbers: Sequence[int]) -> str:
    """
    >>> _span([60, 60]), _span([24, 60])
    ('60', '24 to 60')
    """
    ends = dict.fromkeys((min(numbers, default=0), max(numbers, default=0)))
    return " to ".join(map(str, ends))


def _foretold(rows: Sequence[Json]) -> str:
    there = [row for row in rows if row["outcome"]]
    judged = [row for row in there if _is_judged(row)]
    left = [row["outcome"] for row in there if not _is_judged(row)]
    none = sum(row["outcome"] == 0 for row in rows)
    ratios = [row["outcome"] for row in judged]
    near = sum(_is_near(one) for one in ratios)
    large, worse = (sum(one > factor for one in ratios) for factor in (NEAR, FAR))
    small = [row for row in judged if row["outcome"] < 1 / NEAR]
    shared = sum(statistic_of(row).startswith("quantile") for row in small)
    words = (
        f"Of {len(judged)} forecasts, {near} are within a factor of {NEAR:g}; {large} errors are more than {NEAR:g}, "
    )
    words += (
        f"and {worse} more than {FAR:g} times as large as foretold, and {len(small)} are smaller, {shared} of them "
    )
    words += (
        f"of quantiles. In {none} more, half of the errors or more are 0. In another {len(left)} most cells have no "
    )
    words += "margin or no value: the errors of those that have one are within that factor in "
    return words + f"{sum(map(_is_near, left))}."


def _is_judged(row: Json) -> bool:
    return bool(row["margins"] >= row["open"] and row["margins"] >= row["silent"])


def _is_near(outcome: float) -> bool:
    return 1 / NEAR <= outcome <= NEAR


def _kinds(rows: Sequence[Json]) -> dict[tuple[Any, ...], list[Json]]:
    return grouped([{**row, "kind": statistic_of(row)} for row in rows], "file", "kind")


def _by_statistic(rows: Sequence[Json]) -> str:
    lines = [
        "| file | statistic | tables | covered | without margin | empty | error / forecast: least, most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (file, kind), own in _kinds(rows).items():
        ratios = [row["outcome"] for row in own if row["outcome"]]
        span = f"{min(ratios):.2f}, {max(ratios):.2f}" if ratios else "–"
        every = sum(row[key] for row in own for key in ("margins", "open", "silent"))
        shares = (f"{sum(row[key] for row in own) / max(every, 1):.0%}" for key in ("open", "silent"))
        lines.append(f"| {file} | {kind} | {len(own)} | {_covered(own)} | {' | '.join(shares)} | {span} |")
    return "\n".join(lines) + "\n"


def _share(rows: Sequence[Json]) -> float:
    margins = sum(row["margins"] for row in rows)
    return sum(row["covered"] for row in rows) / margins if margins else math.nan


def _covered(rows: Sequence[Json]) -> str:
    margins = sum(row["margins"] for row in rows)
    return f"{100 * _share(rows):.1f}% of {margins:,}" if margins else "–"


def _listed(rows: Sequence[Json]) -> str:
    lines = [
        "| table | ε | statistic | cells | covered | without margin | empty | error | error / forecast |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        told = [row["setting"], f"{row['epsilon']:g}", row["statistic"].removeprefix("table: "), str(row["cells"])]
        told += [_covered([row]), f"{row['open']:,}", f"{row['silent']:,}"]
        told += ["–" if row["error"] is None else f"{100 * row['error']:.1f}%"]
        told += ["–" if row["outcome"] is None else f"{row['outcome']:.2f}"]
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def _said(row: Json) -> str:
    return f"- {row['setting']}, {row['epsilon']:g}: refused. “{' '.join(row['words'].split())}”\n"
