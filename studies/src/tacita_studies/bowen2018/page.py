"""The page of the bowen2018 study: plain words, the bars, the curves, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacita_studies.bowen2018.bars import BARS
from tacita_studies.bowen2018.methods import AS_PRINTED, SETS, pairwise, steps
from tacita_studies.bowen2018.printed import (
    AGREEMENT,
    ALONE,
    COVERED,
    L1,
    LEVELS,
    ONE_OVER_E,
    SECONDS,
    SIGNS,
    SPECKS,
    TV2,
    E,
)
from tacita_studies.bowen2018.rows import FRESH, LEAST
from tacita_studies.harness.pictures import PALETTE, Curves
from tacita_studies.harness.results import Row, figure, holds, paragraph, shown, table, write_page

_POWER = {-2: "e⁻²", -1: "1/e", 0: "1", 1: "e", 2: "e²"}
_NO_PRIVACY = "–"


class Found:
    """Rows by method, metric, power of e and level of a test."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        self._by_key = {
            (row.method, row.metric, row.where.get("power"), row.where.get("level"), row.where.get("file")): row
            for row in rows
        }

    def row(self, method: str, metric: str, power: int | None, level: float | None = None) -> Row | None:
        name = metric if level is None else f"{metric}, at {level:g}"
        return self._by_key.get((method, name, power, level, None))

    def value(self, method: str, metric: str, power: int | None, level: float | None = None) -> float | None:
        found = self.row(method, metric, power, level)
        return None if found is None else found.ours

    def methods(self) -> list[str]:
        return list(
            dict.fromkeys(
                row.method for row in self.rows if row.table == "Figure 2" and row.method not in (FRESH, LEAST)
            )
        )

    def powers(self) -> list[int]:
        drawn = (row for row in self.rows if row.table == "Figure 2" and "epsilon" in row.where)
        return sorted({row.where["power"] for row in drawn})


def write_report(folder: Path, rows: Sequence[Row], settings: Mapping[str, Any]) -> Path:
    """report.html in `folder`."""
    found = Found(rows)
    sections = [
        ("What the best plan is held to", _bars(found)),
        ("Can a model tell the files apart? SPECKS against ε", _specks(found)),
        ("Every method at ε = 1/e and ε = e", list(_methods(found))),
        ("The paper's tables beside ours", _beside(found)),
        ("The simulated file", _file(rows)),
    ]
    if any(row.table == "Real data" for row in rows):
        sections.append(("Real files", list(_real(rows))))
    sections.append(("How to read this page", _reading(settings)))
    title = "Categorical person files: STEPS, SPECKS and all pairs at once (bowen2018)"
    return write_page(folder, title, _opening(found, settings), sections)


def _opening(found: Found, settings: Mapping[str, Any]) -> str:
    best, deep = pairwise(1).name, steps(None).name
    fresh = found.value(FRESH, SPECKS, None)
    said = [
        f"On a simulated file of {settings['rows']:,} persons with 15 categorical attributes, synthetic files were "
        "made by STEPS, by simple baselines and by measuring all pairs of attributes at once. SPECKS, the paper's "
        "measure, is 0 where a logistic model cannot tell synthetic records from original ones and 1 where it "
        "always can."
    ]
    for power in (E, ONE_OVER_E):
        ours, theirs = found.value(best, SPECKS, power), found.value(deep, SPECKS, power)
        if ours is not None and theirs is not None:
            said.append(
                f"At ε = {_POWER[power]} the file that follows all pairs has SPECKS {shown(ours)}, the deepest STEPS "
                f"{shown(theirs)}."
            )
    if fresh is not None:
        said.append(
            f"A fresh sample of the same law has {shown(fresh)}, since two samples differ by chance: a value below "
            "that is nearer to the original than collecting the data again would be."
        )
    return " ".join(said)


def _bars(found: Found) -> list[str]:
    method = pairwise(1).name
    body = []
    for bar in BARS:
        value = bar.value(found.rows, method)
        fresh = found.value(FRESH, bar.metric, None, 0.05 if bar.metric == ALONE else None)
        limit = f"{'at least' if bar.higher else 'at most'} {bar.limit:g}"
        verdict = holds(None if value is None else bar.met(value))
        body.append((f"ε = {_POWER[bar.power]}", bar.metric, limit, value, fresh, verdict))
    words = f"{method}, δ = 1e-9, one person's record replaced, the number of persons public. Means over repetitions."
    parts = [paragraph(words), table(("ε", "measure", "limit", "ours", "fresh sample", ""), body)]
    least = {power: found.value(LEAST, SPECKS, power) for power in (ONE_OVER_E, E)}
    if (tight := least[ONE_OVER_E]) is not None and (wide := least[E]) is not None:
        parts.append(
            paragraph(
                f"For scale: if the whole budget bought one-way tables, divided in the best way, and nothing else was "
                f"measured, their noise alone would leave SPECKS at about {shown(tight)} at ε = 1/e and {shown(wide)} "
                "at ε = e. A limit below that cannot be met with noise of this kind at this guarantee."
            )
        )
    return parts


