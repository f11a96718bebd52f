"""Specifications for the explorer: every statistic of a person file, every mechanism for jobs, sums of firms."""

from pathlib import Path

from support.command_line import SCHEMA
from tacita.release.plans import PlannedRelease, prepare
from tacita.release.spec import Spec

PEOPLE = """
[dataset]
identity = "people"
unit = "person"
source = "a public code list"
[variables]
id = { role = "id", entity = "person" }
region = { type = "categorical", role = "confidential", levels = ["north", "south", "west"] }
work = { type = "categorical", role = "confidential", levels = ["yes", "no"] }
age = { type = "integer", role = "confidential", lower = 0, upper = 120 }
income = { type = "integer", role = "confidential", lower = 0, upper = 50000000 }
w = { type = "numeric", role = "confidential", lower = 0, upper = 90000 }
[hierarchy.halves]
column = "region"
levels = ["half"]
half = { north = "upper", south = "lower", west = "lower" }
"""

STATISTICS = {
    "count": "",
    "count-everyone": "",
    "share": 'statistic = "share"\nof = "work"',
    "sum-tight": 'statistic = "sum"\nof = "age"',
    "sum-clamped": 'statistic = "sum"\nof = "income"\nclamp = [0, 200000]',
    "sum-declared": 'statistic = "sum"\nof = "income"\nclamp = "declared"',
    "sum-signed": 'statistic = "sum"\nof = "income"\nclamp = [-90000, 200000]',
    "sum-bought": 'statistic = "sum"\nof = "income"',
    "weighted": 'statistic = "count"\nweights = "w"',
    "count-again": "",
    "mean-clamped": 'statistic = "mean"\nof = "income"\nclamp = [0, 200000]',
    "mean-tight": 'statistic = "mean"\nof = "age"',
    "mean-bought": 'statistic = "mean"\nof = "income"',
    "mean-weighted": 'statistic = "mean"\nof = "income"\nweights = "w"',
    "variance": 'statistic = "variance"\nof = "age"',
    "variance-bought": 'statistic = "variance"\nof = "income"',
    "ratio": 'statistic = "ratio"\nof = ["income", "age"]',
    "levels": 'levels = ["half"]',
    "levels-sum": 'statistic = "sum"\nof = "income"\nlevels = ["half"]\ndivision = "best"',
    "sampled": 'statistic = "mean"\nof = "income"\nweights = "w"\nsampling = true',
    "sampled-median": 'statistic = "median"\nof = "income"\nweights = "w"\nsampling = true',
    "median": 'statistic = "median"\nof = "income"',
    "quantiles": 'statistic = "quantiles"\nof = "income"\nquantiles = ["0.1", "1/3", "0.99"]',
}

CAPS = {
    "add-remove": 'neighbours = "add-remove"\nunit = "person"\nepsilon = "40"\ndelta = "1e-6"',
    "replace": 'neighbours = "replace"\nunit = "person"\nepsilon = "40"\ndelta = "1e-6"',
    "several rows": 'neighbours = "add-remove"\nunit = "person"\nepsilon = "40"\ndelta = "1e-6"\nat_most = 3',
    "years": 'neighbours = "add-remove"\nunit = "person"\nepsilon = "40"\ndelta = "1e-6"\nper_year = "2"\nuntil = 2030',
}

HEAD = """title = "{title}"
schema = "{schema}"
data = "rows.parquet"
ledger = "rows.ledger"

[cap]  # for ever
{cap}
"""


def people(folder: Path, cap: str = "add-remove", names: tuple[str, ...] = tuple(STATISTICS)) -> PlannedRelease:
    """One table of each statistic, at 0.5 each."""
    tables = [
        f'\n[[table]]\nname = "{name}"\nepsilon = "0.5"  # a try\n{STATISTICS[name]}\n'
        + ("" if name == "count-everyone" else 'by = ["region"]\n')
        for name in names
    ]
    (folder / "people.schema.toml").write_text(PEOPLE, encoding="utf-8")
    return _written(folder, HEAD.format(title="People", schema="people.schema.toml", cap=CAPS[cap]) + "".join(tables))


