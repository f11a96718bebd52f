"""Tables of one package, in a process of its own: what `tables_peers.py` asks, one line of JSON at a time.

    python benchmarks/peers/tables.py PACKAGE

Each line on stdin is a `Task`; the answer is one line with the numbers of every draw and the seconds of whole releases,
from the Parquet file to the published numbers. Draws beyond those that are timed may be taken from a measurement that
is already built, which is the cheaper way to ask OpenDP for many. Each package is imported only in its own process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypedDict

from used import cpu, limit, peak

Numbers = list[float]
USED: list[float] = []  # CPU seconds of the releases of this task; the first of a process has the import in it
BEGUN = [0.0]  # CPU seconds of this process when the task came; nothing before the first
CANDIDATES = 1_000  # of a grid for OpenDP's quantiles
MOST_RECORDS = 10_000_000  # a public bound that OpenDP asks for


class Task(TypedDict):
    """One release. `tables` lists what each table is by, `levels` the levels of every attribute; `bounds` and `whole`
    are of the column `of`. `rho` is what (epsilon, delta) allows, `limit` the CPU seconds."""

    file: str
    schema: str
    statistic: str
    of: str | None
    at: str | None
    tables: list[list[str]]
    levels: dict[str, list[str]]
    bounds: list[float]
    whole: bool
    filled: float
    epsilon: str
    delta: str
    rho: float
    way: str
    draws: int
    timed: int
    limit: int
    unit: str


def cells_of(task: Task, by: Sequence[str]) -> list[tuple[str, ...]]:
    return list(product(*(task["levels"][name] for name in by)))


def times(task: Task, release: Callable[[], list[Numbers]]) -> tuple[list[list[Numbers]], Numbers]:
    """`timed` whole releases, and what each took; its CPU seconds are added to `USED`."""
    drawn, seconds = [], []
    for _ in range(task["timed"]):
        start, used = time.perf_counter(), cpu() if USED else BEGUN[0]
        drawn.append(release())
        seconds.append(time.perf_counter() - start)
        USED.append(cpu() - used)
    return drawn, seconds


# ---------------------------------------------------------------- ours


def tacita(task: Task) -> tuple[list[list[Numbers]], Numbers]:
    from tacita.data.confidential import Confidential
    from tacita.data.schema import Schema
    from tacita.mechanisms.table import Table
    from tacita.noise.entropy import SystemEntropy
    from tacita.plan import check
    from tacita.privacy import AddRemoveOne
    from tacita.tables.together import publish_all

    schema = Schema.load(task["schema"])
    settings: dict[str, Any] = {"neighbours": AddRemoveOne(task["unit"])}
    if task["of"]:
        settings["of"] = task["of"]
    if task["at"]:
        settings["quantiles"] = [task["at"]]

    many = len(task["tables"])
    price = (
        {"rho": Fraction(task["rho"]) / many} if task["delta"] != "0" else {"epsilon": Fraction(task["epsilon"]) / many}
    )
    plans = [Table(task["statistic"], by=by, **price, **settings) for by in task["tables"]]

    def release() -> list[Numbers]:
        data = Confidential.open(task["file"], schema)
        results = []
        for plan in plans:
            check(plan, data)
            results.append(plan.run(data, SystemEntropy()))
        publishing = {"confidence": "0.95", "agree": many > 1}
        tables = publish_all(results, schema, [publishing] * many)
        return [[float("nan") if one is None else float(one) for one in table["value"].to_pylist()] for table in tables]

    return times({**task, "timed": task["draws"]}, release)


# ---------------------------------------------------------------- OpenDP


def opendp(task: Task) -> tuple[list[list[Numbers]], Numbers]:
    """As its documentation has it: a context over a Polars frame, groups with public keys."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    loss = {"rho": task["rho"]} if task["delta"] != "0" else {"epsilon": float(task["epsilon"])}
    lower, upper = (int(one) if task["whole"] else float(one) for one in task["bounds"])

    def aggregate() -> Any:
        if task["statistic"] == "count":
            return dp.len(signed=True)
        column = pl.col(task["of"]).fill_null(task["filled"])
        column = column if task["whole"] else column.fill_nan(task["filled"])
        if task["statistic"] == "sum":
            return column.dp.sum((lower, upper))
        if task["statistic"] == "mean":
            return column.dp.mean((lower, upper))
        return column.dp.quantile(float(task["at"] or "0.5"), grid(task))

    def context() -> tuple[Any, Any]:
        frame = pl.scan_parquet(task["file"])
        asked = [*dict.fromkeys(name for by in task["tables"] for name in by), *([task["of"]] if task["of"] else [])]
        frame = frame.select(asked)
        return frame, dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(**loss),
            split_evenly_over=len(task["tables"]),
            margins=[dp.polars.Margin(by=[], max_length=MOST_RECORDS)],
        )

    def query(asking: Any, by: list[str]) -> Any:
        keys = pl.LazyFrame(cells_of(task, by), schema=dict.fromkeys(by, pl.String), orient="row")
        return asking.query().group_by(by).agg(aggregate().alias("value")).with_keys(keys)

    def numbers(table: Any, by: list[str]) -> Numbers:
        listed = {tuple(row[:-1]): row[-1] for row in table.select([*by, "value"]).iter_rows()}
        drawn = [float(listed[cell]) for cell in cells_of(task, by)]
        return [max(one, 0.0) for one in drawn] if task["statistic"] == "count" else drawn

    def release() -> list[Numbers]:
        _, asking = context()
        return [numbers(query(asking, by).release().collect(), by) for by in task["tables"]]

    drawn, seconds = times(task, release)
    frame, asking = context()
    built = [(by, query(asking, by).resolve()) for by in task["tables"]]
    drawn += [
        [numbers(measurement(frame).collect(), by) for by, measurement in built]
        for _ in range(task["draws"] - len(drawn))
    ]
    return drawn, seconds