def _specks(found: Found) -> list[str]:
    names = found.methods()
    records = [
        {
            "method": name.removesuffix(AS_PRINTED),
            "epsilon": round(float(row.where["epsilon"]), 3),
            "specks": max(row.ours, 1e-4),
            "kind": "paper" if name.endswith(AS_PRINTED) else "proved",
            "panel": "As printed: ε/5 per file, free elections" if name.endswith(AS_PRINTED) else "Proved ε",
        }
        for name in names
        for power in found.powers()
        if (row := found.row(name, SPECKS, power)) is not None and row.ours is not None
    ]
    colours = dict(
        zip(dict.fromkeys(str(one["method"]) for one in records), (*PALETTE, "#8B4513", "#999933"), strict=False)
    )
    if not records:
        return []
    fresh = found.value(FRESH, SPECKS, None)
    picture = Curves(
        x="epsilon",
        y="specks",
        colour="method",
        panel="panel",
        x_title="ε",
        y_title="SPECKS",
        colours=colours,
        panels=("Proved ε", "As printed: ε/5 per file, free elections"),
        dashed="kind",
        reference=fresh,
        x_values=tuple(sorted({float(one["epsilon"]) for one in records})),
        width=420,
        height=300,
        columns=2,
    )
    body = [(name, *(found.value(name, SPECKS, power) for power in found.powers())) for name in (*names,)]
    body.append((FRESH, *(fresh for _ in found.powers())))
    head = ("method", *(f"ε = {_POWER[power]}" for power in found.powers()))
    caption = "SPECKS against ε, both on log scales; the dotted line is a fresh sample of the law. Lower is better."
    return [figure(picture.svg(records), caption), table(head, body)]


def _methods(found: Found) -> Iterator[str]:
    columns = (
        (SPECKS, None),
        (TV2, None),
        (L1, None),
        (ALONE, 0.05),
        (AGREEMENT, 0.05),
        (SIGNS, None),
        (COVERED, None),
    )
    head = ("method", "SPECKS", "TV of pairs", "L1", "tests agree, single", "combined", "signs", "covered", "seconds")
    for power in (ONE_OVER_E, E):
        if power not in found.powers():
            continue
        body: list[Sequence[object]] = [
            (
                name,
                *(found.value(name, metric, power, level) for metric, level in columns),
                found.value(name, SECONDS, power),
            )
            for name in found.methods()
        ]
        body.append((FRESH, *(found.value(FRESH, metric, None, level) for metric, level in columns), None))
        yield paragraph(f"ε = {_POWER[power]}")
        yield table(head, body)
    yield paragraph(
        f"Tests: the share of the 105 pairs whose chi-square test at 0.05 concludes as on the original, file by file "
        f"and with {SETS} files combined by the rule of Li et al. (1991), which is weak with so few files. Signs and "
        "covered count the 32 coefficients of the difference-in-differences regression.",
        "note",
    )


def _beside(found: Found) -> list[str]:
    body: list[Sequence[object]] = []
    for row in found.rows:
        if row.paper is None or "power" not in row.where:
            continue
        proved = row.method.removesuffix(AS_PRINTED)
        own = found.value(proved, row.metric.split(", at ")[0], row.where["power"], row.where.get("level"))
        pairs = found.value(pairwise().name, row.metric.split(", at ")[0], row.where["power"], row.where.get("level"))
        body.append((f"ε = {_POWER[row.where['power']]}", row.metric, proved, row.paper, row.ours, own, pairs))
    words = (
        "Printed numbers come from the authors' CPS extract, ours from a simulated file, so only their pattern can "
        "agree. As printed means ε/5 for each of five files and elections on raw counts, which has no guarantee; "
        "proved means a true ε, five files from one measurement. The printed L1 distances lie just below the number of "
        "records, where half the summed difference of two files of that size would lie; ours is the whole sum, which "
        f"can reach twice the number of records. Table 4's matrices at ε = 1/e and level {LEVELS[1]:g} sum to 95 "
        "tests, not 105."
    )
    head = ("ε", "measure", "method", "paper", "as printed", "proved", pairwise().name)
    return [paragraph(words), table(head, body)]


def _file(rows: Sequence[Row]) -> list[str]:
    body = [(row.metric, row.paper, row.ours) for row in rows if row.method == "simulated file"]
    words = (
        "A mixture of ten latent classes over the attributes of Table 1, its constants set to come near Table 2. The "
        "levels multiply to 1,720,320 cells and Table 2 sums to three quarters of that: one combination of two "
        "two-level attributes is impossible, here voting without being registered."
    )
    return [paragraph(words), table(("", "paper", "ours"), body)]


def _real(rows: Sequence[Row]) -> Iterator[str]:
    here = [row for row in rows if row.table == "Real data"]
    for name in dict.fromkeys(row.where["file"] for row in here):
        mine = [row for row in here if row.where["file"] == name]
        values = {(row.method, row.where["power"], row.metric): row.ours for row in mine}
        body = [
            (
                method,
                _NO_PRIVACY if power is None else f"ε = {_POWER[power]}",
                *(values.get((method, power, metric)) for metric in (SPECKS, TV2, ALONE, SECONDS)),
            )
            for method, power in dict.fromkeys((row.method, row.where["power"]) for row in mine)
        ]
        first = mine[0].where
        yield paragraph(f"{name}: {first['rows']:,} records, {first['cells']:.2g} cells.")
        yield table(("method", "ε", "SPECKS", "TV of pairs", "tests agree", "seconds"), body)


def _reading(settings: Mapping[str, Any]) -> list[str]:
    repeated = settings["replicates"]
    rest = "" if settings["full"] else "; methods other than all pairs, STEPS and one-step Laplace run once"
    return [
        paragraph(f"{repeated} repetitions of the noise on one file{rest}. The standard errors are in results.json."),
        paragraph(
            "All proved methods hold for one person's record replaced, with the number of persons public; all pairs "
            "also need δ = 1e-9. One file follows the measured tables as they stand; five files also "
            "differ by what the noise leaves open, so each is a little further from the original, and only together do "
            "they carry honest intervals."
        ),
        paragraph(f"Settings: seed {settings['seed']}, {settings['sets']} files per measurement.", "note"),
    ]
