"""The page of the kinney2007 study: plain words first, then bars, the paper's table, trends, disclosure, intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacita_studies.harness.pictures import PALETTE, trends
from tacita_studies.harness.results import Row, figure, holds, paragraph, table, write_page
from tacita_studies.kinney2007.bars import BARS, LEAST_PANELS
from tacita_studies.kinney2007.coverage import CONFIDENTIAL
from tacita_studies.kinney2007.figures import EMPLOYEES, LAGS, PAYROLLS, QUANTILES, SHOWN_YEARS
from tacita_studies.kinney2007.measure import Measured
from tacita_studies.kinney2007.methods import MAIN, PLAIN, Method
from tacita_studies.kinney2007.page_tables import draws_that_hold, lines_of, real_tables
from tacita_studies.kinney2007.pictures import by_cell, over_epsilon, sizes
from tacita_studies.kinney2007.printed import MEANING, TABLE_2
from tacita_studies.kinney2007.risk import ALL, CELL_SIZES
from tacita_studies.kinney2007.rows import (
    BIAS,
    BY_YEAR,
    CHECKS,
    CORRELATIONS,
    COVERED,
    DISCLOSURE,
    DISTANCES,
    IMPOSSIBLE,
    IN_THE_CELL,
    INTERVALS,
    K_MARGINAL,
    LENGTH,
    LINKED,
    LIVES_TABLE,
    OTHER_DRAWS,
    SECONDS,
    SERIES,
    SIZES,
    TABLE,
    TRUTH,
    largest,
    within,
)

TITLE = "Synthetic panels of establishments (kinney2007)"
FORMAL = Method(MAIN).name
GUESS = "no file: the most frequent year"
_RELATIVE = frozenset(one.name for one in SERIES if one.relative)


def write_report(folder: Path, rows: Sequence[Row], settings: Mapping[str, Any], measured: Measured) -> Path:
    sections = [
        ("What the study is held to", _bars(rows)),
        ("The paper's Table 2 beside ours", _table_2(rows, settings)),
        ("Jobs, pay and turnover over the years", _years(rows, settings)),
        ("How much does the guarantee cost? Distance against ε", _epsilon(rows, settings)),
        ("First year, last year and lifetime", _lives(rows, settings)),
        ("Employment and payroll of establishments", _sizes(rows, settings, measured)),
        ("Correlations between years", _correlations(rows, settings)),
        ("Do the files give first years away?", _disclosure(rows, settings)),
        ("Do intervals cover?", _coverage(rows, settings)),
    ]
    if settings["real_data"]:
        sections.append(("Real files", list(real_tables(rows, settings))))
    sections.append(("How to read this page", _reading(rows, settings)))
    return write_page(folder, TITLE, _opening(rows, settings), sections)


def _colours(settings: Mapping[str, Any]) -> dict[str, str]:
    formal = [name for name in settings["methods"] if name != PLAIN.name]
    shades = {FORMAL: PALETTE[1]}
    others = iter((PALETTE[4], PALETTE[3], PALETTE[2], PALETTE[5]))
    shades |= {name: next(others, PALETTE[6]) for name in formal if name != FORMAL}
    return {TRUTH: "#000000", GUESS: PALETTE[6], PLAIN.name: PALETTE[0], **shades}


def _shown(settings: Mapping[str, Any]) -> list[str]:
    """Lines in pictures: more than four cannot be told apart."""
    return [TRUTH, *(name for name in settings["methods"] if name in (PLAIN.name, Method("1").name, FORMAL))]


def _value(rows: Sequence[Row], table: str, method: str, metric: str, **where: object) -> float | None:
    return next((row.ours for row in lines_of(rows, table, method, metric, **where)), None)


def _opening(rows: Sequence[Row], settings: Mapping[str, Any]) -> str:
    said = [
        f"An industry of {settings['establishments']:,} establishments, 1976 to 2001, was simulated from the public "
        "Business Dynamics Statistics, since the Longitudinal Business Database itself may not be passed on. County "
        "and industry are published as they are; first and last year, multi-unit status, employment and payroll of "
        f"every year are synthetic, in {settings['files']} files."
    ]
    employment = _value(rows, DISTANCES, PLAIN.name, largest("employment"))
    creation = _value(rows, DISTANCES, PLAIN.name, largest("job creation"))
    said.append(
        "Made as in the paper, with models of the confidential rows and without a guarantee, employment of a year is "
        f"at most {100 * (employment or 0):.1f}% off and job creation at most {100 * (creation or 0):.0f}%."
    )
    years = _value(rows, DISTANCES, FORMAL, within("employment"))
    if years is not None:
        metrics = (within("job creation"), K_MARGINAL, largest("payroll"))
        jobs, score, pay = (_value(rows, DISTANCES, FORMAL, one) for one in metrics)
        said.append(
            f"With a guarantee of ε = {MAIN} for the whole history of an establishment, employment is within 5% in "
            f"{years:.0f} of 26 years, job creation within 15% in {jobs or 0:.0f} of 25, and pairs of neighbouring "
            f"years have a k-marginal of {score or 0:.0f} out of 1000. Its payroll is up to "
            f"{100 * (pay or 0):.0f}% off."
        )
        count, all_hold = draws_that_hold(rows)
        if count > 1:
            said.append(f"Noise differs from run to run: everything it is held to holds in {all_hold} of {count} runs.")
    found = {name: _value(rows, DISCLOSURE, name, IN_THE_CELL, label=CELL_SIZES[0]) for name in (PLAIN.name, FORMAL)}
    guess = next((row.reference for row in lines_of(rows, DISCLOSURE, PLAIN.name, IN_THE_CELL, label=CELL_SIZES[0])), 0)
    if found[PLAIN.name] is not None:
        formal = "" if found[FORMAL] is None else f", and for {100 * (found[FORMAL] or 0):.0f}% under ε = {MAIN}"
        said.append(
            "Of establishments that are alone in their county and industry, the plain files show the true first year "
            f"most often for {100 * (found[PLAIN.name] or 0):.0f}%{formal}; guessing the most frequent year without "
            f"any file is right for {100 * (guess or 0):.0f}%."
        )
    return " ".join(said)


def _bars(rows: Sequence[Row]) -> list[str]:
    body = []
    for bar in BARS:
        row = bar.row(rows)
        value = None if row is None else row.ours
        what = bar.metric if bar.coefficient is None else f"{bar.metric}: {bar.coefficient}"
        worst = None if row is None else row.where.get("worst")
        verdict = holds(None if row is None else bar.verdict(row))
        others = [bar.verdict(other) for other in lines_of(rows, OTHER_DRAWS, bar.method, bar.metric)]
        again = f"{sum(map(bool, others))} of {len(others)}" if others else None
        body.append((bar.method, what, bar.limit, value, verdict, worst, again))
    note = (
        "Each line is a limit, and what the files do. A number is that of the average over the files, which is what an "
        "analyst reports, in the year or category where it is farthest from the truth; sums and rates are relative "
        "distances, shares and correlations differences. There are 26 years of employment and 25 of job creation. "
        f"Coverage is judged over {LEAST_PANELS} panels, which --full asks for; with fewer, the number stands without "
        "a verdict. The simulated law is ours, and settings were chosen with it in view, so a real industry may be "
        "harder."
    )
    head = ("method", "measure", "limit", "ours", "", "worst file", "other draws that hold")
    return [paragraph(note), table(head, body), *map(paragraph, _chance(rows))]


def _chance(rows: Sequence[Row]) -> Iterator[str]:
    """How far the verdicts on the formal version depend on the draw of the noise."""
    count, all_hold = draws_that_hold(rows)
    if count > 1:
        yield (
            f"The files with a guarantee depend on noise, which an office draws once. Here it was drawn {count} times "
            "for the same panel; the table shows the first draw, and in its last column in how many of the others the "
            f"limit holds as well. All limits of the version with ε = {MAIN} hold together in {all_hold} of the "
            f"{count} draws."
        )


def _table_2(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    methods = settings["methods"]
    body = []
    for value, printed in TABLE_2.items():
        ours = [_value(rows, TABLE, name, "share of establishments", label=value) for name in (TRUTH, *methods)]
        body.append([f"{value}: {MEANING[value]}", printed.observed, printed.synthetic, *ours])
    head = ("multi-unit status", "paper, observed", "paper, synthetic", "ours, truth", *methods)
    note = (
        "The paper's numbers are of one four-digit industry of the LBD and one synthetic file; ours are of a simulated "
        "three-digit industry and the average of the files. What to compare is the distance between observed and "
        "synthetic, not the levels."
    )
    return [paragraph(note), table(head, body)]


def _curves(rows: Sequence[Row], settings: Mapping[str, Any], where: str, names: Sequence[str], number: str) -> str:
    records = []
    for method in _shown(settings):
        for name in names:
            for row in lines_of(rows, where, method, name):
                value = row.ours or 0.0
                point = {"year": row.where["label"], "value": value, "low": value, "high": value}
                records.append({"panel": name, "method": method, **point})
    return trends(records, _colours(settings), TRUTH, columns=2, number=number)


def _largest(rows: Sequence[Row], settings: Mapping[str, Any], names: Sequence[str]) -> str:
    body = []
    for name in settings["methods"]:
        found = [_value(rows, DISTANCES, name, largest(one)) for one in names]
        body.append(
            [name, *(_percent(one) if name_ in _RELATIVE else one for name_, one in zip(names, found, strict=True))]
        )
    return table(("largest distance", *names), body)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _years(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    sums, rates = ("employment", "payroll"), ("job creation", "job destruction", "entry", "exit")
    return [
        figure(
            _curves(rows, settings, BY_YEAR, sums, "~s"),
            "Employment, and payroll in thousands of dollars, of all establishments; averages over the files.",
        ),
        figure(
            _curves(rows, settings, BY_YEAR, rates, "~g"),
            "Jobs created and destroyed over average employment of two years; establishments that enter and leave over "
            "their average number.",
        ),
        _largest(rows, settings, (*sums, *rates)),
    ]


_PANELS = {
    largest("employment"): "employment: largest distance",
    largest("job creation"): "job creation: largest distance",
    largest("job destruction"): "job destruction: largest distance",
    largest("entry"): "entry: largest distance",
    largest("exit"): "exit: largest distance",
    K_MARGINAL: "k-marginal of year pairs",
}


def _limit(metric: str) -> float | None:
    for bar in BARS:
        if (bar.method, bar.metric) == (FORMAL, metric):
            return bar.least if bar.most is None else bar.most
    return None


def _epsilon(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    records = []
    for metric, panel in _PANELS.items():
        plain = _value(rows, DISTANCES, PLAIN.name, metric)
        for row in rows:
            if row.table == DISTANCES and row.metric == metric and row.where["epsilon"] is not None:
                point = {"epsilon": float(row.where["epsilon"]), "value": row.ours}
                records.append({"panel": panel, "plain": plain, "limit": _limit(metric), **point})
    body = []
    for metric in (within("employment"), within("job creation"), *_PANELS):
        body.append([metric, *(_value(rows, DISTANCES, name, metric) for name in settings["methods"])])
    note = (
        "ε is for everything about one establishment together: its life, its status, and employment and payroll of all "
        "26 years. Each point is one draw of the noise, so that neighbouring points may change places."
    )
    caption = (
        "The formal version by ε. Grey: the plain version. Dashed: the limit that ε = 4 is held to, where it has one."
    )
    return [
        paragraph(note),
        figure(over_epsilon(records, PALETTE[1]), caption),
        table(("measure", *settings["methods"]), body),
    ]


def _lives(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    names = ("first year", "last year", "lifetime")
    caption = (
        "Shares of establishments, as the paper's Figures 1 to 3. A first year of 1975 is 1975 or before, a last year "
        "of 2001 is 2001 or later; a lifetime is the last year less the first."
    )
    return [
        figure(_curves(rows, settings, LIVES_TABLE, names, "~g"), caption),
        _largest(rows, settings, (*names, "multi-unit status")),
    ]


def _sizes(rows: Sequence[Row], settings: Mapping[str, Any], measured: Measured) -> list[str]:
    files = {TRUTH: measured.truth, **{one.method.name: one.mean for one in measured.made}}
    shown_methods = _shown(settings)
    records = []
    for panel, limits, part in (
        ("employment of at least", EMPLOYEES, "employees_above"),
        ("payroll of at least (thousand dollars)", PAYROLLS, "payroll_above"),
    ):
        for name in shown_methods:
            for size, share in zip(limits, getattr(files[name], part).tolist(), strict=True):
                records.append({"panel": panel, "method": name, "size": size, "share": share})
    parts = [
        figure(
            sizes(records, _colours(settings), shown_methods),
            "All years together, both axes logarithmic: where lines lie on each other, all sizes are as frequent as in "
            "truth (the paper's Figures 4 and 5 show the same distributions as densities).",
        )
    ]
    head = ("number", "year", "quantile", TRUTH, *settings["methods"])
    body = []
    for name in ("employment", "payroll"):
        for year in SHOWN_YEARS:
            for quantile in QUANTILES:
                ours = [
                    _value(rows, SIZES, method, name, label=year, quantile=quantile)
                    for method in (TRUTH, *settings["methods"])
                ]
                body.append([name, str(year), f"{quantile:g}", *ours])
    return [*parts, table(head, body)]


def _correlations(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    methods = (TRUTH, *settings["methods"])
    body: list[list[object]] = []
    for lag in LAGS:
        what = f"log employment, {lag} year{'s' * (lag > 1)} apart"
        body.append([what, *(_value(rows, CORRELATIONS, name, "log employment", label=lag) for name in methods)])
    for one in SERIES[-2:]:
        body.append([largest(one.name), *(_value(rows, DISTANCES, name, largest(one.name)) for name in methods)])
    note = (
        "The first lines are correlations, averaged over years; the last two are the largest distance from the truth "
        "in any year, of employment itself with the year before, and of log employment with log payroll."
    )
    return [paragraph(note), table(("correlation", *methods), body)]


def _disclosure(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    titles = {IN_THE_CELL: "from all rows of the cell", LINKED: "if rows could be linked to establishments"}
    records, body = [], []
    methods = settings["methods"]
    order = [GUESS, *(name for name in _shown(settings) if name != TRUTH)]
    for metric, panel in titles.items():
        for size in (*CELL_SIZES, ALL):
            lines = {name: next(lines_of(rows, DISCLOSURE, name, metric, label=size), None) for name in methods}
            first = lines[PLAIN.name]
            if first is None:
                continue
            found = {GUESS: first.reference, **{name: None if row is None else row.ours for name, row in lines.items()}}
            if size != ALL:
                records += [{"panel": panel, "method": name, "cell": size, "share": found[name]} for name in order]
            body.append([panel, size, first.where["establishments"], *found.values()])
    note = (
        "How often is the true first year of an establishment the one that the files show most often? A cell is a "
        "county and four-digit industry, which are not synthesized. Rows carry no identifier, so a reader has the rows "
        "of the whole cell; linking rows to establishments is not possible with the files and shown as the worst case. "
        "Ties count by the chance of picking right. A formal guarantee does not promise that guesses fail: it bounds "
        "how far an establishment's own record can move the odds. The plain version bounds nothing."
    )
    caption = (
        "Share of establishments whose true first year is the most frequent synthetic one, by the size of their cell."
    )
    return [
        paragraph(note),
        figure(by_cell(records, _colours(settings), order, CELL_SIZES), caption),
        table(("rows", "cell size", "establishments", GUESS, *methods), body),
    ]


def _coverage(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    body = []
    for row in rows:
        if row.table == INTERVALS and row.metric == COVERED:
            name = str(row.where["coefficient"])
            length, bias = (_value(rows, INTERVALS, row.method, one, coefficient=name) for one in (LENGTH, BIAS))
            body.append([row.method, name, row.where["truth"], row.ours, row.se, length, bias])
    head = ("file", "coefficient", "truth", "coverage", "its error", LENGTH, BIAS)
    note = (
        f"Log employment on age and on being part of a larger firm, all years pooled, in {settings['panels']} "
        f"simulated panels of {settings['panel_size']:,} establishments, {settings['files']} files each; nominal 95% "
        "intervals, with variances that allow for the years of an establishment hanging together. Answers of plain "
        "files are combined by the rule for partially synthetic data, those of formal files by the rule for files "
        f"drawn from one noisy measurement. The {CONFIDENTIAL} is the reference. Bias is in standard errors of that "
        "panel: in a larger panel standard errors are smaller and the same bias weighs more. A panel of this size is "
        "small for the formal version: its noise does not shrink with the panel."
    )
    return [paragraph(note), table(head, body)]


def _reading(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    made = [row for row in rows if row.table == CHECKS and row.metric == SECONDS]
    head = ("files", "guarantee", f"seconds for {settings['files']} files")
    body = [(row.method, row.guarantee, row.ours) for row in made]
    return [table(head, body), *(paragraph(words) for words in _words(rows, settings))]


def _words(rows: Sequence[Row], settings: Mapping[str, Any]) -> Iterator[str]:
    broken = sum(row.ours or 0 for row in rows if row.metric == IMPOSSIBLE)
    checked = sum(row.where["checked"] for row in rows if row.metric == IMPOSSIBLE)
    yield (
        f"Impossible records (a value outside the life, a last year before the first, a change of status without a "
        f"year, a number outside its bounds): {broken:.0f} in {checked:,} years of establishments in all files."
    )
    yield (
        "The k-marginal is 1000 times one minus the total variation between the tables of employment classes in a year "
        "and the next, averaged over the 25 pairs of years. Classes are public (sixteen, from 0 to 1000 and more, and "
        "one for not being there); establishments that are there in neither year are left out, so entries and exits "
        "count."
    )
    yield (
        "The simulated industry follows the Business Dynamics Statistics of retail trade: entry and exit rates of each "
        "year, sizes of all, new and closing establishments, jobs created and destroyed by continuers. What no public "
        f"table shows is a plain law with constants set once. Seed {settings['seed']}; the same seed gives the "
        "same numbers."
    )
