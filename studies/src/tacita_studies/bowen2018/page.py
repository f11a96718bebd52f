"""The tables and the picture of the bowen2018 page; its words are `page.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from tacita.pages.charts import PALETTE
from tacita_studies.bowen2018 import printed as paper
from tacita_studies.bowen2018.bars import BARS
from tacita_studies.bowen2018.methods import AS_PRINTED, SETS, pairwise, steps
from tacita_studies.bowen2018.rows import FRESH, LEAST
from tacita_studies.harness.page import figure, holds, table
from tacita_studies.harness.pictures import Curves
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Row, Rows

_POWER = {-2: "e⁻²", -1: "1/e", 0: "1", 1: "e", 2: "e²"}
_TWO = (paper.ONE_OVER_E, paper.E)
_PANELS = ("Proved ε", "As printed: ε/5 per file, free elections")


class VoterRows(Rows):
    """Rows by method, metric, power of e and level of a test; those of real files are left out."""

    def at(self, method: str, metric: str, power: int | None, level: float | None = None) -> float | None:
        name = metric if level is None else f"{metric}, at {level:g}"
        return self.value(method, name, power=power, level=level, file=None)

    @property
    def who(self) -> list[str]:
        return [name for name in self.methods("Figure 2") if name not in (FRESH, LEAST)]

    @property
    def powers(self) -> list[int]:
        return sorted({row.where["power"] for row in self.of("Figure 2") if "epsilon" in row.where})


def page(rows: Sequence[Row], settings: Mapping[str, Any]) -> dict[str, object]:
    voters = VoterRows(rows)
    best, deep = pairwise(1).name, steps(None).name
    scores = {_POWER[one]: [voters.at(name, paper.SPECKS, one) for name in (best, deep)] for one in reversed(_TWO)}
    return {
        **settings,
        "best": best,
        "scores": {power: both for power, both in scores.items() if None not in both},
        "fresh": voters.at(FRESH, paper.SPECKS, None),
        "bars": _bars(voters),
        "least": [voters.at(LEAST, paper.SPECKS, power) for power in _TWO],
        "specks": _specks(voters),
        "methods": [(_POWER[power], _methods(voters, power)) for power in _TWO if power in voters.powers],
        "sets": SETS,
        "beside": _beside(voters),
        "level": f"{paper.LEVELS[1]:g}",
        "file": table(
            ("", "paper", "ours"), [(r.metric, r.paper, r.ours) for r in rows if r.method == "simulated file"]
        ),
        "real": list(_real(voters)),
    }


def _bars(voters: VoterRows) -> Markup:
    body = []
    for bar in BARS:
        row, power = bar.row(voters), bar.where["power"]
        value, fresh = None if row is None else row.ours, voters.value(FRESH, bar.metric, power=None, file=None)
        name = bar.metric.split(", at ")[0]
        body.append((f"ε = {_POWER[int(str(power))]}", name, bar.limit, value, fresh, holds(bar.verdict(row))))
    return table(("ε", "measure", "limit", "ours", "fresh sample", ""), body)


def _specks(voters: VoterRows) -> list[Markup]:
    records = [
        {
            "method": name.removesuffix(AS_PRINTED),
            "epsilon": round(float(row.where["epsilon"]), 3),
            "specks": max(row.ours, 1e-4),
            "kind": "paper" if name.endswith(AS_PRINTED) else "proved",
            "panel": _PANELS[name.endswith(AS_PRINTED)],
        }
        for name in voters.who
        for power in voters.powers
        if (row := voters.row(name, paper.SPECKS, power=power, file=None)) is not None and row.ours is not None
    ]
    if not records:
        return []
    shades = zip(dict.fromkeys(str(one["method"]) for one in records), (*PALETTE, "#8B4513", "#999933"), strict=False)
    fresh = voters.at(FRESH, paper.SPECKS, None)
    picture = Curves(
        y="specks",
        y_title="SPECKS",
        colours=dict(shades),
        panels=_PANELS,
        dashed="kind",
        reference=fresh,
        x_values=tuple(sorted({float(str(one["epsilon"])) for one in records})),
        width=420,
        height=300,
        columns=2,
    )
    body = [(name, *(voters.at(name, paper.SPECKS, power) for power in voters.powers)) for name in voters.who]
    body.append((FRESH, *(fresh for _ in voters.powers)))
    caption = "SPECKS against ε, both on log scales; the dotted line is a fresh sample of the law. Lower is better."
    head = ("method", *(f"ε = {_POWER[power]}" for power in voters.powers))
    return [figure(picture.svg(records), caption), table(head, body)]


def _methods(voters: VoterRows, power: int) -> Markup:
    alone = [(one, None) for one in (paper.SPECKS, paper.TV2, paper.L1)]
    columns = [*alone, (paper.ALONE, 0.05), (paper.AGREEMENT, 0.05), (paper.SIGNS, None), (paper.COVERED, None)]
    body: list[Sequence[object]] = [
        (name, *(voters.at(name, metric, power, level) for metric, level in [*columns, (paper.SECONDS, None)]))
        for name in voters.who
    ]
    body.append((FRESH, *(voters.at(FRESH, metric, None, level) for metric, level in columns), None))
    head = ("method", "SPECKS", "TV of pairs", "L1", "tests agree, single", "combined", "signs", "covered", "seconds")
    return table(head, body)


def _beside(voters: VoterRows) -> Markup:
    body: list[Sequence[object]] = []
    for row in voters:
        if row.paper is None or "power" not in row.where:
            continue
        proved, power = row.method.removesuffix(AS_PRINTED), row.where["power"]
        own, pairs = (voters.value(name, row.metric, power=power, file=None) for name in (proved, pairwise().name))
        body.append((f"ε = {_POWER[power]}", row.metric, proved, row.paper, row.ours, own, pairs))
    return table(("ε", "measure", "method", "paper", "as printed", "proved", pairwise().name), body)


def _real(voters: VoterRows) -> Iterator[tuple[str, Mapping[str, Any], Markup]]:
    here = voters.of(TABLE)
    for name in dict.fromkeys(row.where["file"] for row in here):
        mine = [row for row in here if row.where["file"] == name]
        values = {(row.method, row.where["power"], row.metric): row.ours for row in mine}
        metrics = (paper.SPECKS, paper.TV2, paper.ALONE, paper.SECONDS)
        body = [
            (
                method,
                "–" if power is None else f"ε = {_POWER[power]}",
                *(values.get((method, power, metric)) for metric in metrics),
            )
            for method, power in dict.fromkeys((row.method, row.where["power"]) for row in mine)
        ]
        yield name, mine[0].where, table(("method", "ε", "SPECKS", "TV of pairs", "tests agree", "seconds"), body)
