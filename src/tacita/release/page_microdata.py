"""The part of the page on synthetic files: how they came about, what they hold and what they say.

Everything shown is computed from the published files.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.implicates import Implicates
from tacita.inference.combine import combine_estimates
from tacita.inference.estimate import Estimate
from tacita.inference.rules import rule_for
from tacita.release.facts import spoken
from tacita.release.microdata import FOLDER
from tacita.release.page_method import method_facts
from tacita.release.page_parts import settings_rows, sheet, weight_of
from tacita.release.survey_tables import survey_tables_section

_MEANS = 30  # columns in the table of means: more would be a data file, not a page


def microdata_section(folder: Path, record: dict[str, Any], plan: dict[str, Any]) -> str:
    """The synthetic files of the release: their columns, the means they give, and the synthesizer's sheet."""
    schema = Schema.from_dict(plan["schema"])
    files = Implicates.read(folder / FOLDER, schema)
    rows = " or ".join(f"{count:,}" for count in dict.fromkeys(files.rows))
    numbered = f"{FOLDER}/implicate-01.parquet" + (f" to -{files.m:02d}.parquet" if files.m > 1 else "")
    parts = [
        f"<h2>The synthetic files</h2><h3>{escape(record['title'])}</h3>",
        f"<p class='note'><code>{numbered}</code>, and the same as CSV · {files.m} "
        f"{'file' if files.m == 1 else 'files'} of {rows} rows · {escape(record['guarantee']['in_short'])}</p>",
        method_facts(record),
        _variables(files, schema),
        survey_tables_section(folder, record, schema)
        or _means(files, schema, weight_of(record["mechanism"], schema, files.columns)),
        sheet([*settings_rows(record["mechanism"]), ("proof", record["proof"])]),
        "<p>What was released about the confidential file, and all that the files were drawn from, is in "
        f"<code>measurements/{escape(record['name'])}.json</code>.</p>",
    ]
    return "".join(parts)


def _variables(files: Implicates, schema: Schema) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(schema[name].label or spoken(name))}</td>"
        f"<td>{escape(_domain(schema, name))}</td><td>"
        f"{'drawn' if name in files.synthesized else 'as collected'}</td></tr>"
        for name in files.columns
    )
    kept = (
        "<p>The columns marked “as collected” are public by declaration: they were not drawn and are not protected.</p>"
        if set(files.columns) - set(files.synthesized)
        else ""
    )
    return (
        f"{kept}<table><caption>Columns</caption><thead><tr><th>Column</th><th>What it is</th><th>Values</th>"
        f"<th>Origin</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _domain(schema: Schema, name: str) -> str:
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        return f"{len(kind.levels)} codes" if len(kind.levels) > 1 else "one code"
    return f"{kind.lower:,g} to {kind.upper:,g}" if isinstance(kind, Integer | Numeric) else "identifier"


def _means(files: Implicates, schema: Schema, weight: str | None) -> str:
    """The mean of each number with the interval that the combining rule gives: a first answer, and a check."""
    numeric = [name for name in files.columns if isinstance(schema[name].kind, Integer | Numeric) and name != weight]
    names = numeric[:_MEANS]
    if files.m < 2 or not names or min(files.rows) < 2:
        return ""
    rows = []
    for name in names:
        there = [table.filter(table[name].is_valid()) for table in files.tables]
        if min(table.num_rows for table in there) < 2:
            continue
        answers = [_mean(table, name, weight) for table in there]
        found = combine_estimates(answers, rule_for(files.kind))
        low, high = found.interval(0.95)
        if not all(map(math.isfinite, (float(low), float(high)))):
            continue
        cells = "".join(f"<td class='number'>{_figure(float(one))}</td>" for one in (found.value, low, high))
        rows.append(f"<tr><td><code>{escape(name)}</code></td>{cells}</tr>")
    if not rows:
        return ""
    kind = "Means" if weight is None else f"Means weighted by {escape(weight)}"
    return (
        f"<table><caption>{kind}, combined over the files, with 95% intervals; rows that are missing are left out"
        "</caption><thead><tr><th>Column</th><th class='number'>Mean</th><th class='number'>From</th>"
        f"<th class='number'>To</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _mean(table: pa.Table, name: str, weight: str | None) -> Estimate:
    """The mean and its variance as if records were drawn independently, each with its weight."""
    y = table[name].cast("float64").to_numpy()
    w = np.ones(len(y)) if weight is None else table[weight].cast("float64").to_numpy()
    mean = (w * y).sum() / w.sum()
    return Estimate(mean, ((w * (y - mean)) ** 2).sum() / w.sum() ** 2 * len(y) / (len(y) - 1))


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
