"""Finding rows for the page, and its table on real files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacita_studies.harness.results import Row, paragraph, table
from tacita_studies.kinney2007 import real
from tacita_studies.kinney2007.bars import BARS
from tacita_studies.kinney2007.methods import MAIN, Method
from tacita_studies.kinney2007.rows import DISTANCES, IMPOSSIBLE, OTHER_DRAWS


def lines_of(rows: Sequence[Row], table: str, method: str, metric: str, **where: object) -> Iterator[Row]:
    for row in rows:
        if (row.table, row.method, row.metric) == (table, method, metric) and all(
            row.where.get(key) == value for key, value in where.items()
        ):
            yield row


def draws_that_hold(rows: Sequence[Row]) -> tuple[int, int]:
    """How many draws of the noise there are, the first with the others, and in how many every formal limit holds."""
    bars = [bar for bar in BARS if bar.method == Method(MAIN).name and bar.metric != IMPOSSIBLE]
    first = [row for row in rows if row.table == DISTANCES]
    others = [row for row in rows if row.table == OTHER_DRAWS]
    draws = [first, *([row for row in others if row.where["draw"] == one] for one in _numbers(others))]
    found = [[row for bar in bars if (row := bar.row(draw)) is not None] for draw in draws]
    whole = [(bars, drawn) for drawn in found if len(drawn) == len(bars)]
    held = sum(all(bar.verdict(row) for bar, row in zip(*pair, strict=True)) for pair in whole)
    return len(whole), held


def _numbers(rows: Sequence[Row]) -> list[int]:
    return sorted({row.where["draw"] for row in rows})


def real_tables(rows: Sequence[Row], settings: Mapping[str, Any]) -> Iterator[str]:
    found = [row for row in rows if row.table == real.TABLE]
    if not found:
        yield paragraph("None of the real files is in the folder that was named.")
        return
    yield paragraph(
        "Public files, used as if they were confidential. Distances are of the average over the files in the year "
        "where it is farthest: relative for sums and spreads, differences for correlations; k-marginals are out of "
        "1000. The first column of each table draws the file's own units anew, with replacement: what a fresh sample "
        "would differ by. A few hundred firms are too few for a guarantee of this kind: the noise is as large as for a "
        "file of any size."
    )
    for name in dict.fromkeys(row.where["name"] for row in found):
        here = [row for row in found if row.where["name"] == name]
        methods = (real.RESAMPLED, *settings["methods"])
        values = {(row.method, row.metric): row.ours for row in here}
        body = [
            [metric, *(values.get((method, metric)) for method in methods)]
            for metric in dict.fromkeys(row.metric for row in here)
        ]
        yield paragraph(f"{name}: {here[0].where['units']:,} units.")
        yield table(("measure", *methods), body)
