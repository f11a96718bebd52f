"""Speed of tables of any file: one table against a plain DuckDB group-by, and 30 tables in one release against one.

Ten million simulated records in Parquet. "Ours" opens the file, checks the columns, measures, draws exact noise and
makes the published table; it takes turns with the group-by, and the fastest of several rounds counts (bar: 1.5 times).
Releases are whole runs of a specification, with ledger, trial, bundle and page (bar: 30 tables at most 5 times one).
Counts, sums between known limits and sums of whole numbers whose limits are bought are read in the scan that checks the
columns; other limits that are bought take two more, and quantiles one more, of the values near their ranks.

    python benchmarks/table_speed.py [--rows 10000000] [--reduced]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import duckdb

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SystemEntropy
from tacita.plan import check
from tacita.privacy import AddRemoveOne
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.tables import publish

LEVELS = {"c0": 4, "c1": 6, "c2": 8, "c3": 12, "c4": 16, "c5": 51}
ONE_BAR, MANY_BAR, MANY = 1.5, 5.0, 30
BY = ("c4", "c5")
MEANS, SUMS = '"mean"\nof = "age"', '"sum"\nof = "income"'
ASKED = {
    "count": ("count(*)", {}),
    "mean of age": ("count(*), sum(age)", {"of": "age"}),
    "sum of income": ("sum(income)", {"of": "income"}),
    "median of income": ("median(income)", {"of": "income"}),
}


def simulated(folder: Path, rows: int) -> Schema:
    columns = [f"floor(random() * {size})::INT::VARCHAR AS {name}" for name, size in LEVELS.items()]
    numbers = "least(exp(10 + sqrt(-2 * ln(1 - random())) * cos(6.2832 * random())), 1e7)::BIGINT AS income"
    chosen = f"{', '.join(columns)}, {numbers}, floor(random() * 100)::INT AS age"
    duckdb.connect().sql(f"COPY (SELECT {chosen} FROM range({rows})) TO '{folder / 'people.parquet'}'")
    lines = ["[dataset]", 'identity = "people"', 'unit = "person"', "[variables]"]
    for name, size in LEVELS.items():
        levels = ", ".join(f'"{at}"' for at in range(size))
        lines.append(f'{name} = {{ role = "confidential", type = "categorical", levels = [{levels}] }}')
    lines.append('income = { role = "confidential", type = "integer", lower = 0, upper = 10000000 }')
    lines.append('age = { role = "confidential", type = "integer", lower = 0, upper = 99 }')
    (folder / "people.schema.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Schema.load(folder / "people.schema.toml")


def fastest(rounds: int, *jobs: Callable[[], object]) -> list[float]:
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            best[at] = min(best[at], time.perf_counter() - start)
    return best


def one_table(folder: Path, schema: Schema, named: str, rounds: int) -> tuple[float, float]:
    aggregate, settings = ASKED[named]
    file, by = folder / "people.parquet", ", ".join(BY)
    plan = Table(named.split()[0], "1", by=BY, neighbours=AddRemoveOne("person"), **settings)

    def ours() -> object:
        data = Confidential.open(str(file), schema)
        check(plan, data)
        return publish(plan.run(data, SystemEntropy()), schema)

    def plain() -> object:
        return duckdb.connect().sql(f"SELECT {by}, {aggregate} FROM '{file}' GROUP BY ALL").to_arrow_table()

    mine, theirs = fastest(rounds, ours, plain)
    return mine, theirs


def release(folder: Path, tables: int, other: str = MEANS) -> float:
    """Seconds of a whole run with so many tables, half of them counts and half of another kind, under one (ε, δ)."""
    name = f"{tables}-{'means' if other == MEANS else 'sums'}"
    head = (
        'title = "People"\nschema = "people.schema.toml"\ndata = "people.parquet"\n'
        f'ledger = "{name}.ledger"\n[cap]\nneighbours = "add-remove"\nunit = "person"\nepsilon = "1"\n'
        'delta = "1e-9"\naccount = "rho"\n[tables]\nepsilon = "1"\ndelta = "1e-9"\n'
    )
    pairs = list(combinations(LEVELS, 2))
    parts = []
    for at in range(tables):
        by = ", ".join(f'"{name}"' for name in pairs[at % len(pairs)])
        statistic = other if at >= len(pairs) else '"count"'
        parts.append(f'[[table]]\nname = "t{at}"\nstatistic = {statistic}\nby = [{by}]\n')
    place = folder / f"{name}.toml"
    place.write_text(head + "".join(parts), encoding="utf-8")
    start = time.perf_counter()
    run(Spec.load(place), folder / f"bundle-{name}")
    return time.perf_counter() - start


def judged(times: float, bar: float) -> str:
    return f"{times:.2f} times, {'meets' if times <= bar else 'MISSES'} {bar}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--reduced", action="store_true", help="200,000 rows; too few for the bars to mean anything")
    arguments = parser.parse_args()
    rows, rounds = (200_000, 2) if arguments.reduced else (arguments.rows, 3)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        schema = simulated(folder, rows)
        for named in ASKED:
            ours, plain = one_table(folder, schema, named, rounds)
            sys.stdout.write(f"{named:18} {ours:7.2f} s, group-by {plain:7.2f} s: {judged(ours / plain, ONE_BAR)}\n")
            sys.stdout.flush()
        release(folder, 2)  # what is loaded at the first run is no part of either
        single, many = release(folder, 1), release(folder, MANY)
        sys.stdout.write(
            f"release of one table {single:.2f} s, of {MANY} {many:.2f} s: {judged(many / single, MANY_BAR)}\n"
        )
        bought = release(folder, MANY, SUMS)
        sys.stdout.write(f"of {MANY}, half with limits bought, {bought:.2f} s: {judged(bought / single, MANY_BAR)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
