"""Finding rows for the page, and its table on real files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacita.studies.kinney2007 import real
from tacita.studies.results import Row, paragraph, table


def lines_of(rows: Sequence[Row], table: str, method: str, metric: str, **where: object) -> Iterator[Row]:
    for row in rows:
        if (row.table, row.method, row.metric) == (table, method, metric) and all(
            row.where.get(key) == value for key, value in where.items()
        ):
            yield row


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
