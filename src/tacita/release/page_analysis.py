"""The part of the page for people who analyse synthetic files: the rule in words, and code to copy.

The code names the bundle's own files, columns and codes, so it runs as it stands in the unpacked bundle. Where the
files have survey weights the code uses them, and where there is one file it does not combine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.inference import snippets
from tacita.release.microdata import FOLDER, csv_name
from tacita.release.page_parts import code_blocks, weight_of

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
_DRAWN = "No row in them is a real {unit}."
_KEPT = "The rows stand for the collected {unit}s, and the values of the drawn columns are not theirs."


def microdata_code(files: Sequence[Path], plan: dict[str, Any]) -> str:
    """The rule for this release's files in words, and in Python, R and Stata."""
    stored = pq.read_schema(files[0])
    note = json.loads((stored.metadata or {}).get(b"tacita-implicate", b"{}"))
    kind, unit = str(note.get("kind", "partial")), plan["schema"]["dataset"]["unit"]
    example = _example(plan, stored.names)
    one, many = csv_name(1, rehearsal=plan["rehearsal"]), len(files)
    r, stata = _r(example, kind, many, one), _stata(example, kind, many, one)
    if many > 1:
        r, stata = f"{snippets.R}\n{r}", f"{snippets.STATA}\n{stata}"
    rows = (_KEPT if set(stored.names) - set(note.get("synthesized", ())) else _DRAWN).format(unit=unit)
    count = f"{many} synthetic files" if many > 1 else "one synthetic file"
    return (
        f"<h2>How to analyse the synthetic files</h2><p>This bundle holds {count}. "
        f"{escape(rows if many > 1 else rows.replace('in them', 'in it'))} {_advice(kind, many)}</p>"
        f"<p>The code below runs in the folder of this bundle and estimates {escape(example.what)}; put in the "
        f"analysis you need, as long as it gives an estimate and its variance for each file.{_weighting(example)}</p>"
        + code_blocks(("Python", _python(example, many)), ("R", r.strip()), ("Stata", stata.strip()))
    )


def _advice(kind: str, many: int) -> str:
    if many == 1:
        return (
            "One file does not show how far the protection moved it: the standard error that the code computes is "
            "that of the file alone, and too small. There is nothing to combine."
        )
    return (
        "Run your analysis on each file by itself, then combine: the answer is the average, and the spread between the "
        "files is part of its error. Stacking the files, or using one alone, gives intervals that are too narrow.</p>"
        f"<p>{escape(_RULES.get(kind, _RULES['partial']))} In the code below the rule is called "
        f"<code>{escape(kind)}</code>."
    )


def _weighting(example: _Example) -> str:
    if example.weight is None:
        return ""
    return (
        f" The files have survey weights in <code>{escape(example.weight)}</code>: an estimate without them is about "
        "the sample, not the population. The variance in the code takes records as drawn independently; strata and "
        "sampling units, where there are any, need the methods for surveys."
    )


# ---------------------------------------------------------------- one number to estimate, in three languages


@dataclass(frozen=True)
class _Example:
    """A number that can be averaged in each language: a numeric column, or whether a category is at one code."""

    column: str
    code: str | None
    texts: tuple[int, ...]
    weight: str | None

    @property
    def what(self) -> str:
        weighted = "" if self.weight is None else "weighted "
        if self.code is None:
            return f"the {weighted}mean of {self.column}"
        return f"the {weighted}share of rows whose {self.column} is {self.code}"


def _example(plan: dict[str, Any], names: Sequence[str]) -> _Example:
    schema = Schema.from_dict(plan["schema"])
    found = (weight_of(one["mechanism"], schema, names) for one in plan.get("microdata", []))
    weight = next((one for one in found if one is not None), None)
    texts = tuple(at for at, name in enumerate(names, start=1) if isinstance(schema[name].kind, Categorical))
    for name in names:
        if name != weight and isinstance(schema[name].kind, Integer | Numeric):
            return _Example(name, None, texts, weight)
    name = next((one for one in names if isinstance(schema[one].kind, Categorical)), names[0])
    kind = schema[name].kind
    return _Example(name, kind.levels[0] if isinstance(kind, Categorical) else "", texts, weight)


