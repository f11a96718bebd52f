"""How near `FileSynthesis` comes to real files of several kinds, and in what time.

The files are public ones that are not part of the project: a folder with `adult/adult.csv.gz` (15 coded columns),
`synthpop_sd2011/SD2011.csv.gz` (35 mixed columns with missing values) and `scf2019/scfp2019.csv.gz` (money with heavy
tails and weights). Schemas are written from what a data dictionary says: levels, and wide bounds for numbers.

    python benchmarks/file_synthesis.py [FOLDER] [--only adult sd2011 scf2019] [--repeat 3] [--reduced]
    python benchmarks/file_synthesis.py [FOLDER] --only sd2011 --coverage [--rows 2000] [--repeat 5]

With `--coverage` the file is the population, and a sample of it, with replacement, is confidential. Counted is
how many 95% intervals from five synthetic files hold the whole file's shares, means, means by group and slopes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacita
from tacita.inference import Estimate, OneMeasurement, combine_estimates
from tacita.privacy import AddRemoveOne

# Bounds as a dictionary would have them: far from tight.
SD2011_NUMBERS = {
    "age": (0, 120), "unempdur": (0, 60), "income": (0, 100_000), "mmarr": (1, 12), "ymarr": (1900, 2011),
    "msepdiv": (1, 12), "ysepdiv": (1900, 2011), "depress": (0, 25), "nofriend": (0, 200), "nociga": (0, 200),
    "height": (50, 250), "weight": (20, 300),
}  # fmt: skip
SCF_MONEY = {
    "INCOME": (0, 10**9), "ASSET": (0, 10**10), "DEBT": (0, 10**9), "NETWORTH": (-(10**9), 10**10),
    "HOUSES": (0, 10**9), "LIQ": (0, 10**9), "WAGEINC": (0, 10**9), "VEHIC": (0, 10**8), "RETQLIQ": (0, 10**9),
}  # fmt: skip
SCF_CODES = ("HHSEX", "AGECL", "EDCL", "MARRIED", "KIDS", "LIFECL", "FAMSTRUCT", "RACECL", "OCCAT1", "HOUSECL")


def adult(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    frame = pd.read_csv(folder / "adult" / "adult.csv.gz").astype(int)
    return frame.astype(str), {name: _levels(map(str, range(frame[name].max() + 1))) for name in frame}


def sd2011(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    frame = pd.read_csv(folder / "synthpop_sd2011" / "SD2011.csv.gz").drop(columns="bmi")
    kinds: dict[str, Any] = {}
    for name in frame:
        if name in SD2011_NUMBERS:
            lower, upper = SD2011_NUMBERS[name]
            number = {"type": "integer", "lower": lower, "upper": upper, "missing": "own state", "missing_codes": [-8]}
            kinds[name] = {"role": "confidential", **number}
        else:
            frame[name] = frame[name].fillna("missing").astype(str)
            kinds[name] = _levels(sorted(frame[name].unique()), missing="missing")
    return frame, kinds


def scf2019(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    frame = pd.read_csv(folder / "scf2019" / "scfp2019.csv.gz")
    frame = frame[frame["Y1"] % 10 == 1].reset_index(drop=True)
    frame = frame[[*SCF_CODES, *SCF_MONEY, "WGT"]]
    kinds: dict[str, Any] = {}
    for name in SCF_CODES:
        frame[name] = frame[name].astype(int).astype(str)
        kinds[name] = _levels(sorted(frame[name].unique()))
    for name, (lower, upper) in SCF_MONEY.items():
        kinds[name] = {"role": "confidential", "type": "numeric", "lower": lower, "upper": upper, "scale": 0}
    kinds["WGT"] = {"role": "weight", "type": "numeric", "lower": 0, "upper": 100_000, "scale": 1}
    return frame, kinds


def _levels(levels: Any, missing: str | None = None) -> dict[str, Any]:
    entry = {"role": "confidential", "type": "categorical", "levels": list(levels)}
    return entry | ({"missing": missing} if missing in entry["levels"] else {})


def drawn(frame: pd.DataFrame, kinds: dict[str, Any], epsilon: str, seed: int, **more: Any) -> tuple[Any, float, float]:
    """A synthetic file, and processor seconds to measure and to draw it."""
    schema = tacita.Schema.from_dict({"dataset": {"identity": "file", "unit": "person"}, "variables": kinds})
    plan = tacita.FileSynthesis(list(kinds), epsilon, delta="1e-9", neighbours=AddRemoveOne("person"), **more)
    start = time.process_time()
    model = plan.rehearse(frame, schema, seed=seed)
    measured = time.process_time()
    made = next(iter(model.implicates))
    return (
        made if isinstance(made, pd.DataFrame) else made.to_pandas(),
        measured - start,
        time.process_time() - measured,
    )


def coded(real: pd.DataFrame, made: pd.DataFrame, kinds: dict[str, Any]) -> tuple[Any, Any, list[int]]:
    """Both files as codes: numbers by 20 quantiles of the real one, missing apart."""
    columns, sizes = [], []
    for name, kind in kinds.items():
        if kind["type"] == "categorical":
            code = {level: k for k, level in enumerate(kind["levels"])}
            both = [frame[name].map(code).to_numpy() for frame in (real, made)]
            size = len(code)
        else:
            codes = kind.get("missing_codes", [])
            values = [frame[name].where(~frame[name].isin(codes)).to_numpy(dtype=float) for frame in (real, made)]
            cuts = np.unique(np.nanquantile(values[0], np.linspace(0, 1, 21)[1:-1]))
            both = [np.where(np.isnan(one), cuts.size + 1, np.searchsorted(cuts, one, side="left")) for one in values]
            size = cuts.size + 2
        columns.append(both)
        sizes.append(size)
    return *(np.column_stack([both[k] for both in columns]).astype(int) for k in (0, 1)), sizes


def distances(one: Any, two: Any, sizes: list[int], ways: int) -> Any:
    """L1 distance of every table of so many columns."""
    found = []
    for some in combinations(range(len(sizes)), ways):
        shape = tuple(sizes[a] for a in some)
        shares = [
            np.bincount(np.ravel_multi_index([f[:, a] for a in some], shape), minlength=prod(shape)) / len(f)
            for f in (one, two)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum())
    return np.array(found)


def weighted(frame: pd.DataFrame, name: str) -> tuple[float, float]:
    """Weighted mean and median."""
    values, weights = frame[name].to_numpy(dtype=float), frame["WGT"].to_numpy(dtype=float)
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(np.average(values, weights=weights)), float(values[order][np.searchsorted(reached, 0.5)])


def answers(frame: pd.DataFrame, kinds: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Shares, means, means by the first category of few levels, and slopes of numbers, with their variances."""
    codes = {name: kind.get("missing_codes", []) for name, kind in kinds.items() if kind["type"] != "categorical"}
    numbers = {name: frame[name].where(~frame[name].isin(some)).astype(float) for name, some in codes.items()}
    found: dict[str, tuple[float, float]] = {}

    def mean(label: str, values: Any) -> None:
        if values.size > 1:
            found[label] = float(values.mean()), max(float(values.var()) / values.size, 1e-300)

    groups = {name: kind["levels"] for name, kind in kinds.items() if kind["type"] == "categorical"}
    for name, levels in groups.items():
        for level in levels:
            mean(f"share of {name} {level}", (frame[name] == level).astype(float))
    by = next((name for name, levels in groups.items() if 2 <= len(levels) <= 6), None)
    for name, values in numbers.items():
        mean(f"mean of {name}", values.dropna())
        for level in groups[by] if by else ():
            mean(f"group mean of {name} {level}", values[frame[by] == level].dropna())
    for (one, x), (two, y) in combinations(numbers.items(), 2):
        both = x.notna() & y.notna()
        away = x[both] - x[both].mean()
        if (square := float((away**2).sum())) > 0:
            slope = float((away * y[both]).sum()) / square
            off = y[both] - y[both].mean() - slope * away
            found[f"slope of {two} on {one}"] = slope, max(float((away**2 * off**2).sum()) / square**2, 1e-300)
    return found


