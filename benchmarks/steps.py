"""STEPS at the study's size and far beyond it: seconds and memory, and how both grow with rows and nodes.

Bars: 15 layers on a domain of 1,290,240 cells, nothing stopped, in 10 s and 2 GiB; a million rows of 20 attributes
with more than 10^9 cells in 120 s and 6 GiB. Each case runs in a process of its own, so that its peak memory is its
own. Times include one synthetic file.

    python benchmarks/steps.py [--reduced] [--plot growth.svg]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

VOTERS = (2, 2, 5, 2, 2, 14, 2, 2, 2, 2, 2, 6, 2, 2, 2)
ZEROS = [{"a0": "1", "a9": "0"}]  # voted but not registered: a quarter of the cells
WIDE = (2, 3, 5, 2, 2, 14, 2, 2, 4, 2, 2, 6, 2, 2, 2, 3, 4, 2, 5, 3)
CLASSES = 12
UNSTOPPED, WIDE_NAME = "none stopped", "20 attributes"


def simulated(rows: int, sizes: tuple[int, ...], seed: int = 1) -> pa.Table:
    """Latent classes, with about as many occupied cells as the study's file has at its size."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(CLASSES, size=rows, p=rng.dirichlet(np.full(CLASSES, 2.0)))
    columns = {}
    for at, size in enumerate(sizes):
        shares = 0.97 * rng.dirichlet(np.full(size, 0.35), size=CLASSES) + 0.03 / size
        code = (rng.random(rows)[:, None] > shares.cumsum(axis=1)[kind, :-1]).sum(axis=1)
        columns[f"a{at}"] = pa.array([str(level) for level in range(size)]).take(pa.array(code))
    return pa.table(columns)


def run(case: dict[str, Any]) -> dict[str, Any]:
    from tacita.data.schema import Schema
    from tacita.synthesis.comparison.steps import StepsSynthesis

    sizes = tuple(case["sizes"])
    table = simulated(case["rows"], sizes)
    variables = {
        f"a{at}": {"role": "confidential", "type": "categorical", "levels": [str(one) for one in range(size)]}
        for at, size in enumerate(sizes)
    }
    schema = Schema.from_dict({"dataset": {"identity": "bench", "unit": "person"}, "variables": variables})
    plan = StepsSynthesis(list(variables), "2.718281828", zeros=case["zeros"], **case["plan"])
    plan.rehearse(table.slice(0, 50), schema, seed=1)  # compiled loops are loaded once, not timed
    start, busy = time.perf_counter(), time.process_time()
    result = plan.rehearse(table, schema, seed=1)
    measured = time.perf_counter()
    result.sample(1, seed=1)
    done = time.perf_counter()
    tree = result.released[0]
    return {
        "measure": measured - start,
        "sample": done - measured,
        "processor": time.process_time() - busy,
        "drawn": sum(int(cells.possible.sum()) for cells in tree.cells if cells.sums is not None),
        "nodes": sum(layer.parent.size for layer in tree.layers),
        "cells": sum(cells.noisy.size for cells in tree.cells),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def cases(reduced: bool) -> list[dict[str, Any]]:
    voters = {"rows": 44_821, "sizes": VOTERS, "zeros": ZEROS}
    found: list[dict[str, Any]] = []
    for layers in (9, 12) if reduced else (9, 12, 13, 14, 15):
        plan = {"layers": layers, "stop": "never", "budget": "equal"}
        found.append({"name": f"{layers} layers, {UNSTOPPED}", **voters, "plan": plan})
    found[-1]["bar"] = [10, 2]
    for layers in (2,) if reduced else (0, 2, 3):
        found.append({"name": f"{layers} layers", **voters, "plan": {"layers": layers}})
    wide = {"name": WIDE_NAME, "sizes": WIDE, "zeros": [], "plan": {"layers": 20}}
    found += [{**wide, "rows": rows} for rows in ((20_000,) if reduced else (125_000, 250_000, 500_000))]
    return [*found, {**wide, "rows": 50_000 if reduced else 1_000_000, "bar": [120, 6]}]


def growth(panels: dict[str, tuple[str, list[tuple[float, float]]]], path: Path) -> None:
    """Panels side by side, each a title with the name of its x axis and its points, over a dashed straight line."""
    import altair as alt

    from tacita.pages.charts import PALETTE, inline_svg

    drawn = []
    for title, (x, points) in panels.items():
        values = [{"x": cost[0], "seconds": cost[1]} for cost in points]
        axis = alt.Axis(format="~s", tickCount=5)
        base = alt.Chart(alt.InlineData(values=values)).encode(
            x=alt.X("x:Q", title=x, axis=axis), y=alt.Y("seconds:Q", title="processor seconds, with one file")
        )
        straight = base.transform_regression("x", "seconds").mark_line(color="#888", strokeDash=[5, 3])
        marks = base.mark_point(size=40, filled=True, opacity=1, color=PALETTE[0])
        drawn.append(alt.layer(straight, marks).properties(title=title, width=320, height=240))
    # As a file of its own it needs the namespace that a picture inside a page does without.
    svg = str(inline_svg(alt.hconcat(*drawn))).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    path.write_text(svg, encoding="utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--reduced", action="store_true", help="smaller and fewer cases; no bars")
    asked.add_argument("--plot", type=Path, help="an SVG file: cost against records and against nodes")
    asked.add_argument("--case", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.case:
        sys.stdout.write(json.dumps(run(json.loads(given.case))))
        return 0
    by_rows: list[tuple[float, float]] = []
    by_nodes: list[tuple[float, float]] = []
    missed = []
    say = sys.stdout.write
    say(f"{'':26}{'rows':>10}{'cells of domain':>18}{'nodes':>11}{'listed':>11}{'measure':>9}{'file':>7}{'GiB':>7}\n")
    for case in cases(given.reduced):
        command = [sys.executable, __file__, "--case", json.dumps(case)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = found["measure"] + found["sample"]
        domain = prod(case["sizes"]) * (3 if case["zeros"] else 4) // 4
        say(
            f"{case['name']:26}{case['rows']:>10,}{domain:>18,}{found['nodes']:>11,}{found['cells']:>11,}"
            f"{found['measure']:>8.1f}s{found['sample']:>6.1f}s{found['memory']:>7.2f}\n"
        )
        if case["name"] == WIDE_NAME:
            by_rows.append((case["rows"], found["processor"]))
        if UNSTOPPED in case["name"] and found["drawn"]:  # with all layers the last nodes are the cells
            by_nodes.append((found["nodes"], found["processor"]))
        if "bar" in case and (seconds > case["bar"][0] or found["memory"] > case["bar"][1]):
            missed.append(f"{case['name']}: more than {case['bar'][0]} s or {case['bar'][1]} GiB")
    if given.plot:
        left = (f"20 attributes, {prod(WIDE):,} cells, 20 layers", ("records", by_rows))
        right = ("44,821 records, 1,290,240 cells, more and more layers", ("nodes", by_nodes))
        growth(dict((left, right)), given.plot)
    say("\n".join(missed or ["Within all bars."]) + "\n")
    return 1 if missed and not given.reduced else 0


if __name__ == "__main__":
    raise SystemExit(main())
