"""Tables of public files against OpenDP and Tumult Analytics: error and seconds at the same guarantee, in one run.

One record is added or removed; ε is pure, and (ε, δ) of a release of many tables is the same ρ for everyone. Every
package works in a process of its own that stays, one at a time and in turns, from the same Parquet file to published
numbers. The peers are no dependencies; they get environments of their own in build/peers:

    python benchmarks/tables_peers.py [--opendp PYTHON] [--tumult PYTHON] [--install] [--file ses] [--draws 20]
        [--data FOLDER] [--reduced]

The error of a draw is the median of the absolute errors over the cells, for counts the mean (medians of whole numbers
are coarse); the median over the draws counts. A ratio is ours over the best peer's, so below 1 is better. Quantiles of
OpenDP need candidates: both a grid of even steps and one of equal factors are tried, and the better counts. Peers'
numbers have no margins where ours have; what they cannot make at all is listed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from peers.environments import environment

from tacita.data.cells import number_kind
from tacita.data.schema import Integer, Schema
from tacita.noise.concentrated import rho_for
from tacita_studies.accuracy.folder import public_files

HOME = Path(__file__).resolve().parents[1]
CHILD = HOME / "benchmarks" / "peers" / "tables.py"
BARS = {"count": 1.02, "quantile": 0.9, "many tables": 0.9, "mean, wide bounds": 0.7}
TIME_BAR = 0.2
DELTA = "1e-9"
NOT_OFFERED = (
    "a margin of error for quantiles, means and ratios (ours publish one for every number)",
    "limits for sums and means that are bought where no tight bounds are public",
    "weighted means and quantiles of surveys, with margins that cover the sampling",
    "levels of a tree and overlapping tables whose sums agree",
    "sums and flows of businesses under (α, ε); a ledger, a page and a bundle that can be checked",
)


@dataclass(frozen=True)
class Asked:
    """A release of one or more tables of one statistic. `kind` names the bar that it is held to, if any."""

    file: str
    statistic: str
    by: tuple[tuple[str, ...], ...]
    of: str | None = None
    at: str | None = None
    delta: str = "0"
    kind: str | None = None

    def __str__(self) -> str:
        named = f"{self.statistic}{f' {self.at}' if self.at else ''}{f' of {self.of}' if self.of else ''}"
        crossed = " × ".join(self.by[0])
        return f"{named} by {crossed}" if len(self.by) == 1 else f"{named}, {len(self.by)} tables"


def _count(file: str, *by: str) -> Asked:
    return Asked(file, "count", (by,), kind="count")


def _sum(file: str, of: str, *by: str) -> Asked:
    return Asked(file, "sum", (by,), of)


def _mean(file: str, of: str, *by: str, wide: bool = True) -> Asked:
    return Asked(file, "mean", (by,), of, kind="mean, wide bounds" if wide else None)


def _quantile(file: str, of: str, *by: str, at: str = "0.5") -> Asked:
    return Asked(file, "quantiles", (by,), of, at, kind="quantile")


MARGINALS = (
    ("state",), ("educ", "sex"), ("fam_income", "num_in_house"), ("industry", "occupation"), ("sex", "race"),
    ("region", "marital"), ("occupation", "sex"), ("educ", "fam_income"), ("industry", "sex"), ("state", "sex"),
)  # fmt: skip
ASKED = (
    _count("adult", "education", "occupation"),
    _count("adult", "age", "sex"),
    _count("cps2016", "state", "sex"),
    _mean("cps2016", "weekly_hrs", "state", wide=False),
    _quantile("cps2016", "age", "state"),
    _quantile("cps2016", "weekly_hrs", "industry", at="0.9"),
    _count("ses", "occupation", "sex"),
    _sum("ses", "earnings", "occupation"),
    _mean("ses", "earnings", "occupation", "sex"),
    _quantile("ses", "earnings", "occupation", "sex"),
    _quantile("ses", "earningsMonth", "education", at="0.25"),
    _count("ppp", "state", "sector"),
    _sum("ppp", "amount", "state"),
    _mean("ppp", "jobs", "state", wide=False),
    _quantile("ppp", "amount", "state"),
    _mean("scf2019", "INCOME", "EDCL"),
    _mean("scf2019", "DEBT", "AGECL"),
    _quantile("scf2019", "INCOME", "AGECL"),
    _quantile("scf2019", "ASSET", "EDCL", at="0.75"),
    _sum("taxcalc_cps", "social_security", "children"),
    _mean("taxcalc_cps", "wages", "MARS"),
    _mean("taxcalc_cps", "interest", "MARS"),
    _quantile("taxcalc_cps", "wages", "MARS", at="0.75"),
    _quantile("taxcalc_cps", "age_head", "children"),
    Asked("cps2016", "count", MARGINALS, delta=DELTA, kind="many tables"),
)


# ---------------------------------------------------------------- packages


@dataclass
class Package:
    """A process that makes tables with one package, for as long as it is asked."""

    name: str
    python: str
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def ask(self, task: Mapping[str, Any], limit: int) -> dict[str, Any]:
        """The answer within so many CPU seconds; the process ends itself when they are used up."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, str(CHILD), self.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({**task, "limit": limit}) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith("answer "):
                    answer: dict[str, Any] = json.loads(line.removeprefix("answer "))
                    return answer
        except BrokenPipeError:
            pass
        process.wait()
        self.process = None
        return {"error": f"did not finish in {limit} CPU s"}

    def end(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()


def peers(arguments: argparse.Namespace) -> Iterator[Package]:
    for name in ("opendp", "tumult"):
        if (python := getattr(arguments, name)) is not None:
            yield Package(name, python)
            continue
        found = environment(name, install=arguments.install, limit=900)
        if found.error is None:
            yield Package(name, found.python)
        else:
            sys.stdout.write(f"{name} {found.error}: its columns are left out (--install, or --{name} PYTHON)\n")


# ---------------------------------------------------------------- files and truth


@dataclass(frozen=True)
class File:
    schema: Schema
    schema_path: Path
    frame: pd.DataFrame
    parquet: Path

    def task(self, asked: Asked, epsilon: str, draws: int) -> dict[str, Any]:
        names = dict.fromkeys(name for by in asked.by for name in by)
        about: dict[str, Any] = {"bounds": [0, 1], "whole": True, "filled": 0}
        if asked.of:
            kind = number_kind(self.schema, asked.of)
            stored = pd.api.types.is_integer_dtype(self.frame[asked.of])
            about = {
                "bounds": [kind.lower, kind.upper],
                "whole": isinstance(kind, Integer) and stored,
                "filled": max(0, kind.lower),
            }
        rho = rho_for(Fraction(epsilon), Fraction(asked.delta)) if asked.delta != "0" else 0
        return about | {
            "file": str(self.parquet), "schema": str(self.schema_path), "statistic": asked.statistic, "of": asked.of,
            "at": asked.at, "tables": [list(by) for by in asked.by], "epsilon": epsilon, "delta": asked.delta,
            "rho": float(rho), "way": "even", "draws": draws, "timed": 3, "unit": self.schema.unit,
            "levels": {name: list(self.schema.levels(name)) for name in names},
        }  # fmt: skip

    def truth(self, asked: Asked) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per table the least and the most that is right in each cell; a quantile may lie between two records."""
        return [self._truth(asked, by) for by in asked.by]

    def _truth(self, asked: Asked, by: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        cells = pd.MultiIndex.from_product([self.schema.levels(name) for name in by])
        keys = [self.frame[name].rename(None) for name in by]
        if asked.of is None:
            counts = self.frame.groupby(keys).size()
            found = counts.reindex(cells if len(by) > 1 else cells.get_level_values(0), fill_value=0).to_numpy(float)
            return found, found
        column = self.frame[asked.of].fillna(0).astype(float).groupby(keys)
        if asked.statistic == "quantiles":
            at = float(asked.at or "0.5")
            ends = [column.quantile(at, interpolation=one) for one in ("lower", "higher")]
        else:
            ends = [column.sum() if asked.statistic == "sum" else column.mean()] * 2
        index = cells if len(by) > 1 else cells.get_level_values(0)
        low, high = (one.reindex(index).to_numpy(float) for one in ends)
        return low, high


def opened(folder: Path, wanted: set[str], scratch: Path) -> dict[str, File]:
    opened = {}
    for one in public_files(folder):
        if one.name in wanted:
            frame, place = one.read(), scratch / f"{one.name}.parquet"
            frame.to_parquet(place)
            opened[one.name] = File(one.schema, one.described / one.schema_name, frame, place)
    return opened


# ---------------------------------------------------------------- errors and verdicts


@dataclass(frozen=True)
class Row:
    """What one package did: the typical error of a draw, its standard error, and the median seconds of a release."""

    error: float
    doubt: float
    seconds: float
    first: float


def scored(asked: Asked, truth: list[tuple[np.ndarray, np.ndarray]], answer: Mapping[str, Any]) -> Row:
    errors = []
    for draw in answer["drawn"]:
        off = []
        for numbers, (low, high) in zip(draw, truth, strict=True):
            value = np.nan_to_num(np.array(numbers), nan=np.inf)
            away = np.maximum(np.maximum(low - value, value - high), 0.0)
            away = away[~np.isnan(low)]  # a cell without records has no mean
            off.append(float(np.mean(away) if asked.statistic == "count" else np.median(away)))
        errors.append(float(np.mean(off)))
    doubt = 1.25 * float(np.std(errors)) / len(errors) ** 0.5
    return Row(float(np.median(errors)), doubt, float(np.median(answer["seconds"])), answer["seconds"][0])


def verdict(ours: Row, best: Row, kind: str | None) -> str:
    if not best.error:
        return "both exact" if not ours.error else "theirs exact"
    ratio = ours.error / best.error
    doubt = ratio * ((ours.doubt / (ours.error or 1)) ** 2 + (best.doubt / best.error) ** 2) ** 0.5
    said = f"{ratio:6.2f} ± {2 * doubt:4.2f}"
    if kind is None:
        return said
    bar = BARS[kind]
    judged = "meets" if ratio <= bar else ("within chance of" if ratio - 2 * doubt <= bar else "MISSES")
    return f"{said}  {judged} {bar}"


def compare(asked: Asked, file: File, ours: Package, others: list[Package], draws: int, limit: int) -> None:
    task, truth = file.task(asked, "1", draws), file.truth(asked)
    ways = ("even", "factors") if asked.statistic == "quantiles" and not has_grid(task) else ("even",)
    rows: dict[str, Row] = {}
    for package in (ours, *others):
        # A release of many tables takes minutes there, and its cells are many enough for one draw.
        several = len(asked.by) > 1
        few = 1 if several else 2
        fewer = {"draws": few, "timed": few} if package is not ours and (several or package.name == "tumult") else {}
        for way in ways if package.name == "opendp" else ("even",):
            answer = package.ask({**task, **fewer, "way": way}, limit)
            name = f"{package.name}, {way}" if package.name == "opendp" and len(ways) > 1 else package.name
            if "error" in answer:
                sys.stdout.write(f"{asked.file:12} {asked!s:38} {name:16} {answer['error']}\n")
                continue
            row = rows[name] = scored(asked, truth, answer)
            sys.stdout.write(f"{asked.file:12} {asked!s:38} {name:16} {row.error:12,.4g} {row.seconds:8.2f} s\n")
            sys.stdout.flush()
    rivals = [row for name, row in rows.items() if name != ours.name]
    if ours.name in rows and rivals:
        best = min(rivals, key=lambda one: one.error)
        slower = rows[ours.name].seconds / min(one.seconds for one in rivals)
        fast = "meets" if slower <= TIME_BAR else "MISSES"
        said = verdict(rows[ours.name], best, asked.kind)
        sys.stdout.write(f"{'':12} {'':38} {'ratio':16} {said}; time {slower:.2f} {fast} {TIME_BAR}\n")


def has_grid(task: Mapping[str, Any]) -> bool:
    return bool(task["whole"] and task["bounds"][1] - task["bounds"][0] < 1000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opendp", metavar="PYTHON")
    parser.add_argument("--tumult", metavar="PYTHON")
    parser.add_argument("--install", action="store_true", help="put peers that are missing into build/peers")
    parser.add_argument("--file", action="append", help="only tables of this file; may be repeated")
    parser.add_argument("--statistic", action="append", help="only tables of this statistic; may be repeated")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--limit", type=int, default=300, help="CPU seconds that one package has for one row")
    usual = Path(os.environ.get("TACITA_DATA", HOME.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=usual, help="where the public files are (or TACITA_DATA)")
    parser.add_argument("--reduced", action="store_true", help="one file, five draws")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.stdout.write("skipped: the public files are not there (TACITA_DATA)\n")
        return 0
    others = list(peers(arguments))
    if not others:
        sys.stdout.write("skipped: a comparison needs a peer\n")
        return 0
    chosen = [
        one
        for one in ASKED
        if one.file in (arguments.file or ("cps2016" if arguments.reduced else one.file,))
        and one.statistic in (arguments.statistic or (one.statistic,))
    ]
    draws = 5 if arguments.reduced else arguments.draws
    ours = Package("tacita", sys.executable)
    with tempfile.TemporaryDirectory() as place:
        files = opened(arguments.data, {one.file for one in chosen}, Path(place))
        for asked in chosen:
            if asked.file in files:
                compare(asked, files[asked.file], ours, others, draws, arguments.limit)
        for package in (ours, *others):
            package.end()
    sys.stdout.write("\nNo peer here makes:\n" + "".join(f"  {one}\n" for one in NOT_OFFERED))
    return 0


if __name__ == "__main__":
    sys.exit(main())