def grid(task: Task) -> list[Any]:
    """Candidates: every value of a short range of whole numbers, else a thousand, evenly or by equal factors."""
    import numpy as np

    lower, upper = task["bounds"]
    if task["whole"] and upper - lower < CANDIDATES:
        return list(range(int(lower), int(upper) + 1))
    if task["way"] == "even":
        points = np.linspace(lower, upper, CANDIDATES)
    else:
        points = lower + np.concatenate([[0.0], np.geomspace(1.0, upper - lower, CANDIDATES - 1)])
    return sorted(set(np.rint(points).astype(int).tolist())) if task["whole"] else points.tolist()


# ---------------------------------------------------------------- Tumult Analytics


def tumult(task: Task) -> tuple[list[list[Numbers]], Numbers]:
    import pandas as pd
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers import the package too
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session

    spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    budget = RhoZCDPBudget(task["rho"]) if task["delta"] != "0" else PureDPBudget(float(task["epsilon"]))
    part = (
        RhoZCDPBudget(task["rho"] / len(task["tables"]))
        if task["delta"] != "0"
        else PureDPBudget(float(task["epsilon"]) / len(task["tables"]))
    )
    lower, upper = (int(one) if task["whole"] else float(one) for one in task["bounds"])

    def asked(by: list[str]) -> Any:
        keys = KeySet.from_dataframe(spark.createDataFrame(pd.DataFrame(cells_of(task, by), columns=by)))
        rows = QueryBuilder("file").groupby(keys)
        of = task["of"]
        if task["statistic"] == "count":
            return rows.count(name="value")
        if task["statistic"] in ("sum", "mean"):
            return (rows.sum if task["statistic"] == "sum" else rows.average)(of, lower, upper, name="value")
        return rows.quantile(of, float(task["at"] or "0.5"), lower, upper, name="value")

    def release() -> list[Numbers]:
        names = dict.fromkeys((*(name for by in task["tables"] for name in by), *([task["of"]] if task["of"] else [])))
        frame = spark.read.parquet(task["file"]).select(*(f"`{name}`" for name in names)).na.fill(task["filled"])
        session = Session.from_dataframe(budget, "file", frame, protected_change=AddOneRow())
        made = []
        for by in task["tables"]:
            table = session.evaluate(asked(by), part).toPandas()
            listed = {tuple(row[:-1]): row[-1] for row in table[[*by, "value"]].itertuples(index=False)}
            drawn = [float(listed[cell]) for cell in cells_of(task, by)]
            made.append([max(one, 0.0) for one in drawn] if task["statistic"] == "count" else drawn)
        return made

    return times(task, release)


PACKAGES = {"tacita": tacita, "opendp": opendp, "tumult": tumult}


def main() -> int:
    release = PACKAGES[sys.argv[1]]
    for line in sys.stdin:
        answer: dict[str, Any]
        try:
            task = json.loads(line)
            USED.clear()
            limit(task["limit"])
            drawn, seconds = release(task)
            BEGUN[0] = cpu()
            answer = {"drawn": drawn, "seconds": seconds, "cpu": USED, "peak": peak()}
        except Exception as problem:
            words = [one.strip() for one in str(problem).splitlines() if one.strip()]
            answer = {"error": f"{type(problem).__name__}: {words[-1] if words else ''}"[:200]}
        sys.stdout.write("answer " + json.dumps(answer) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