def coverage(real: pd.DataFrame, kinds: dict[str, Any], epsilon: str, seed: int, rows: int | None) -> pd.DataFrame:
    """Whether each interval holds the whole file's value, where that is common enough for a normal law."""
    sample = real.sample(rows or len(real), replace=True, random_state=seed).reset_index(drop=True)
    schema = tacita.Schema.from_dict({"dataset": {"identity": "file", "unit": "person"}, "variables": kinds})
    plan = tacita.FileSynthesis(list(kinds), epsilon, delta="1e-9", neighbours=AddRemoveOne("person"), sets=5)
    files = [answers(pd.DataFrame(made), kinds) for made in plan.rehearse(sample, schema, seed=seed).implicates]
    held = []
    for label, (truth, _) in answers(real, kinds).items():
        some = [one[label] for one in files if label in one]
        if len(some) < len(files) or (label.startswith("share") and not 0.01 < truth < 0.99):
            continue
        whole = combine_estimates([Estimate(value, variance) for value, variance in some], OneMeasurement())
        lower, upper = whole.interval(0.95)
        held.append(
            (label.split(" of ")[0], label, lower <= truth <= upper, (whole.value - truth) / whole.standard_error)
        )
    return pd.DataFrame(held, columns=["kind", "label", "held", "off"])


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("TACITA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("folder", type=Path, nargs="?", default=usual)
    parser.add_argument("--only", nargs="+", default=["adult", "sd2011", "scf2019"])
    parser.add_argument("--epsilon", nargs="+", help="instead of each file's own")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--coverage", action="store_true", help="of intervals from five files")
    parser.add_argument("--rows", type=int, help="of each sample, with --coverage")
    parser.add_argument("--reduced", action="store_true", help="the smallest file once")
    given = parser.parse_args()
    if not given.folder.is_dir():
        say("skipped: the public files are not there (TACITA_DATA)")
        return 0
    given.only = ["scf2019"] if given.reduced else given.only
    cases = {"adult": (adult, ["0.1", "1", "10"], 3), "sd2011": (sd2011, ["4"], 2), "scf2019": (scf2019, ["4"], 2)}
    for name in given.only:
        make, epsilons, ways = cases[name]
        real, kinds = make(given.folder)
        for epsilon in given.epsilon or epsilons:
            if given.coverage:
                draws = (coverage(real, kinds, epsilon, seed, given.rows) for seed in range(1, given.repeat + 1))
                held = pd.concat(draws)
                say(f"{name}, epsilon {epsilon}: {held['held'].mean():.1%} of {len(held):,} intervals hold")
                for kind, some in held.groupby("kind"):
                    spread = some["off"].std()
                    say(f"  {kind}: {some['held'].mean():.1%} of {len(some):,}, spread of errors {spread:.2f}")
                continue
            for seed in range(1, given.repeat + 1):
                made, measuring, drawing = drawn(real, kinds, epsilon, seed)
                one, two, sizes = coded(real, made, kinds)
                far = [distances(one, two, sizes, k) for k in range(1, ways + 1)]
                mean = ", ".join(f"{k}-way {d.mean():.4f}" for k, d in enumerate(far, start=1))
                worst = list(kinds)[int(far[0].argmax())]
                say(
                    f"{name}, epsilon {epsilon}, {len(made):,} rows: {mean}; worst one-way {far[0].max():.4f} ({worst})"
                    f"; {measuring:.1f} + {drawing:.1f} s"
                )
                if name == "scf2019":
                    for money in ("INCOME", "ASSET", "DEBT", "NETWORTH"):
                        ratios = [b / a for a, b in zip(weighted(real, money), weighted(made, money), strict=True)]
                        say(f"  weighted {money}: mean × {ratios[0]:.3f}, median × {ratios[1]:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
