"""benchmarks/RESULTS.md from the rows of `all_peers.py`: tables, files, what is lost, and who could not run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OURS = "tacita"
FEW = 5  # runs that say little of an error
Ratio = tuple[float, float] | None


@dataclass(frozen=True)
class Row:
    """What one system did with one file under one guarantee. `error` is of the statistic: for tables the typical error
    of a cell, for files the mean distance (L1) of all tables of two columns. `cold` is the first run of a process, with
    the import of the package; `warm` the median of the others. Both are CPU seconds."""

    product: str
    file: str
    guarantee: str
    system: str
    version: str
    error: float | None = None
    doubt: float | None = None
    three_way: float | None = None
    cold: float | None = None
    warm: float | None = None
    peak_mb: float | None = None
    runs: int = 0
    problem: str | None = None
    load: float | None = None
    date: str = ""

    @property
    def question(self) -> tuple[str, str, str]:
        return self.product, self.file, self.guarantee

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (*self.question, self.system)


def page(rows: list[Row], about: dict[str, Any]) -> str:
    done = [row for row in rows if row.error is not None]
    tables = [row for row in done if row.three_way is None]
    files = [row for row in done if row.three_way is not None]
    loads = [row.load for row in rows if row.load is not None]
    dates = sorted({row.date for row in rows})
    lines = [
        "# Ours beside its peers",
        "",
        f"Written by `make bench-peers` on {' and '.join(dates)} (last: `{about['command']}`); do not edit. Rows that "
        "a later run did not ask for are kept from the one before.",
        "",
        f"{about['cores']} cores, which others used too (load average {min(loads, default=0):.1f} to "
        f"{max(loads, default=0):.1f}), so times are CPU seconds, of all processes that a package starts, a JVM "
        "included. *Cold* is the first run in a fresh process, with the import of the package; *warm* the median of "
        f"the later ones. A run that used up its CPU seconds says so below. Memory is the most "
        "that a process had, of all its processes together. **Ratios are ours over theirs: more than 1 is a loss.**",
        "",
        "## Tables",
        "",
        "The error of a draw is the median of the absolute errors over the cells, for counts the mean; the median over "
        "the draws counts, ± two standard errors. Quantiles of OpenDP are with the better of two grids of candidates. "
        "Ours publish a margin with every number and check the file first; the peers do neither.",
        "",
        *_listed(tables, _table_columns, {"": lambda row: _of(rows, row, OURS)}),
        "",
        "## Synthetic files of categories",
        "",
        "Mean L1 distance of all tables of two and of three columns (3-way), of one file for each run. Ours are "
        "rehearsed, which runs what a release runs. MST and AIM on mbi 2 are written from the papers, in "
        "`benchmarks/peers/pairwise.py`; all others run as they are shipped.",
        "",
        *_listed(
            files,
            _file_columns,
            {
                f"{plan[:-9]} ": lambda row, plan=plan: _of(rows, row, plan)
                for plan in ("FileSynthesis", "PairwiseSynthesis")
            },
        ),
        "",
        "## Where a peer is ahead",
        "",
        *(_losses(rows) or ["Nowhere in these rows."]),
        "",
        "## Who could not run",
        "",
        *_problems(rows),
        *(f"- **{one}**: was not run" for one in about["systems"] if one not in {row.system for row in rows}),
    ]
    return "\n".join([*lines, ""])


def _of(rows: list[Row], row: Row, system: str) -> Row | None:
    """Ours for the same question."""
    if _is_ours(row):
        return None
    found = (one for one in rows if one.question == row.question and one.system == system and one.error is not None)
    return next(found, None)


def _is_ours(row: Row) -> bool:
    return row.system in (OURS, "FileSynthesis", "PairwiseSynthesis")


def _table_columns(row: Row) -> dict[str, str]:
    assert row.error is not None
    doubt = f" ± {2 * row.doubt:.2g}" if row.doubt is not None else ""
    return _question(row) | {"error": f"{row.error:.4g}{doubt}"} | _cost(row)


def _file_columns(row: Row) -> dict[str, str]:
    return _question(row) | {"2-way": f"{row.error:.4f}", "3-way": f"{row.three_way:.4f}"} | _cost(row)


def _question(row: Row) -> dict[str, str]:
    return {
        "file": row.file, "product": row.product, "guarantee": row.guarantee,
        "system": f"**{row.system}**" if _is_ours(row) else row.system, "version": row.version or "–",
    }  # fmt: skip


def _cost(row: Row) -> dict[str, str]:
    return {
        "cold CPU s": _seconds(row.cold), "warm CPU s": _seconds(row.warm), "peak MB": f"{row.peak_mb:,.0f}",
        "runs": str(row.runs),
    }  # fmt: skip


def _listed(
    rows: list[Row], columns: Callable[[Row], dict[str, str]], ours: dict[str, Callable[[Row], Row | None]]
) -> list[str]:
    lines: list[str] = []
    for row in rows:
        cells = columns(row)
        for name, of in ours.items():
            best = of(row)
            for what, about in (("error", "error"), ("cold", "cold"), ("warm", "warm")):
                cells[f"{name}{what} ratio"] = _ratio(best, row, about)
        if not lines:
            lines += [f"| {' | '.join(cells)} |", f"| {' | '.join('---' for _ in cells)} |"]
        lines.append(f"| {' | '.join(cells.values())} |")
    return lines


def _losses(rows: list[Row]) -> list[str]:
    """Error beyond two standard errors where there are some; files by the better of ours; time of the same one."""
    lines = []
    for row in rows:
        ours = [one for one in rows if one.question == row.question and _is_ours(one) and one.error is not None]
        if _is_ours(row) or row.error is None or not ours:
            continue
        best = min(ours, key=lambda one: one.error or 0.0)
        said = []
        for what, about in (
            ("error", "error"),
            ("3-way distance", "three_way"),
            ("CPU cold", "cold"),
            ("CPU warm", "warm"),
        ):
            mine, theirs = getattr(best, about), getattr(row, about)
            if mine is None or not theirs or mine <= theirs:
                continue
            chance = 2 * ((best.doubt or 0) ** 2 + (row.doubt or 0) ** 2) ** 0.5 if about == "error" else 0.0
            said.append(
                f"{what} {mine / theirs:.2f}"
                + (" (within chance)" if mine - theirs <= chance else "")
                + (f" ({row.runs} runs)" if row.runs < FEW and about == "error" else "")
            )
        if said:
            lines.append(
                f"- {row.file}, {row.product}, {row.guarantee}: {best.system} over {row.system}: {', '.join(said)}."
            )
    return lines


def _problems(rows: list[Row]) -> list[str]:
    """One line for each system and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.problem:
            where = f"{row.file}, {row.product}, {row.guarantee}"
            found.setdefault((f"{row.system} {row.version}".strip(), row.problem), []).append(where)
    return [
        f"- **{system}**: {reason.replace('|', '/')} ({'; '.join(where)})" for (system, reason), where in found.items()
    ]


def _ratio(ours: Row | None, theirs: Row, name: str) -> str:
    if ours is None:
        return ""
    one, other = getattr(ours, name), getattr(theirs, name)
    return f"{one / other:.2f}" if one is not None and other else "–"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"
