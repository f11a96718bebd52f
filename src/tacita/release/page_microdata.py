"""The part of the page on synthetic files: what they hold, what they say, and how to analyse them, with code to copy.

Everything shown is computed from the published files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacita.implicates import Implicates
from tacita.inference import snippets
from tacita.inference.combine import combine_estimates
from tacita.inference.estimate import Estimate
from tacita.inference.rules import rule_for
from tacita.release.facts import spoken
from tacita.release.microdata import FOLDER, csv_name
from tacita.release.page_parts import code_blocks, settings_rows, sheet
from tacita.release.survey_tables import survey_tables_section
from tacita.schema import Categorical, Integer, Numeric, Schema

_MEANS = 30  # columns in the table of means: more would be a data file, not a page
_RULES = {
    "partial": (
        "These are partially synthetic files: the original units, with some columns replaced by draws from a model. "
        "The variance of an average over m files is the mean of the files’ own variances plus the variance between "
        "files divided by m (Reiter 2003)."
    ),
    "full": (
        "These are fully synthetic files: samples from a population drawn from a model. The variance of an average "
        "over m files is (1 + 1/m) times the variance between files, minus the mean of the files’ own variances "
        "(Raghunathan, Reiter and Rubin 2003)."
    ),
    "one-measurement": (
        "All files are drawn from one noisy measurement of the confidential file. The variance of an average over m "
        "files is the mean of the files’ own variances plus (1 + 1/m) times the variance between files."
    ),
}
_ROWS_ARE = {
    "partial": "The rows stand for the collected {unit}s, and the values of the drawn columns are not theirs.",
    "full": "No row in them is a real {unit}.",
    "one-measurement": "No row in them is a real {unit}.",
}


# ---------------------------------------------------------------- what the files are


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
        _variables(files, schema),
        survey_tables_section(folder, record, schema) or _means(files, schema),
        sheet([*settings_rows(record["mechanism"]), ("proof", record["proof"])]),
        "<p>What was measured with noise, and all that the files were drawn from, is in "
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


# ---------------------------------------------------------------- how to analyse them


def microdata_code(files: Sequence[Path], plan: dict[str, Any]) -> str:
    """The rule for this release's files in words, and in Python, R and Stata."""
    note = (pq.read_schema(files[0]).metadata or {}).get(b"tacita-implicate", b"{}")
    kind = str(json.loads(note).get("kind", "partial"))
    example = _example(Schema.from_dict(plan["schema"]), pq.read_schema(files[0]).names)
    unit = plan["schema"]["dataset"]["unit"]
    one, many = csv_name(1, rehearsal=plan["rehearsal"]), len(files)
    blocks = code_blocks(
        ("Python", _python(example)),
        ("R", f"{snippets.R}\n{_r(example, kind, many, one)}".strip()),
        ("Stata", f"{snippets.STATA}\n{_stata(example, kind, many, one)}".strip()),
    )
    count = f"{many} synthetic files" if many > 1 else "one synthetic file"
    return (
        f"<h2>How to analyse the synthetic files</h2><p>This bundle holds {count}. "
        f"{escape(_ROWS_ARE.get(kind, _ROWS_ARE['partial']).format(unit=unit))} "
        "Run your analysis on each file by itself, then combine: the answer is the average, and the spread between the "
        "files is part of its error. Stacking the files, or using one alone, gives intervals that are too narrow.</p>"
        f"<p>{escape(_RULES.get(kind, _RULES['partial']))} In the code below the rule is called "
        f"<code>{escape(kind)}</code>. The code runs in the folder of this bundle and estimates "
        f"{escape(example.what)}; put in the analysis you need, as long as it gives an estimate and its variance "
        "for each file.</p>"
        f"{blocks}"
    )


@dataclass(frozen=True)
class _Example:
    """A number that can be averaged in each language: a numeric column, or whether a category is at one code."""

    column: str
    code: str | None
    texts: tuple[int, ...]

    @property
    def what(self) -> str:
        if self.code is None:
            return f"the mean of {self.column}"
        return f"the share of rows whose {self.column} is {self.code}"

    @property
    def quoted(self) -> str:
        return json.dumps(self.code, ensure_ascii=False)


def _example(schema: Schema, names: Sequence[str]) -> _Example:
    texts = tuple(at for at, name in enumerate(names, start=1) if isinstance(schema[name].kind, Categorical))
    for name in names:
        if isinstance(schema[name].kind, Integer | Numeric):
            return _Example(name, None, texts)
    name = next((one for one in names if isinstance(schema[one].kind, Categorical)), names[0])
    kind = schema[name].kind
    return _Example(name, kind.levels[0] if isinstance(kind, Categorical) else "", texts)


def _python(example: _Example) -> str:
    column = f"file[{json.dumps(example.column, ensure_ascii=False)}]"
    value = f"{column}.dropna()" if example.code is None else f"({column} == {example.quoted}).astype(float)"
    return f"""import json
from pathlib import Path

import tacita as tc

plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
files = tc.Implicates.read("{FOLDER}", tc.Schema.from_dict(plan["schema"]))

# The files know how they were made, so `combine` knows the rule.

def analysis(file):
    values = {value}
    return values.mean(), values.var() / len(values)

answer = tc.combine(files, analysis)
print(answer.value, answer.standard_error, answer.interval(0.95))"""


def _r(example: _Example, kind: str, many: int, one: str) -> str:
    column = f"file[[{json.dumps(example.column, ensure_ascii=False)}]]"
    value = f"na.omit({column})" if example.code is None else f"as.numeric({column} == {example.quoted})"
    classes = _classes(example)
    return f"""files <- lapply(1:{many}, function(l)
  read.csv(sprintf("{FOLDER}/{one.replace("01", "%02d", 1)}", l){classes}))
values <- lapply(files, function(file) {value})
combine_synthetic(q = sapply(values, mean),
                  u = sapply(values, function(v) var(v) / length(v)),
                  rule = "{kind}")"""


def _classes(example: _Example) -> str:
    """Codes such as 01 stay text only if R is told so."""
    if example.code is None:
        return ""
    return f', colClasses = c({json.dumps(example.column, ensure_ascii=False)} = "character"), check.names = FALSE'


def _stata(example: _Example, kind: str, many: int, one: str) -> str:
    strings = f" stringcols({' '.join(map(str, example.texts))})" if example.texts else ""
    value = example.column if example.code is None else f"{example.column} == {example.quoted}"
    return f"""matrix q = J(1, {many}, .)
matrix u = J(1, {many}, .)
forvalues l = 1/{many} {{
    local number = string(`l', "%02.0f")
    import delimited using "{FOLDER}/{one.replace("01", "`number'", 1)}", clear varnames(1) case(preserve){strings}
    generate double y = {value}
    summarize y
    matrix q[1, `l'] = r(mean)
    matrix u[1, `l'] = r(Var) / r(N)
}}
combine_synthetic q u, rule({kind})"""
