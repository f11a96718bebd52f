"""The part of the page on synthetic files: how they came about, what they hold and what they say.

Everything shown is computed from the published files.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Any

from tacita.implicates import Implicates
from tacita.inference.combine import combine_estimates
from tacita.inference.estimate import Estimate
from tacita.inference.rules import rule_for
from tacita.release.facts import spoken
from tacita.release.microdata import FOLDER
from tacita.release.page_method import method_facts
from tacita.release.page_parts import settings_rows, sheet
from tacita.release.survey_tables import survey_tables_section
from tacita.schema import Categorical, Integer, Numeric, Schema

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
        survey_tables_section(folder, record, schema) or _means(files, schema),
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


def _means(files: Implicates, schema: Schema) -> str:
    """The mean of each number with the interval that the combining rule gives: a first answer, and a check."""
    names = [name for name in files.columns if isinstance(schema[name].kind, Integer | Numeric)][:_MEANS]
    if files.m < 2 or not names or min(files.rows) < 2:
        return ""
    rows = []
    for name in names:
        columns = [table[name].drop_null().cast("float64").to_numpy() for table in files.tables]
        if min(map(len, columns)) < 2:
            continue
        answers = [Estimate(one.mean(), one.var(ddof=1) / len(one)) for one in columns]
        found = combine_estimates(answers, rule_for(files.kind))
        low, high = found.interval(0.95)
        if not all(map(math.isfinite, (float(low), float(high)))):
            continue
        cells = "".join(f"<td class='number'>{_figure(float(one))}</td>" for one in (found.value, low, high))
        rows.append(f"<tr><td><code>{escape(name)}</code></td>{cells}</tr>")
    return (
        "<table><caption>Means, combined over the files, with 95% intervals; rows that are missing are left out"
        "</caption><thead><tr><th>Column</th><th class='number'>Mean</th><th class='number'>From</th>"
        f"<th class='number'>To</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        if rows
        else ""
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