def many_people(folder: Path) -> PlannedRelease:
    """Thirty tables over a schema of forty columns."""
    more = [f"c{at}" for at in range(34)]
    column = '[variables.{}]\ntype = "categorical"\nrole = "confidential"\nlevels = ["a", "b", "c"]\n'
    people(folder)
    schema = folder / "people.schema.toml"
    head, hierarchy, tail = schema.read_text(encoding="utf-8").partition("[hierarchy")
    schema.write_text(head + "".join(map(column.format, more)) + hierarchy + tail, encoding="utf-8")
    words = (folder / "release.toml").read_text(encoding="utf-8")
    for name in more[: 30 - len(STATISTICS)]:
        words += f'\n[[table]]\nname = "by-{name}"\nepsilon = "0.5"\nby = ["region", "{name}"]\n'
    return _written(folder, words)


JOBS = {
    "log": 'mechanism = "LogLaplace"\nby = ["place"]',
    "gamma": 'mechanism = "SmoothGamma"\nby = ["place"]',
    "paper": 'mechanism = "SmoothGamma"\nby = ["place"]\ncalibration = "paper"',
    "vector": 'mechanism = "SmoothVector"\nby = ["place"]\nworker = ["sex"]',
    "staircase": 'mechanism = "SmoothStaircase"\nby = ["place"]\nmargin_share = "1/5"',
}


def jobs(folder: Path, names: tuple[str, ...] = tuple(JOBS)) -> PlannedRelease:
    tables = [f'\n[[table]]\nname = "{name}"\nepsilon = "2"\n{JOBS[name]}\n' for name in names]
    cap = 'neighbours = "strong"\nalpha = "0.1"\nepsilon = "20"'
    (folder / "jobs.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return _written(folder, HEAD.format(title="Jobs", schema="jobs.schema.toml", cap=cap) + "".join(tables))


PLAIN = {
    "worker": 'mechanism = "EdgeLaplace"',
    "establishment": 'mechanism = "TruncatedLaplace"\ntheta = 30',
}


def plain_jobs(folder: Path, unit: str) -> PlannedRelease:
    """Jobs under a promise for workers, or for establishments."""
    cap = f'neighbours = "add-remove"\nunit = "{unit}"\nepsilon = "20"'
    table = f'\n[[table]]\nname = "jobs"\nepsilon = "2"\nby = ["place"]\n{PLAIN[unit]}\n'
    (folder / "jobs.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return _written(folder, HEAD.format(title="Jobs", schema="jobs.schema.toml", cap=cap) + table)


def firms(folder: Path) -> PlannedRelease:
    """Sums and flows of numbers within a factor."""
    tables = """
[[table]]
name = "sums"
epsilon = "2"
statistic = "sum"
of = "pay"
by = ["sector"]
[[table]]
name = "flows"
epsilon = "2"
statistic = "flows"
of = ["jobs_before", "jobs"]
by = ["sector"]
"""
    number = '[variables.{}]\ntype = "integer"\nrole = "confidential"\nlower = 0\nupper = 1000000\n'
    schema = '[dataset]\nidentity = "firms"\nunit = "firm"\nsource = "a public register"\n'
    schema += '[variables.id]\nrole = "id"\nentity = "firm"\n'
    schema += '[variables.sector]\ntype = "categorical"\nrole = "public"\nlevels = ["a", "b"]\n'
    schema += "".join(number.format(name) for name in ("pay", "jobs", "jobs_before"))
    (folder / "firms.schema.toml").write_text(schema, encoding="utf-8")
    cap = 'neighbours = "numbers-within"\nunit = "firm"\nalpha = "0.1"\nepsilon = "8"'
    return _written(folder, HEAD.format(title="Firms", schema="firms.schema.toml", cap=cap) + tables)


def with_files(folder: Path) -> PlannedRelease:
    """A table, and synthetic records whose forecast is no formula."""
    people(folder, names=("count",))
    files = '\n[[microdata]]\nname = "files"\nmechanism = "PairwiseSynthesis"\nepsilon = "1"\n'
    files += 'columns = ["region", "work"]\n'
    return _written(folder, (folder / "release.toml").read_text(encoding="utf-8") + files)


def _written(folder: Path, words: str) -> PlannedRelease:
    path = folder / "release.toml"
    path.write_text(words, encoding="utf-8")
    return prepare(Spec.load(path))
