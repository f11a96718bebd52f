"""The tables and pictures of the kinney2007 page; its words are `page.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from tacita.pages.charts import PALETTE, Colours, Records, colour, rule, side_by_side
from tacita_studies.harness.page import holds, table
from tacita_studies.harness.pictures import trends
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Row, Rows
from tacita_studies.kinney2007 import rows
from tacita_studies.kinney2007.coverage import CONFIDENTIAL
from tacita_studies.kinney2007.figures import ALL, CELL_SIZES, EMPLOYEES, LAGS, PAYROLLS, QUANTILES, SHOWN_YEARS
from tacita_studies.kinney2007.measure import MeasuredIndustry
from tacita_studies.kinney2007.methods import MAIN, PLAIN, formal
from tacita_studies.kinney2007.real import RESAMPLED
from tacita_studies.kinney2007.rows import (
    BARS,
    FORMAL,
    LEAST_PANELS,
    SERIES,
    TABLE_2,
    TRUTH,
    draws_that_hold,
    largest,
    within,
)

GUESS = "no file: the most frequent year"
_RELATIVE = frozenset(one.name for one in SERIES if one.relative)
_SUMS, _RATES = ("employment", "payroll"), ("job creation", "job destruction", "entry", "exit")
_LIVES = ("first year", "last year", "lifetime")
_COSTS = (*(largest(name) for name in ("employment", *_RATES)), rows.K_MARGINAL)


class _Page:
    """Rows and settings, and the parts that are made of them."""

    def __init__(self, all_rows: Sequence[Row], settings: Mapping[str, Any]) -> None:
        self.rows, self.settings, self.methods = Rows(all_rows), settings, list(settings["methods"])
        # Lines in pictures: more than four cannot be told apart.
        self.drawn = [TRUTH, *(name for name in self.methods if name in (PLAIN.name, formal("1").name, FORMAL))]
        others = iter((PALETTE[4], PALETTE[3], PALETTE[2], PALETTE[5]))
        shades = {name: next(others, PALETTE[6]) for name in self.methods if name not in (PLAIN.name, FORMAL)}
        self.colours = {TRUTH: "#000000", GUESS: PALETTE[6], PLAIN.name: PALETTE[0], FORMAL: PALETTE[1], **shades}

    def of_each(self, metric: str, *, first: Sequence[str] = (), **where: object) -> list[float | None]:
        return [self.rows.value(name, metric, **where) for name in (*first, *self.methods)]

    def bars(self) -> Markup:
        body = []
        for bar in BARS:
            row = bar.row(self.rows)
            value, worst = (None, None) if row is None else (row.ours, row.where.get("worst"))
            what = ": ".join([bar.metric, *map(str, bar.where.values())])
            others = [bar.verdict(other) for other in self.rows.all(bar.method, bar.metric, table=rows.OTHER_DRAWS)]
            again = f"{sum(map(bool, others))} of {len(others)}" if others else None
            body.append((bar.method, what, bar.limit, value, holds(bar.verdict(row)), worst, again))
        head = ("method", "measure", "limit", "ours", "", "worst file", "other draws that hold")
        return table(head, body)

    def table_2(self) -> Markup:
        body = []
        for value, printed in TABLE_2.items():
            ours = self.of_each("share of establishments", first=[TRUTH], table=rows.TABLE, label=value)
            body.append([f"{value}: {printed.meaning}", printed.observed, printed.synthetic, *ours])
        return table(("multi-unit status", "paper, observed", "paper, synthetic", "ours, truth", *self.methods), body)

    def curves(self, where: str, names: Sequence[str], number: str) -> Markup:
        records = []
        for method in self.drawn:
            for name in names:
                for row in self.rows.all(method, name, table=where):
                    value = row.ours or 0.0
                    point = {"year": row.where["label"], "value": value, "low": value, "high": value}
                    records.append({"panel": name, "method": method, **point})
        return trends(records, self.colours, TRUTH, columns=2, number=number)

    def largest(self, names: Sequence[str]) -> Markup:
        def cell(method: str, name: str) -> float | str | None:
            value = self.rows.value(method, largest(name), table=rows.DISTANCES)
            return value if name not in _RELATIVE else "–" if value is None else f"{100 * value:.1f}%"

        return table(
            ("largest distance", *names), [[one, *(cell(one, name) for name in names)] for one in self.methods]
        )

    def over_epsilon(self) -> Markup:
        limits = {bar.metric: bar.least if bar.most is None else bar.most for bar in BARS if bar.method == FORMAL}
        records = []
        for metric in _COSTS:
            plain = self.rows.value(PLAIN.name, metric, table=rows.DISTANCES)
            panel = "k-marginal of year pairs" if metric == rows.K_MARGINAL else metric
            for row in self.rows.of(rows.DISTANCES, metric=metric):
                if row.where["epsilon"] is not None:
                    point = {"epsilon": float(row.where["epsilon"]), "value": row.ours}
                    records.append({"panel": panel, "plain": plain, "limit": limits.get(metric), **point})
        return over_epsilon(records, PALETTE[1])

    def sizes(self, measured: MeasuredIndustry) -> Markup:
        files = {TRUTH: measured.truth, **{one.method.name: one.mean for one in measured.made}}
        records = [
            {"panel": panel, "method": name, "size": size, "share": share}
            for panel, limits, part in (
                ("employment of at least", EMPLOYEES, "employees_above"),
                ("payroll of at least (thousand dollars)", PAYROLLS, "payroll_above"),
            )
            for name in self.drawn
            for size, share in zip(limits, getattr(files[name], part).tolist(), strict=True)
        ]
        return sizes(records, self.colours, self.drawn)

    def quantiles(self) -> Markup:
        body = []
        for name in _SUMS:
            for year in SHOWN_YEARS:
                for quantile in QUANTILES:
                    ours = self.of_each(name, first=[TRUTH], table=rows.SIZES, label=year, quantile=quantile)
                    body.append([name, str(year), f"{quantile:g}", *ours])
        return table(("number", "year", "quantile", TRUTH, *self.methods), body)

    def correlations(self) -> Markup:
        body: list[list[object]] = []
        for lag in LAGS:
            ours = self.of_each("log employment", first=[TRUTH], table=rows.CORRELATIONS, label=lag)
            body.append([f"log employment, {lag} year{'s' * (lag > 1)} apart", *ours])
        for one in SERIES[-2:]:
            ours = self.of_each(largest(one.name), first=[TRUTH], table=rows.DISTANCES)
            body.append([largest(one.name), *ours])
        return table(("correlation", TRUTH, *self.methods), body)

    def disclosure(self) -> tuple[Markup, Markup]:
        titles = {
            rows.IN_THE_CELL: "from all rows of the cell",
            rows.LINKED: "if rows could be linked to establishments",
        }
        records, body = [], []
        order = [GUESS, *(name for name in self.drawn if name != TRUTH)]
        for metric, panel in titles.items():
            for size in (*CELL_SIZES, ALL):
                lines = {name: self.rows.row(name, metric, table=rows.DISCLOSURE, label=size) for name in self.methods}
                first = lines[PLAIN.name]
                if first is None:
                    continue
                shares = {GUESS: first.reference, **{name: row and row.ours for name, row in lines.items()}}
                if size != ALL:
                    records += [{"panel": panel, "method": name, "cell": size, "share": shares[name]} for name in order]
                body.append([panel, size, first.where["establishments"], *shares.values()])
        picture = by_cell(records, self.colours, order, CELL_SIZES)
        return picture, table(("rows", "cell size", "establishments", GUESS, *self.methods), body)

    def intervals(self) -> Markup:
        body = []
        for row in self.rows.of(rows.INTERVALS, metric=rows.COVERED):
            name = str(row.where["coefficient"])
            more = [self.rows.value(row.method, one, coefficient=name) for one in (rows.LENGTH, rows.BIAS)]
            body.append([row.method, name, row.where["truth"], row.ours, row.se, *more])
        return table(("file", "coefficient", "truth", "coverage", "its error", rows.LENGTH, rows.BIAS), body)

    def real(self) -> Iterator[tuple[str, int, Markup]]:
        lines = self.rows.of(TABLE)
        methods = (RESAMPLED, *self.methods)
        for name in dict.fromkeys(row.where["name"] for row in lines):
            here = [row for row in lines if row.where["name"] == name]
            values = {(row.method, row.metric): row.ours for row in here}
            metrics = dict.fromkeys(row.metric for row in here)
            body = [[metric, *(values.get((method, metric)) for method in methods)] for metric in metrics]
            yield name, here[0].where["units"], table(("measure", *methods), body)


def page(all_rows: Sequence[Row], settings: Mapping[str, Any], measured: MeasuredIndustry) -> dict[str, object]:
    it = _Page(all_rows, settings)
    formal_metrics = (within("employment"), within("job creation"), rows.K_MARGINAL, largest("payroll"))
    alone = {"table": rows.DISCLOSURE, "label": CELL_SIZES[0]}
    first = it.rows.row(PLAIN.name, rows.IN_THE_CELL, **alone)
    costs = (within("employment"), within("job creation"), *_COSTS)
    checks = it.rows.of(rows.CHECKS, metric=rows.SECONDS)
    broken = [row for row in all_rows if row.metric == rows.IMPOSSIBLE]
    return {
        **settings,
        "main": MAIN,
        "plain": [it.rows.value(PLAIN.name, largest(name)) or 0.0 for name in ("employment", "job creation")],
        "formal": [it.rows.value(FORMAL, metric, table=rows.DISTANCES) for metric in formal_metrics],
        "draws": draws_that_hold(it.rows),
        "alone": None if first is None else (first.ours or 0.0, first.reference or 0.0),
        "alone_formal": it.rows.value(FORMAL, rows.IN_THE_CELL, **alone),
        "bars": it.bars(),
        "least_panels": LEAST_PANELS,
        "table_2": it.table_2(),
        "sums": it.curves(rows.BY_YEAR, _SUMS, "~s"),
        "rates": it.curves(rows.BY_YEAR, _RATES, "~g"),
        "largest_by_year": it.largest((*_SUMS, *_RATES)),
        "over_epsilon": it.over_epsilon(),
        "costs": table(("measure", *it.methods), [[one, *it.of_each(one, table=rows.DISTANCES)] for one in costs]),
        "lives": it.curves(rows.LIVES_TABLE, _LIVES, "~g"),
        "largest_of_lives": it.largest((*_LIVES, "multi-unit status")),
        "sizes": it.sizes(measured),
        "quantiles": it.quantiles(),
        "correlations": it.correlations(),
        "disclosure": it.disclosure(),
        "intervals": it.intervals(),
        "confidential": CONFIDENTIAL,
        "real": list(it.real()),
        "guarantees": table(
            ("files", "guarantee", f"seconds for {settings['files']} files"),
            [(row.method, row.guarantee, row.ours) for row in checks],
        ),
        "broken": sum(row.ours or 0 for row in broken),
        "checked": sum(row.where["checked"] for row in broken),
    }


def _shades(colours: Colours, order: Sequence[str]) -> Any:
    return colour({name: colours[name] for name in order}, columns=6, symbolType="stroke")


def sizes(records: Records, colours: Colours, order: Sequence[str]) -> Markup:
    """Keys are panel, method, size and share: the share of establishments that are at least so large."""

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        drawn = alt.Data(values=[record for record in inside if record["share"] > 0])
        log = alt.Scale(type="log")
        chart = alt.Chart(drawn, title=title).mark_line(strokeWidth=1.7)
        return chart.encode(
            x=alt.X("size:Q", title=None, scale=log, axis=alt.Axis(format="~s", grid=False)),
            y=alt.Y("share:Q", title="share of establishments", scale=log, axis=alt.Axis(format="~g")),
            color=_shades(colours, order),
        ).properties(width=430, height=220)

    return side_by_side(records, panel)


def over_epsilon(records: Records, shade: str) -> Markup:
    """Keys are panel, epsilon, value, plain (the value without noise) and limit, which may be None."""

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        ticks = alt.Axis(values=[record["epsilon"] for record in inside], format="~g", grid=False)
        base = alt.Chart(alt.Data(values=inside), title=title).encode(
            x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log"), axis=ticks),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        )
        layers: list[Any] = [base.mark_line(color=shade, strokeWidth=1.8), base.mark_point(color=shade, filled=True)]
        if inside[0]["limit"] is not None:
            layers.insert(0, rule(at={"y": inside[0]["limit"]}, strokeWidth=1))
        if inside[0]["plain"] is not None:
            layers.insert(0, rule("#666666", (1, 0), at={"y": inside[0]["plain"]}, strokeWidth=1))
        return alt.layer(*layers).properties(width=270, height=170)

    return side_by_side(records, panel, columns=3)


def by_cell(records: Records, colours: Colours, order: Sequence[str], classes: Sequence[str]) -> Markup:
    """Keys are panel, method, cell and share."""

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        chart = alt.Chart(alt.Data(values=inside), title=title)
        chart = chart.mark_line(point=alt.OverlayMarkDef(size=26, filled=True), strokeWidth=1.7)
        return chart.encode(
            x=alt.X("cell:N", sort=list(classes), title="establishments in the cell", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="share found", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~g")),
            color=_shades(colours, order),
        ).properties(width=430, height=200)

    return side_by_side(records, panel)
