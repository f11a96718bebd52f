"""A first draft of a release specification for each kind of file, for a person to finish."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["persons", "households", "survey", "establishments", "jobs", "panel"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Draft:
    """What one row of such a file is, whom a release protects, and a product to start from."""

    row: str
    unit: str
    cap: tuple[str, ...]
    product: tuple[str, ...]
    role: str = "confidential"  # of a category whose name says nothing else
    numbers: str | None = None  # the role of numbers, where it is another one
    entities: tuple[str, ...] = ()  # what has an id, where it is not the unit


_EPSILON = 'epsilon = "2"               # all releases together; nobody\'s odds change by more than a factor e^2'
_DELTA = 'delta = "1e-9"              # the chance that this fails, for synthetic records with a delta'
_ADDED = 'neighbours = "add-remove"   # whether a unit is in the file at all is hidden'
_TITLE = '# title = ""                # what readers see; otherwise its name'
_WEIGHTS = 'weights = "TODO"            # every record counts by its weight'
_COUNT = (
    "[[table]]                   # add as many as you like",
    'name = "counts"',
    _TITLE,
    'by = ["TODO"]               # categorical columns of the schema',
    'epsilon = "0.5"             # or margin = "5%" with margin_at = 500: the cost follows',
    "",
    "[[table]]",
    'name = "means"',
    _TITLE,
    'statistic = "mean"          # count | sum | mean | variance | share | ratio | median | quantiles',
    'of = "TODO"                 # a number',
    'by = ["TODO"]',
    'epsilon = "0.5"',
)
_WEIGHTED = (*_COUNT[:4], _WEIGHTS, *_COUNT[4:-1], _WEIGHTS, _COUNT[-1])
_FILES = (
    "",
    "# [[microdata]]             # synthetic records",
    '# name = "records"',
    '# columns = ["TODO"]        # categories and numbers',
    '# epsilon = "1"',
    '# delta = "1e-9"',
    "# check = {}                # a share of epsilon tells readers whether the files are any good",
)
_WEIGHED = '# weight = "TODO"           # one of the columns: files keep weighted totals'
_SURVEY = (*_WEIGHTED, *_FILES[:4], _WEIGHED, *_FILES[4:])


def _one(unit: str, *more: str) -> tuple[str, ...]:
    return (_ADDED, f'unit = "{unit}"', _EPSILON, *more)


DRAFTS: dict[Kind, Draft] = {
    "persons": Draft("a person", "person", _one("person", _DELTA), (*_COUNT, *_FILES)),
    "households": Draft("a household", "household", _one("household", _DELTA), (*_COUNT, *_FILES)),
    "survey": Draft("a respondent of a sample, with a weight", "person", _one("person", _DELTA), _SURVEY),
    "establishments": Draft(
        "an establishment or firm, with numbers such as jobs and payroll",
        "establishment",
        (
            'neighbours = "numbers-within"  # which units exist is public; their numbers are hidden to within alpha',
            'unit = "establishment"',
            'alpha = "0.1"',
            _EPSILON,
        ),
        (
            "[[table]]",
            'name = "totals"',
            _TITLE,
            'statistic = "sum"           # or "flows" of two years',
            'of = "TODO"                 # a number of each unit',
            'by = ["TODO"]               # public categories',
            'epsilon = "1"',
        ),
        role="TODO",
        numbers="confidential",
    ),
    "jobs": Draft(
        "a job, with ids of worker and workplace",
        "establishment",
        (
            'neighbours = "strong"       # strong | weak: employer-employee privacy',
            'alpha = "0.1"               # establishment size is hidden to within this share',
            _EPSILON,
        ),
        (
            "[[table]]",
            'name = "employment"',
            _TITLE,
            'by = ["TODO"]               # workplace attributes of the schema',
            'epsilon = "1"',
            'margin_share = "1/10"       # a tenth of the budget pays for useful margins',
        ),
        role="TODO",
        entities=("worker", "workplace"),
    ),
    "panel": Draft(
        "a firm, with a column for each year; or a firm in a year",
        "establishment",
        (
            'neighbours = "replace"      # all that a unit reports in any year is hidden; which units exist is public',
            'unit = "establishment"',
            _EPSILON,
        ),
        (
            "[[microdata]]",
            'name = "panel"',
            'mechanism = "PanelSynthesis"',
            'columns = { employment = "TODO" }  # yearly numbers; "emp{year}" if each year has its own',
            'period = "TODO"             # the column of the year; leave out if each year has its own columns',
            "years = [2000, 2020]        # TODO: first and last",
            'keep = ["TODO"]             # public columns, published as they are',
            'epsilon = "2"',
        ),
        role="TODO",
        numbers="confidential",
    ),
}


def draft_spec(schema_name: str, data_name: str, kind: Kind = "persons", weight: str | None = None) -> str:
    """TOML text of a release, for a person to change. `weight` is the column of weights, where a name says so.

    >>> import tomllib
    >>> tomllib.loads(draft_spec("jobs.schema.toml", "jobs.parquet", "jobs"))["ledger"]
    'jobs.ledger'
    """
    named = json.dumps(weight or "TODO", ensure_ascii=False)
    stem, draft = Path(data_name).name.split(".")[0], DRAFTS[kind]
    return "\n".join(
        (
            f"# Drafted for --kind {kind}: one row is {draft.row}. Not so? Other kinds: tacita init --help",
            f"title = {json.dumps(stem, ensure_ascii=False)}",
            f"schema = {json.dumps(schema_name, ensure_ascii=False)}",
            f"data = {json.dumps(data_name, ensure_ascii=False)}",
            f"ledger = {json.dumps(f'{stem}.ledger', ensure_ascii=False)}",
            "",
            "[cap]                       # the most that may ever be lost about one unit of this file",
            *draft.cap,
            "",
            *(re.sub(r'(weights?) = "TODO"', lambda key: f"{key[1]} = {named}", line) for line in draft.product),
            "",
        )
    )