def _python(example: _Example, many: int) -> str:
    column = f"file[{_quoted(example.column)}]"
    value = (
        f"{column}.astype(float)" if example.code is None else f"({column} == {_quoted(example.code)}).astype(float)"
    )
    if example.weight is None:
        body = f"""    values = {value}.dropna()
    return values.mean(), values.var() / len(values)"""
    else:
        body = f"""    file = file[{column}.notna()]
    y, w = {value}, file[{_quoted(example.weight)}]
    mean = (w * y).sum() / w.sum()
    return mean, ((w * (y - mean)) ** 2).sum() / w.sum() ** 2 * len(y) / (len(y) - 1)"""
    last = (
        """# The files know how they were made, so `combine` knows the rule.
answer = tc.combine(files, analysis)
print(answer.value, answer.standard_error, answer.interval(0.95))"""
        if many > 1
        else """(file,) = files
value, variance = analysis(file)
print(value, variance**0.5)  # the error of the file alone: too small"""
    )
    return f"""import json
from pathlib import Path

import tacita as tc

plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
files = tc.Implicates.read("{FOLDER}", tc.Schema.from_dict(plan["schema"]))


def analysis(file):
{body}


{last}"""


def _r(example: _Example, kind: str, many: int, one: str) -> str:
    column = f"file[[{_quoted(example.column)}]]"
    value = column if example.code is None else f"as.numeric({column} == {_quoted(example.code)})"
    if example.weight is None:
        body = f"""  y <- na.omit({value})
  c(mean(y), var(y) / length(y))"""
    else:
        body = f"""  file <- file[!is.na({column}), ]
  y <- {value}
  w <- file[[{_quoted(example.weight)}]]
  mean <- sum(w * y) / sum(w)
  c(mean, sum((w * (y - mean))^2) / sum(w)^2 * length(y) / (length(y) - 1))"""
    classes = "" if example.code is None else f', colClasses = c({_quoted(example.column)} = "character")'
    name = one.replace("01", "%02d", 1)
    last = (
        f"""combine_synthetic(q = sapply(answers, `[`, 1), u = sapply(answers, `[`, 2), rule = "{kind}")"""
        if many > 1
        else """c(estimate = answers[[1]][1], standard_error = sqrt(answers[[1]][2]))  # of the file alone: too small"""
    )
    return f"""analysis <- function(file) {{
{body}
}}
answers <- lapply(1:{many}, function(l)
  analysis(read.csv(sprintf("{FOLDER}/{name}", l){classes}, check.names = FALSE)))
{last}"""


def _stata(example: _Example, kind: str, many: int, one: str) -> str:
    strings = f" stringcols({' '.join(map(str, example.texts))})" if example.texts else ""
    value = example.column if example.code is None else f"{example.column} == {_quoted(example.code)}"
    weighted = f"[pweight = {example.weight}]" if example.weight is not None else ""
    last = (
        f"combine_synthetic q u, rule({kind})"
        if many > 1
        else 'display "estimate " q[1, 1] "  standard error of the file alone, too small: " sqrt(u[1, 1])'
    )
    name = one.replace("01", "`number'", 1)
    return f"""matrix q = J(1, {many}, .)
matrix u = J(1, {many}, .)
forvalues l = 1/{many} {{
    local number = string(`l', "%02.0f")
    import delimited using "{FOLDER}/{name}", clear varnames(1) case(preserve){strings}
    generate double y = {value}
    mean y {weighted}
    matrix q[1, `l'] = _b[y]
    matrix u[1, `l'] = _se[y]^2
}}
{last}"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
