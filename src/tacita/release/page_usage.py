"""The part of the page for people who analyse what was published: rules in words, and code to copy.

The code names the bundle's own files, columns and codes, so it runs as it stands in the unpacked bundle.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.release.page_analysis import microdata_code
from tacita.release.page_parts import code_blocks
from tacita.tables.publish import TOTAL, attributes, summed_over, without_totals


def usage_section(folder: Path, plan: dict[str, Any]) -> str:
    """How to read, add and compare published values; how to combine synthetic files where there are any."""
    parts = [_margins()] if plan["tables"] else []
    # The rule for sums takes independent errors, so a table without worker attributes is the better example.
    if records := sorted(plan["tables"], key=lambda one: bool(one["settings"].get("worker"))):
        record = records[0]
        table = pq.read_table(folder / "tables" / f"{record['name']}.parquet")
        parts.append(table_code(record["name"], table, record["settings"].get("totals") or ()))
    if implicates := sorted((folder / "microdata").glob("implicate-*.parquet")):
        parts.append(microdata_code(implicates, plan))
    return "".join(parts)


def _margins() -> str:
    return (
        "<h2>How to analyse the tables</h2>"
        "<ul><li>Read a value with its margin: 1,240 ± 60 at 95% confidence means that the exact count lies between "
        "1,180 and 1,300, except for about one cell in twenty.</li>"
        "<li>The margin covers the noise added for privacy, and nothing else. Errors of the source, such as late "
        "reports or wrong codes, come on top.</li>"
        "<li>To compare two values, take the root of the sum of their squared margins: that is about the margin of the "
        "difference. A difference smaller than that is not evidence of a difference.</li>"
        "<li>When you add many cells, errors partly cancel: the margin of a sum is about the root of the sum of the "
        "squared margins. A published total is better than your own sum.</li>"
        "<li>Both rules take errors as independent. They are not within one row of a table that crosses worker "
        "attributes, nor between cells that were made consistent with a total; there, add the margins themselves.</li>"
        "<li>A small value with a large margin says that the count is small, and no more. Do not read a zero as "
        "“nobody”, or a one as “somebody”.</li>"
        "<li>For modelling, use the files in <code>measurements/</code>: the noisy values before rounding, with the "
        "law and the size of their noise, so that it can be put into the model.</li></ul>"
    )


def table_code(name: str, table: pa.Table, totals: Sequence[str]) -> str:
    """Code that adds, compares and divides cells of one table; totals are left out of sums, or they count twice."""
    keys, summed = attributes(table), summed_over(table, totals)
    cells = without_totals(table, totals)
    pair = [str(code) for code in dict.fromkeys(cells[keys[0]].to_pylist())][:2] if keys else []
    if len(pair) < 2:
        return ""
    key = keys[0]
    texts = [position for position, field in enumerate(table.schema, start=1) if pa.types.is_string(field.type)]
    blocks = code_blocks(
        ("Python", _python(name, key, pair, keys, summed)),
        ("R", _r(name, key, pair, keys, summed)),
        ("Stata", _stata(name, key, pair, texts, summed)),
    )
    return (
        "<h3>Sums, differences and ratios: code to copy</h3>"
        "<p>Run it in the folder of this bundle. It compares the first two codes of one table; put in the table, "
        f"columns and codes you need.</p>{blocks}"
    )


def _python(name: str, key: str, codes: Sequence[str], keys: Sequence[str], totals: Sequence[str]) -> str:
    kept = f'\ntable = table[(table[{json.dumps(list(totals))}] != "{TOTAL}").all(axis=1)]' if totals else ""
    types = ", ".join(f"{_quoted(one)}: str" for one in keys)
    a, b = (_quoted(code) for code in codes)
    return f"""import pandas as pd

types = {{{types}}}
table = pd.read_csv("tables/{name}.csv", dtype=types, keep_default_na=False, na_values={{"margin_of_error": ""}}){kept}

def add(cells):
    return cells["value"].sum(), (cells["margin_of_error"] ** 2).sum(skipna=False) ** 0.5

a, margin_a = add(table[table[{_quoted(key)}] == {a}])
b, margin_b = add(table[table[{_quoted(key)}] == {b}])
margin_of_difference = (margin_a**2 + margin_b**2) ** 0.5
ratio = a / b
margin_of_ratio = (margin_a**2 + (ratio * margin_b) ** 2) ** 0.5 / abs(b)
print(f"difference {{a - b:,.0f}} ± {{margin_of_difference:,.0f}}")
print(f"ratio {{ratio:.3f}} ± {{margin_of_ratio:.3f}}  (if b is large beside its margin)")"""


def _r(name: str, key: str, codes: Sequence[str], keys: Sequence[str], totals: Sequence[str]) -> str:
    listed = ", ".join(_quoted(one) for one in totals)
    kept = f'\ntable <- table[rowSums(table[c({listed})] == "{TOTAL}") == 0, ]' if totals else ""
    types = ", ".join(f'{_quoted(one)} = "character"' for one in keys)
    a, b = (_quoted(code) for code in codes)
    return f"""types <- c({types})
table <- read.csv("tables/{name}.csv", colClasses = types, check.names = FALSE, na.strings = ""){kept}

add <- function(cells) c(value = sum(cells$value), margin = sqrt(sum(cells$margin_of_error^2)))

a <- add(table[table[[{_quoted(key)}]] == {a}, ])
b <- add(table[table[[{_quoted(key)}]] == {b}, ])
difference <- a[["value"]] - b[["value"]]
margin_of_difference <- sqrt(a[["margin"]]^2 + b[["margin"]]^2)
ratio <- a[["value"]] / b[["value"]]
margin_of_ratio <- sqrt(a[["margin"]]^2 + (ratio * b[["margin"]])^2) / abs(b[["value"]])
cat(difference, "+-", margin_of_difference, "\\n")
cat(ratio, "+-", margin_of_ratio, "\\n")"""


def _stata(name: str, key: str, codes: Sequence[str], texts: Sequence[int], totals: Sequence[str]) -> str:
    dropped = "\ndrop if " + " | ".join(f'{one} == "{TOTAL}"' for one in totals) if totals else ""
    a, b = (_quoted(code) for code in codes)
    strings = " ".join(map(str, texts))
    return f"""import delimited using "tables/{name}.csv", clear varnames(1) stringcols({strings}){dropped}
assert !missing(margin_of_error)
generate double squared = margin_of_error^2
collapse (sum) value squared, by({key})
summarize value if {key} == {a}, meanonly
scalar a = r(mean)
summarize squared if {key} == {a}, meanonly
scalar va = r(mean)
summarize value if {key} == {b}, meanonly
scalar b = r(mean)
summarize squared if {key} == {b}, meanonly
scalar vb = r(mean)
display "difference " a - b " +- " sqrt(va + vb)
display "ratio " a / b " +- " sqrt(va + (a / b)^2 * vb) / abs(b)"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
